"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from muntin import INFINITY, LatePolicy, ModuleFailedError
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.batch import BucketBatch, InputReport
from muntin_engine.evaluators.registry import evaluator_named
from muntin_engine.exchange.blobs import to_blob
from muntin_engine.exchange.distribute import PROGRESS
from muntin_engine.exchange.durations import Durations
from muntin_engine.exchange.intake import take_in
from muntin_engine.exchange.observing import unpack_observations
from muntin_engine.exchange.side_output import SideOutputRow, side_output_row, side_output_table
from muntin_engine.exchange.sides import SIDE
from muntin_engine.exchange.source_counts import count_sources
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.metrics import LEVELS, skipped_metric
from muntin_engine.progress import Observation
from muntin_engine.state.cells import Cells, CheckedCells
from muntin_engine.workers.watchdog import overseen

RESULTS: Final = "results"
LATE: Final = "late"
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"
OUTPUT_WATERMARK: Final = "output_watermark"


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late` or `rejected`; or the name of a metric.
        rows: The number of its rows; or the value of the metric.
        data: The rows as an Arrow IPC stream; None for a value alone.
    """

    stream: str
    rows: int
    data: bytes | None = None


@dataclass(slots=True)
class ArrivedInput:
    """The part of one input in what arrives at a bucket.

    Attributes:
        rows: Blobs of rows.
        progress: The progress of the whole input, as all tasks of the map side saw it in this batch.
        observed: The observations of each source by each task.
    """

    rows: list[bytes] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    observed: list[Observation] = field(default_factory=list)


@dataclass(slots=True)
class Arrived:
    """The part of a micro-batch that arrives at a bucket.

    Attributes:
        inputs: The part of each input.
        partials: Blobs of partial states.
        signals: The names of the external events in it.
        durations: The durations of tasks of the map side; only one bucket gets them.
        skipped: The number of rows that each module did not accept, and that the query's filter left out; only one
            bucket gets them.
    """

    inputs: list[ArrivedInput]
    partials: list[bytes] = field(default_factory=list)
    signals: frozenset[str] = frozenset()
    durations: list[bytes] = field(default_factory=list)
    skipped: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, inputs: int) -> Arrived:
        """Return an empty micro-batch of so many inputs."""
        return cls([ArrivedInput() for _ in range(inputs)])


def collect(rows: Iterable[Any], inputs: int = 1) -> Arrived:
    """Collect exchanged rows of so many inputs into what arrives at a bucket."""
    arrived = Arrived.of(inputs)
    for row in rows:
        of_input = arrived.inputs[row[SIDE] if inputs > 1 else 0]
        of_input.progress = of_input.progress.advance(Progress(*(row[name] for name in PROGRESS)))
        if row["observed"] is not None:
            of_input.observed += unpack_observations(bytes(row["observed"]))
        if row["rows"] is not None:
            of_input.rows.append(bytes(row["rows"]))
        if row["partials"] is not None:
            arrived.partials.append(bytes(row["partials"]))
        arrived.signals |= frozenset(row["signals"] or ())
        if row["skipped"] is not None:
            arrived.skipped.append(list(row["skipped"]))
        if row["durations"] is not None:
            arrived.durations.append(bytes(row["durations"]))
    return arrived


def run_bucket(task: TaskPayload, bucket: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrived: The batch.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    checked = CheckedCells(cells, f"bucket {bucket}")
    try:
        with overseen(task.worker, task.plan.axis):
            yield from _run(task, bucket, checked, arrived)
    except ModuleFailedError as error:
        error.say_window(task.plan.axis.spell_interval)
        raise


def _run(task: TaskPayload, number: int, cells: Cells, arrived: Arrived) -> Iterator[OutputBlob]:
    durations = Durations(task)
    with _without_collector():
        with durations.of("intake"):
            intake = take_in(task, *(of_input.rows for of_input in arrived.inputs))
        reports = [
            InputReport(_said(task, of_input), of_input.observed, key_watermarks)
            for of_input, key_watermarks in zip(arrived.inputs, intake.key_watermarks, strict=True)
        ]
        batch = BucketBatch(intake.changes, arrived.partials, reports, arrived.signals)
        with durations.of("evaluate"):
            found = evaluator_named(task.plan.choice.evaluator).process(task, number, cells, batch)
        with durations.of("encode"):
            tables = list(found.tables)
    yield OutputBlob(ACCEPTED, found.accepted)
    yield OutputBlob(OUTPUT_WATERMARK, found.output_watermark)
    for table in tables:
        with durations.of("encode"):
            blob = to_blob(table)
        yield OutputBlob(RESULTS, table.num_rows, blob)
    late = [(key, rejection) for key, rejection in found.rejections if rejection.is_late]
    drops = [given.late.policy is LatePolicy.DROP for given in task.plan.inputs]
    kept = [(key, rejection) for key, rejection in late if not drops[rejection.change.side]]
    if found.late + len(late) > len(kept):
        yield OutputBlob(LATE, found.late + len(late) - len(kept))
    yield from _side_output(task, LATE, [side_output_row(task, key, rejection) for key, rejection in kept])
    observed = [of_input.observed for of_input in arrived.inputs]
    counts = count_sources(task, number, observed, (rejection for _, rejection in late))
    yield from (OutputBlob(name, count) for name, count in counts.items())
    rejected = (side_output_row(task, key, rejection) for key, rejection in found.rejections if not rejection.is_late)
    yield from _side_output(task, REJECTED, [*intake.rejected, *rejected])
    yield from _metrics(task, found.metrics, _skipped(task, arrived), durations.metrics(arrived.durations))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable cyclic GC during a batch: rows hold no cycles, and collections would dominate."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _said(task: TaskPayload, arrived: ArrivedInput) -> Progress:
    """Return the progress of an input; a static one is complete after its rows."""
    return replace(arrived.progress, watermark=INFINITY) if task.is_static else arrived.progress


def _skipped(task: TaskPayload, arrived: Arrived) -> dict[str, int]:
    """Return the numbers of rows that each module did not accept, and of those left out, by metric."""
    names = [*map(skipped_metric, task.plan.choosy_labels), "filtered"]
    return dict(zip(names, map(sum, zip(*arrived.skipped, strict=True)), strict=False))


def _side_output(task: TaskPayload, stream: str, rows: list[SideOutputRow]) -> Iterator[OutputBlob]:
    if rows:
        yield OutputBlob(stream, len(rows), to_blob(side_output_table(rows, len(task.inputs))))


def _metrics(task: TaskPayload, *metrics: Mapping[str, int]) -> Iterator[OutputBlob]:
    """Yield the values of metrics. Static inputs report no metrics; zeros of sums are omitted."""
    if not task.is_static:
        values = {name: value for some in metrics for name, value in some.items()}
        yield from (OutputBlob(name, value) for name, value in values.items() if value or name in LEVELS)
