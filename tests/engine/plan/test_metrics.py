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
    correct,
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

TIMES_OF_STAGES = [f"{stage}_us" for stage in STAGES]


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
EAGER_RESULTS = pa.schema(
    [
        ("key", pa.string()),
        ("window", TICKS),
        ("change", pa.string()),
        ("event_id", pa.int64()),
        ("m", pa.list_(pa.int64())),
    ]
)


def sliced(module: Any, **task_parts: Any) -> TaskPayload:
    """Return a task over point events and tumbling windows of ten ticks, on arrays."""
    evaluator = "columnar" if isinstance(module, ColumnarAggregate) else "sliced"
    return task_of(module, evaluator=evaluator, is_point=True, results=NUMBERS, **task_parts)


def general(module: Any = None, **task_parts: Any) -> TaskPayload:
    """Return a task over tumbling windows of ten ticks, key by key."""
    return task_of(module, has_changes=True, **task_parts)


TASKS = {
    "general": general(),
    "columnar": sliced(Sums(), has_changes=True),
    "sliced": sliced(Total(), has_changes=True),
}


def bucket_metrics(task: TaskPayload, cells: MemoryCells, *batches: pa.RecordBatch) -> dict[str, int]:
    """Run a micro-batch of one bucket, whose rows come in batches, and return the metrics of the bucket by name."""
    return metrics_of_bucket(task, cells, bucket_input(task, *batches))


def metrics_of_bucket(task: TaskPayload, cells: MemoryCells, arrivals: BucketArrivals) -> dict[str, int]:
    """Run a micro-batch of one bucket, and return its metrics by name."""
    return {blob.stream: blob.rows for blob in run_bucket(task, 0, cells, arrivals) if blob.data is None}


def inserts(*starts: int, keys: str = "") -> pa.RecordBatch:
    """Return insertions of points: a letter of `keys` for each; without keys, all are of a key a."""
    names = list(keys or "a" * len(starts))
    return rows(start=starts, end=[start + 1 for start in starts], change=["insert"] * len(starts), k0=names)


def watermark(tick: int) -> pa.RecordBatch:
    return rows(start=[tick], end=[None], change=["punctuate"])


@pytest.mark.parametrize("name", TASKS)
def test_keys_are_counted_that_have_rows_in_the_batch(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    assert bucket_metrics(task, cells, inserts(1, 2, 12, 3, keys="abab"))["keys"] == 2
    assert bucket_metrics(task, cells, inserts(4, keys="c"), inserts(5, keys="b"))["keys"] == 2
    assert "keys" not in bucket_metrics(task, cells, watermark(9))


@pytest.mark.parametrize("name", ["columnar", "sliced"])
def test_a_key_that_two_tasks_have_rows_of_counts_once(name: str) -> None:
    task = TASKS[name]
    of_first_task = bucket_input(task, inserts(1, 2, keys="ab"))
    of_second_task = bucket_input(task, inserts(3, 4, keys="bc"))
    (first_report,) = of_first_task.reports
    (second_report,) = of_second_task.reports
    progress = first_report.progress.advance(second_report.progress)
    arrivals = replace(
        of_first_task,
        evaluator_blobs=[*of_first_task.evaluator_blobs, *of_second_task.evaluator_blobs],
        reports=[replace(first_report, progress=progress)],
    )
    assert metrics_of_bucket(task, MemoryCells(), arrivals)["keys"] == 3


@pytest.mark.parametrize("name", TASKS)
def test_windows_that_close_are_counted_key_by_key(name: str) -> None:
    # [0, 10) has rows of a and b, [10, 20) of a, [20, 30) of a
    task = TASKS[name]
    cells = MemoryCells()
    assert "windows_closed" not in bucket_metrics(task, cells, inserts(1, 2, 12, 25, keys="abaa"))
    assert bucket_metrics(task, cells, watermark(10))["windows_closed"] == 2
    assert bucket_metrics(task, cells, watermark(40))["windows_closed"] == 2


@pytest.mark.parametrize("name", TASKS)
def test_open_windows_are_those_that_have_begun_and_are_not_complete(name: str) -> None:
    # [0, 10), [10, 20) and [20, 30) have begun; without a watermark, it is not known which windows there are
    task = TASKS[name]
    cells = MemoryCells()
    assert "windows_open" not in bucket_metrics(task, cells, inserts(1, 25))
    assert bucket_metrics(task, cells, watermark(10))["windows_open"] == 2
    assert bucket_metrics(task, cells, watermark(30))["windows_open"] == 0


@pytest.mark.parametrize("name", TASKS)
def test_state_bytes_are_the_sizes_of_the_cells_after_each_batch(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    batches = [
        inserts(1, 2, keys="ab"),
        inserts(3),
        watermark(5),
        inserts(*range(11, 60)),
        watermark(30),
        watermark(30),
        watermark(99),
    ]
    for batch in batches:
        metrics = bucket_metrics(task, cells, batch)
        assert metrics["state_bytes"] == bytes_of_cells(cells)


def bytes_of_cells(cells: MemoryCells) -> int:
    """Return the number of bytes in cells, without their seals, and without the number of the batch in the metadata."""
    size = 0
    for name, sealed in cells.cells.items():
        cell = unseal(name, sealed)
        size += len(split(cell)[1] if name == METADATA else cell.data)
    return size


def test_bytes_written_are_those_of_the_cells_that_changed() -> None:
    task = TASKS["columnar"]
    cells = MemoryCells()
    first = bucket_metrics(task, cells, inserts(1, 2, keys="ab"))
    assert first["bytes_written"] == first["state_bytes"]

    second = bucket_metrics(task, cells, inserts(3))
    assert 0 < second["bytes_written"] < second["state_bytes"]

    without_rows = bucket_metrics(task, cells)
    assert 0 < without_rows["bytes_written"] < second["bytes_written"], "the metadata say which batch was last"


def state_metrics(metrics: Mapping[str, int]) -> dict[str, int]:
    """Return the metrics of what the general evaluator holds."""
    return {name: metrics[name] for name in ("keys_held", "events_held", "windows_revisable")}


def test_the_general_evaluator_reports_the_keys_and_events_that_it_holds_and_the_windows_that_may_change() -> None:
    task = general(plan={"emit": EmitPolicy.EAGER}, results=EAGER_RESULTS)
    cells = MemoryCells()

    metrics = bucket_metrics(task, cells, inserts(1, 2, 12, 14, keys="abaa"))
    assert state_metrics(metrics) == {"keys_held": 2, "events_held": 4, "windows_revisable": 3}

    metrics = bucket_metrics(task, cells, watermark(10))
    assert state_metrics(metrics) == {"keys_held": 1, "events_held": 2, "windows_revisable": 1}
    assert metrics["windows_closed"] == 2

    metrics = bucket_metrics(task, cells, watermark(20))
    assert state_metrics(metrics) == {"keys_held": 0, "events_held": 0, "windows_revisable": 0}


def test_retractions_of_results_are_counted() -> None:
    task = general(plan={"emit": EmitPolicy.EAGER}, results=EAGER_RESULTS)
    cells = MemoryCells()
    assert "retractions" not in bucket_metrics(task, cells, inserts(1))
    assert bucket_metrics(task, cells, inserts(2, 13))["retractions"] == 1


def test_early_results_are_counted_as_such_and_their_retractions_too() -> None:
    columns = [("change", pa.string()), ("timing", pa.string()), ("event_id", pa.int64()), ("firing", pa.int64())]
    results = pa.schema([("key", pa.string()), ("window", TICKS), *columns, ("m", pa.list_(pa.int64()))])
    task = general(plan={"emit": early(every_count(2), refinement="retract")}, results=results)
    cells = MemoryCells()

    metrics = bucket_metrics(task, cells, inserts(1, 2, 3))
    assert metrics["early"] == 1
    assert metrics["windows_revisable"] == 1

    metrics = bucket_metrics(task, cells, inserts(4, 5), watermark(10))
    assert metrics["retractions"] == 1
    assert metrics["windows_closed"] == 1
    assert metrics["windows_revisable"] == 0


@pytest.mark.parametrize("name", TASKS)
def test_progress_is_that_of_the_bucket_whose_watermark_moves_from_end_to_end_of_windows(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    metrics = bucket_metrics(task, cells, inserts(1, 25))
    assert metrics["watermark"] == EARLIEST
    assert metrics["output_watermark"] == EARLIEST
    assert metrics["newest"] == 25

    metrics = bucket_metrics(task, cells, watermark(12))
    assert metrics["watermark"] == 10
    assert metrics["output_watermark"] == 10
    assert metrics["newest"] == 25

    metrics = bucket_metrics(task, cells, rows(start=[None], end=[None], change=["close"]))
    assert metrics["watermark"] == INFINITY
    assert metrics["output_watermark"] == INFINITY


@pytest.mark.parametrize("name", TASKS)
def test_a_clock_is_reported_from_its_first_reading_on(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    assert "clock" not in bucket_metrics(task, cells, inserts(1))
    assert bucket_metrics(task, cells, rows(start=[7], end=[None], change=["clock"]))["clock"] == 7
    assert bucket_metrics(task, cells, inserts(2))["clock"] == 7


def test_a_static_input_reports_no_metrics_of_streams() -> None:
    metrics = bucket_metrics(task_of(is_static=True), MemoryCells(), rows(start=[1], end=[2]))
    assert metrics.keys() <= {"accepted", "output_watermark"}


class Clock:
    """A clock that stands still unless it is moved."""

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


@pytest.mark.parametrize(
    ("task", "batches", "stage"),
    [
        (general(Slow(), results=NUMBERS), [inserts(1, 2), watermark(10)], "evaluate_us"),
        (sliced(SlowSums(), has_changes=True), [inserts(1, 2), watermark(10)], "lift_us"),
        (sliced(Slow()), [rows(start=[1, 2])], "lift_us"),
    ],
    ids=["general", "columnar", "sliced"],
)
def test_the_time_of_a_module_is_part_of_that_of_the_stage_that_calls_it(
    task: TaskPayload, batches: list[pa.RecordBatch], stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (durations, task_payload):
        monkeypatch.setattr(module, "clock", Clock.read)
    metrics = bucket_metrics(replace(task, is_timed=True), MemoryCells(), *batches)
    assert metrics["module_us:m"] == 5_000
    assert metrics[stage] == 5_000
    other_stages = set(TIMES_OF_STAGES) - {stage}
    assert not other_stages & metrics.keys(), "no other stage took any time"


def test_only_the_first_bucket_gets_the_durations_of_a_map_task() -> None:
    task = replace(general(), is_timed=True)
    rows_of_reports = [row for row in map_output_rows(task, inserts(1)) if row["rows"] is None]
    assert [row["durations"] is not None for row in rows_of_reports] == [True, False, False, False]


def test_a_map_task_that_is_not_timed_sends_no_durations() -> None:
    assert {row["durations"] for row in map_output_rows(general(), inserts(1))} == {None}


@pytest.mark.parametrize("name", TASKS)
def test_a_bucket_reports_no_metric_that_is_not_declared(name: str) -> None:
    declared = {metric.name for metric in METRICS} | {"module_us:m"}
    task = replace(TASKS[name], is_timed=True)
    assert bucket_metrics(task, MemoryCells(), inserts(1, 25), watermark(12)).keys() <= declared


def metric_names(**plan_parts: Any) -> set[str]:
    """Return the names of the metrics that a query declares."""
    return {metric.name for metric in metrics_of(plan_of(**plan_parts))}


def test_a_query_declares_the_metrics_of_its_state_its_windows_and_its_times() -> None:
    names = metric_names(requested_evaluator="general")
    assert {"keys_held", "events_held", "windows_open", "module_us:m", *TIMES_OF_STAGES} <= names
    assert not {"windows_revisable", "early", "clock"} & names


@pytest.mark.parametrize(
    ("plan_parts", "names"),
    [
        ({"input": input_of(has_clock=True)}, {"clock"}),
        ({"columns": {"change": NamedColumn("what", "string")}}, {"clock"}),
        ({"emit": EmitPolicy.EAGER}, {"windows_revisable"}),
        ({"input": input_of(late=correct(60))}, {"windows_revisable"}),
        ({"emit": early(every_count(2))}, {"windows_revisable", "early"}),
    ],
    ids=["clock", "a column of changes, which may be readings of a clock", "eager", "late rows correct", "early"],
)
def test_a_query_declares_the_metrics_of_a_clock_and_of_results_that_may_change(
    plan_parts: dict[str, Any], names: set[str]
) -> None:
    assert names <= metric_names(**plan_parts)


def test_a_query_over_windows_of_the_data_declares_no_number_of_open_windows() -> None:
    assert "windows_open" not in metric_names(window=snapshot())


def test_a_query_that_is_not_timed_declares_no_times() -> None:
    names = [metric.name for metric in metrics_of(plan_of(), is_timed=False)]
    assert not [name for name in names if "_us" in name or "long" in name]
