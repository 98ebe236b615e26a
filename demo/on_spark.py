"""The questions as one streaming query in Spark, with its progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from demo.answers import show_answers
from demo.progress_lines import ProgressLines
from demo.questions import BUCKETS, QUESTIONS
from demo.run import Run
from demo.tally import Tally
from muntin_engine import local_session, root_cause, stop_session


def answer_on_spark(run: Run, folder: Path, console: Console) -> None:
    """Answer the questions, or go on where a run was cut short, and show the answers.

    Args:
        run: The run.
        folder: Where the answers and Spark's log are put.
        console: Where the progress is shown.

    Raises:
        RuntimeError: The query failed, or Spark's JVM has died.
    """
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # what it would print is raised here as well
    console.print("going on with the run that was cut short" if run.resumes else "writing the flights as a stream")
    batches = run.prepare()
    try:
        cells = _run_query(run, batches, folder, console)
    except (Py4JError, OSError):
        raise RuntimeError("Spark's JVM has died; the same command goes on from here") from None
    show_answers(folder, console)
    console.print(f"\n{cells} cells of keys are left in the state" if cells else "\nno key has state left")


def _run_query(run: Run, batches: int, folder: Path, console: Console) -> int:
    """Run the query to its end, and return how many cells of keys are left in its state."""
    spark = local_session("muntin demo", log=folder / "spark.log")
    try:
        tally = Tally()
        spark.streams.addListener(tally)
        query = run.start(spark)
        _follow(run, query, tally, batches, console)
        cells = _cells_of_keys(query)
        run.finish(spark)
    except PySparkException as error:
        raise RuntimeError(root_cause(error)) from None  # while there is a session to ask
    finally:
        stop_session(spark)
    return cells


def _follow(run: Run, query: StreamingQuery, tally: Tally, batches: int, console: Console) -> None:
    """Show progress until the query has ended; raise its failure."""
    with shown_progress(QUESTIONS, batches, console) as show:
        is_running = True
        while is_running:
            is_running = not query.awaitTermination(1)  # raises if it failed
            if not is_running:
                tally.take(query.lastProgress)
            most = batches - 1 if is_running else batches  # the last is told with its counts, at the end
            for question in QUESTIONS:
                show(question, min(most, run.batches_done()), tally.line(question))


@contextmanager
def shown_progress(questions: Iterable[str], total: int, console: Console) -> Iterator[Callable[[str, int, str], None]]:
    """Yield a function that shows the progress of a question in batches: in place, or as lines without a terminal."""
    if not console.is_terminal:
        lines = ProgressLines(partial(print, flush=True))
        yield lambda name, done, line: lines.update(name, done, total, line)
        return
    columns = ("{task.description:<9}", BarColumn(12), MofNCompleteColumn(), TimeElapsedColumn(), "{task.fields[line]}")
    with Progress(*columns, console=console) as progress:
        tasks = {name: progress.add_task(name, total=total, line="") for name in questions}
        yield lambda name, done, line: progress.update(tasks[name], completed=done, line=line)


def _cells_of_keys(query: StreamingQuery) -> int:
    """Return the number of cells of state that hold keys; each bucket of a question has one more, its metadata."""
    progress = query.lastProgress
    if progress is None:
        return 0
    cells = sum(operator.numRowsTotal for operator in progress.stateOperators)
    return cells - BUCKETS * len(QUESTIONS)
