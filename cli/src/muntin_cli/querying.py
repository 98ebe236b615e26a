"""Queries in SQL over folders of files: the tables, a run with its progress, and the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
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
        name: Its name in the query.
        path: Its folder, or its only file.
        format: The format of the files.
        files: How many there are now.
    """

    name: str
    path: Path
    format: str
    files: int

    def static(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the files that are there, with the types that these show."""
        return spark.read.options(**_OPTIONS[self.format]).format(self.format).load(str(self.path))

    def streaming(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the files, as they come, with the types of those that are there now."""
        stream = spark.readStream.options(**_OPTIONS[self.format]).schema(self.static(spark).schema)
        where = self.path if self.path.is_dir() else self.path.parent
        return stream.format(self.format).option("pathGlobFilter", self._glob).load(str(where))

    @property
    def _glob(self) -> str:
        return "*" if self.path.is_dir() else self.path.name


def tables_of(inputs: Sequence[str]) -> list[InputTable]:
    """Return the tables that `--input` names: `NAME=PATH`, a file, a folder of files, or one of such folders.

    Raises:
        UsageError: There is no such path, no file in it that can be read, or a name is there twice.
    """
    found: list[InputTable] = []
    for given in inputs:
        name, is_named, path = given.partition("=")
        folder = Path(path if is_named else name)
        if not folder.exists():
            raise UsageError(f"--input {given}: there is no {folder}\n  expected: a file, a folder, or NAME=FOLDER")
        found += [_table(name if is_named else folder.resolve().stem, folder)] if _files(folder) else _inner(folder)
    names = [table.name for table in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two inputs are called {twice[0]}\n  name one of them: --input other={twice[0]}")
    return found


@contextmanager
def views_of(spark: SparkSession, tables: Sequence[InputTable], *, is_streaming: bool) -> Iterator[None]:
    """Let the inputs be tables of the session within the block, by their names."""
    names = ["`" + table.name.replace("`", "``") + "`" for table in tables]
    try:
        for name, table in zip(names, tables, strict=True):
            rows = table.streaming(spark) if is_streaming else table.static(spark)
            rows.createOrReplaceTempView(name)
        yield
    finally:
        for name in names:
            spark.sql(f"DROP VIEW IF EXISTS {name}")


def _inner(folder: Path) -> list[InputTable]:
    inside = [part for part in sorted(folder.iterdir()) if part.is_dir() and _files(part)] if folder.is_dir() else []
    if not inside:
        raise UsageError(f"{folder} has no files that can be read\n  expected: files named {', '.join(FORMATS)}")
    return [_table(part.name, part) for part in inside]


def _files(path: Path) -> list[Path]:
    """Return the files of a table: itself, or those in the folder, also in folders of partitions such as `day=1`."""
    if path.is_file():
        return [path] if path.suffix.lower() in FORMATS else []
    files = [*path.glob("*"), *path.glob("*=*/**/*")]
    return [file for file in files if file.suffix.lower() in FORMATS and file.is_file() and file.name[0] not in "._"]


def _table(name: str, path: Path) -> InputTable:
    files = _files(path)
    formats = sorted({FORMATS[file.suffix.lower()] for file in files})
    if len(formats) > 1:
        raise UsageError(f"{path} has files of several formats, {' and '.join(formats)}\n  keep each in its own folder")
    return InputTable(name.replace("-", "_"), path, formats[0], len(files))


def show_rows(rows: DataFrame) -> None:
    """Print the first rows of a table."""
    found = rows.limit(_SHOWN + 1).collect()
    columns = rows.columns
    show_table(columns, [[spelled(row[name]) for name in columns] for row in found[:_SHOWN]])
    if len(found) > _SHOWN:
        show(f"... these are the first {_SHOWN} rows; --output writes all")
    elif not found:
        show("no rows")


def spelled(value: Any) -> str:
    """Return a value of a result as text."""
    if value is None:
        return ""
    if isinstance(value, tuple) and {"start", "end"} <= set(getattr(value, "__fields__", ())):
        return f"{value.start} - {value.end}"  # type: ignore[attr-defined]  # a Row of Spark's
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_rows(rows: DataFrame, path: Path) -> int:
    """Write the rows of a query that has ended into a folder of Parquet files, or into one file by its name's end.

    Returns:
        How many rows there are.

    Raises:
        UsageError: There is something already.
    """
    check_free(path)
    if path.suffix.lower() not in FORMATS:
        rows.write.parquet(str(path))
        return rows.sparkSession.read.parquet(str(path)).count()
    table = rows.toArrow()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    match FORMATS[path.suffix.lower()]:
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
    """Refuse to write where something is.

    Raises:
        UsageError: There is.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} is there already\n  name another --output, or remove it")


@contextmanager
def progress_of(spark: SparkSession, told: str) -> Iterator[None]:
    """Show the tasks that Spark has done, while a query runs; nothing where output goes to a file."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task, is_over = bar.add_task(told, total=None), False

        def look() -> None:
            while not is_over:
                tracker = spark.sparkContext.statusTracker()
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                known = [stage for stage in stages if stage is not None]
                if known:
                    done, total = sum(one.numCompletedTasks for one in known), sum(one.numTasks for one in known)
                    bar.update(task, completed=done, total=total)
                time.sleep(_POLL)

        thread = Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over = True
            thread.join()


def follow(start: Callable[[], StreamingQuery]) -> int:
    """Run a streaming query until it ends or Ctrl-C, and show how far it is.

    Returns:
        How many rows it has read.
    """
    console, read, seen = Console(stderr=True), 0, -1
    query = start()

    def count_new() -> None:
        nonlocal read, seen
        for one in query.recentProgress:  # which holds the last hundred
            if one["batchId"] > seen:
                seen, read = one["batchId"], read + one["numInputRows"]

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("waiting for files; Ctrl-C ends it", total=None)
        try:
            while not query.awaitTermination(1):
                count_new()
                told = f"{counted(read, 'row')} in {counted(seen + 1, 'micro-batch')}; Ctrl-C ends it"
                bar.update(task, description=told.replace("batchs", "batches"))
        except KeyboardInterrupt:
            query.stop()
            query.awaitTermination()
    count_new()
    return read
