"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from muntin import EARLIEST, INFINITY, TimestampPolicy
from muntin_engine.columnar.store import ColumnarStore
from muntin_engine.core.bucket import Bucket
from muntin_engine.core.cells import Cells
from muntin_engine.core.changes import Progress
from muntin_engine.core.sliced.bucket import SliceBucket
from muntin_engine.core.sliced.grid import promised, settled
from muntin_engine.core.sliced.kept import KeptStores
from muntin_engine.core.sliced.states import StateStore
from muntin_engine.plan import Evaluator
from muntin_engine.spark.blobs import to_blob
from muntin_engine.spark.closed import closed_tables, run_tables
from muntin_engine.spark.intake import take_in
from muntin_engine.spark.job import Job
from muntin_engine.spark.output import result_tables
from muntin_engine.spark.refused import RefusedRow, refused_row, refused_table

RESULTS: Final = "results"
LATE: Final = "late"
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"
PUNCTUATION: Final = "punctuation"

_KEPT: Final = KeptStores()
"""What this worker keeps between micro-batches."""


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late` or `rejected`; or `accepted`, which is a count alone; or `punctuation`.
        rows: How many rows it stands for; for punctuation, the tick below which the output does not change any more.
        data: Them as an Arrow IPC stream; None for a number alone.
    """

    stream: str
    rows: int
    data: bytes | None = None


@dataclass(slots=True)
class Arrived:
    """What a micro-batch brings a bucket.

    Attributes:
        rows: Blobs of rows.
        partials: Blobs of partial states.
        progress: The progress of the whole input, as all tasks of the map side saw it in this batch.
        signals: The names of the external events in it.
    """

    rows: list[bytes] = field(default_factory=list)
    partials: list[bytes] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    signals: frozenset[str] = frozenset()


def run_bucket(job: Job, bucket: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket.

    Args:
        job: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrived: The batch.
    """
    if job.grids:
        yield from _run_sliced(job, bucket, cells, arrived)
    else:
        yield from _run_general(job, cells, arrived)


def _run_general(job: Job, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    with _without_collector():
        intake = take_in(job, arrived.rows)
        bucket = Bucket(job.query, cells, job.codec, job.identity)
        result = bucket.process(intake.changes, _complete(job, arrived.progress), signals=arrived.signals)
        tables = list(result_tables(job, result.output))
    yield OutputBlob(ACCEPTED, result.accepted)
    yield OutputBlob(PUNCTUATION, result.punctuation)
    yield from _results(tables)
    refused = [*intake.refused, *(refused_row(job, key, refusal) for key, refusal in result.refusals)]
    yield from _refused(LATE, [row for row in refused if row.is_late])
    yield from _refused(REJECTED, [row for row in refused if not row.is_late])


def _run_sliced(job: Job, number: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    is_columnar = job.evaluator is Evaluator.COLUMNAR
    with _without_collector():
        intake = take_in(job, arrived.rows)
        bucket: SliceBucket[Any] = SliceBucket(
            job.grids,
            lambda: ColumnarStore(job.grids, job.forms) if is_columnar else StateStore(job.sliced_query),
            cells,
            job.codec,
            job.identity,
            KeptStores() if job.is_static else _KEPT,
            (job.name, number),
        )
        result = bucket.process(arrived.partials, _complete(job, arrived.progress))
        to_tables = closed_tables if is_columnar else run_tables
        tables = [table for complete in result.output for table in to_tables(job, complete)]
    at_end = job.query.timestamps is TimestampPolicy.POINT_AT_END
    yield OutputBlob(ACCEPTED, result.accepted)
    yield OutputBlob(PUNCTUATION, promised(job.grids, result.progress.punctuation, at_end=at_end))
    yield from _results(tables)
    if result.late:
        yield OutputBlob(LATE, result.late)
    yield from _refused(REJECTED, intake.refused)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Put off looking for cycles: rows are in none, and walking over a batch again and again takes most of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _complete(job: Job, arrived: Progress) -> Progress:
    """Return the progress with what the rows do not say themselves: the end of a static input, or the delay."""
    punctuation = INFINITY if job.is_static else arrived.punctuation
    if job.delay is not None and arrived.newest > EARLIEST:
        punctuation = max(punctuation, arrived.newest - job.delay)
    if job.steps:
        punctuation = settled(job.steps, punctuation)
    return replace(arrived, punctuation=punctuation)


def _results(tables: Iterable[pa.Table]) -> Iterator[OutputBlob]:
    return (OutputBlob(RESULTS, table.num_rows, to_blob(table)) for table in tables)


def _refused(stream: str, rows: list[RefusedRow]) -> Iterator[OutputBlob]:
    if rows:
        yield OutputBlob(stream, len(rows), to_blob(refused_table(rows)))
