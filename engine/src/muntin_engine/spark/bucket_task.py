"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from muntin import INFINITY, LatePolicy, ModuleFailedError, TimestampPolicy
from muntin_engine.columnar.store import ColumnarStore
from muntin_engine.core.bucket import Bucket
from muntin_engine.core.cells import Cells
from muntin_engine.core.changes import Progress, Refusal
from muntin_engine.core.checked_cells import CheckedCells
from muntin_engine.core.keys import Key
from muntin_engine.core.measured_cells import MeasuredCells
from muntin_engine.core.progress import Observation
from muntin_engine.core.sliced.bucket import SliceBucket
from muntin_engine.core.sliced.grid import promised
from muntin_engine.core.sliced.kept import KeptStores
from muntin_engine.core.sliced.states import StateStore
from muntin_engine.measures import LEVELS, skipped_measure
from muntin_engine.plan import Evaluator
from muntin_engine.spark.blobs import to_blob
from muntin_engine.spark.bucket_measures import general_measures, sliced_measures
from muntin_engine.spark.closed import closed_tables, run_tables
from muntin_engine.spark.durations import Durations
from muntin_engine.spark.intake import take_in
from muntin_engine.spark.job import Job
from muntin_engine.spark.output import result_tables
from muntin_engine.spark.refused import RefusedRow, refused_row, refused_table
from muntin_engine.spark.source_counts import count_sources
from muntin_engine.spark.watchdog import overseen

RESULTS: Final = "results"
LATE: Final = "late"
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"
PUNCTUATION: Final = "output_punctuation"

_KEPT: Final = KeptStores()
"""What this worker keeps between micro-batches."""


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late` or `rejected`; or the name of a measure.
        rows: How many rows it stands for; or the value of the measure.
        data: The rows as an Arrow IPC stream; None for a value alone.
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
        observed: What each of them saw of each source.
        durations: How long tasks of the map side took; only one bucket is told.
        skipped: How many rows modules did not accept, for each such module, and how many the query's filter left out;
            only one bucket is told.
    """

    rows: list[bytes] = field(default_factory=list)
    partials: list[bytes] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    signals: frozenset[str] = frozenset()
    observed: list[Observation] = field(default_factory=list)
    durations: list[bytes] = field(default_factory=list)
    skipped: list[list[int]] = field(default_factory=list)


def run_bucket(job: Job, bucket: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket.

    Args:
        job: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrived: The batch.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    checked = CheckedCells(cells, f"bucket {bucket}")
    _KEPT.most = job.worker.kept_bytes
    try:
        with overseen(job.worker, job.query.axis):
            yield from (_run_sliced if job.grids else _run_general)(job, bucket, checked, arrived)
    except ModuleFailedError as error:
        error.say_window(job.query.axis.spell_interval)
        raise


def _run_general(job: Job, number: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    durations, measured = Durations(job), MeasuredCells(cells)
    with _without_collector():
        with durations.of("intake"):
            intake = take_in(job, arrived.rows)
        with durations.of("evaluate"):
            bucket = Bucket(job.query, measured, job.codec, job.identity, job.tracker)
            result = bucket.process(
                intake.changes,
                _said(job, arrived),
                observed=arrived.observed,
                promises=intake.promises,
                signals=arrived.signals,
            )
        with durations.of("encode"):
            tables = list(result_tables(job, result.output))
    yield OutputBlob(ACCEPTED, result.accepted)
    yield OutputBlob(PUNCTUATION, result.punctuation)
    yield from _results(tables, durations)
    late = [(key, refusal) for key, refusal in result.refusals if refusal.is_late]
    yield from _late(job, late)
    yield from _counts(count_sources(job, number, arrived.observed, (refusal for _, refusal in late)))
    rejected = (refused_row(job, key, refusal) for key, refusal in result.refusals if not refusal.is_late)
    yield from _refused(REJECTED, [*intake.refused, *rejected])
    values = [general_measures(job, measured, result), _skipped(job, arrived), durations.measures(arrived.durations)]
    yield from _measures(job, *values)


def _run_sliced(job: Job, number: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    is_columnar = job.evaluator is Evaluator.COLUMNAR
    durations, measured = Durations(job), MeasuredCells(cells)
    with _without_collector():
        with durations.of("intake"):
            intake = take_in(job, arrived.rows)
        bucket: SliceBucket[Any] = SliceBucket(
            job.grids,
            lambda: ColumnarStore(job.grids, job.forms) if is_columnar else StateStore(job.sliced_query),
            measured,
            job.codec,
            job.lineage,
            KeptStores() if job.is_static else _KEPT,
            (job.name, number),
            job.tracker,
        )
        with durations.of("evaluate"):
            result = bucket.process(arrived.partials, _said(job, arrived), arrived.observed)
        with durations.of("encode"):
            to_tables = closed_tables if is_columnar else run_tables
            tables = [table for complete in result.output for table in to_tables(job, complete)]
    at_end = job.query.timestamps is TimestampPolicy.POINT_AT_END
    yield OutputBlob(ACCEPTED, result.accepted)
    yield OutputBlob(PUNCTUATION, promised(job.grids, result.progress.punctuation, at_end=at_end))
    yield from _results(tables, durations)
    if result.late:
        yield OutputBlob(LATE, result.late)
    yield from _refused(REJECTED, intake.refused)
    yield from _counts(count_sources(job, number, arrived.observed))
    windows = sum(table.num_rows for table in tables)
    values = [sliced_measures(job, measured, result, windows), _skipped(job, arrived)]
    yield from _measures(job, *values, durations.measures(arrived.durations))


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


def _said(job: Job, arrived: Arrived) -> Progress:
    """Return the progress with what the rows do not say themselves: the end of a static input."""
    return replace(arrived.progress, punctuation=INFINITY) if job.is_static else arrived.progress


def _late(job: Job, refusals: Sequence[tuple[Key, Refusal]]) -> Iterator[OutputBlob]:
    if refusals and job.query.late.policy is LatePolicy.DROP:
        yield OutputBlob(LATE, len(refusals))
        return
    yield from _refused(LATE, [refused_row(job, key, refusal) for key, refusal in refusals])


def _counts(counts: Mapping[str, int]) -> Iterator[OutputBlob]:
    return (OutputBlob(name, count) for name, count in counts.items())


def _skipped(job: Job, arrived: Arrived) -> dict[str, int]:
    """Return how many rows each module did not accept, and how many were left out, by the names of the measures."""
    names = [*map(skipped_measure, job.choosy_labels), "filtered"]
    return dict(zip(names, map(sum, zip(*arrived.skipped, strict=True)), strict=False))


def _results(tables: Iterable[pa.Table], durations: Durations) -> Iterator[OutputBlob]:
    for table in tables:
        with durations.of("encode"):
            blob = to_blob(table)
        yield OutputBlob(RESULTS, table.num_rows, blob)


def _refused(stream: str, rows: list[RefusedRow]) -> Iterator[OutputBlob]:
    if rows:
        yield OutputBlob(stream, len(rows), to_blob(refused_table(rows)))


def _measures(job: Job, *measures: Mapping[str, int]) -> Iterator[OutputBlob]:
    """Yield the values of measures. Nobody reads those of a static input, and nothing is added to a sum by a zero."""
    if not job.is_static:
        values = {name: value for some in measures for name, value in some.items()}
        yield from (OutputBlob(name, value) for name, value in values.items() if value or name in LEVELS)
