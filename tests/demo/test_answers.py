"""The demo's three files for a few days of flights, against plain pandas."""

import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen, TimeoutExpired, run

import pandas as pd
import psutil
import pytest

from demo.questions import QUESTIONS
from demo.run import Choice
from tests import quick_jvm
from tests.demo import truth

DAYS = 2
ROOT = Path(__file__).parents[2]
Question = Callable[[pd.DataFrame], pd.DataFrame]
TRUTH = [truth.airborne, truth.delays, truth.cascades]
DEMO = [sys.executable, "-m", "demo", "--days", str(DAYS)]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo has put its files."""
    folder = tmp_path_factory.mktemp("demo")
    finished = run_demo([*DEMO, "--folder", str(folder)])

    assert (finished.returncode, finished.stderr) == (0, "")
    assert "no key has state left" in finished.stdout
    complete = re.findall(r"^ +\d+ s  (\w+) +(\d+)/\2  [\d,]+ in, 0 late, [\d,]+ out\b", finished.stdout, re.MULTILINE)
    assert sorted(name for name, _ in complete) == sorted(QUESTIONS)
    return folder


@pytest.mark.parametrize("question", TRUTH)
def test_the_answers_are_what_plain_pandas_says(answers: Path, question: Question) -> None:
    assert_right(question, answers)


def assert_right(question: Question, folder: Path) -> None:
    expected = question(Choice(days=DAYS).flights())
    found = pd.read_parquet(folder / f"{question.__name__}.parquet")
    order = list(expected.columns[:3])

    assert len(expected) > 0
    pd.testing.assert_frame_equal(
        found.sort_values(order, ignore_index=True).astype(expected.dtypes),
        expected.sort_values(order, ignore_index=True),
    )


def test_times_are_timestamps_in_utc(answers: Path) -> None:
    dtypes = {
        name: pd.read_parquet(answers / f"{name}.parquet").dtypes.astype(str) for name in ("airborne", "cascades")
    }

    assert dtypes["airborne"]["start"] == dtypes["airborne"]["end"] == "datetime64[us, UTC]"
    assert dtypes["cascades"]["arrival"] == dtypes["cascades"]["departure"] == "datetime64[us, UTC]"


def test_early_results_fold_to_the_same_files_also_if_the_jvm_is_killed_on_the_way(
    answers: Path, tmp_path: Path
) -> None:
    early = [*DEMO, "--emit", "speculative", "--folder", str(tmp_path)]
    with Popen(early, cwd=ROOT, env=quick_jvm.environment(), stdout=PIPE, stderr=PIPE, text=True) as cut_short:
        _wait_for_batches(cut_short, tmp_path, 1)
        _jvm_of(cut_short).send_signal(signal.SIGKILL)
        _, complaint = cut_short.communicate(timeout=60)
    resumed = run_demo(early)

    assert cut_short.returncode == 1
    assert "the same command goes on from here" in complaint
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert "going on with the run that was cut short" in resumed.stdout
    for name in QUESTIONS:
        assert (tmp_path / f"{name}.parquet").read_bytes() == (answers / f"{name}.parquet").read_bytes()


def run_demo(command: Sequence[str]) -> CompletedProcess[str]:
    return run(command, cwd=ROOT, env=quick_jvm.environment(), capture_output=True, text=True, check=False)


def _wait_for_batches(process: Popen[str], folder: Path, count: int) -> None:
    """Wait until some micro-batches are committed, or the process has ended."""
    commits = folder / "run" / "checkpoint" / "commits"
    while process.poll() is None and len(list(commits.glob("[0-9]*"))) < count:
        try:
            process.wait(0.05)
        except TimeoutExpired:
            continue
    assert process.poll() is None, "the demo ended before it could be killed"


def _jvm_of(process: Popen[str]) -> psutil.Process:
    return next(child for child in psutil.Process(process.pid).children(recursive=True) if "java" in child.name())
