"""Queries in SQL over folders of files: the tables, a run with its progress, and the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from muntin_cli.errors import UsageError
from muntin_cli.output import counted, show, show_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMATS: Final = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv"}
"""The formats of files, by how their names end."""

_OPTIONS: Final = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}, "parquet": {}}
_SHOWN: Final = 50
_POLL: Final = 0.2


@dataclass(frozen=True)
class InputTable:
    """A table of files.

    Attributes:
        name: Name of the table in the query.
        path: Folder of the files, or the only file.
        format: Format of the files, as Spark names it.
        files: Number of files at present.
    """

    name: str
    path: Path
    format: str
    files: int

    def static(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the present files, with the types that Spark infers from them."""
        return spark.read.options(**_OPTIONS[self.format]).format(self.format).load(str(self.path))

    def streaming(self, spark: SparkSession) -> DataFrame:
        """Return the rows of present and later files as a stream, with the types that the present files have."""
        stream = spark.readStream.options(**_OPTIONS[self.format]).schema(self.static(spark).schema)
        folder = self.path
        pattern = "*"
        if not self.path.is_dir():
            # Spark streams folders only: a single file is the folder's only one that matches.
            folder = self.path.parent
            pattern = self.path.name
        return stream.format(self.format).option("pathGlobFilter", pattern).load(str(folder))


def tables_of(inputs: Sequence[str]) -> list[InputTable]:
    """Return the tables that values of `--input` name.

    Args:
        inputs: Values, each `NAME=PATH` or a path: of a file, of a folder of files, or of a folder of such folders.

    Raises:
        UsageError: A path does not exist or has no readable files, or two tables have the same name.
    """
    tables: list[InputTable] = []
    for text in inputs:
        name, has_name, path_text = text.partition("=")
        path = Path(path_text if has_name else text)
        if not path.exists():
            raise UsageError(f"--input {text}: there is no {path}\n  expected: a file, a folder, or NAME=FOLDER")
        if not _files(path):
            tables += _tables_inside(path)
        elif has_name:
            tables.append(_table(name, path))
        else:
            tables.append(_table(path.resolve().stem, path))
    names = [table.name for table in tables]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise UsageError(f"two inputs are called {duplicates[0]}\n  name one of them: --input other={duplicates[0]}")
    return tables


@contextmanager
def views_of(spark: SparkSession, tables: Sequence[InputTable], *, is_streaming: bool) -> Iterator[None]:
    """Register the tables as temporary views of the session within the block."""
    names = ["`" + table.name.replace("`", "``") + "`" for table in tables]
    try:
        for name, table in zip(names, tables, strict=True):
            rows = table.streaming(spark) if is_streaming else table.static(spark)
            rows.createOrReplaceTempView(name)
        yield
    finally:
        for name in names:
            spark.sql(f"DROP VIEW IF EXISTS {name}")


def _tables_inside(folder: Path) -> list[InputTable]:
    tables: list[InputTable] = []
    if folder.is_dir():
        for part in sorted(folder.iterdir()):
            if part.is_dir() and _files(part):
                tables.append(_table(part.name, part))
    if not tables:
        raise UsageError(f"{folder} has no files that can be read\n  expected: files named {', '.join(FORMATS)}")
    return tables


def _files(path: Path) -> list[Path]:
    """Return the files of a table: the file itself, or the folder's, also in partition folders such as `day=1`."""
    if path.is_file():
        return [path] if path.suffix.lower() in FORMATS else []
    files: list[Path] = []
    for file in [*path.glob("*"), *path.glob("*=*/**/*")]:
        is_hidden = file.name[0] in "._"  # Spark ignores these, too
        if file.suffix.lower() in FORMATS and file.is_file() and not is_hidden:
            files.append(file)
    return files


def _table(name: str, path: Path) -> InputTable:
    files = _files(path)
    formats = sorted({FORMATS[file.suffix.lower()] for file in files})
    if len(formats) > 1:
        raise UsageError(f"{path} has files of several formats, {' and '.join(formats)}\n  keep each in its own folder")
    return InputTable(name.replace("-", "_"), path, formats[0], len(files))


def show_rows(rows: DataFrame) -> None:
    """Print the first rows of a DataFrame."""
    first_rows = rows.limit(_SHOWN + 1).collect()  # one more than is shown tells whether there are more
    cells: list[list[str]] = []
    for row in first_rows[:_SHOWN]:
        cells.append([spelled(row[name]) for name in rows.columns])
    show_table(rows.columns, cells)
    if len(first_rows) > _SHOWN:
        show(f"... these are the first {_SHOWN} rows; --output writes all")
    elif not first_rows:
        show("no rows")


def spelled(value: Any) -> str:
    """Return a value of a result as text."""
    if value is None:
        return ""
    if isinstance(value, tuple) and {"start", "end"} <= set(getattr(value, "__fields__", ())):
        return f"{value.start} - {value.end}"  # type: ignore[attr-defined]  # a Row of Spark's
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def write_rows(rows: DataFrame, path: Path) -> int:
    """Write the rows of a query that has ended.

    Args:
        rows: The rows.
        path: A file whose suffix names the format; any other path becomes a folder of Parquet files.

    Returns:
        The number of rows.

    Raises:
        UsageError: The path exists already.
    """
    check_free(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        rows.write.parquet(str(path))
        return rows.sparkSession.read.parquet(str(path)).count()
    table = rows.toArrow()
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file gets its name when it is complete: a reader never sees a part of it.
    partial = path.with_name(f".{path.name}.partial")
    match FORMATS[suffix]:
        case "parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, partial)
        case "csv":
            table.to_pandas().to_csv(partial, index=False)
        case _:
            table.to_pandas().to_json(partial, orient="records", lines=True, date_format="iso")
    partial.replace(path)
    return int(table.num_rows)


def check_free(path: Path) -> None:
    """Check that nothing would be overwritten.

    Raises:
        UsageError: The path is a file, or a folder that is not empty.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} is there already\n  name another --output, or remove it")


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
    """Counts the rows and micro-batches of a streaming query from its progress."""

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
        for progress in self._query.recentProgress:  # Spark keeps the last hundred
            if progress["batchId"] > self._last_batch:
                self._last_batch = progress["batchId"]
                self.rows += progress["numInputRows"]


def follow(start: Callable[[], StreamingQuery]) -> int:
    """Run a streaming query until it ends or Ctrl-C, and show its progress.

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
            while not query.awaitTermination(1):
                count.update()
                batches = counted(count.batches, "micro-batch").replace("batchs", "batches")
                bar.update(task, description=f"{counted(count.rows, 'row')} in {batches}; Ctrl-C ends it")
        except KeyboardInterrupt:
            query.stop()
            query.awaitTermination()
    count.update()
    return count.rows
