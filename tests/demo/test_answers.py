"""The demo as a program: its early results, folded, are the answers, also if its JVM is killed on the way.

`test_final` has the final results. Both files of a question are compared with the same rows in the same order, and with
the same types: they are alike.
"""

import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen, TimeoutExpired, run

import psutil
import pytest

from demo.questions import QUESTIONS
from tests import quick_jvm
from tests.demo.files import DAYS, TRUTH, Question, assert_right

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "demo", "--days", str(DAYS), "--emit", "speculative"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo has put its files, the second time: the first time its JVM was killed."""
    folder = tmp_path_factory.mktemp("demo")
    command = [*DEMO, "--folder", str(folder)]
    with Popen(command, cwd=ROOT, env=quick_jvm.environment(), stdout=PIPE, stderr=PIPE, text=True) as cut_short:
        _wait_for_batches(cut_short, folder, 1)
        _jvm_of(cut_short).send_signal(signal.SIGKILL)
        _, complaint = cut_short.communicate(timeout=60)
    resumed = run_demo(command)

    assert cut_short.returncode == 1
    assert "the same command goes on from here" in complaint
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert "going on with the run that was cut short" in resumed.stdout
    assert "no key has state left" in resumed.stdout
    complete = re.findall(r"^ +\d+ s  (\w+) +(\d+)/\2  [\d,]+ in, 0 late, [\d,]+ out\b", resumed.stdout, re.MULTILINE)
    assert sorted(name for name, _ in complete) == sorted(QUESTIONS)
    return folder


@pytest.mark.parametrize("question", TRUTH)
def test_the_answers_are_what_plain_pandas_says(answers: Path, question: Question) -> None:
    assert_right(question, answers)


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
