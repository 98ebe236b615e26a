"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from muntin import EARLIEST, INFINITY, LatePolicy
from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Rejection
from muntin_engine.core.window_grid import open_windows
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.registry import KEEPS_STATE
from muntin_engine.exchange.durations import Durations
from muntin_engine.exchange.intake import Intake, take_in
from muntin_engine.exchange.shuffle import Arrived, to_blob
from muntin_engine.exchange.side_output import SideOutputRow, side_output_row, side_output_table
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.metrics import is_level, overflow_metric, skipped_metric, watermark_metric
from muntin_engine.plan import Input
from muntin_engine.progress import InputsProgress, Observation
from muntin_engine.state.cells import Cells, CheckedCells, Origin
from muntin_engine.workers.oversight import overseen

RESULTS: Final = "results"
LATE: Final = "late"
SHED: Final = "shed"
REJECTED: Final = "rejected"
EVICTED: Final = "evicted"
ACCEPTED: Final = "accepted"
WATERMARK: Final = "watermark"
OUTPUT_WATERMARK: Final = "output_watermark"

LATE_ROWS: Final = "late_rows"
REJECTED_ROWS: Final = "rejected_rows"
EVICTED_ROWS: Final = "evicted_rows"

STREAMS: Final[Mapping[str, tuple[str, ...]]] = {
    RESULTS: (RESULTS,),
    LATE_ROWS: (LATE, SHED),
    REJECTED_ROWS: (REJECTED,),
    EVICTED_ROWS: (EVICTED,),
}
"""The streams of the blobs of each output: rows that are shed are counted apart, and come with the late ones."""


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late`, `shed`, `rejected` or `evicted`; or the name of a metric.
        rows: The number of its rows; or the value of the metric.
        data: The rows as an Arrow IPC stream; None for a value alone.
        totals: All metrics of the bucket, by name; None for what is one stream.
    """

    stream: str
    rows: int
    data: bytes | None = None
    totals: Mapping[str, int] | None = None


def run_bucket(
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    arrived: Arrived,
    origin: Origin | None = None,
    was_idle: Callable[[int], bool] = lambda first: False,
) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrived: The batch.
        origin: The origin of what is written, see `CheckedCells`.
        was_idle: The same.

    Raises:
        ModuleFailedError: A module raised an exception.
        StateError: The state is damaged, or of another time or place.
    """
    try:
        with overseen(task.worker, task.plan.axis):
            yield from _evaluate(task, bucket, CheckedCells(cells, f"bucket {bucket}", origin, was_idle), arrived)
    except ModuleFailedError as error:
        error.say_window(task.plan.words.spell_interval)
        raise


def _evaluate(task: TaskPayload, bucket: int, checked: CheckedCells, arrived: Arrived) -> Iterator[OutputBlob]:
    durations = Durations(task)
    task.overflows.clear()
    with without_collector():
        with durations.stages["intake"]:
            intake = take_in(task, *arrived.rows)
        for report, key_watermarks in zip(arrived.reports, intake.key_watermarks, strict=True):
            report.key_watermarks = key_watermarks
            if task.is_static:  # it is complete after its rows
                report.progress = report.progress._replace(watermark=INFINITY)
        batch = BucketBatch(intake.changes, arrived.evaluator_blobs, arrived.reports, arrived.signals)
        with durations.stages["evaluate"]:
            found = KEEPS_STATE[task.plan.choice.evaluator].process(task, bucket, checked, batch)
        with durations.stages["encode"]:
            tables = [*zip(repeat(RESULTS), found.tables), *zip(repeat(EVICTED), found.evicted)]
    yield OutputBlob(ACCEPTED, found.accepted + sum(counts[-1] for counts in arrived.skipped))
    yield OutputBlob(OUTPUT_WATERMARK, found.output_watermark)
    for stream, table in tables:
        with durations.stages["encode"]:
            blob = to_blob(table)
        yield OutputBlob(stream, table.num_rows, blob)
    yield from _side_outputs(task, found, intake)
    if any(given.sources for given in task.plan.inputs):
        late = (rejection for _, rejection in found.rejections if rejection.is_late)
        counts = count_sources(task, bucket, [report.observed for report in arrived.reports], late)
        yield from (OutputBlob(name, count) for name, count in counts.items())
    if not task.is_static:  # static inputs report no metrics
        metrics = {"bytes_written": checked.written, **durations.metrics(arrived.durations)}
        metrics |= _metrics(task, found, arrived)
        metrics |= {overflow_metric(column): number for column, number in task.overflows.report().items()}
        yield from (OutputBlob(name, value) for name, value in metrics.items() if value or is_level(name))


def with_totals(found: Iterable[OutputBlob]) -> Iterator[OutputBlob]:
    """Yield the blobs with rows and the watermarks of what `run_bucket` found, and then one with all metrics.

    So Spark gets one row of a bucket for all metrics, however many there are.
    """
    totals = Counter[str]()
    for blob in found:
        totals[blob.stream] += blob.rows
        if blob.data is not None or blob.stream in (WATERMARK, OUTPUT_WATERMARK):
            yield blob
    yield OutputBlob("totals", 0, totals=dict(totals))


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable cyclic GC during a batch: rows hold no cycles, and collections would dominate."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _side_outputs(task: TaskPayload, found: Evaluated, intake: Intake) -> Iterator[OutputBlob]:
    """Yield the late, the shed and the rejected rows, and the numbers of late and shed ones that are dropped."""
    drops = [given.late.policy is LatePolicy.DROP for given in task.plan.inputs]
    side_outputs: dict[str, list[SideOutputRow]] = {LATE: [], SHED: [], REJECTED: [*intake.rejected]}
    dropped = Counter({LATE: found.late})
    for key, rejection in found.rejections:
        stream = LATE if rejection.is_late else SHED if rejection.is_shed else REJECTED
        if stream != REJECTED and drops[rejection.change.side]:
            dropped[stream] += 1
        else:
            side_outputs[stream].append(side_output_row(task, key, rejection))
    yield from (OutputBlob(stream, count) for stream, count in dropped.items() if count)
    for stream, rows in side_outputs.items():
        if rows:
            yield OutputBlob(stream, len(rows), to_blob(side_output_table(task, rows)))


def _metrics(task: TaskPayload, found: Evaluated, arrived: Arrived) -> dict[str, int]:
    """Return the metrics of the evaluator, of progress as far as it is known, and of rows that were not accepted."""
    now = found.progress
    open = open_windows(task.window_grids, now.watermark, now.horizon)
    of_progress = {WATERMARK: now.watermark, "newest": now.newest}
    if now.clock != EARLIEST:
        of_progress["clock"] = now.clock
    distances = [rejection.late_by or 0 for _, rejection in found.rejections if rejection.is_late]
    if late_by := max([found.late_by, *distances]):
        of_progress["late_by"] = late_by
    skipped = {skipped_metric(label): count for label, count in skipped_rows(task, arrived.skipped).items()}
    skipped["filtered"] = sum(counts[-2] for counts in arrived.skipped)
    of_progress |= watermarks_of(task, found.inputs) if found.inputs else {}
    return {**found.metrics, **of_progress, **({} if open is None else {"windows_open": open}), **skipped}


def skipped_rows(task: TaskPayload, skipped: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return the number of rows that each module did not accept, by its label; modules that accepted all are left out.

    The rows of all buckets are counted in one of them.
    """
    *unaccepted, _, _ = map(sum, zip(*skipped, strict=True)) if skipped else (0, 0)
    return {label: count for label, count in zip(task.choosy_labels, unaccepted, strict=False) if count}


def names_of_counts(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the counts by source: `rows_<source>` and `late_<source>`.

    Where there are several inputs, a source goes by `<input>.<source>`. Partial states do not say which source their
    rows came from: without ids, a query over slices has the second kind only where late rows are wanted.
    """
    sources = [_name(given, source) for given in task.plan.inputs for source in given.sources]
    late = sources if task.plan.choice.names_late_rows or task.plan.keeps_late_rows else ()
    return (*(f"rows_{source}" for source in sources), *(f"late_{source}" for source in late))


def names_of_watermarks(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the watermarks of what an input waits for: each source, or input where there are several."""
    return tuple(watermarks_of(task, InputsProgress.start(len(task.plan.inputs))))


def watermarks_of(task: TaskPayload, progress: InputsProgress) -> dict[str, int]:
    """Return the watermarks of sources, and of inputs without sources where there are several, by their metrics."""
    found: dict[str, int] = {}
    for given, sent, now, tracked in zip(task.plan.inputs, task.inputs, progress.inputs, progress.tracked, strict=True):
        if given.sources:
            known = sent.tracker.watermarks(tracked)
            found |= {
                watermark_metric(_name(given, one)): max(known.get(one, EARLIEST), now.watermark)
                for one in given.sources
            }
        elif given.name:
            found[watermark_metric(given.name)] = now.watermark
    return found


def count_sources(
    task: TaskPayload, bucket: int, observed: Sequence[Sequence[Observation]], late: Iterable[Rejection] = ()
) -> Mapping[str, int]:
    """Return the counts of a micro-batch by their names.

    Args:
        task: The query.
        bucket: Whose counts. Every bucket hears what was observed; the first one counts it.
        observed: For each input, what each task saw of each source: the insertions, without those that are bad in
            themselves.
        late: The bucket's late rows.
    """
    inputs = task.plan.inputs
    changes = [rejection.change for rejection in late if inputs[rejection.change.side].sources]
    counts = Counter(f"late_{_name(inputs[change.side], change.source)}" for change in changes)
    for given, heard in zip(inputs, observed, strict=True):
        if given.sources and bucket == task.buckets[0]:
            for some in heard:
                counts[f"rows_{_name(given, some.source)}"] += some.rows
    return {name: count for name, count in counts.items() if count}


def _name(given: Input, source: str | None) -> str:
    return f"{given.name}.{source}" if given.name else str(source)
