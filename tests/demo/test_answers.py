"""The demo's command: its early results, folded, are the answers, also if its run was cut short on the way.

`test_final` has the final results. Both files of a question are compared with the same rows in the same order, and with
the same types: they are alike. The command runs in the session of the tests; that a JVM which is killed costs no row is
told in `tests/engine/backends/spark/session/test_session.py`.
"""

from __future__ import annotations

import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from demo import __main__ as program
from demo import on_spark
from demo.questions import QUESTIONS
from demo.run import Run
from demo.tally import Tally
from tests.cli.running import CommandRun
from tests.demo.files import DAYS, TRUTH, Question, assert_right


class CutShort(Run):
    """A run whose JVM is gone after the first micro-batch."""

    def start(self, spark: SparkSession) -> StreamingQuery:
        """Run one micro-batch, and fail as if the JVM had died."""
        query = super().start(spark)
        while not self.batches_done() and not query.awaitTermination(0.1):  # type: ignore[arg-type]  # of any length
            continue
        query.stop()
        raise Py4JNetworkError("the JVM is gone")


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo has put its files, the second time: the first time it was cut short."""
    folder = tmp_path_factory.mktemp("demo")
    tallies: list[Tally] = []

    def new_tally() -> Tally:
        tallies.append(Tally())
        return tallies[-1]

    arguments = ["--days", str(DAYS), "--emit", "speculative", "--folder", str(folder)]
    with pytest.MonkeyPatch.context() as patch, pytest.MonkeyPatch.context() as cut:
        # The demo's session is that of the tests, which goes on after it.
        patch.setattr(on_spark, "local_session", lambda name, log: spark)
        patch.setattr(on_spark, "stop_session", lambda session: session.streams.removeListener(tallies[-1]))
        patch.setattr(on_spark, "Tally", new_tally)

        cut.setattr(program, "Run", CutShort)
        cut_short = run_demo(arguments)
        assert cut_short.code == 1
        assert cut_short.errors == "Spark's JVM has died; the same command goes on from here\n"
        assert "writing the flights as a stream" in cut_short.output
        assert (folder / "run").is_dir()

        cut.undo()
        done = run_demo(arguments)
    assert (done.code, done.errors) == (0, "")
    assert "going on with the run that was cut short" in done.output
    assert "no key has state left" in done.output
    # The last line of each question: all of its micro-batches are done.
    complete = re.findall(r"^ +\d+ s  (\w+) +(\d+)/\2  [\d,]+ in, 0 late, [\d,]+ out\b", done.output, re.MULTILINE)
    assert sorted(name for name, _ in complete) == sorted(QUESTIONS)
    return folder


def run_demo(arguments: list[str]) -> CommandRun:
    """Run the demo in this process."""
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()) as errors:
        code = program.main(arguments)
    return CommandRun(code, output.getvalue(), errors.getvalue())


@pytest.mark.nightly
@pytest.mark.parametrize("question", TRUTH)
def test_early_results_folded_after_a_run_that_was_cut_short_are_what_plain_pandas_says(
    answers: Path, question: Question
) -> None:
    assert_right(question, answers)
