"""The results of a query in SQL: shown as a table, or written to a file or a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from muntin_cli.errors import UsageError
from muntin_cli.output import show, show_data
from muntin_cli.query_inputs import FORMATS

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN: Final = 50
"""The number of rows that are shown."""


def show_rows(rows: pa.Table) -> None:
    """Print the first rows of a table."""
    cells: list[list[str]] = []
    for row in rows.slice(0, SHOWN).to_pylist():
        cells.append([spelled(value) for value in row.values()])
    show_data(rows.schema.names, cells)
    if rows.num_rows > SHOWN:
        show(f"... these are the first {SHOWN} rows; --output writes all")
    elif not rows.num_rows:
        show("no rows")


def spelled(value: Any) -> str:
    """Return a value of a result as text."""
    if value is None:
        return ""
    if isinstance(value, dict) and {"start", "end"} <= set(value):
        return f"{spelled(value['start'])} - {spelled(value['end'])}"
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))  # the zone is that of all times: the session's, or UTC
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def write_rows(rows: pa.Table, path: Path) -> int:
    """Write rows.

    Args:
        rows: The rows.
        path: A file whose suffix names the format; any other path becomes a folder of Parquet files.

    Returns:
        The number of rows.

    Raises:
        UsageError: The path exists already, or cannot be written.
    """
    check_free(path)
    if path.suffix.lower() in FORMATS:
        with new_file(path) as file:
            _write_file(rows, file, FORMATS[path.suffix.lower()])
    else:
        with new_file(path / "part-00000.parquet") as file:
            _write_file(rows, file, "parquet")
    return int(rows.num_rows)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to in the block; the file gets its name at the end, so that no reader sees a part of it.

    Raises:
        UsageError: The file cannot be written.
    """
    # Each command has a file of its own: another one may write to the same path at this time.
    partial = path.with_name(f".{path.name}.{uuid4().hex}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}\n  name another --output") from error
    finally:
        if partial.exists():  # the block has failed, or the file could not get its name
            partial.unlink()


def _write_file(rows: pa.Table, path: Path, format_name: str) -> None:
    """Write rows in a format; CSV and JSON by DuckDB, since pandas would make floats of whole numbers with nulls."""
    if format_name == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(rows, path)
        return

    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")  # else the text of a time would depend on the machine
    connection.register("muntin_rows", rows)
    options = "FORMAT csv, HEADER true" if format_name == "csv" else "FORMAT json"
    # COPY takes its target as a literal, and no parameter.
    target = str(path).replace("'", "''")
    try:
        connection.execute(f"COPY muntin_rows TO '{target}' ({options})")
    except duckdb.Error as error:
        raise UsageError(f"the rows cannot be written: {error}\n  name another --output") from error


def check_free(path: Path) -> None:
    """Check that nothing would be overwritten.

    Raises:
        UsageError: The path is a file, or a folder that is not empty.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} is there already\n  name another --output, or remove it")
