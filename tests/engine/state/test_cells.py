"""Damage of a checkpoint is found, and said with the name of the cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from muntin_engine.errors import StateError
from muntin_engine.state.bucket_state import LAYOUT, BucketMetadata
from muntin_engine.state.cells import METADATA, CheckedCells, MemoryCells, Origin
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.evaluators.arrays.test_array_evaluator import Largest, ResultsOfSums, sliced
from tests.engine.wire.payloads import bucket_input, rows, task_of

SEED = 7


def test_a_cell_comes_back_as_it_was_put() -> None:
    cells = CheckedCells(MemoryCells())
    cells.put("a", b"")
    cells.put("b", b"xyz")
    assert (cells.get("a"), cells.get("b"), cells.get("c")) == (b"", b"xyz", None)
    cells.remove("b")
    assert cells.get("b") is None


def flipped(data: bytes, place: int, bit: int = 0) -> bytes:
    """Return data with one bit flipped."""
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def test_each_flipped_bit_and_each_lost_byte_is_found() -> None:
    stored = MemoryCells()
    cells = CheckedCells(stored, "bucket 3")
    cells.put("entry 7", b"some state")
    sealed = stored.cells["entry 7"]
    with_flipped_bit = [flipped(sealed, place, bit) for place, bit in product(range(len(sealed)), range(8))]
    cut_short = [sealed[:length] for length in range(len(sealed))]
    for damaged in [*with_flipped_bit, *cut_short, sealed + b"\0"]:
        stored.cells["entry 7"] = damaged
        with pytest.raises(StateError, match=r"damaged: the cell 'entry 7' of bucket 3(.|\n)*restore the checkpoint"):
            cells.get("entry 7")


def test_a_cell_in_the_place_of_another_is_found() -> None:
    stored = MemoryCells()
    cells = CheckedCells(stored)
    cells.put("entry 1", b"some state")
    cells.put("entry 2", b"other state")
    stored.cells["entry 2"] = stored.cells["entry 1"]
    with pytest.raises(StateError, match="the cell 'entry 2'"):
        cells.get("entry 2")


def test_metadata_that_are_not_read_back_as_they_were_written_fail_before_they_are_committed() -> None:
    """As where a module has replaced `struct.pack`, with which the worker says how long a message is."""

    class Garbling(MemoryCells):
        def put(self, name: str, data: bytes) -> None:
            super().put(name, data[:-1])

    cells = CheckedCells(Garbling(), "bucket 3")
    cells.put("entry 1", b"some state")
    with pytest.raises(StateError, match=r"'metadata' of bucket 3 was written wrong(.|\n)*struct.pack") as caught:
        cells.put(METADATA, b"so far")
    assert "nothing was committed: the state in the checkpoint is as it was" in str(caught.value)
    with pytest.raises(StateError, match=r"'entry 1'(.|\n)*a module replaces code of\n  others.*written wrong"):
        cells.get("entry 1")


def test_the_store_is_not_asked_for_a_cell_that_the_metadata_do_not_list() -> None:
    class Asked(MemoryCells):
        def get(self, name: str) -> bytes | None:
            raise AssertionError(name)

    assert CheckedCells(Asked()).get("waiting") is None


def in_batch(cells: MemoryCells, batch: int, query: str = "q", bucket: int = 3, idle: int = 99) -> CheckedCells:
    """Open the cells of a bucket in a micro-batch; the bucket was not evaluated in micro-batches from `idle` on."""
    return CheckedCells(cells, f"bucket {bucket}", Origin(query, bucket, batch), lambda first: first >= idle)


def written(batches: int, query: str = "q", bucket: int = 3) -> list[dict[str, bytes]]:
    """Write an entry and the metadata in each micro-batch; return the cells after each."""
    stored = MemoryCells()
    cells_after_batches = []
    for batch in range(batches):
        cells = in_batch(stored, batch, query, bucket)
        assert (cells.get(METADATA) is None) == (batch == 0)
        cells.put(f"entry {batch}", b"some state")
        cells.put("waiting", b"%d" % batch)
        cells.put(METADATA, b"so far")
        cells_after_batches.append(dict(stored.cells))
    return cells_after_batches


def holding(*parts: dict[str, bytes]) -> MemoryCells:
    """Return cells; a later part replaces cells of an earlier one."""
    stored = MemoryCells()
    for part in parts:
        stored.cells |= part
    return stored


def test_metadata_are_of_the_micro_batch_before_or_the_bucket_was_idle_since() -> None:
    after = written(3)
    assert in_batch(holding(after[2]), 3).get(METADATA) == b"so far"
    assert in_batch(holding(after[1]), 3, idle=2).get(METADATA) == b"so far"
    assert in_batch(holding(), 3, idle=0).get(METADATA) is None
    with pytest.raises(
        StateError, match=r"in micro-batch 1 of the Spark query q\n  expected: that of .*micro-batch 2 "
    ):
        in_batch(holding(after[1]), 3).get(METADATA)
    with pytest.raises(
        StateError, match=r"in micro-batch 2 of the Spark query q\n  expected: that of .*micro-batch 1 "
    ):
        in_batch(holding(after[2]), 2).get(METADATA)
    with pytest.raises(StateError, match="bucket 3 has no state\n  expected: that of bucket 3 in micro-batch 2"):
        in_batch(holding(), 3, idle=1).get(METADATA)


@pytest.mark.parametrize("origin", [{"query": "another"}, {"bucket": 7}])
def test_state_of_another_query_or_bucket_is_refused_with_its_origin(origin: dict[str, str | int]) -> None:
    elsewhere = written(2, **origin)[-1]  # type: ignore[arg-type]
    with pytest.raises(StateError, match=f"has the state .*{next(iter(origin.values()))}(.|\\n)*check\\("):
        in_batch(holding(elsewhere), 2).get(METADATA)


def test_a_cell_of_another_time_or_place_is_recognized_by_the_metadata_that_list_it() -> None:
    after = written(3)
    elsewhere = written(3, bucket=7)
    for stored, message in (
        (holding(after[2], {"waiting": after[1]["waiting"]}), "of bucket 3 in micro-batch 1"),
        (holding(after[2], {"entry 1": elsewhere[1]["entry 1"]}), "of bucket 7 in micro-batch 1"),
    ):
        cells = in_batch(stored, 3)
        cells.get(METADATA)
        with pytest.raises(StateError, match=f"the metadata lists another one than this, which is {message}"):
            [cells.get(name) for name in after[2] if name != METADATA]


TASKS = {
    "general": task_of(),
    "sliced": sliced(Largest()),
    "columnar": sliced(ResultsOfSums()),
}


def feed(task: TaskPayload, cells: MemoryCells, start: int) -> None:
    columns = {} if task.plan.input.is_point else {"end": [start + 30] * 2}
    batch = rows(start=[start, start + 1], k0=["a", "b"], i0=[5, 6], **columns)
    assert not any(blob.stream == "rejected" for blob in run_bucket(task, 0, cells, bucket_input(task, batch)))


@pytest.mark.parametrize("name", TASKS)
def test_a_byte_that_is_flipped_in_any_cell_of_any_evaluator_is_found(name: str) -> None:
    task = TASKS[name]
    random = Random(SEED)
    cells = MemoryCells()
    feed(task, cells, 3)
    assert len(cells.cells) > 1
    for cell, data in cells.cells.items():
        place = random.randrange(len(data))
        wrong = MemoryCells()
        wrong.cells = {**cells.cells, cell: flipped(data, place)}
        with pytest.raises(StateError, match=rf"the state in the checkpoint is damaged: the cell '{cell}' of bucket 0"):
            feed(replace(task), wrong, 5)  # another one, with no store kept


@pytest.mark.parametrize("name", TASKS)
def test_a_cell_that_is_gone_is_noticed(name: str) -> None:
    task = TASKS[name]
    cells = MemoryCells()
    feed(task, cells, 3)
    del cells.cells[next(cell for cell in cells.cells if cell != "metadata")]
    with pytest.raises(StateError, match="the metadata lists it"):
        feed(replace(task), cells, 5)


def test_another_layout_is_not_read() -> None:
    with pytest.raises(StateError, match=f"the checkpoint has state layout 99, this query reads {LAYOUT}"):
        BucketMetadata.from_bytes(Codec().pack([99, "whatever"]), Compatibility({}), Codec())
