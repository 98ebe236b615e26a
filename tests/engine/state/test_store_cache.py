"""What a bucket keeps: the log of its cells, and decoded state of the very version that the store holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from muntin_engine.errors import StateError
from muntin_engine.state import log as state_log
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.log import MOST_ALIKE, Entry, StateLog, StoredEntry
from muntin_engine.state.store_cache import StoreCache


def test_a_store_is_handed_out_once_and_for_its_own_version_alone() -> None:
    kept = StoreCache()
    kept.put(("q", 1), b"1", "store")
    assert kept.take(("q", 2), b"2") is None
    assert kept.take(("q", 1), b"1") == "store"
    assert kept.take(("q", 1), b"1") is None


@pytest.mark.parametrize("version", [b"2", b""])
def test_a_store_of_another_version_is_dropped(version: bytes) -> None:
    kept = StoreCache()
    kept.put(("q", 1), b"1", "store")
    assert kept.take(("q", 1), version) is None
    assert kept.take(("q", 1), b"1") is None


def test_no_version_is_no_version_to_compare() -> None:
    kept = StoreCache()
    kept.put(("q", 1), b"", "store")
    assert kept.take(("q", 1), b"") is None


KB = 1024


def version(query: str, number: int) -> bytes:
    """Return one that is never used for another store."""
    return f"{query} {number}".encode()


def names(kept: StoreCache, *buckets: tuple[str, int]) -> list[str]:
    """Return which of some buckets have a store."""
    return [f"{query}{number}" for query, number in buckets if kept.take((query, number), version(query, number))]


def test_what_is_kept_is_bounded_by_bytes_and_the_longest_unused_of_others_goes_first() -> None:
    kept = StoreCache(most=100 * KB)
    for query in "abc":
        kept.put((query, 1), version(query, 1), query, 30 * KB)
    kept.put(("a", 1), version("a", 1), kept.take(("a", 1), version("a", 1)), 30 * KB)
    kept.put(("d", 1), version("d", 1), "d", 30 * KB)
    assert kept.held_bytes <= 100 * KB
    assert names(kept, ("a", 1), ("b", 1), ("c", 1), ("d", 1)) == ["a1", "c1", "d1"]
    assert kept.held_bytes == 0


def test_a_query_that_is_too_much_by_itself_keeps_a_part() -> None:
    """Were the oldest to go, each batch would find none: it asks for them in the same order."""
    kept = StoreCache(most=100 * KB)
    kept.put(("other", 1), b"1", "store", 10 * KB)
    hits = 0
    for _ in range(5):
        for number in range(6):
            hits += kept.take(("q", number), version("q", number)) is not None
            kept.put(("q", number), version("q", number), "store", 28 * KB)
    assert hits == 4 * 3
    assert kept.held_bytes <= 100 * KB


def test_what_was_not_used_for_long_is_forgotten() -> None:
    now = 0.0
    kept = StoreCache(clock=lambda: now)
    for number in range(20):
        kept.put((f"start {number}", 0), version("start", number), "store", 16 * KB)
        now += 60
    assert kept.held_bytes < 4 * 20 * KB


def test_a_query_that_goes_on_from_the_checkpoint_of_another_takes_its_place() -> None:
    kept = StoreCache()
    for start in range(20):
        assert kept.take((start, 0), b"%d" % start) is None
        kept.put((start, 0), b"%d" % (start + 1), "store", 16 * KB)
    assert kept.held_bytes < 20 * KB


# The log of a bucket, with a store that merges numbers in slices.


class Sums:
    """A store that keeps a number per slice; an entry is padded to a number of bytes per slice."""

    def __init__(self, padding: int = 0, largest: int = 10**9) -> None:
        self.sums: dict[int, int] = {}
        self.padding = padding
        self.largest = largest

    def forget(self, first_live: int) -> None:
        self.sums = {number: total for number, total in self.sums.items() if number >= first_live}

    def restore(self, entry: StoredEntry) -> None:
        for number, total in json.loads(entry.data.strip()).items():
            self.sums[int(number)] = self.sums.get(int(number), 0) + total

    def write(self, delta: dict[int, int], first_live: int) -> list[Entry]:
        live = sorted(number for number in delta if number >= first_live)
        return [self._entry({number: delta[number] for number in some}) for some in self._pieces(live)]

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        merged = Sums()
        for entry in entries:
            merged.restore(entry)
        return self.write(merged.sums, first_live)

    def _pieces(self, numbers: list[int]) -> Iterable[list[int]]:
        return (numbers[start : start + self.largest] for start in range(0, len(numbers), self.largest))

    def _entry(self, sums: dict[int, int]) -> Entry:
        data = json.dumps(sums).encode().ljust(self.padding * len(sums))
        return Entry(min(sums), max(sums), data)


class CountingCells(MemoryCells):
    """Counts the bytes that are written."""

    written = 0

    def put(self, name: str, data: bytes) -> None:
        self.written += len(data)
        super().put(name, data)


def read_back(log: StateLog, first_live: int = -(10**9)) -> dict[int, int]:
    store = Sums()
    for entry in log.read():
        store.restore(entry)
    store.forget(first_live)
    return store.sums


def reopened(log: StateLog, cells: MemoryCells) -> StateLog:
    return StateLog(cells, json.loads(json.dumps(log.to_data())))


def test_what_was_appended_is_read_back_over_any_number_of_batches() -> None:
    random = Random(3)
    cells, store, wanted = CountingCells(), Sums(), dict[int, int]()
    log = StateLog(cells)
    for batch in range(500):
        delta = {random.randint(batch, batch + 30): random.randint(1, 9) for _ in range(random.randint(0, 4))}
        first_live = batch - 20
        wanted = {number: total for number, total in wanted.items() if number >= first_live}
        for number, total in delta.items():
            wanted[number] = wanted.get(number, 0) + total
        log.forget(first_live)
        log.append(store.write(delta, first_live))
        log.compact(store, first_live)
        log = reopened(log, cells)
        assert read_back(log, first_live) == wanted
        assert len(cells.cells) == len(log.read()) <= 3 * (MOST_ALIKE + 1)


def test_entries_that_die_are_removed_unread() -> None:
    cells, store = MemoryCells(), Sums()
    log = StateLog(cells)
    for number in range(5):
        log.append(store.write({number: 1, number + 1: 1}, 0))
    log.forget(3)
    assert read_back(log) == {2: 1, 3: 2, 4: 2, 5: 1}
    assert len(cells.cells) == 3
    log.forget(6)
    assert cells.cells == {}


def test_a_cell_is_never_used_twice() -> None:
    cells, store = MemoryCells(), Sums()
    log = StateLog(cells)
    seen: set[str] = set()
    for number in range(50):
        log.append(store.write({number: 1}, 0))
        log.compact(store, 0)
        (fresh,) = set(cells.cells) - seen if number % 9 != 8 else {min(set(cells.cells) - seen)}
        assert fresh not in seen
        seen |= set(cells.cells)


def test_the_bytes_written_grow_with_the_logarithm_of_the_number_of_batches() -> None:
    cells, store = CountingCells(), Sums(padding=100)
    log = StateLog(cells)
    for number in range(3000):
        log.append(store.write({number: 1}, 0))
        log.compact(store, 0)
    assert read_back(log) == dict.fromkeys(range(3000), 1)
    assert cells.written < 3000 * 100 * 5  # log 3000 to the base 9 is 3.6
    assert len(cells.cells) <= 4 * MOST_ALIKE


@pytest.mark.parametrize("largest", [1, 3, 7, 8, 9])
def test_merging_ends_when_it_cannot_make_fewer_entries(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """A store splits what is large; pieces a little below the size of a full entry must not be merged for ever."""
    monkeypatch.setattr(state_log, "FULL_ENTRY", 100 * largest + 1)
    cells, store = CountingCells(), Sums(padding=100, largest=largest)
    log = StateLog(cells)
    for number in range(300):
        log.append(store.write({number: 1}, 0))
        log.compact(store, 0)
    assert read_back(log) == dict.fromkeys(range(300), 1)
    assert cells.written < 300 * 100 * 6


def test_a_lost_cell_is_noticed() -> None:
    cells = MemoryCells()
    log = StateLog(cells)
    log.append(Sums().write({1: 1}, 0))
    cells.cells.clear()
    with pytest.raises(StateError, match="the cell 'entry 1': the metadata lists its 8 bytes, and it is empty"):
        log.read()
