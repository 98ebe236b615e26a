"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from muntin import INFINITY, LatePolicy, ModuleFailedError
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.batch import Batch
from muntin_engine.evaluators.registry import evaluator_named
from muntin_engine.exchange.blobs import to_blob
from muntin_engine.exchange.job import Job
from muntin_engine.measures import LEVELS, skipped_measure
from muntin_engine.progress import Observation
from muntin_engine.spark.durations import Durations
from muntin_engine.spark.intake import take_in
from muntin_engine.spark.refused import RefusedRow, refused_row, refused_table
from muntin_engine.spark.source_counts import count_sources
from muntin_engine.spark.watchdog import overseen
from muntin_engine.state.cells import Cells
from muntin_engine.state.checked_cells import CheckedCells

RESULTS: Final = "results"
LATE: Final = "late"
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"
PUNCTUATION: Final = "output_punctuation"


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
    try:
        with overseen(job.worker, job.query.axis):
            yield from _run(job, bucket, checked, arrived)
    except ModuleFailedError as error:
        error.say_window(job.query.axis.spell_interval)
        raise


def _run(job: Job, number: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    durations = Durations(job)
    with _without_collector():
        with durations.of("intake"):
            intake = take_in(job, arrived.rows)
        batch = Batch(
            intake.changes, arrived.partials, _said(job, arrived), arrived.observed, intake.promises, arrived.signals
        )
        with durations.of("evaluate"):
            found = evaluator_named(job.evaluator).process(job, number, cells, batch)
        with durations.of("encode"):
            tables = list(found.tables)
    yield OutputBlob(ACCEPTED, found.accepted)
    yield OutputBlob(PUNCTUATION, found.output_watermark)
    for table in tables:
        with durations.of("encode"):
            blob = to_blob(table)
        yield OutputBlob(RESULTS, table.num_rows, blob)
    late = [(key, refusal) for key, refusal in found.refusals if refusal.is_late]
    count = found.late + len(late)
    if count and (job.query.late.policy is LatePolicy.DROP or not late):
        yield OutputBlob(LATE, count)
    elif late:
        yield from _refused(LATE, [refused_row(job, key, refusal) for key, refusal in late])
    counts = count_sources(job, number, arrived.observed, (refusal for _, refusal in late))
    yield from (OutputBlob(name, count) for name, count in counts.items())
    rejected = (refused_row(job, key, refusal) for key, refusal in found.refusals if not refusal.is_late)
    yield from _refused(REJECTED, [*intake.refused, *rejected])
    yield from _measures(job, found.metrics, _skipped(job, arrived), durations.measures(arrived.durations))


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


def _skipped(job: Job, arrived: Arrived) -> dict[str, int]:
    """Return how many rows each module did not accept, and how many were left out, by the names of the measures."""
    names = [*map(skipped_measure, job.choosy_labels), "filtered"]
    return dict(zip(names, map(sum, zip(*arrived.skipped, strict=True)), strict=False))


def _refused(stream: str, rows: list[RefusedRow]) -> Iterator[OutputBlob]:
    if rows:
        yield OutputBlob(stream, len(rows), to_blob(refused_table(rows)))


def _measures(job: Job, *measures: Mapping[str, int]) -> Iterator[OutputBlob]:
    """Yield the values of measures. Nobody reads those of a static input, and nothing is added to a sum by a zero."""
    if not job.is_static:
        values = {name: value for some in measures for name, value in some.items()}
        yield from (OutputBlob(name, value) for name, value in values.items() if value or name in LEVELS)
