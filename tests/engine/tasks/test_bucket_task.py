"""One bucket in one micro-batch: bad rows, filters, early results, and what is shed."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from muntin import INFINITY, Aggregate, Lateness, LatePolicy, early, snapshot
from muntin.policies import parse_lateness
from muntin.progress import bounded_delay
from muntin.schemas import describe
from muntin.triggers import every_count, on_signal, repeat, when
from muntin_engine.plan.metrics import METRICS, metrics_of
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.output_blobs import STREAMS, OutputBlob
from muntin_engine.tasks.task_metrics import names_of_counts
from muntin_engine.time.changes import Progress
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.task_payload import InputColumns, TaskPayload
from tests.engine.evaluators.arrays.test_array_evaluator import ResultsOfSums
from tests.engine.plan.plans import input_of, plan_of
from tests.engine.wire.payloads import IDS, TICKS, bucket_input, map_output_rows, rows, task_of
from tests.modules.columnar import INVERTIBLE

STREAMS_OF_ROWS = {"accepted", "late", "rejected", "results"}
"""The streams of a bucket's output that are about rows; the others are metrics."""


def run(task: TaskPayload, cells: MemoryCells, *batches: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Run a micro-batch of a bucket, and return its output by stream, without metrics.

    A stream that has only a count is one row, `{"rows": count}`.
    """
    output: dict[str, list[dict[str, Any]]] = {}
    for blob in run_bucket(task, 0, cells, bucket_input(task, *batches)):
        if blob.stream not in STREAMS_OF_ROWS:
            assert blob.data is None
        elif blob.data is None:
            output[blob.stream] = [{"rows": blob.rows}]
        else:
            table = from_blob(blob.data)
            assert table.num_rows == blob.rows
            output.setdefault(blob.stream, []).extend(table.to_pylist())
    return output


def row(change: str, **values: Any) -> dict[str, Any]:
    """Return a row of the key `a`.

    Args:
        change: The change.
        values: Values by column: `id`, `start`, `end`, `new_end`, `x`, `is_kept` and `source`; the others are null.
    """
    return {"change": change} | values


def batch_of(*changes: dict[str, Any], columns: Sequence[str] = ()) -> pa.RecordBatch:
    """Return rows as a batch of the projection.

    Args:
        changes: The rows, as `row` gives them.
        columns: Those of the columns `is_kept` and `source` that the projection has.
    """
    arrays: dict[str, Any] = {"i0": [change.get("x") for change in changes]}
    for name in ("change", "id", "start", "end", "new_end"):
        arrays[name] = [change.get(name) for change in changes]
    if "is_kept" in columns:
        arrays["kept"] = pa.array([change.get("is_kept") for change in changes], pa.bool_())
    if "source" in columns:
        arrays["source"] = pa.array([change.get("source") for change in changes], pa.string())
    return rows(**arrays)


def test_rejected_rows_come_with_their_reasons_beside_the_results() -> None:
    task = task_of(is_static=True, has_changes=True, has_ids=True)
    batch = batch_of(
        row("insert", id=1, start=1, end=2, x=7),
        row("insert", id=1, start=1, end=3, x=7),
        row("insert", id=2, start=None, end=4, x=7),
        row("retract", id=3, start=4, end=6),
        row("upsert", id=4, start=5, end=7),
    )
    output = run(task, MemoryCells(), batch)
    reasons = sorted(rejected_row["reason"] for rejected_row in output["rejected"])
    assert reasons == ["duplicate id", "null time", "unknown change", "unknown event"]
    assert output["accepted"] == [{"rows": 1}]
    assert "late" not in output


class Watching(Aggregate[int, bool]):
    """An aggregate whose result is whether Python's cyclic collector is enabled."""

    name, version = "show.watching", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> bool:
        return gc.isenabled()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_rests_during_a_batch_and_is_then_as_it_was(is_enabled: bool) -> None:
    results = pa.schema([*list(task_of().results)[:2], ("m", pa.bool_())])
    was_enabled = gc.isenabled()
    set_collector(is_enabled)
    try:
        output = run(task_of(Watching(), results=results, is_static=True), MemoryCells(), rows(start=[1], end=[2]))
        assert gc.isenabled() == is_enabled
    finally:
        set_collector(was_enabled)
    assert [result["m"] for result in output["results"]] == [False]


def set_collector(is_enabled: bool) -> None:
    """Enable or disable Python's cyclic collector."""
    if is_enabled:
        gc.enable()
    else:
        gc.disable()


# Of the first batch three rows are rejected; a filter leaves out one of them. Of the second one, a row is late.
CHANGES_BY_BATCH = [
    [
        row("insert", id=1, start=1, end=None, x=5, source="n", is_kept=False),
        row("insert", id=2, start=4, end=6, x=6, source="n", is_kept=True),
        row("revise", id=1, start=1, end=None, new_end=9, source="n", is_kept=True),
        row("insert", id=2, start=4, end=8, x=7, source="n", is_kept=False),  # its id is there
        row("revise", id=9, start=9, end=20, new_end=21, source="s", is_kept=True),  # its event is not
        row("upsert", id=3, start=2, end=3, x=8, source="s", is_kept=True),  # which is no change
        row("insert", id=5, start=40, end=41, x=3, source="s", is_kept=False),
        row("insert", id=6, start=50, end=51, x=2, source="n", is_kept=True),
    ],
    [
        row("insert", id=7, start=3, end=9, x=1, source="n", is_kept=False),  # late
        row("insert", id=8, start=60, end=61, x=2, source="s", is_kept=True),
    ],
]


@pytest.mark.parametrize("late", [Lateness(LatePolicy.SIDE), Lateness(LatePolicy.DROP)], ids=["aside", "dropped"])
@pytest.mark.parametrize("is_filtered", [False, True])
def test_rows_with_ids_come_out_on_arrays_as_they_do_one_by_one(late: Lateness, *, is_filtered: bool) -> None:
    columns = ("source", "is_kept") if is_filtered else ("source",)
    batches = [batch_of(*changes, columns=columns) for changes in CHANGES_BY_BATCH]
    (module,) = INVERTIBLE["sums"]
    outputs: dict[str, list[dict[str, list[dict[str, Any]]]]] = {}
    for evaluator in ("columnar", "general"):
        task = task_of(
            module,
            (describe(int | None, "x"),),
            evaluator=evaluator,
            plan={"window": snapshot()},
            has_changes=True,
            has_ids=True,
            policy=bounded_delay(5),
            sources=("n", "s"),
            late=late,
            is_filtered=is_filtered,
            results=pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.list_(pa.float64()))]),
        )
        assert names_of_counts(task) == ("rows_n", "rows_s", "late_n", "late_s")
        cells = MemoryCells()
        outputs[evaluator] = [sorted_streams(run(task, cells, batch)) for batch in batches]

        if not is_filtered:  # the late row comes once more, and is counted for its source
            counts = {blob.stream: blob.rows for blob in run_bucket(task, 0, cells, bucket_input(task, batches[1]))}
            assert counts["late_n"] == 1

    assert outputs["columnar"] == outputs["general"]
    first_output = outputs["columnar"][0]
    assert first_output["results"]
    assert len(first_output["rejected"]) == (2 if is_filtered else 3)


def sorted_streams(output: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return an output with the rows of each stream in an order that does not depend on the evaluator."""
    return {stream: sorted(table, key=str) for stream, table in output.items()}


NAN_IDS: dict[str, Callable[[Sequence[str]], pa.Array]] = {
    "number": lambda ids: pa.array([float(id) for id in ids]),
    "list": lambda ids: pa.array([[float(id)] for id in ids]),
    "struct": lambda ids: pa.array([{"x": float(id), "y": "a"} for id in ids]),
}


@pytest.mark.parametrize("evaluator", ["general", "columnar"])
@pytest.mark.parametrize("kind", NAN_IDS)
def test_an_id_that_is_nan_is_equal_to_itself_as_a_key_is_and_minus_zero_to_zero(evaluator: str, kind: str) -> None:
    ids = NAN_IDS[kind]
    cells = MemoryCells()
    results = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])

    def new_process() -> TaskPayload:
        return task_of(ResultsOfSums(), has_changes=True, has_ids=True, evaluator=evaluator, results=results)

    insertions = rows(start=[1, 1], end=[30, 30], id=ids(["nan", "-0.0"]), change=["insert"] * 2, i0=[5, 6])
    assert run(new_process(), cells, insertions) == {"accepted": [{"rows": 2}]}

    # NaN is revised to end at 5, zero is retracted, and NaN cannot come again.
    changes = rows(
        change=["revise", "retract", "insert", "punctuate"],
        id=ids(["nan", "0", "nan", "1"]),
        start=[1, 1, 1, 40],
        end=[30, 30, 30, None],
        new_end=[5, 1, None, None],
        i0=[5, 6, 7, None],
    )
    output = run(new_process(), cells, changes)
    assert [rejected_row["reason"] for rejected_row in output["rejected"]] == ["duplicate id"]
    assert output["results"] == [{"key": "a", "window": {"start": 0, "end": 10}, "m": 5}]


# Early results in a bucket: signals reach it, and rows have their timing.


RESULTS = pa.schema(
    [
        ("key", pa.string()),
        ("window", TICKS),
        ("timing", pa.string()),
        ("firing", pa.int64()),
        ("m", pa.list_(pa.int64())),
    ]
)


def early_task(trigger: Any, **plan: Any) -> TaskPayload:
    """Return a task that emits the members of windows early, when a trigger fires."""
    return task_of(has_changes=True, results=RESULTS, plan={"emit": early(trigger), **plan})


class EarlyResult(NamedTuple):
    """A result with what a query with early results tells of it: `firing` is the number of those before it."""

    window_start: int
    timing: str
    firing: int
    members: list[int]


def results_of(task: TaskPayload, cells: MemoryCells, batch: pa.RecordBatch) -> list[EarlyResult]:
    """Run a micro-batch and return its results."""
    table = run(task, cells, batch).get("results", [])
    return [EarlyResult(result["window"]["start"], result["timing"], result["firing"], result["m"]) for result in table]


def test_every_bucket_gets_the_signals_of_all_rows() -> None:
    batches = [
        rows(start=[1, None], end=[2, None], change=["insert", "signal"], signal=[None, "dusk"]),
        rows(start=[None] * 3, end=[None] * 3, change=["signal"] * 3, signal=["dawn", "dusk", None]),
    ]
    map_output = map_output_rows(early_task(on_signal("dusk")), *batches)
    reports = [output_row for output_row in map_output if output_row["rows"] is None]
    assert [report["bucket"] for report in reports] == list(IDS)
    assert all(report["signals"] == ["dawn", "dusk"] for report in reports)


def test_rows_have_their_timing_and_the_number_of_earlier_firings() -> None:
    task = early_task(every_count(2))
    cells = MemoryCells()
    two_events = rows(start=[1, 2], end=[2, 3], change=["insert"] * 2, i0=[5, 6])
    assert results_of(task, cells, two_events) == [
        EarlyResult(window_start=0, timing="early", firing=0, members=[5, 6])
    ]
    event_and_end = rows(start=[3, None], end=[4, None], change=["insert", "close"], i0=[7, None])
    assert results_of(task, cells, event_and_end) == [
        EarlyResult(window_start=0, timing="final", firing=1, members=[5, 6, 7])
    ]


def test_a_signal_emits_windows_without_new_rows() -> None:
    task = early_task(repeat(on_signal("dusk")))
    cells = MemoryCells()
    results_of(task, cells, rows(start=[1, 12], end=[2, 13], change=["insert"] * 2, i0=[5, 6]))

    dusk = rows(start=[None], end=[None], change=["signal"], signal=["dusk"])
    assert results_of(task, cells, dusk) == [
        EarlyResult(window_start=0, timing="early", firing=0, members=[5]),
        EarlyResult(window_start=10, timing="early", firing=0, members=[6]),
    ]
    assert results_of(task, cells, dusk) == [], "no window has changed since"


def test_a_condition_of_a_trigger_is_a_value_of_each_row() -> None:
    task = early_task(when("i0 > 5"), expressions={"i0 > 5": 1})
    task = replace(task, columns=(InputColumns((pa.int64(), pa.bool_()), has_changes=True),))
    cells = MemoryCells()

    def with_condition(start: int, value: int) -> pa.RecordBatch:
        columns = {"change": ["insert"], "i0": [value], "i1": pa.array([value > 5])}
        return rows(start=[start], end=[start + 1], **columns)

    assert results_of(task, cells, with_condition(start=1, value=5)) == []
    assert results_of(task, cells, with_condition(start=2, value=6)) == [
        EarlyResult(window_start=0, timing="early", firing=0, members=[5, 6])
    ]


# A filter in the map task and in the bucket: an event that it leaves out counts as no row, but advances the progress.


WITHOUT_IDS = task_of(is_filtered=True)
WITH_IDS = task_of(has_ids=True, is_filtered=True, has_changes=True, buckets=1)


def filtered_counts(cells: MemoryCells, *changes: dict[str, Any]) -> dict[str, int]:
    """Run a micro-batch of the task with ids, and return the rows of each stream of its output."""
    batch = batch_of(*changes, columns=["is_kept"])
    return {blob.stream: blob.rows for blob in run_bucket(WITH_IDS, 0, cells, bucket_input(WITH_IDS, batch))}


def test_without_ids_an_insertion_that_is_left_out_is_no_row_and_advances_the_progress() -> None:
    columns = {"start": [1, 2, 9], "end": [4, 5, 20], "i0": [None, 5, None]}
    read = read_rows(WITHOUT_IDS.input, rows(**columns, kept=pa.array([False, True, None])))
    assert read.rows.column("start").to_pylist() == [2]
    assert read.progress == Progress(horizon=20, newest=9)
    assert read.counts.filtered == 2
    assert read.counts.unaccepted == (0,), "a module is not asked about the nulls that are left out"


def test_what_is_wrong_with_an_insertion_that_is_left_out_is_not_told() -> None:
    # without a start; empty; good
    columns = {"start": [None, 3, 9], "end": [4, 3, 20]}
    read = read_rows(WITHOUT_IDS.input, rows(**columns, kept=pa.array([False, False, True])))
    assert read.rows.column("start").to_pylist() == [9]
    assert read.progress == Progress(horizon=20, newest=9)


def test_rows_that_are_no_insertion_pass_the_filter() -> None:
    batch = batch_of(
        row("punctuate", start=5, is_kept=None),
        row("close", is_kept=False),
        row("revise", id=1, start=2, new_end=8, is_kept=None),
        columns=["is_kept"],
    )
    read = read_rows(WITH_IDS.input, batch)
    assert read.rows.column("change").to_pylist() == ["revise"]
    assert read.progress.watermark == INFINITY
    assert read.counts.filtered == 0


KEPT_EVENT = row("insert", id=1, start=2, end=30, x=5, is_kept=True)
LEFT_OUT_EVENT = row("insert", id=2, start=3, end=40, x=6, is_kept=None)


def test_an_event_with_an_id_that_is_left_out_is_held_for_its_later_changes() -> None:
    counts = filtered_counts(MemoryCells(), KEPT_EVENT, LEFT_OUT_EVENT)
    assert counts["accepted"] == 1
    assert counts["filtered"] == 1
    assert counts["events_held"] == 2


def test_later_changes_of_an_event_that_was_left_out_are_left_out_until_it_is_retracted() -> None:
    cells = MemoryCells()
    filtered_counts(cells, KEPT_EVENT, LEFT_OUT_EVENT)
    known = filtered_counts(
        cells,
        row("revise", id=2, start=3, end=40, new_end=50),
        row("retract", id=2, start=3),
        row("punctuate", start=4),
    )
    assert "rejected" not in known

    retracted = filtered_counts(cells, row("revise", id=2, start=3, new_end=60))
    assert retracted["rejected"] == 1, "it is as unknown as any other event would be"


def test_a_retraction_that_repeats_the_payload_finds_the_event_that_was_left_out() -> None:
    cells = MemoryCells()
    filtered_counts(cells, KEPT_EVENT)
    filtered_counts(cells, row("insert", id=3, start=8, end=40, x=7, is_kept=False))
    counts = filtered_counts(cells, row("retract", id=3, start=8, x=7, is_kept=False), row("punctuate", start=8))
    assert "rejected" not in counts
    assert counts["events_held"] == 1


def test_at_the_end_nothing_is_held_of_events_that_were_left_out() -> None:
    cells = MemoryCells()
    filtered_counts(cells, KEPT_EVENT, LEFT_OUT_EVENT)
    counts = filtered_counts(cells, row("close"))
    assert counts["results"] == 3, "the windows of ten ticks that the kept event overlaps"
    assert list(cells.cells) == ["metadata"]


# Shed rows are counted, and come with the late rows unless these are dropped.


FOUR_EVENTS_OF_A_KEY = rows(start=[4, 1, 3, 2], end=[5, 2, 4, 3], i0=[4, 1, 3, 2])


def shedding_task(late: str = "side", **parts: Any) -> TaskPayload:
    """Return a task that holds two events of a key at most, with a policy for late rows and other parts."""
    task = task_of(late=parse_lateness(late), **parts)
    return replace(task, plan=replace(task.plan, inputs=(replace(task.plan.input, most_held=2),)))


def blobs_of(task: TaskPayload, batch: pa.RecordBatch) -> dict[str, OutputBlob]:
    """Run the first micro-batch of a bucket, and return its output by stream."""
    return {blob.stream: blob for blob in run_bucket(task, 0, MemoryCells(), bucket_input(task, batch))}


def rows_in(blob: OutputBlob) -> list[dict[str, Any]]:
    """Return the rows of a blob; none if it has only their count."""
    return [] if blob.data is None else from_blob(blob.data).to_pylist()


def test_shed_rows_are_counted_apart_and_come_with_the_late_rows() -> None:
    blobs = blobs_of(shedding_task(), FOUR_EVENTS_OF_A_KEY)
    assert blobs["accepted"].rows == 2
    assert blobs["events_held"].rows == 2
    assert "late" not in blobs
    assert "rejected" not in blobs
    assert STREAMS["late_rows"] == ("late", "shed")

    assert blobs["shed"].rows == 2
    shed_rows = rows_in(blobs["shed"])
    assert [json.loads(shed_row["row"])["since"] for shed_row in shed_rows] == [3, 4]
    for shed_row in shed_rows:
        assert shed_row["reason"] == "shed"
        assert shed_row["late_by"] is None
    assert "0 held, 4 new in the micro-batch, most_held=2" in shed_rows[0]["message"]


def test_where_late_rows_are_dropped_so_are_shed_ones() -> None:
    shed = blobs_of(shedding_task("drop"), FOUR_EVENTS_OF_A_KEY)["shed"]
    assert shed.rows == 2
    assert rows_in(shed) == []


def test_of_a_static_input_nothing_is_shed() -> None:
    blobs = blobs_of(shedding_task(is_static=True), FOUR_EVENTS_OF_A_KEY)
    assert "shed" not in blobs
    assert rows_in(blobs["results"]) == [{"key": "a", "window": {"start": 0, "end": 10}, "m": [1, 2, 3, 4]}]


@pytest.mark.parametrize(("most_held", "reports_shed_rows"), [(None, False), (5, True)])
def test_only_a_query_that_may_shed_rows_reports_how_many(most_held: int | None, reports_shed_rows: bool) -> None:
    assert "shed" in [metric.name for metric in METRICS]
    plan = plan_of(input=input_of(most_held=most_held))
    reported = [metric.name for metric in metrics_of(plan)]
    assert ("shed" in reported) is reports_shed_rows
