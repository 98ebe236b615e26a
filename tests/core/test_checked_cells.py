"""Damage of a checkpoint is found, and said with the name of the cell."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from muntin_engine.errors import StateError
from muntin_engine.exchange.bucket_task import run_bucket
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import CheckedCells, MemoryCells
from tests.spark_units.tasks import arrived, rows, task_of
from tests.spark_units.test_closed import Largest, Told, sliced

SEED = 7


def test_a_cell_comes_back_as_it_was_put() -> None:
    cells = CheckedCells(MemoryCells())
    cells.put("a", b"")
    cells.put("b", b"xyz")
    assert (cells.get("a"), cells.get("b"), cells.get("c")) == (b"", b"xyz", None)
    cells.remove("b")
    assert cells.get("b") is None


def flipped(data: bytes, place: int, bit: int = 0) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def test_each_flipped_bit_and_each_lost_byte_is_found() -> None:
    kept = MemoryCells()
    cells = CheckedCells(kept, "bucket 3")
    cells.put("entry 7", b"some state")
    sealed = kept.cells["entry 7"]
    some = [flipped(sealed, place, bit) for place in range(len(sealed)) for bit in range(8)]
    for wrong in [*some, *(sealed[:length] for length in range(len(sealed))), sealed + b"\0"]:
        kept.cells["entry 7"] = wrong
        with pytest.raises(StateError, match=r"damaged: the cell 'entry 7' of bucket 3(.|\n)*restore the checkpoint"):
            cells.get("entry 7")


def test_a_cell_in_the_place_of_another_is_found() -> None:
    kept = MemoryCells()
    cells = CheckedCells(kept)
    cells.put("entry 1", b"some state")
    kept.cells["entry 2"] = kept.cells["entry 1"]
    with pytest.raises(StateError, match="the cell 'entry 2'"):
        cells.get("entry 2")


TASKS = {
    "general": task_of(),
    "sliced": sliced(Largest()),
    "columnar": sliced(Told()),
}


def feed(task: TaskPayload, cells: MemoryCells, start: int) -> None:
    columns = {} if task.plan.input.is_point else {"end": [start + 30] * 2}
    batch = rows(start=[start, start + 1], k0=["a", "b"], i0=[5, 6], **columns)
    assert not any(blob.stream == "rejected" for blob in run_bucket(task, 0, cells, arrived(task, batch)))


@pytest.mark.parametrize("name", TASKS)
def test_a_byte_that_is_flipped_in_any_cell_of_any_evaluator_is_found(name: str) -> None:
    task, random = TASKS[name], Random(SEED)
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
