"""The demo in a process without Spark: the same answers from files, and what it refuses that only a stream has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demo.__main__ import main
from release.distributions import ROOT
from tests.demo.files import DAYS, TRUTH, Question, assert_right

WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = sys.modules["py4j"] = None

from demo.__main__ import main

sys.exit(main(["--engine", "local", *sys.argv[1:]]))
"""
"""A program that runs the demo where PySpark cannot be imported."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo has put its files."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-c", WITHOUT_SPARK, "--days", str(DAYS), "--folder", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "asking 3 questions of 2 files" in done.stdout
    assert "By plane: each pair of flights" in done.stdout
    return folder


@pytest.mark.cases(1)
@pytest.mark.parametrize("question", TRUTH)
def test_the_answers_are_what_plain_pandas_says(answers: Path, question: Question) -> None:
    assert_right(question, answers)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (("--emit", "speculative"), "speculative results come early from a stream"),
        (("--record", "recording"), "--record keeps the micro-batches of a stream"),
    ],
    ids=["emit", "record"],
)
def test_an_option_that_only_a_stream_has_is_refused(
    option: tuple[str, str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--engine", "local", "--folder", str(tmp_path), *option]) == 1
    complaint = capsys.readouterr().err
    assert reason in complaint
    assert "--engine spark" in complaint
    assert list(tmp_path.iterdir()) == []
