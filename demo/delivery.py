"""The flights as a physical stream: inserts, revisions and punctuations, in the order in which they are delivered."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from demo.flights import TIME

SLACK = pd.Timedelta("10 minutes")  # no row is delivered this late after its sync time
PERIOD = pd.Timedelta("15 minutes")  # of delivery time, from one punctuation to the next
FIRST_MODIFIED = pd.Timestamp("2014-01-01", tz="UTC")  # a fixed time for the first file, so that a rerun gives the same

_PANDAS_TYPES = {
    "id": "Int64",
    "origin": "string",
    "carrier": "string",
    "tailnum": "string",
    "distance": "float64",
    "dep_delay": "float64",
    "departure": TIME,
    "end": TIME,
    "new_end": TIME,
    "change": "string",
    "delivered": TIME,
}
_ARROW_TYPES = {"Int64": pa.int64(), "string": pa.string(), "float64": pa.float64(), TIME: pa.timestamp("us", "UTC")}
SCHEMA = pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in _PANDAS_TYPES.items()])


def deliver(flown: pd.DataFrame) -> pd.DataFrame:
    """Turn flights into the rows a query receives, in delivery order.

    Each flight is inserted at its departure with an unknown end and revised at its arrival. Either row is delivered
    `id * 7919 mod 600` seconds after its sync time. At every quarter of an hour T of delivery time follows, after the
    rows delivered at T, a punctuation at T - 10 minutes: nothing that comes later has a smaller sync time. At the
    quarter after the last row the stream is closed.

    Args:
        flown: What `demo.flights.flights` gives; at least one row.

    Returns:
        `id`, `origin`, `carrier`, `tailnum`, `distance`, `dep_delay`, `departure` (in
        punctuations, the watermark), `end` (always null: not known yet), `new_end` (in revisions), `change`
        ("insert", "revise", "punctuate" or "close") and `delivered`. The one "close" row comes last.

    Raises:
        ValueError: If there is no flight.
    """
    if flown.empty:
        raise ValueError("no flights to deliver\n  expected at least one row; choose months that have flights")
    inserts = flown.assign(change="insert", delivered=flown["departure"] + _lag(flown["id"]))
    revisions = flown.assign(change="revise", delivered=flown["arrival"] + _lag(flown["id"]), new_end=flown["arrival"])
    ticks = _punctuations(inserts["delivered"].min(), revisions["delivered"].max())
    rows = pd.concat([_typed(part) for part in (inserts, revisions, ticks)])
    return rows.sort_values("delivered", kind="stable", ignore_index=True)  # ties stay: inserts, revisions, punctuation


def write_stream(flown: pd.DataFrame, folder: Path, span: str = "1 day") -> list[Path]:
    """Write the stream of some flights into a folder, one Parquet file per span of delivery time that has a row.

    Both the names and the modification times rise with delivery time, as Spark's file source reads by time, then path.
    The times are one second apart, so that no file is too old for that source (its `maxFileAge`). The same arguments
    give the same bytes, names and times. The folder appears, or is replaced, as a whole: if it exists, it is complete.

    Args:
        flown: What `demo.flights.flights` gives; at least one row.
        folder: Where to write. An earlier stream is replaced.
        span: Delivery time per file, at least a second, aligned to the epoch, such as "1 day" or "6 hours".

    Returns:
        The files in delivery order; the last one ends with the row that closes the stream.

    Raises:
        ValueError: If there is no flight, or the span is too short.
        FileExistsError: If the folder holds anything else than Parquet files.
    """
    step = _checked_span(span)
    _check_replaceable(folder)
    rows = deliver(flown)
    partial = _emptied(folder.with_name(f".{folder.name}.partial"))
    names = [_write(part, partial, start, second) for second, (start, part) in enumerate(_split(rows, step))]
    _replace(folder, partial)
    return [folder / name for name in names]


def _lag(ids: pd.Series) -> pd.Series:
    return pd.to_timedelta(ids * 7919 % 600, unit="s")


def _punctuations(first: pd.Timestamp, last: pd.Timestamp) -> pd.DataFrame:
    """Give one row per quarter of an hour from the first delivery on; the one after the last delivery closes."""
    times = pd.date_range(first.ceil(PERIOD), last.floor(PERIOD) + PERIOD, freq=PERIOD)
    ticks = pd.DataFrame({"change": "punctuate", "departure": times - SLACK, "delivered": times})
    ticks.loc[ticks.index[-1], ["change", "departure"]] = ["close", pd.NaT]
    return ticks


def _typed(part: pd.DataFrame) -> pd.DataFrame:
    return part.reindex(columns=list(_PANDAS_TYPES)).astype(_PANDAS_TYPES)


def _checked_span(span: str) -> pd.Timedelta:
    step = pd.Timedelta(span)
    if not step >= pd.Timedelta("1 second"):
        raise ValueError(f"the span {span!r} is too short for one file\n  expected at least '1 second'")
    return step


def _check_replaceable(folder: Path) -> None:
    foreign = sorted(path.name for path in folder.glob("*") if path.suffix != ".parquet")
    if foreign:
        raise FileExistsError(f"{folder} holds {foreign[0]!r}\n  expected only Parquet files; choose another folder")


def _split(rows: pd.DataFrame, step: pd.Timedelta) -> Iterator[tuple[pd.Timestamp, pa.Table]]:
    table = pa.Table.from_pandas(rows, SCHEMA, preserve_index=False).replace_schema_metadata(None)
    offset = 0
    for start, length in rows.groupby(rows["delivered"].dt.floor(step)).size().items():
        yield start, table.slice(offset, length)
        offset += length


def _write(part: pa.Table, folder: Path, start: pd.Timestamp, second: int) -> str:
    path = folder / f"{start:%Y-%m-%dT%H%M%SZ}.parquet"
    pq.write_table(part, path)
    modified = FIRST_MODIFIED.timestamp() + second
    os.utime(path, (modified, modified))
    return path.name


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _replace(folder: Path, complete: Path) -> None:
    """Put the complete folder in place by two renames: a kill in between leaves no folder, never half of one."""
    old = _emptied(folder.with_name(f".{folder.name}.old"))
    if folder.exists():
        folder.rename(old)
    complete.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
