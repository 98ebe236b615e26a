"""The synthetic stream: seeded, written once as Parquet files and read again by every system."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Distribution: TypeAlias = Literal["uniform", "zipf"]

SCHEMA: Final = pa.schema([("key", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("value", pa.float64())])
START: Final = 1_700_000_000_000_000
"""When the stream starts, in microseconds since the epoch: not at it, where Spark's first watermark lies."""

SPAN: Final = 1000
"""How many seconds of event time a file covers."""

MICROSECONDS: Final = 1_000_000
"""In a second."""

_SPAN: Final = SPAN * MICROSECONDS
_DISORDER: Final = 2 * MICROSECONDS
_LONGEST: Final = 30 * MICROSECONDS
_EXPONENT: Final = 1.1
_FIRST_FILE: Final = START // MICROSECONDS


@dataclass(frozen=True, slots=True)
class Data:
    """A stream; the same fields give the same rows.

    Attributes:
        keys: How many keys there are: 0, 1, ...
        rows: Rows per file.
        files: How many files; each covers 1000 s of event time, the next one the 1000 s after it.
        distribution: How rows are spread over keys. Of Zipf keys, key k has a share that falls with (k + 1) ** 1.1.
        seed: Of the random numbers.
    """

    keys: int
    rows: int = 1_000_000
    files: int = 5
    distribution: Distribution = "uniform"
    seed: int = 20240501

    @property
    def name(self) -> str:
        """A name for a folder; other fields have another name."""
        return f"{self.distribution}-{self.keys}-keys-{self.rows}-rows-seed-{self.seed}"


@dataclass(frozen=True, slots=True)
class Files:
    """The first files of a stream, in the order of their time.

    Attributes:
        folder: Where they lie; there may be more.
        paths: The files to read.
        rows: Rows per file.
    """

    folder: Path
    paths: tuple[Path, ...]
    rows: int


def write_data(data: Data, folder: Path) -> Files:
    """Write those files of a stream that are not there yet, and return all that were asked for.

    A file's rows do not depend on how many files there are. Spark's file source reads by time of change, so that
    rises from file to file.

    Args:
        data: What to write.
        folder: In which the stream gets a folder of its own.
    """
    own = folder / data.name
    own.mkdir(parents=True, exist_ok=True)
    paths = tuple(own / f"{number:04}.parquet" for number in range(data.files))
    for number, path in enumerate(paths):
        if not path.exists():
            _write(table_of(data, number), path, _FIRST_FILE + number)
    return Files(own, paths, data.rows)


def table_of(data: Data, number: int) -> pa.Table:
    """Return the rows of a file, in the order in which they arrive.

    Their times are evenly spread over the file's 1000 s; a row arrives up to 2 s after its time.
    """
    random = np.random.default_rng([data.seed, number, data.keys])
    at = START + number * _SPAN + np.arange(data.rows) * _SPAN // data.rows
    order = np.argsort(at + random.integers(0, _DISORDER, data.rows), kind="stable")
    columns = [_keys(data, random), pa.array(at[order], SCHEMA.field("at").type), random.normal(100.0, 15.0, data.rows)]
    return pa.table(columns, schema=SCHEMA)


def lifetimes_of(at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return pseudo-random lengths up to 30 s for events that start at given times; all in microseconds."""
    return 1 + at * 7_919 % _LONGEST


def _keys(data: Data, random: np.random.Generator) -> npt.NDArray[np.int64]:
    if data.distribution == "uniform":
        return random.integers(0, data.keys, data.rows)
    shares = np.cumsum(np.arange(1, data.keys + 1) ** -_EXPONENT)
    return np.searchsorted(shares / shares[-1], random.random(data.rows), side="right").astype(np.int64)


def _write(table: pa.Table, path: Path, changed: int) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    pq.write_table(table, partial)
    os.utime(partial, (changed, changed))
    os.replace(partial, path)
