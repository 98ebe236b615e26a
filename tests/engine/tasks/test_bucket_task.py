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
from tests.engine.evaluators.arrays.test_array_evaluator import Told
from tests.engine.plan.plans import input_of, plan_of
from tests.engine.wire.payloads import IDS, TICKS, arrived, rows, sent, task_of
from tests.modules.columnar import INVERTIBLE

OF_ROWS = {"accepted", "late", "rejected", "results"}


def run(task: TaskPayload, cells: MemoryCells, *batches: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Return what a bucket puts out, by stream, and check the counts; without metrics."""
    found: dict[str, list[dict[str, Any]]] = {}
    for blob in run_bucket(task, 0, cells, arrived(task, *batches)):
        if blob.stream not in OF_ROWS:
            assert blob.data is None
        elif blob.data is None:
            found[blob.stream] = [{"rows": blob.rows}]
        else:
            table = from_blob(blob.data)
            assert table.num_rows == blob.rows
            found.setdefault(blob.stream, []).extend(table.to_pylist())
    return found


def window(start: int, end: int, members: list[int]) -> dict[str, Any]:
    return {"key": "a", "window": {"start": start, "end": end}, "m": members}


def test_what_is_wrong_with_rows_comes_out_beside_the_results() -> None:
    task = task_of(is_static=True, has_changes=True, has_ids=True)
    batch = rows(
        start=[1, 1, None, 4, 5], end=[2, 3, 4, 6, 7], id=[1, 1, 2, 3, 4], change=["insert"] * 3 + ["retract", "upsert"]
    )
    found = run(task, MemoryCells(), batch)
    assert sorted(row["reason"] for row in found["rejected"]) == [
        "duplicate id",
        "null time",
        "unknown change",
        "unknown event",
    ]
    assert found["accepted"] == [{"rows": 1}]
    assert "late" not in found


class Watching(Aggregate[int, bool]):
    """Whether Python looks for cycles meanwhile."""

    name, version = "show.watching", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> bool:
        return gc.isenabled()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_rests_during_a_batch_and_is_then_as_it_was(is_enabled: bool) -> None:
    results = pa.schema([*list(task_of().results)[:2], ("m", pa.bool_())])
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        found = run(task_of(Watching(), results=results, is_static=True), MemoryCells(), rows(start=[1], end=[2]))
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert [row["m"] for row in found["results"]] == [False]


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
    found = []
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
        source = {"n": ["n", "s"], "s": ["n"] * 4 + ["s"] * 3 + ["n"]}
        batches = [rows(**first, change=[*changes, *["insert"] * 2], source=pa.array(source["s"]))]
        batches.append(rows(**second, change=["insert"] * 2, source=pa.array(source["n"])))
        if is_filtered:
            batches = [
                some.append_column("kept", pa.array([place % 3 > 0 for place in range(len(some))])) for some in batches
            ]
        found.append([sorted_streams(run(task, cells, batch)) for batch in batches])
        counts = {blob.stream: blob.rows for blob in run_bucket(task, 0, cells, arrived(task, batches[1]))}
        assert counts.get("late_n") == 1 or is_filtered
    assert found[0] == found[1]
    assert found[0][0]["results"]
    assert len(found[0][0]["rejected"]) == 3 - is_filtered


def sorted_streams(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {stream: sorted(some, key=str) for stream, some in found.items()}


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
        return task_of(Told(), has_changes=True, has_ids=True, evaluator=evaluator, results=results)

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
    found = run(new_process(), cells, then)
    assert [row["reason"] for row in found["rejected"]] == ["duplicate id"]
    assert found["results"] == [{"key": "a", "window": {"start": 0, "end": 10}, "m": 5}]


# Early results in a bucket: signals reach it, and rows say when they were put out.


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
    found = run(task, cells, batch).get("results", [])
    return [(row["window"]["start"], row["timing"], row["firing"], row["m"]) for row in found]


def test_every_bucket_hears_of_the_signals_of_all_rows() -> None:
    batches = [
        rows(start=[1, None], end=[2, None], change=["insert", "signal"], signal=[None, "dusk"]),
        rows(start=[None] * 3, end=[None] * 3, change=["signal"] * 3, signal=["dawn", "dusk", None]),
    ]
    told = [row for row in sent(early_task(on_signal("dusk")), *batches) if row["rows"] is None]
    assert [(row["bucket"], row["signals"]) for row in told] == [(bucket, ["dawn", "dusk"]) for bucket in IDS]


def test_rows_say_whether_their_window_was_open_and_how_often_it_was_put_out() -> None:
    task = early_task(every_count(2))
    cells = MemoryCells()
    assert results(task, cells, rows(start=[1, 2], end=[2, 3], change=["insert"] * 2, i0=[5, 6])) == [
        (0, "early", 0, [5, 6])
    ]
    assert results(task, cells, rows(start=[3, None], end=[4, None], change=["insert", "close"], i0=[7, None])) == [
        (0, "final", 1, [5, 6, 7])
    ]


def test_a_signal_puts_out_windows_without_rows() -> None:
    task = early_task(repeat(on_signal("dusk")))
    cells = MemoryCells()
    results(task, cells, rows(start=[1, 12], end=[2, 13], change=["insert"] * 2, i0=[5, 6]))
    dusk = rows(start=[None], end=[None], change=["signal"], signal=["dusk"])
    assert results(task, cells, dusk) == [(0, "early", 0, [5]), (10, "early", 0, [6])]
    assert results(task, cells, dusk) == []


def test_a_condition_is_a_value_of_each_row() -> None:
    asked = early_task(when("i0 > 5"), expressions={"i0 > 5": 1})
    task = replace(asked, columns=(InputColumns((pa.int64(), pa.bool_()), has_changes=True),))
    cells = MemoryCells()
    few, many = ({"change": ["insert"], "i0": [i0], "i1": pa.array([i0 > 5])} for i0 in (5, 6))
    assert results(task, cells, rows(start=[1], end=[2], **few)) == []
    assert results(task, cells, rows(start=[2], end=[3], **many)) == [(0, "early", 0, [5, 6])]


# A filter where the rows are, and in the bucket: what it leaves out is no row, and still says how far the input is.


PLAIN = task_of(is_filtered=True)
REVISED = task_of(
    has_ids=True,
    is_filtered=True,
    has_changes=True,
    buckets=1,
)


def batch(*given: tuple[Any, ...]) -> pa.RecordBatch:
    names = ("change", "id", "start", "end", "new_end", "i0", "kept")
    columns = {name: list(column) for name, column in zip(names, zip(*given, strict=True), strict=True)}
    return rows(**(columns | {"kept": pa.array(columns["kept"], pa.bool_())}))


def blobs_of(task: TaskPayload, cells: MemoryCells, *given: tuple[Any, ...]) -> dict[str, OutputBlob]:
    found = list(run_bucket(task, 0, cells, arrived(task, batch(*given))))
    return {blob.stream: blob for blob in found}


def test_without_ids_an_insertion_that_is_left_out_is_no_row_and_moves_the_input_on() -> None:
    given = {"start": [1, 2, 9], "end": [4, 5, 20], "i0": [None, 5, None]}
    read = read_rows(PLAIN.input, rows(**given, kept=pa.array([False, True, None])))
    assert read.rows.column("start").to_pylist() == [2]
    assert read.progress == Progress(horizon=20, newest=9)
    assert (read.counts.filtered, read.counts.unaccepted) == (2, (0,))


def test_an_insertion_that_is_left_out_is_not_judged() -> None:
    given = {"start": [None, 3, 9], "end": [4, 3, 20]}
    read = read_rows(PLAIN.input, rows(**given, kept=pa.array([False, False, True])))
    assert read.rows.column("start").to_pylist() == [9]
    assert read.progress == Progress(horizon=20, newest=9)


def test_rows_that_are_no_insertion_pass() -> None:
    rows_of_control = [("punctuate", None, 5, None, None, None, None), ("close", None, None, None, None, None, False)]
    read = read_rows(REVISED.input, batch(*rows_of_control, ("revise", 1, 2, None, 8, None, None)))
    assert read.rows.column("change").to_pylist() == ["revise"]
    assert read.progress.watermark == 2**63 - 1
    assert read.counts.filtered == 0


def test_what_is_said_later_of_an_event_that_was_left_out_goes_with_it() -> None:
    cells = MemoryCells()
    kept = ("insert", 1, 2, 30, None, 5, True)
    left_out = ("insert", 2, 3, 40, None, 6, None)
    first = blobs_of(REVISED, cells, kept, left_out)
    assert (first["accepted"].rows, first["filtered"].rows, first["events_held"].rows) == (1, 1, 2)

    gone = [("revise", 2, 3, 40, 50, None, None), ("retract", 2, 3, None, None, None, None)]
    later = blobs_of(REVISED, cells, *gone, ("punctuate", None, 4, None, None, None, None))
    assert "rejected" not in later
    again = blobs_of(REVISED, cells, ("revise", 2, 3, None, 60, None, None))
    assert again["rejected"].rows == 1, "it is gone, as any other event would be"
    blobs_of(REVISED, cells, ("insert", 3, 8, 40, None, 7, False))
    repeated = blobs_of(
        REVISED, cells, ("retract", 3, 8, None, None, 7, False), ("punctuate", None, 8, None, None, None, None)
    )
    assert "rejected" not in repeated
    assert repeated["events_held"].rows == 1, "a retraction that repeats the payload finds what was left out"
    closed = blobs_of(REVISED, cells, ("close", None, None, None, None, None, None))
    assert closed["results"].rows == 3, "the windows that the kept event overlaps"
    assert list(cells.cells) == ["metadata"]


# ON-21 in a bucket: what is shed is counted, and comes out with the late rows unless these are dropped.


HOT = rows(start=[4, 1, 3, 2], end=[5, 2, 4, 3], i0=[4, 1, 3, 2])


def shedding(late: str = "side", **changed: Any) -> TaskPayload:
    task = task_of(late=parse_lateness(late), **changed)
    return replace(task, plan=replace(task.plan, inputs=(replace(task.plan.input, most_held=2),)))


def rows_of(task: TaskPayload, *batches: pa.RecordBatch) -> dict[str, tuple[int, list[dict[str, Any]]]]:
    blobs = run_bucket(task, 0, MemoryCells(), arrived(task, *batches))
    return {b.stream: (b.rows, [] if b.data is None else from_blob(b.data).to_pylist()) for b in blobs}


def test_what_is_shed_is_counted_apart_and_comes_with_the_late_rows() -> None:
    found = rows_of(shedding(), HOT)
    assert (found["accepted"][0], found["shed"][0], found["events_held"][0]) == (2, 2, 2)
    assert "late" not in found
    assert "rejected" not in found
    assert STREAMS["late_rows"] == ("late", "shed")
    told = found["shed"][1]
    assert [(row["reason"], row["late_by"], json.loads(row["row"])["since"]) for row in told] == [
        ("shed", None, 3),
        ("shed", None, 4),
    ]
    assert "0 held, 4 new in the micro-batch, most_held=2" in told[0]["message"]


def test_where_late_rows_are_dropped_so_are_those_that_are_shed() -> None:
    assert rows_of(shedding("drop"), HOT)["shed"] == (2, [])


def test_of_a_static_input_nothing_is_shed() -> None:
    found = rows_of(shedding(is_static=True), HOT)
    assert "shed" not in found
    assert found["results"][1] == [{"key": "a", "window": {"start": 0, "end": 10}, "m": [1, 2, 3, 4]}]


@pytest.mark.parametrize(("most_held", "reports"), [(None, False), (5, True)])
def test_a_query_reports_it_if_it_sheds(most_held: int | None, reports: bool) -> None:
    plan = plan_of(input=input_of(most_held=most_held))
    assert ("shed" in [metric.name for metric in metrics_of(plan)]) is reports
    assert "shed" in [metric.name for metric in METRICS]
