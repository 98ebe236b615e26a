"""One bucket in one micro-batch: bad rows, filters, early results, and what is shed."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from muntin import Aggregate, Lateness, LatePolicy, early, snapshot
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

OF_ROWS = {"accepted", "late", "rejected", "results"}


def run(task: TaskPayload, cells: MemoryCells, *batches: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Run a bucket, check the counts, and return its output by stream, without metrics."""
    output: dict[str, list[dict[str, Any]]] = {}
    for blob in run_bucket(task, 0, cells, bucket_input(task, *batches)):
        if blob.stream not in OF_ROWS:
            assert blob.data is None
        elif blob.data is None:
            output[blob.stream] = [{"rows": blob.rows}]
        else:
            table = from_blob(blob.data)
            assert table.num_rows == blob.rows
            output.setdefault(blob.stream, []).extend(table.to_pylist())
    return output


def window(start: int, end: int, members: list[int]) -> dict[str, Any]:
    return {"key": "a", "window": {"start": start, "end": end}, "m": members}


def test_rejected_rows_come_with_their_reasons_beside_the_results() -> None:
    task = task_of(is_static=True, has_changes=True, has_ids=True)
    batch = rows(
        start=[1, 1, None, 4, 5], end=[2, 3, 4, 6, 7], id=[1, 1, 2, 3, 4], change=["insert"] * 3 + ["retract", "upsert"]
    )
    output = run(task, MemoryCells(), batch)
    reasons = sorted(row["reason"] for row in output["rejected"])
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
    assert [row["m"] for row in output["results"]] == [False]


def set_collector(is_enabled: bool) -> None:
    if is_enabled:
        gc.enable()
    else:
        gc.disable()


@pytest.mark.parametrize("late", [Lateness(LatePolicy.SIDE), Lateness(LatePolicy.DROP)], ids=["aside", "dropped"])
@pytest.mark.parametrize("is_filtered", [False, True])
def test_rows_with_ids_come_out_on_arrays_as_they_do_one_by_one(late: Lateness, *, is_filtered: bool) -> None:
    (module,) = INVERTIBLE["sums"]
    changes = ["insert", "insert", "revise", "insert", "revise", "upsert"]
    first = {
        "start": [1, 4, 1, 4, 9, 2, 40, 50],
        "end": [None, 6, None, 8, 20, 3, 41, 51],
        "id": [1, 2, 1, 2, 9, 3, 5, 6],
        "new_end": [None, None, 9, None, 21, None, None, None],
        "i0": [5, 6, None, 7, None, 8, 3, 2],
    }
    second = {"start": [3, 60], "end": [9, 61], "id": [7, 8], "new_end": [None, None], "i0": [1, 2]}
    outputs: list[list[dict[str, list[dict[str, Any]]]]] = []
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
        batches = [
            rows(**first, change=[*changes, "insert", "insert"], source=pa.array(["n"] * 4 + ["s"] * 3 + ["n"])),
            rows(**second, change=["insert", "insert"], source=pa.array(["n", "s"])),
        ]
        if is_filtered:
            batches = list(map(without_every_third, batches))
        outputs.append([sorted_streams(run(task, cells, batch)) for batch in batches])
        counts = {blob.stream: blob.rows for blob in run_bucket(task, 0, cells, bucket_input(task, batches[1]))}
        assert counts.get("late_n") == 1 or is_filtered
    on_arrays, one_by_one = outputs
    assert on_arrays == one_by_one
    assert on_arrays[0]["results"]
    assert len(on_arrays[0]["rejected"]) == 3 - is_filtered


def without_every_third(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with a filter that leaves out every third row."""
    return batch.append_column("kept", pa.array([place % 3 > 0 for place in range(len(batch))]))


def sorted_streams(output: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {stream: sorted(table, key=str) for stream, table in output.items()}


NAN_IDS: dict[str, Callable[[Sequence[str]], pa.Array]] = {
    "number": lambda ids: pa.array([float(id) for id in ids]),
    "list": lambda ids: pa.array([[float(id)] for id in ids]),
    "struct": lambda ids: pa.array([{"x": float(id), "y": "a"} for id in ids]),
}


# nan  [--------)        is revised to end at 5, in a later micro-batch, and -0.0, which is 0.0, is deleted
# -0   [--------)
@pytest.mark.parametrize("evaluator", ["general", "columnar"])
@pytest.mark.parametrize("kind", NAN_IDS)
def test_an_id_that_is_nan_is_equal_to_itself_as_a_key_is(evaluator: str, kind: str) -> None:
    ids = NAN_IDS[kind]
    cells = MemoryCells()
    results = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])

    def new_process() -> TaskPayload:
        return task_of(ResultsOfSums(), has_changes=True, has_ids=True, evaluator=evaluator, results=results)

    first = rows(start=[1, 1], end=[30, 30], id=ids(["nan", "-0.0"]), change=["insert"] * 2, i0=[5, 6])
    assert run(new_process(), cells, first) == {"accepted": [{"rows": 2}]}
    then = rows(
        start=[1, 1, 1, 40],
        end=[30, 30, 30, None],
        new_end=[5, 1, None, None],
        id=ids(["nan", "0", "nan", "1"]),
        change=["revise", "retract", "insert", "punctuate"],
        i0=[5, 6, 7, None],
    )
    output = run(new_process(), cells, then)
    assert [row["reason"] for row in output["rejected"]] == ["duplicate id"]
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
    return task_of(has_changes=True, results=RESULTS, plan={"emit": early(trigger), **plan})


def results(task: TaskPayload, cells: MemoryCells, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    table = run(task, cells, batch).get("results", [])
    return [(row["window"]["start"], row["timing"], row["firing"], row["m"]) for row in table]


def test_every_bucket_gets_the_signals_of_all_rows() -> None:
    batches = [
        rows(start=[1, None], end=[2, None], change=["insert", "signal"], signal=[None, "dusk"]),
        rows(start=[None] * 3, end=[None] * 3, change=["signal"] * 3, signal=["dawn", "dusk", None]),
    ]
    reports = [row for row in map_output_rows(early_task(on_signal("dusk")), *batches) if row["rows"] is None]
    assert [row["bucket"] for row in reports] == list(IDS)
    assert all(row["signals"] == ["dawn", "dusk"] for row in reports)


def test_rows_have_their_timing_and_the_number_of_earlier_firings() -> None:
    task = early_task(every_count(2))
    cells = MemoryCells()
    assert results(task, cells, rows(start=[1, 2], end=[2, 3], change=["insert"] * 2, i0=[5, 6])) == [
        (0, "early", 0, [5, 6])
    ]
    assert results(task, cells, rows(start=[3, None], end=[4, None], change=["insert", "close"], i0=[7, None])) == [
        (0, "final", 1, [5, 6, 7])
    ]


def test_a_signal_emits_windows_without_new_rows() -> None:
    task = early_task(repeat(on_signal("dusk")))
    cells = MemoryCells()
    results(task, cells, rows(start=[1, 12], end=[2, 13], change=["insert"] * 2, i0=[5, 6]))
    dusk = rows(start=[None], end=[None], change=["signal"], signal=["dusk"])
    assert results(task, cells, dusk) == [(0, "early", 0, [5]), (10, "early", 0, [6])]
    assert results(task, cells, dusk) == []


def test_a_condition_is_a_value_of_each_row() -> None:
    task = early_task(when("i0 > 5"), expressions={"i0 > 5": 1})
    task = replace(task, columns=(InputColumns((pa.int64(), pa.bool_()), has_changes=True),))
    cells = MemoryCells()

    def with_condition(start: int, value: int) -> pa.RecordBatch:
        columns = {"change": ["insert"], "i0": [value], "i1": pa.array([value > 5])}
        return rows(start=[start], end=[start + 1], **columns)

    assert results(task, cells, with_condition(1, 5)) == []
    assert results(task, cells, with_condition(2, 6)) == [(0, "early", 0, [5, 6])]


# A filter in the map task and in the bucket: an event that it leaves out counts as no row, but advances the progress.


PLAIN = task_of(is_filtered=True)
REVISED = task_of(
    has_ids=True,
    is_filtered=True,
    has_changes=True,
    buckets=1,
)


def batch(*changes: tuple[Any, ...]) -> pa.RecordBatch:
    """Return rows of (change, id, start, end, new end, payload, is kept)."""
    change, id, start, end, new_end, payload, is_kept = map(list, zip(*changes, strict=True))
    filter_column = pa.array(is_kept, pa.bool_())
    return rows(change=change, id=id, start=start, end=end, new_end=new_end, i0=payload, kept=filter_column)


def blobs_of(task: TaskPayload, cells: MemoryCells, *changes: tuple[Any, ...]) -> dict[str, OutputBlob]:
    return {blob.stream: blob for blob in run_bucket(task, 0, cells, bucket_input(task, batch(*changes)))}


def test_without_ids_an_insertion_that_is_left_out_is_no_row_and_advances_the_progress() -> None:
    columns = {"start": [1, 2, 9], "end": [4, 5, 20], "i0": [None, 5, None]}
    read = read_rows(PLAIN.input, rows(**columns, kept=pa.array([False, True, None])))
    assert read.rows.column("start").to_pylist() == [2]
    assert read.progress == Progress(horizon=20, newest=9)
    assert (read.counts.filtered, read.counts.unaccepted) == (2, (0,))


def test_an_insertion_that_is_left_out_is_not_judged() -> None:
    columns = {"start": [None, 3, 9], "end": [4, 3, 20]}
    read = read_rows(PLAIN.input, rows(**columns, kept=pa.array([False, False, True])))
    assert read.rows.column("start").to_pylist() == [9]
    assert read.progress == Progress(horizon=20, newest=9)


def test_rows_that_are_no_insertion_pass() -> None:
    rows_of_control = [("punctuate", None, 5, None, None, None, None), ("close", None, None, None, None, None, False)]
    read = read_rows(REVISED.input, batch(*rows_of_control, ("revise", 1, 2, None, 8, None, None)))
    assert read.rows.column("change").to_pylist() == ["revise"]
    assert read.progress.watermark == 2**63 - 1
    assert read.counts.filtered == 0


def test_later_changes_of_an_event_that_was_left_out_are_left_out_too() -> None:
    cells = MemoryCells()
    let_in = ("insert", 1, 2, 30, None, 5, True)
    left_out = ("insert", 2, 3, 40, None, 6, None)
    first = blobs_of(REVISED, cells, let_in, left_out)
    assert (first["accepted"].rows, first["filtered"].rows, first["events_held"].rows) == (1, 1, 2)

    changes = [("revise", 2, 3, 40, 50, None, None), ("retract", 2, 3, None, None, None, None)]
    later = blobs_of(REVISED, cells, *changes, ("punctuate", None, 4, None, None, None, None))
    assert "rejected" not in later
    again = blobs_of(REVISED, cells, ("revise", 2, 3, None, 60, None, None))
    assert again["rejected"].rows == 1, "it was retracted, and is as unknown as any other event would be"
    blobs_of(REVISED, cells, ("insert", 3, 8, 40, None, 7, False))
    repeated = blobs_of(
        REVISED, cells, ("retract", 3, 8, None, None, 7, False), ("punctuate", None, 8, None, None, None, None)
    )
    assert "rejected" not in repeated
    assert repeated["events_held"].rows == 1, "a retraction that repeats the payload finds what was left out"
    closed = blobs_of(REVISED, cells, ("close", None, None, None, None, None, None))
    assert closed["results"].rows == 3, "the windows that the other event overlaps"
    assert list(cells.cells) == ["metadata"]


# Shed rows are counted, and come with the late rows unless these are dropped.


HOT = rows(start=[4, 1, 3, 2], end=[5, 2, 4, 3], i0=[4, 1, 3, 2])


def shedding(late: str = "side", **changed: Any) -> TaskPayload:
    task = task_of(late=parse_lateness(late), **changed)
    return replace(task, plan=replace(task.plan, inputs=(replace(task.plan.input, most_held=2),)))


def rows_of(task: TaskPayload, *batches: pa.RecordBatch) -> dict[str, tuple[int, list[dict[str, Any]]]]:
    blobs = run_bucket(task, 0, MemoryCells(), bucket_input(task, *batches))
    output: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    for blob in blobs:
        table = [] if blob.data is None else from_blob(blob.data).to_pylist()
        output[blob.stream] = (blob.rows, table)
    return output


def test_shed_rows_are_counted_apart_and_come_with_the_late_rows() -> None:
    output = rows_of(shedding(), HOT)
    assert output["accepted"][0] == 2
    assert output["events_held"][0] == 2
    assert "late" not in output
    assert "rejected" not in output
    assert STREAMS["late_rows"] == ("late", "shed")

    count, shed_rows = output["shed"]
    assert count == 2
    assert [json.loads(row["row"])["since"] for row in shed_rows] == [3, 4]
    assert all((row["reason"], row["late_by"]) == ("shed", None) for row in shed_rows)
    assert "0 held, 4 new in the micro-batch, most_held=2" in shed_rows[0]["message"]


def test_where_late_rows_are_dropped_so_are_shed_ones() -> None:
    assert rows_of(shedding("drop"), HOT)["shed"] == (2, [])


def test_of_a_static_input_nothing_is_shed() -> None:
    output = rows_of(shedding(is_static=True), HOT)
    assert "shed" not in output
    assert output["results"][1] == [{"key": "a", "window": {"start": 0, "end": 10}, "m": [1, 2, 3, 4]}]


@pytest.mark.parametrize(("most_held", "reports"), [(None, False), (5, True)])
def test_a_query_that_may_shed_rows_reports_how_many(most_held: int | None, reports: bool) -> None:
    plan = plan_of(input=input_of(most_held=most_held))
    assert ("shed" in [metric.name for metric in metrics_of(plan)]) is reports
    assert "shed" in [metric.name for metric in METRICS]
