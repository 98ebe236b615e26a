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
    """Return data with one bit of the byte at a place flipped."""
    byte = data[place] ^ (1 << bit)
    return data[:place] + bytes([byte]) + data[place + 1 :]


def test_each_flipped_bit_and_each_lost_byte_is_found() -> None:
    stored = MemoryCells()
    cells = CheckedCells(stored, "bucket 3")
    cells.put("entry 7", b"some state")
    written = stored.cells["entry 7"]
    with_flipped_bit = [flipped(written, place, bit) for place, bit in product(range(len(written)), range(8))]
    cut_short = [written[:length] for length in range(len(written))]
    for damaged in [*with_flipped_bit, *cut_short, written + b"\0"]:
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

    class LosingTheLastByte(MemoryCells):
        def put(self, name: str, data: bytes) -> None:
            super().put(name, data[:-1])

    cells = CheckedCells(LosingTheLastByte(), "bucket 3")
    cells.put("entry 1", b"some state")  # only the metadata are read back at once
    with pytest.raises(StateError, match=r"'metadata' of bucket 3 was written wrong(.|\n)*struct.pack") as caught:
        cells.put(METADATA, b"so far")
    assert "nothing was committed: the state in the checkpoint is as it was" in str(caught.value)
    with pytest.raises(StateError, match=r"'entry 1'(.|\n)*a module replaces code of\n  others.*written wrong"):
        cells.get("entry 1")


def test_the_store_is_not_asked_for_a_cell_that_the_metadata_do_not_list() -> None:
    class FailingWhenAsked(MemoryCells):
        def get(self, name: str) -> bytes | None:
            raise AssertionError(name)

    assert CheckedCells(FailingWhenAsked()).get("waiting") is None


def in_batch(cells: MemoryCells, batch: int, query: str = "q", bucket: int = 3, idle_from: int = 99) -> CheckedCells:
    """Open the cells of a bucket in a micro-batch.

    Args:
        cells: The cells.
        batch: The number of the micro-batch.
        query: The id of the query.
        bucket: The id of the bucket.
        idle_from: The first micro-batch since which the bucket was not evaluated; by default it always was.
    """
    return CheckedCells(cells, f"bucket {bucket}", Origin(query, bucket, batch), lambda first: first >= idle_from)


def cells_after_each_batch(batches: int, query: str = "q", bucket: int = 3) -> list[dict[str, bytes]]:
    """Write an entry, the cell `waiting` and the metadata in each micro-batch; return all cells after each."""
    stored = MemoryCells()
    copies: list[dict[str, bytes]] = []
    for batch in range(batches):
        cells = in_batch(stored, batch, query, bucket)
        assert (cells.get(METADATA) is None) == (batch == 0)
        cells.put(f"entry {batch}", b"some state")
        cells.put("waiting", b"%d" % batch)
        cells.put(METADATA, b"so far")
        copies.append(dict(stored.cells))
    return copies


def cells_of(cells: dict[str, bytes]) -> MemoryCells:
    """Return these cells, as a checkpoint has them."""
    stored = MemoryCells()
    stored.cells |= cells
    return stored


NO_CELLS: dict[str, bytes] = {}


def test_metadata_are_those_of_the_micro_batch_before_or_of_an_earlier_one_if_the_bucket_was_idle_since() -> None:
    after = cells_after_each_batch(3)
    assert in_batch(cells_of(after[2]), 3).get(METADATA) == b"so far"
    assert in_batch(cells_of(after[1]), 3, idle_from=2).get(METADATA) == b"so far"
    assert in_batch(cells_of(NO_CELLS), 3, idle_from=0).get(METADATA) is None


def test_metadata_of_an_earlier_micro_batch_of_a_bucket_that_was_not_idle_are_refused() -> None:
    after = cells_after_each_batch(3)
    message = r"in micro-batch 1 of the Spark query q\n  expected: that of .*micro-batch 2 "
    with pytest.raises(StateError, match=message):
        in_batch(cells_of(after[1]), 3).get(METADATA)


def test_metadata_of_a_micro_batch_that_is_run_again_are_refused() -> None:
    after = cells_after_each_batch(3)
    message = r"in micro-batch 2 of the Spark query q\n  expected: that of .*micro-batch 1 "
    with pytest.raises(StateError, match=message):
        in_batch(cells_of(after[2]), 2).get(METADATA)


def test_a_bucket_without_state_that_was_evaluated_before_is_refused() -> None:
    with pytest.raises(StateError, match="bucket 3 has no state\n  expected: that of bucket 3 in micro-batch 2"):
        in_batch(cells_of(NO_CELLS), 3, idle_from=1).get(METADATA)


def test_state_of_another_query_is_refused_with_its_origin() -> None:
    of_another_query = cells_after_each_batch(2, query="another")[-1]
    with pytest.raises(StateError, match=r"has the state .*another(.|\n)*check\("):
        in_batch(cells_of(of_another_query), 2).get(METADATA)


def test_state_of_another_bucket_is_refused_with_its_origin() -> None:
    of_another_bucket = cells_after_each_batch(2, bucket=7)[-1]
    with pytest.raises(StateError, match=r"has the state .*7(.|\n)*check\("):
        in_batch(cells_of(of_another_bucket), 2).get(METADATA)


def test_a_cell_of_another_time_or_place_is_recognized_by_the_metadata_that_list_it() -> None:
    after = cells_after_each_batch(3)
    of_another_bucket = cells_after_each_batch(3, bucket=7)
    with_older_cell = after[2] | {"waiting": after[1]["waiting"]}
    with_foreign_cell = after[2] | {"entry 1": of_another_bucket[1]["entry 1"]}
    for stored, name, origin in (
        (with_older_cell, "waiting", "of bucket 3 in micro-batch 1"),
        (with_foreign_cell, "entry 1", "of bucket 7 in micro-batch 1"),
    ):
        cells = in_batch(cells_of(stored), 3)
        cells.get(METADATA)
        with pytest.raises(StateError, match=f"the metadata lists another one than this, which is {origin}"):
            cells.get(name)


TASKS = {
    "general": task_of(),
    "sliced": sliced(Largest()),
    "columnar": sliced(ResultsOfSums()),
}
"""A task for each way in which evaluators keep state, by the evaluator."""


def feed(task: TaskPayload, cells: MemoryCells, start: int) -> None:
    """Evaluate a bucket with an event of each of two keys, from a tick on, none of which is rejected."""
    lifetime_ends = {} if task.plan.input.is_point else {"end": [start + 30] * 2}
    batch = rows(start=[start, start + 1], k0=["a", "b"], i0=[5, 6], **lifetime_ends)
    streams = [blob.stream for blob in run_bucket(task, 0, cells, bucket_input(task, batch))]
    assert "rejected" not in streams


def restarted(task: TaskPayload) -> TaskPayload:
    """Return the task as a new process has it: no decoded store is in the cache for it."""
    return replace(task)


@pytest.mark.parametrize("evaluator", TASKS)
def test_a_byte_that_is_flipped_in_any_cell_of_any_evaluator_is_found(evaluator: str) -> None:
    task = TASKS[evaluator]
    random = Random(SEED)
    cells = MemoryCells()
    feed(task, cells, start=3)
    assert len(cells.cells) > 1
    for name, data in cells.cells.items():
        damaged = flipped(data, place=random.randrange(len(data)))
        message = rf"the state in the checkpoint is damaged: the cell '{name}' of bucket 0"
        with pytest.raises(StateError, match=message):
            feed(restarted(task), cells_of(cells.cells | {name: damaged}), start=5)


@pytest.mark.parametrize("evaluator", TASKS)
def test_a_cell_that_is_gone_is_noticed(evaluator: str) -> None:
    task = TASKS[evaluator]
    cells = MemoryCells()
    feed(task, cells, start=3)
    cells.remove(next(name for name in cells.cells if name != METADATA))
    with pytest.raises(StateError, match="the metadata lists it"):
        feed(restarted(task), cells, start=5)


def test_another_layout_is_not_read() -> None:
    with pytest.raises(StateError, match=f"the checkpoint has state layout 99, this query reads {LAYOUT}"):
        BucketMetadata.from_bytes(Codec().pack([99, "whatever"]), Compatibility({}), Codec())
