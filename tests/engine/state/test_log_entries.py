"""The log of a bucket by itself: entries are appended, merged, forgotten, and read back.

The store merges numbers in slices.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from muntin_engine.errors import StateError
from muntin_engine.state import log as state_log
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.log import MOST_OF_LEVEL, Entry, LogEntry, StateLog


class Sums:
    """A store that keeps a sum per slice.

    Attributes:
        sums: The sums by the numbers of their slices.
        padding: The bytes that an entry takes for each slice; by default no more than it needs.
        largest: The greatest number of slices in an entry.
    """

    def __init__(self, padding: int = 0, largest: int = 10**9) -> None:
        self.sums: dict[int, int] = {}
        self.padding = padding
        self.largest = largest

    def forget(self, first_live: int) -> None:
        self.sums = {number: total for number, total in self.sums.items() if number >= first_live}

    def restore(self, entry: LogEntry) -> None:
        """Add the sums of an entry to those that are there."""
        for number, total in json.loads(entry.data.strip()).items():
            self.sums[int(number)] = self.sums.get(int(number), 0) + total

    def write(self, delta: dict[int, int], first_live: int) -> list[Entry]:
        """Return the entries of what was added to live slices, by their numbers."""
        live = sorted(number for number in delta if number >= first_live)
        entries: list[Entry] = []
        for numbers in self._pieces(live):
            entries.append(self._entry({number: delta[number] for number in numbers}))
        return entries

    def merge(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Return the entries that take the place of several, with the sums of live slices."""
        merged = Sums()
        for entry in entries:
            merged.restore(entry)
        return self.write(merged.sums, first_live)

    def _pieces(self, numbers: list[int]) -> Iterable[list[int]]:
        """Split the numbers of slices into those of each entry."""
        return (numbers[start : start + self.largest] for start in range(0, len(numbers), self.largest))

    def _entry(self, sums: dict[int, int]) -> Entry:
        data = json.dumps(sums).encode().ljust(self.padding * len(sums))
        return Entry(max(sums), data)


class CountingCells(MemoryCells):
    """Cells that count the bytes that are put into them."""

    bytes_written = 0

    def put(self, name: str, data: bytes) -> None:
        self.bytes_written += len(data)
        super().put(name, data)


def read_back(log: StateLog, first_live: int = -(10**9)) -> dict[int, int]:
    """Return the sums by slice that a new process reads from a log, of slices from the first live one on."""
    store = Sums()
    for entry in log.read():
        store.restore(entry)
    store.forget(first_live)
    return store.sums


def reopened(log: StateLog, cells: MemoryCells) -> StateLog:
    """Return a log as a new process opens it, from what the metadata say of it."""
    return StateLog(cells, json.loads(json.dumps(log.to_data())))


def test_what_was_appended_is_read_back_over_any_number_of_batches() -> None:
    random = Random(3)
    cells = CountingCells()
    store = Sums()
    expected = dict[int, int]()
    log = StateLog(cells)
    for batch in range(500):
        delta: dict[int, int] = {}
        for _ in range(random.randint(0, 4)):
            delta[random.randint(batch, batch + 30)] = random.randint(1, 9)
        first_live = batch - 20

        log.forget(first_live)
        log.append(store.write(delta, first_live))
        log.compact(store, first_live)
        log = reopened(log, cells)

        expected = {number: total for number, total in expected.items() if number >= first_live}
        for number, total in delta.items():
            expected[number] = expected.get(number, 0) + total
        assert read_back(log, first_live) == expected
        assert len(cells.cells) == len(log.read())
        assert len(cells.cells) <= 3 * (MOST_OF_LEVEL + 1), "entries of three levels"


def test_entries_that_die_are_removed_unread() -> None:
    cells = MemoryCells()
    store = Sums()
    log = StateLog(cells)
    for number in range(5):  # five entries, with the slices 0 and 1, 1 and 2, ..., 4 and 5
        log.append(store.write({number: 1, number + 1: 1}, first_live=0))

    log.forget(first_live=3)
    assert read_back(log) == {2: 1, 3: 2, 4: 2, 5: 1}
    assert len(cells.cells) == 3

    log.forget(first_live=6)
    assert cells.cells == {}


def test_a_cell_is_never_used_twice() -> None:
    class RecordingCells(MemoryCells):
        def put(self, name: str, data: bytes) -> None:
            names_of_cells.append(name)
            super().put(name, data)

    names_of_cells: list[str] = []
    store = Sums()
    log = StateLog(RecordingCells())
    for number in range(50):
        log.append(store.write({number: 1}, first_live=0))
        log.compact(store, first_live=0)
    assert len(names_of_cells) > 50, "appended and merged entries"
    assert len(set(names_of_cells)) == len(names_of_cells)


def test_the_bytes_written_grow_with_the_logarithm_of_the_number_of_batches() -> None:
    batches = 3000
    cells = CountingCells()
    store = Sums(padding=100)
    log = StateLog(cells)
    for number in range(batches):
        log.append(store.write({number: 1}, first_live=0))
        log.compact(store, first_live=0)
    assert read_back(log) == dict.fromkeys(range(batches), 1)

    # Each number is written once for each level of entries, of which there are log 3000 to the base 9, or 3.6.
    assert cells.bytes_written < batches * 100 * 5
    assert len(cells.cells) <= 4 * MOST_OF_LEVEL


@pytest.mark.parametrize("largest", [1, 3, 7, 8, 9])
def test_merging_ends_when_it_cannot_make_fewer_entries(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """A store splits what is large; pieces a little below the size of a full entry must not be merged for ever."""
    batches = 300
    monkeypatch.setattr(state_log, "FULL_ENTRY", 100 * largest + 1)
    cells = CountingCells()
    store = Sums(padding=100, largest=largest)
    log = StateLog(cells)
    for number in range(batches):
        log.append(store.write({number: 1}, first_live=0))
        log.compact(store, first_live=0)
    assert read_back(log) == dict.fromkeys(range(batches), 1)
    assert cells.bytes_written < batches * 100 * 6


def test_a_lost_cell_is_noticed() -> None:
    cells = MemoryCells()
    log = StateLog(cells)
    log.append(Sums().write({1: 1}, first_live=0))
    cells.cells.clear()
    with pytest.raises(StateError, match="the cell 'entry 1': the metadata lists its 8 bytes, and it is empty"):
        log.read()
