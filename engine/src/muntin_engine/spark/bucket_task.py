"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from muntin import EARLIEST, INFINITY
from muntin_engine.core.bucket import Bucket
from muntin_engine.core.cells import Cells
from muntin_engine.core.changes import Progress
from muntin_engine.spark.blobs import to_blob
from muntin_engine.spark.intake import take_in
from muntin_engine.spark.job import Job
from muntin_engine.spark.output import result_tables
from muntin_engine.spark.refused import RefusedRow, refused_row, refused_table

RESULTS: Final = "results"
LATE: Final = "late"
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late` or `rejected`; or `accepted`, which is a count alone.
        rows: How many rows it stands for.
        data: Them as an Arrow IPC stream; None for a count alone.
    """

    stream: str
    rows: int
    data: bytes | None = None


def run_bucket(job: Job, cells: Cells, blobs: Iterable[bytes], arrived: Progress) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket.

    Args:
        job: The query.
        cells: The bucket's state.
        blobs: Its rows.
        arrived: The progress of the whole input, as all tasks of the map side saw it in this batch.
    """
    with _without_collector():
        intake = take_in(job, blobs)
        result = Bucket(job.query, cells, job.codec, job.identity).process(intake.changes, _complete(job, arrived))
        tables = list(result_tables(job, result.output))
    yield OutputBlob(ACCEPTED, result.accepted)
    yield from (OutputBlob(RESULTS, table.num_rows, to_blob(table)) for table in tables)
    refused = [*intake.refused, *(refused_row(job, key, refusal) for key, refusal in result.refusals)]
    yield from _refused(LATE, [row for row in refused if row.is_late])
    yield from _refused(REJECTED, [row for row in refused if not row.is_late])


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
    if job.is_static:
        return Progress(INFINITY, arrived.horizon, arrived.newest)
    if job.delay is None or arrived.newest == EARLIEST:
        return arrived
    return Progress(max(arrived.punctuation, arrived.newest - job.delay), arrived.horizon, arrived.newest)


def _refused(stream: str, rows: list[RefusedRow]) -> Iterator[OutputBlob]:
    if rows:
        yield OutputBlob(stream, len(rows), to_blob(refused_table(rows)))
