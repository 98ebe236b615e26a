"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from muntin import EARLIEST, INFINITY
from muntin_engine.core.bucket import BatchResult, Bucket
from muntin_engine.core.cells import Cells
from muntin_engine.core.changes import Progress
from muntin_engine.spark.blobs import to_blob
from muntin_engine.spark.intake import RefusedRow, refused_row, take_in
from muntin_engine.spark.job import Job
from muntin_engine.spark.output import refused_table, result_tables

RESULTS: Final = "results"
LATE: Final = "late"
REJECTED: Final = "rejected"
PROGRESS: Final = "progress"


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late`, `rejected`, or `progress` for the count of accepted rows.
        rows: How many rows it stands for.
        data: Them as an Arrow IPC stream; None for `progress`.
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
    intake = take_in(job, blobs)
    bucket = Bucket(job.query, cells, job.codec, job.identity)
    result = bucket.process(intake.changes.items(), _with_delay(job, arrived))
    yield OutputBlob(PROGRESS, result.accepted)
    for table in result_tables(job, result.output):
        yield OutputBlob(RESULTS, table.num_rows, to_blob(table))
    yield from _refused(intake.refused + _refusals(job, result))


def _with_delay(job: Job, arrived: Progress) -> Progress:
    if job.is_static:
        return Progress(INFINITY, arrived.horizon, arrived.newest)
    if job.delay is None or arrived.newest == EARLIEST:
        return arrived
    return Progress(max(arrived.punctuation, arrived.newest - job.delay), arrived.horizon, arrived.newest)


def _refusals(job: Job, result: BatchResult) -> list[RefusedRow]:
    return [refused_row(job, key, refusal) for key, refusal in result.refusals]


def _refused(rows: list[RefusedRow]) -> Iterator[OutputBlob]:
    for stream, is_late in ((LATE, True), (REJECTED, False)):
        chosen = [row for row in rows if row.is_late is is_late]
        if chosen:
            yield OutputBlob(stream, len(chosen), to_blob(refused_table(chosen)))
