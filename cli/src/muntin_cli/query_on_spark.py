"""Queries in SQL over folders of files on Spark: views of the tables, and a run with its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from muntin_cli.output import counted
from muntin_cli.query_inputs import FORMATS, InputTable
from muntin_cli.query_results import SHOWN, check_free, show_rows, write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_POLL: Final = 0.2
"""The seconds from one look at Spark's tasks to the next."""


@contextmanager
def views_of(spark: SparkSession, tables: Sequence[InputTable], *, is_streaming: bool) -> Iterator[None]:
    """Register the tables as temporary views of the session within the block."""
    # Within backticks a name may have any characters, with each backtick twice.
    names = ["`" + table.name.replace("`", "``") + "`" for table in tables]
    try:
        for name, table in zip(names, tables, strict=True):
            rows = table.streaming(spark) if is_streaming else table.static(spark)
            rows.createOrReplaceTempView(name)
        yield
    finally:
        for name in names:
            spark.sql(f"DROP VIEW IF EXISTS {name}")


def show_first_rows(rows: DataFrame) -> None:
    """Print the first rows of a DataFrame."""
    show_rows(rows.limit(SHOWN + 1).toArrow())  # one more than is shown tells whether there are more


def write_all_rows(rows: DataFrame, path: Path) -> int:
    """Write the rows of a query, and return their number.

    Args:
        rows: The rows of a query that is no stream.
        path: A file whose suffix names the format; any other path becomes a folder of Parquet files.

    Raises:
        UsageError: The path exists already, or cannot be written.
    """
    if path.suffix.lower() in FORMATS:
        return write_rows(rows.toArrow(), path)
    check_free(path)
    rows.write.parquet(str(path))
    # Counting the files is cheaper than running the query once more.
    return rows.sparkSession.read.parquet(str(path)).count()


@contextmanager
def progress_of(spark: SparkSession, description: str) -> Iterator[None]:
    """Show in a terminal how many of Spark's tasks are done while the block runs a query."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=None)
        is_over = Event()

        def poll() -> None:
            """Update the bar every now and then until the block is over."""
            while not is_over.is_set():
                tasks = _count_tasks(spark)
                if tasks is not None:
                    bar.update(task, completed=tasks.completed, total=tasks.total)
                is_over.wait(_POLL)

        thread = Thread(target=poll, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


@dataclass(frozen=True)
class _TaskCount:
    """The number of Spark's tasks, and of those that are completed."""

    completed: int
    total: int


def _count_tasks(spark: SparkSession) -> _TaskCount | None:
    """Count the tasks of Spark's active stages; None while there are none."""
    tracker = spark.sparkContext.statusTracker()
    has_stages = False
    completed = 0
    total = 0
    for number in tracker.getActiveStageIds():
        stage = tracker.getStageInfo(number)
        if stage is None:
            continue  # it ended meanwhile
        has_stages = True
        completed += stage.numCompletedTasks
        total += stage.numTasks
    return _TaskCount(completed, total) if has_stages else None


class _InputCount:
    """Counts the rows and micro-batches of a streaming query from its progress.

    Attributes:
        rows: The number of rows so far.
    """

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._last_batch = -1
        self.rows = 0

    @property
    def batches(self) -> int:
        """The number of micro-batches so far."""
        return self._last_batch + 1

    def update(self) -> None:
        """Add the micro-batches that ended since the last update."""
        for progress in self._query.recentProgress:  # Spark keeps that of the last hundred micro-batches
            if progress["batchId"] > self._last_batch:
                self._last_batch = progress["batchId"]
                self.rows += progress["numInputRows"]


def follow(start: Callable[[], StreamingQuery]) -> int:
    """Run a streaming query until it ends or Ctrl-C, and show its progress.

    Args:
        start: The function that starts the query.

    Returns:
        The number of rows that the query has read.
    """
    console = Console(stderr=True)
    query = start()
    count = _InputCount(query)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("waiting for files; Ctrl-C ends it", total=None)
        try:
            # A second at a time, so that the bar goes on and Ctrl-C is heard.
            while not query.awaitTermination(1):
                count.update()
                # `counted` makes a plural by an "s".
                batches = counted(count.batches, "micro-batch").replace("batchs", "batches")
                bar.update(task, description=f"{counted(count.rows, 'row')} in {batches}; Ctrl-C ends it")
        except KeyboardInterrupt:
            query.stop()
            query.awaitTermination()
    count.update()
    return count.rows
