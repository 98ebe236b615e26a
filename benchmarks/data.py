"""The synthetic stream: seeded, written once as Parquet files and read again by every system."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Distribution: TypeAlias = Literal["uniform", "zipf", "each once"]

SCHEMA: Final = pa.schema([("key", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("value", pa.float64())])
SECOND: Final = 1_000_000
"""A second in microseconds, in which times are computed."""

_EXPONENT: Final = 1.1


@dataclass(frozen=True, slots=True)
class Pace:
    """The event time of a stream, in whole seconds.

    Attributes:
        start: The time of the first row, since the epoch; not 0, where Spark's first watermark lies.
        span: The event time that a file covers; 500 at least.
    """

    start: int = 1_700_000_000
    span: int = 1000

    @property
    def disorder(self) -> int:
        """The longest time by which a row arrives late."""
        return self.span // 500

    @property
    def delay(self) -> int:
        """The delay of the watermark of queries: five times the disorder, so no row is late."""
        return 5 * self.disorder


USUAL_PACE: Final = Pace()
"""A file in 1000 seconds, with rows up to 2 s late."""


@dataclass(frozen=True, slots=True)
class Data:
    """A stream; the same fields give the same rows.

    Attributes:
        keys: The number of keys: 0, 1, ...
        rows: Rows per file.
        files: The number of files; each covers a span of event time, the next one the span after it.
        distribution: The distribution of rows over keys. Of Zipf keys, key k has a share that falls with
            (k + 1) ** 1.1. Of keys that are each there once, a file has each as often as all others, in random order.
        seed: The seed of the random numbers.
        pace: The pace of event time.
    """

    keys: int
    rows: int = 1_000_000
    files: int = 5
    distribution: Distribution = "uniform"
    seed: int = 20240501
    pace: Pace = USUAL_PACE

    @property
    def name(self) -> str:
        """The name of the stream's folder; other fields give another name."""
        times = f"{self.pace.span}-s-from-{self.pace.start}"
        return f"{self.distribution.replace(' ', '-')}-{self.keys}-keys-{self.rows}-rows-{times}-seed-{self.seed}"


@dataclass(frozen=True, slots=True)
class Files:
    """The first files of a stream, in the order of their times.

    Attributes:
        folder: The folder in which they lie; there may be more in it.
        paths: The files to read.
        rows: Rows per file.
        delay: The delay of the watermark of queries over them, in seconds.
    """

    folder: Path
    paths: tuple[Path, ...]
    rows: int
    delay: int = USUAL_PACE.delay

    def first(self, count: int) -> Files:
        """Return the first files alone."""
        return replace(self, paths=self.paths[:count])


def write_data(data: Data, folder: Path) -> Files:
    """Write those files of a stream that are not there yet, and return all that were asked for.

    The rows of a file do not depend on the number of files.

    Args:
        data: The stream.
        folder: The folder in which the stream gets a folder of its own.
    """
    stream_folder = folder / data.name
    stream_folder.mkdir(parents=True, exist_ok=True)
    paths = tuple(stream_folder / f"{number:04}.parquet" for number in range(data.files))
    for number, path in enumerate(paths):
        if not path.exists():
            write_file(table_of(data, number), path, number)
    return Files(stream_folder, paths, data.rows, data.pace.delay)


def write_file(table: pa.Table, path: Path, number: int) -> None:
    """Write a file of a stream so that it is there whole or not at all.

    Args:
        table: Its rows.
        path: Its path.
        number: Its place among the files. Spark's file source reads files in the order of their times of modification,
            so these rise with it.
    """
    partial = path.with_name(f".{path.name}.partial")
    pq.write_table(table, partial)
    modified = USUAL_PACE.start + number
    os.utime(partial, (modified, modified))
    os.replace(partial, path)


def table_of(data: Data, number: int) -> pa.Table:
    """Return the rows of a file in the order of their arrival; their times are evenly spread over its span."""
    random = np.random.default_rng([data.seed, number, data.keys])
    span = data.pace.span * SECOND
    first = data.pace.start * SECOND + number * span
    at = first + np.arange(data.rows) * span // data.rows
    arrival = at + random.integers(0, data.pace.disorder * SECOND, data.rows)
    order = np.argsort(arrival, kind="stable")
    key = _keys(data, random)
    value = random.normal(100.0, 15.0, data.rows)
    return pa.table([key, pa.array(at[order], SCHEMA.field("at").type), value], schema=SCHEMA)


def _keys(data: Data, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw the keys of a file's rows."""
    if data.distribution == "uniform":
        return random.integers(0, data.keys, data.rows)
    if data.distribution == "each once":
        return random.permutation(np.arange(data.rows, dtype=np.int64) % data.keys)
    shares = np.cumsum(np.arange(1, data.keys + 1) ** -_EXPONENT)
    return np.searchsorted(shares / shares[-1], random.random(data.rows), side="right").astype(np.int64)
