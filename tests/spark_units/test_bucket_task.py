"""One bucket in one micro-batch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from muntin import Aggregate, Lateness, LatePolicy, snapshot
from muntin.progress import bounded_delay
from muntin.schemas import describe
from muntin_engine.exchange.bucket_task import names_of_counts, run_bucket
from muntin_engine.exchange.shuffle import from_blob
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import MemoryCells
from tests.differential.forms import INVERTIBLE
from tests.spark_units.tasks import TICKS, arrived, rows, task_of
from tests.spark_units.test_closed import Told

STREAMS = {"accepted", "late", "rejected", "results"}


def run(task: TaskPayload, cells: MemoryCells, *batches: pa.RecordBatch) -> dict[str, list[dict[str, Any]]]:
    """Return what a bucket puts out, by stream, and check the counts; without metrics."""
    found: dict[str, list[dict[str, Any]]] = {}
    for blob in run_bucket(task, 0, cells, arrived(task, *batches)):
        if blob.stream not in STREAMS:
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
    (module,), changes = INVERTIBLE["sums"], ["insert", "insert", "revise", "insert", "revise", "upsert"]
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
        cells, source = MemoryCells(), {"n": ["n", "s"], "s": ["n"] * 4 + ["s"] * 3 + ["n"]}
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
    ids, cells = NAN_IDS[kind], MemoryCells()
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
