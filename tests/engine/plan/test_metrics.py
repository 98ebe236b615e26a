"""The metrics of a bucket in a micro-batch, and those that a query declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    ColumnarAggregate,
    Component,
    EmitPolicy,
    IncrementalAggregate,
    early,
    snapshot,
)
from muntin.triggers import every_count
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.metrics import METRICS, STAGES, metrics_of
from muntin_engine.state.cells import METADATA, MemoryCells, split, unseal
from muntin_engine.tasks import durations
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.wire import task_payload
from muntin_engine.wire.shuffle import BucketArrivals
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.plan.plans import input_of, plan_of
from tests.engine.wire.payloads import TICKS, bucket_input, map_output_rows, rows, task_of

TIME_OF = [f"{stage}_us" for stage in STAGES]


class Sums(ColumnarAggregate[int, int]):
    name, version = "test.sums", "1"

    def components(self) -> Mapping[str, Component]:
        return {"sum": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"sum": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["sum"]


class Total(IncrementalAggregate[int, int, int]):
    name, version = "test.total", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return state


NUMBERS = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])


def sliced(module: Any, **changed: Any) -> TaskPayload:
    """Return a task over point events and tumbling windows of ten ticks."""
    evaluator = "columnar" if isinstance(module, ColumnarAggregate) else "sliced"
    return task_of(module, evaluator=evaluator, is_point=True, results=NUMBERS, **changed)


def general(module: Any = None, **changed: Any) -> TaskPayload:
    return task_of(module, has_changes=True, **changed)


TASKS = {
    "general": general(),
    "columnar": sliced(Sums(), has_changes=True),
    "sliced": sliced(Total(), has_changes=True),
}


def bucket_metrics(task: TaskPayload, cells: MemoryCells, *batches: pa.RecordBatch) -> dict[str, int]:
    """Evaluate batches of one micro-batch, and return the metrics of the bucket."""
    return metrics_after(task, cells, bucket_input(task, *batches))


def metrics_after(task: TaskPayload, cells: MemoryCells, arrivals: BucketArrivals) -> dict[str, int]:
    return {blob.stream: blob.rows for blob in run_bucket(task, 0, cells, arrivals) if blob.data is None}


def inserts(*starts: int, keys: str = "") -> pa.RecordBatch:
    """Return insertions of points; keys are single letters."""
    names = list(keys or "a" * len(starts))
    return rows(start=starts, end=[start + 1 for start in starts], change=["insert"] * len(starts), k0=names)


def mark(tick: int) -> pa.RecordBatch:
    return rows(start=[tick], end=[None], change=["punctuate"])


@pytest.mark.parametrize("name", TASKS)
def test_keys_are_counted_that_have_rows_in_the_batch(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    assert bucket_metrics(task, cells, inserts(1, 2, 12, 3, keys="abab"))["keys"] == 2
    assert bucket_metrics(task, cells, inserts(4, keys="c"), inserts(5, keys="b"))["keys"] == 2
    assert "keys" not in bucket_metrics(task, cells, mark(9))


@pytest.mark.parametrize("name", ["columnar", "sliced"])
def test_a_key_that_several_tasks_have_rows_of_counts_once(name: str) -> None:
    task = TASKS[name]
    first = bucket_input(task, inserts(1, 2, keys="ab"))
    second = bucket_input(task, inserts(3, 4, keys="bc"))
    (first_report,) = first.reports
    (second_report,) = second.reports
    report = replace(first_report, progress=first_report.progress.advance(second_report.progress))
    blobs = [*first.evaluator_blobs, *second.evaluator_blobs]
    united_arrivals = replace(first, evaluator_blobs=blobs, reports=[report])
    assert metrics_after(task, MemoryCells(), united_arrivals)["keys"] == 3


@pytest.mark.parametrize("name", TASKS)
def test_windows_that_close_are_counted_key_by_key(name: str) -> None:
    # [0, 10) has rows of a and b, [10, 20) of a, [20, 30) of a
    task = TASKS[name]
    cells = MemoryCells()
    assert "windows_closed" not in bucket_metrics(task, cells, inserts(1, 2, 12, 25, keys="abaa"))
    assert bucket_metrics(task, cells, mark(10))["windows_closed"] == 2
    assert bucket_metrics(task, cells, mark(40))["windows_closed"] == 2


@pytest.mark.parametrize("name", TASKS)
def test_open_windows_are_those_that_have_begun_and_are_not_complete(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    assert "windows_open" not in bucket_metrics(task, cells, inserts(1, 25))
    assert bucket_metrics(task, cells, mark(10))["windows_open"] == 2
    assert bucket_metrics(task, cells, mark(30))["windows_open"] == 0


@pytest.mark.parametrize("name", TASKS)
def test_state_bytes_are_the_sizes_of_the_cells_after_each_batch(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    for batch in [inserts(1, 2, keys="ab"), inserts(3), mark(5), inserts(*range(11, 60)), mark(30), mark(30), mark(99)]:
        metrics = bucket_metrics(task, cells, batch)
        state_bytes = 0
        for cell_name, sealed in cells.cells.items():
            cell = unseal(cell_name, sealed)
            state_bytes += len(split(cell)[1] if cell_name == METADATA else cell.data)
        assert metrics["state_bytes"] == state_bytes


def test_bytes_written_are_those_of_the_cells_that_changed() -> None:
    task = TASKS["columnar"]
    cells = MemoryCells()
    first = bucket_metrics(task, cells, inserts(1, 2, keys="ab"))
    assert first["bytes_written"] == first["state_bytes"]
    second = bucket_metrics(task, cells, inserts(3))
    assert 0 < second["bytes_written"] < second["state_bytes"]
    assert 0 < bucket_metrics(task, cells)["bytes_written"] < second["bytes_written"], (
        "the metadata say which batch was last"
    )


def test_the_general_evaluator_reports_the_keys_events_and_windows_that_it_holds() -> None:
    task = general(plan={"emit": EmitPolicy.EAGER}, results=_speculative_schema())
    cells = MemoryCells()
    metrics = bucket_metrics(task, cells, inserts(1, 2, 12, 14, keys="abaa"))
    assert (metrics["keys_held"], metrics["events_held"], metrics["windows_revisable"]) == (2, 4, 3)
    metrics = bucket_metrics(task, cells, mark(10))
    assert (metrics["keys_held"], metrics["events_held"], metrics["windows_revisable"]) == (1, 2, 1)
    assert metrics["windows_closed"] == 2
    metrics = bucket_metrics(task, cells, mark(20))
    assert (metrics["keys_held"], metrics["events_held"], metrics["windows_revisable"]) == (0, 0, 0)


def test_results_that_are_taken_back_are_counted() -> None:
    task = general(plan={"emit": EmitPolicy.EAGER}, results=_speculative_schema())
    cells = MemoryCells()
    assert "retractions" not in bucket_metrics(task, cells, inserts(1))
    assert bucket_metrics(task, cells, inserts(2, 13))["retractions"] == 1


def test_early_results_are_counted_apart() -> None:
    added = [("change", pa.string()), ("timing", pa.string()), ("event_id", pa.int64()), ("firing", pa.int64())]
    schema = pa.schema([("key", pa.string()), ("window", TICKS), *added, ("m", pa.list_(pa.int64()))])
    emit = early(every_count(2), refinement="retract")
    task = general(plan={"emit": emit}, results=schema)
    cells = MemoryCells()
    metrics = bucket_metrics(task, cells, inserts(1, 2, 3))
    assert (metrics["early"], metrics["windows_revisable"]) == (1, 1)
    metrics = bucket_metrics(task, cells, inserts(4, 5), mark(10))
    assert (metrics["retractions"], metrics["windows_closed"]) == (1, 1)
    assert "windows_revisable" in metrics
    assert metrics["windows_revisable"] == 0


@pytest.mark.parametrize("name", TASKS)
def test_progress_is_reported_as_the_bucket_knows_it(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    metrics = bucket_metrics(task, cells, inserts(1, 25))
    assert (metrics["watermark"], metrics["output_watermark"], metrics["newest"]) == (EARLIEST, EARLIEST, 25)
    metrics = bucket_metrics(task, cells, mark(12))
    assert metrics["newest"] == 25
    assert metrics["watermark"] == 10
    assert metrics["output_watermark"] == 10
    metrics = bucket_metrics(task, cells, rows(start=[None], end=[None], change=["close"]))
    assert (metrics["watermark"], metrics["output_watermark"]) == (INFINITY, INFINITY)


@pytest.mark.parametrize("name", TASKS)
def test_a_clock_is_reported_from_its_first_reading_on(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    assert "clock" not in bucket_metrics(task, cells, inserts(1))
    assert bucket_metrics(task, cells, rows(start=[7], end=[None], change=["clock"]))["clock"] == 7
    assert bucket_metrics(task, cells, inserts(2))["clock"] == 7


def test_a_static_input_reports_no_metrics_that_nobody_reads() -> None:
    assert set(bucket_metrics(task_of(is_static=True), MemoryCells(), rows(start=[1], end=[2]))) <= {
        "accepted",
        "output_watermark",
    }


class Clock:
    """A clock that is moved by hand."""

    now = 0

    @classmethod
    def read(cls) -> int:
        return cls.now

    @classmethod
    def move(cls, milliseconds: int) -> None:
        cls.now += milliseconds * 1_000_000


class Slow(Total):
    """A total whose `add_events` takes 5 milliseconds."""

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        Clock.move(5)
        return super().add_events(state, payloads)


class SlowSums(Sums):
    """Sums whose `lift` takes 5 milliseconds."""

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        Clock.move(5)
        return super().lift(payloads)


def timed(task: TaskPayload) -> TaskPayload:
    """Return a task that is timed."""
    return replace(task, is_timed=True)


@pytest.mark.parametrize(
    ("task", "stage"),
    [
        (general(Slow(), results=NUMBERS), "evaluate_us"),
        (sliced(SlowSums(), has_changes=True), "lift_us"),
        (sliced(Slow()), "lift_us"),
    ],
    ids=["general", "columnar", "sliced"],
)
def test_the_time_of_a_module_is_part_of_that_of_the_stage_that_calls_it(
    task: TaskPayload, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (durations, task_payload):
        monkeypatch.setattr(place, "clock", Clock.read)
    batch = [inserts(1, 2), mark(10)] if task.input.columns.has_changes else [rows(start=[1, 2])]
    metrics = bucket_metrics(timed(task), MemoryCells(), *batch)
    assert (metrics["module_us:m"], metrics[stage]) == (5_000, 5_000)
    assert not set(TIME_OF) - {stage} & metrics.keys()


def test_the_first_bucket_alone_gets_the_durations_of_the_map_side() -> None:
    durations_of_buckets = [
        row["durations"] for row in map_output_rows(timed(general()), inserts(1)) if row["rows"] is None
    ]
    assert [durations is None for durations in durations_of_buckets] == [False, True, True, True]
    assert all(row["durations"] is None for row in map_output_rows(general(), inserts(1)))


def test_a_bucket_reports_no_more_than_its_query_declares() -> None:
    declared = {metric.name for metric in METRICS} | {"module_us:m"}
    for task in TASKS.values():
        assert set(bucket_metrics(timed(task), MemoryCells(), inserts(1, 25), mark(12))) <= declared


def test_a_query_declares_what_its_evaluator_can_know() -> None:
    def names(**changed: Any) -> set[str]:
        return {metric.name for metric in metrics_of(plan_of(**changed))}

    plain = names(requested_evaluator="general")
    assert {"keys_held", "events_held", "windows_open", *TIME_OF} <= plain
    assert "module_us:m" in plain
    assert not {"windows_revisable", "early", "clock"} & plain
    assert "clock" in names(input=input_of(has_clock=True))
    assert "clock" in names(columns={"change": NamedColumn("what", "string")})
    assert "windows_revisable" in names(emit=EmitPolicy.EAGER)
    assert {"windows_revisable", "early"} <= names(emit=early(every_count(2)))
    assert "windows_open" not in names(window=snapshot())


def test_without_times_a_query_declares_none() -> None:
    names = [metric.name for metric in metrics_of(plan_of(), is_timed=False)]
    assert not [name for name in names if "_us" in name or "long" in name]


def _speculative_schema() -> pa.Schema:
    added = [("change", pa.string()), ("event_id", pa.int64())]
    return pa.schema([("key", pa.string()), ("window", TICKS), *added, ("m", pa.list_(pa.int64()))])
