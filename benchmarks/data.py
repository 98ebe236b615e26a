"""The synthetic stream: seeded, written once as Parquet files and read again by every system."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Distribution: TypeAlias = Literal["uniform", "zipf", "regular", "each once"]

SCHEMA: Final = pa.schema([("key", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("value", pa.float64())])
MICROSECONDS: Final = 1_000_000
"""In a second."""

_LONGEST: Final = 30 * MICROSECONDS
_EXPONENT: Final = 1.1


@dataclass(frozen=True, slots=True)
class Pace:
    """The event time of a stream, in whole seconds.

    Attributes:
        start: When it starts, since the epoch: not at it, where Spark's first watermark lies.
        span: How much of it a file covers; 500 at least.
    """

    start: int = 1_700_000_000
    span: int = 1000

    @property
    def disorder(self) -> int:
        """A row arrives up to this long after its time."""
        return self.span // 500

    @property
    def delay(self) -> int:
        """Queries wait so long for rows: five times as long as they have to."""
        return 5 * self.disorder


USUAL: Final = Pace()
"""A file in 1000 seconds, with rows up to 2 s late."""


@dataclass(frozen=True, slots=True)
class Data:
    """A stream; the same fields give the same rows.

    Attributes:
        keys: How many keys there are: 0, 1, ...
        rows: Rows per file.
        files: How many files; each covers a span of event time, the next one the span after it.
        distribution: How rows are spread over keys. Of Zipf keys, key k has a share that falls with (k + 1) ** 1.1.
            Regular keys have a row each second, all at the same time; there are as many as the rows are for. Of keys
            that are each there once, a file has each as often as all others, in random order.
        seed: Of the random numbers.
        pace: How event time passes.
    """

    keys: int
    rows: int = 1_000_000
    files: int = 5
    distribution: Distribution = "uniform"
    seed: int = 20240501
    pace: Pace = USUAL

    @property
    def name(self) -> str:
        """A name for a folder; other fields have another name."""
        times = f"{self.pace.span}-s-from-{self.pace.start}"
        return f"{self.distribution.replace(' ', '-')}-{self.keys}-keys-{self.rows}-rows-{times}-seed-{self.seed}"


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
            _write(table_of(data, number), path, data.pace.start + number)
    return Files(own, paths, data.rows)


def split(files: Files, parts: int, folder: Path) -> Files:
    """Write the rows of each file as several files, in order, and return these."""
    paths = list[Path]()
    for path in files.paths:
        table = pq.read_table(path)
        bounds = [number * len(table) // parts for number in range(parts + 1)]
        for first, stop in pairwise(bounds):
            paths.append(folder / f"{len(paths):04}.parquet")
            _write(table[first:stop], paths[-1], USUAL.start + len(paths))
    return Files(folder, tuple(paths), files.rows // parts)


def table_of(data: Data, number: int) -> pa.Table:
    """Return the rows of a file, in the order in which they arrive.

    Their times are evenly spread over the file's span. Of regular keys there are as many rows as fill whole seconds.
    """
    random = np.random.default_rng([data.seed, number, data.keys])
    start, span = (time * MICROSECONDS for time in (data.pace.start, data.pace.span))
    if data.distribution == "regular":
        seconds, keys = (part.ravel() for part in np.indices((data.pace.span, data.rows // data.pace.span)))
        at = start + number * span + seconds * MICROSECONDS
    else:
        at, keys = start + number * span + np.arange(data.rows) * span // data.rows, None
    order = np.argsort(at + random.integers(0, data.pace.disorder * MICROSECONDS, len(at)), kind="stable")
    key = _keys(data, random) if keys is None else keys[order]
    columns = [key, pa.array(at[order], SCHEMA.field("at").type), random.normal(100.0, 15.0, len(at))]
    return pa.table(columns, schema=SCHEMA)


def lifetimes_of(at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return pseudo-random lengths up to 30 s for events that start at given times; all in microseconds."""
    return 1 + at * 7_919 % _LONGEST


def _keys(data: Data, random: np.random.Generator) -> npt.NDArray[np.int64]:
    if data.distribution == "uniform":
        return random.integers(0, data.keys, data.rows)
    if data.distribution == "each once":
        return random.permutation(np.arange(data.rows, dtype=np.int64) % data.keys)
    shares = np.cumsum(np.arange(1, data.keys + 1) ** -_EXPONENT)
    return np.searchsorted(shares / shares[-1], random.random(data.rows), side="right").astype(np.int64)


def _write(table: pa.Table, path: Path, changed: int) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    pq.write_table(table, partial)
    os.utime(partial, (changed, changed))
    os.replace(partial, path)
