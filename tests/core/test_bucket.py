"""A bucket of keys: what it reads, writes and remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, tumbling
from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.errors import StateError, StateMismatchError
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.core.build import Feed, Lengths, Total, output, query, reasons, revision, row, spelled, stored_states


class WatchedCells(MemoryCells):
    """Says which cells were read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.written: list[str] = []

    def get(self, name: str) -> bytes | None:
        self.read.append(name)
        return super().get(name)

    def put(self, name: str, data: bytes) -> None:
        self.written.append(name)
        super().put(name, data)

    def remove(self, name: str) -> None:
        self.written.append(name)
        super().remove(name)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the keys that are decoded."""
    counts: Counter[str] = Counter()
    restore = KeyState.from_data.__func__  # type: ignore[attr-defined]  # of a classmethod

    def counting(cls: type[KeyState], *arguments: Any, **named: Any) -> Any:
        counts["keys"] += 1
        return restore(cls, *arguments, **named)

    monkeypatch.setattr(KeyState, "from_data", classmethod(counting))
    return counts


def many(count: int, start: int) -> list[tuple[Key, list[InputChange]]]:
    return [((number,), [row(number, start, start + 1)]) for number in range(count)]


def test_the_paper_s_example_gives_its_table() -> None:
    """
    StreamInsight, tables 1 and 2:
              0    5    10
    E0         [------------->      1 to infinity
    E0         [--------)           to 10
    E0         [---)                to 5
    E1            [----)            4 to 9
    """
    feed = Feed(query(tumbling(10)))
    feed.batch(row("E0", 1, value=1))
    feed.batch(revision("E0", 1, INFINITY, 10))
    feed.batch(row("E1", 4, 9, 2), revision("E0", 1, 10, 5))
    assert spelled(feed.batch(watermark=INFINITY)) == ["+1 [0,10) (1, 2)"]


def test_a_row_is_late_by_the_punctuation_of_earlier_batches_alone() -> None:
    feed = Feed(query(tumbling(10)))
    assert reasons(feed.batch(row("a", 3, 4), watermark=8)) == []
    assert reasons(feed.batch(row("b", 7, 9))) == ["late"]
    assert spelled(feed.batch(row("c", 8, 9), watermark=10)) == ["+1 [0,10) (0, 0)"]


def test_every_row_is_accepted_refused_or_still_waiting() -> None:
    feed = Feed(query(tumbling(10)))
    first = feed.batch(row("a", 3, 4), row("a", 3, 4), revision("b", 5, 9, 7))
    assert (first.accepted, reasons(first)) == (0, [])  # which of the insertions of a stays is not known yet
    second = feed.batch(row("b", 5, 9), revision("c", 6, 9, 7))
    assert (second.accepted, reasons(second)) == (2, [])
    third = feed.batch(watermark=5)
    assert (third.accepted, reasons(third)) == (1, ["duplicate id"])
    fourth = feed.batch(watermark=7)
    assert (fourth.accepted, reasons(fourth)) == (0, ["unknown event"])


def test_a_row_waits_no_longer_than_until_the_watermark_has_passed_its_event() -> None:
    """
                  0    5    10   15   20   25
    a             [---------)                      ends at 10; a row that ends it at 25 instead of 20 waits
    punctuation             ! !                    10: it may still come to end at 20; 11: it may not
    """
    feed = Feed(query(tumbling(100)))
    assert reasons(feed.batch(row("a", 0, 10), revision("a", 0, 20, 25))) == []
    assert reasons(feed.batch(watermark=10)) == []
    assert reasons(feed.batch(watermark=11)) == ["stale revision"]


def test_rows_of_a_key_may_come_in_pieces() -> None:
    feed = Feed(query(tumbling(10)))
    feed.batches([(("k",), [row("a", 1, 2, 5)]), (("k",), [revision("a", 1, 2, 3), row("b", 2, 3, 7)])])
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (5, 7)"]


def test_the_order_of_keys_and_rows_changes_nothing() -> None:
    def outcome(rows: list[tuple[Key, Sequence[InputChange]]]) -> tuple[object, object]:
        feed = Feed(query(tumbling(10), emit=EmitPolicy.EAGER))
        return feed.batches(rows).output, feed.cells.cells

    rows: list[tuple[Key, Sequence[InputChange]]] = [
        ((key,), [row(i, i, i + 3, i) for i in range(5)]) for key in "abcd"
    ]
    assert outcome(rows) == outcome([(key, some[::-1]) for key, some in rows[::-1]])


def test_idle_keys_are_not_decoded(decoded: Counter[str]) -> None:
    feed = Feed(query(tumbling(10)))
    feed.batches(many(2000, 5))
    assert decoded["keys"] == 0
    feed.batch(row("a", 6, 7), key=77)
    feed.batch(watermark=9)
    assert decoded["keys"] == 1
    assert len(output(feed.batch(watermark=10))) == 2000
    assert decoded["keys"] == 2001


@pytest.mark.parametrize("emit", EmitPolicy)
def test_keys_with_nothing_to_do_are_not_woken_again_and_again(emit: EmitPolicy, decoded: Counter[str]) -> None:
    """
                  0         100       200
    idle keys      [-)                         1 to 3, in [0, 100)
    another key    ! ! ! ! ! ! ! !             a point every 10 ticks
    """
    feed = Feed(query(tumbling(100), emit=emit))
    feed.batches(many(50, 1))
    for tick in range(10, 90, 10):
        feed.batch(row(tick, tick, tick + 1), key="busy", watermark=tick)
    assert decoded["keys"] == 7  # the busy one
    feed.batch(row("last", 100, 101), key="busy", watermark=100)
    assert decoded["keys"] <= 7 + 1 + 50


def test_a_long_window_that_waits_wakes_its_key_when_its_event_may_have_ended(decoded: Counter[str]) -> None:
    feed = Feed(query(tumbling(10), Lengths()))
    feed.batch(row("a", 3, 95))
    for tick in range(10, 90, 2):
        feed.batch(watermark=tick)
    assert decoded["keys"] == 1  # at 10, to find that it has to wait
    assert len(output(feed.batch(watermark=96))) == 9


def bucket_of(cells: MemoryCells) -> Bucket:
    """A bucket in a worker that keeps what it decoded."""
    return Bucket(query(tumbling(10)), cells, Codec(), {}, kept=KeptStores())


def test_a_batch_reads_the_metadata_alone_and_writes_it_with_one_entry() -> None:
    cells = WatchedCells()
    bucket = bucket_of(cells)
    bucket.process(many(5000, 5), Progress(0, 6, 5))
    cells.read, cells.written = [], []
    bucket.process([((77,), [row("x", 6, 7)])], Progress(0, 7, 6))
    assert (cells.read, cells.written) == (["metadata"], ["entry 2", "metadata"])
    cells.read, cells.written = [], []
    bucket.process([], Progress(4, 7, 6))
    assert (cells.read, cells.written) == (["metadata"], ["metadata"])
    bucket.process([], Progress(4, 7, 6))
    assert cells.written == ["metadata", "metadata"]


def test_a_worker_that_lost_the_state_reads_the_log_only_if_there_is_work() -> None:
    cells = WatchedCells()
    bucket_of(cells).process(many(50, 5), Progress(0, 6, 5))
    bucket_of(cells).process([((77,), [row("x", 6, 7)])], Progress(0, 7, 6))
    cells.read = []
    bucket_of(cells).process([], Progress(4, 7, 6))
    assert cells.read == ["metadata"]
    assert len(output(bucket_of(cells).process([], Progress(10, 11, 6)))) == 51
    assert cells.read == ["metadata", "metadata", "entry 1", "entry 2"]


def test_a_batch_writes_no_more_than_what_it_touched() -> None:
    cells = MemoryCells()
    bucket = bucket_of(cells)
    bucket.process(many(3000, 5), Progress(0, 6, 5))
    before = dict(cells.cells)
    bucket.process([((77,), [row("x", 6, 7)])], Progress(0, 7, 6))
    changed = [name for name, data in cells.cells.items() if before.get(name) != data]
    assert sorted(changed) == ["entry 2", "metadata"]
    assert sum(len(cells.cells[name]) for name in changed) < sum(map(len, before.values())) / 20


def test_a_large_key_is_written_as_its_changes_and_now_and_then_as_a_whole() -> None:
    cells, asked = WatchedCells(), query(tumbling(100_000))
    bucket = Bucket(asked, cells, Codec(), {}, kept=KeptStores())
    bucket.process([(("k",), [row(f"first {n}", n, n + 1) for n in range(5000)])], Progress(0, 5001, 5000))
    first, written = sum(map(len, cells.cells.values())), 0
    for n in range(5000, 6000):
        cells.written = []
        bucket.process([(("k",), [row(n, n, n + 1)])], Progress(0, n + 2, n))
        written += sum(len(cells.cells[name]) for name in cells.written if name in cells.cells and name != "metadata")
    assert written < 6 * first
    assert sum(map(len, cells.cells.values())) < 3 * first
    (state,) = stored_states(asked, cells, Codec(), {})
    assert [event.start for event in state.events] == list(range(6000))


def test_a_key_that_only_grows_is_not_written_whole_again() -> None:
    cells, asked, times = WatchedCells(), query(tumbling(100_000)), 200
    bucket, written = Bucket(asked, cells, Codec(), {}, kept=KeptStores()), 0
    for batch in range(times):
        cells.written = []
        rows = [row(None, n, n + 1, n) for n in range(100 * batch, 100 * batch + 100)]
        bucket.process([(("k",), rows)], Progress(0, 100 * batch + 101, 100 * batch + 99))
        written += sum(len(cells.cells[name]) for name in cells.written if name in cells.cells and name != "metadata")
    (entries,) = stored_states(asked, cells, Codec(), {})
    assert [event.start for event in entries.events] == list(range(100 * times))
    held = sum(map(len, cells.cells.values()))
    assert written < 3.5 * held  # once as it comes, and a few times when entries of the log are merged


def test_a_key_of_which_events_go_is_written_whole_before_it_is_half_garbage() -> None:
    cells, asked = WatchedCells(), query(tumbling(100))
    bucket, held = Bucket(asked, cells, Codec(), {}, kept=KeptStores()), []
    for batch in range(60):
        rows = [row(None, n, n + 1, n) for n in range(100 * batch, 100 * batch + 100)]
        bucket.process([(("k",), rows)], Progress(100 * batch, 100 * batch + 101, 100 * batch + 99))
        held.append(sum(map(len, cells.cells.values())))
    assert max(held) < 20_000 + 10 * held[0]  # a log is not rewritten for less than 16 KiB
    (state,) = stored_states(asked, cells, Codec(), {})
    assert state.events.size <= 200


def test_an_output_id_is_never_given_twice_not_even_after_a_key_was_forgotten() -> None:
    feed = Feed(query(tumbling(10)))
    ids: list[int] = []
    for start in range(0, 100, 10):
        feed.batch(row(start, start, start + 1), row(f"{start}b", start, start + 1))
        ids += [change.id for change in output(feed.batch(watermark=start + 10))]
        assert feed.states == []
    assert ids == list(range(1, 11))


class Fragile(Total):
    name, version = "test.fragile", "0.9.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 13 in payloads:
            raise LookupError("thirteen")
        return sum(payloads)


def test_a_module_that_fails_stops_the_batch_and_leaves_the_state_as_it_was() -> None:
    feed = Feed(query(tumbling(10), Fragile()))
    feed.batches([((key,), [row(key, 5, 6, key)]) for key in range(40)])
    before = dict(feed.cells.cells)
    with pytest.raises(ModuleFailedError) as caught:
        feed.batch(watermark=10)
    error = caught.value
    assert (error.module, error.version, error.key, error.method) == ("test.fragile", "0.9.0", (13,), "compute_result")
    assert str(error.window) == "Window(start=0, end=10)"
    assert isinstance(error.__cause__, LookupError)
    assert feed.cells.cells == before
    feed.query = query(tumbling(10))
    assert len(output(feed.batch(watermark=10))) == 40


def test_a_payload_that_cannot_be_stored_leaves_the_state_as_it_was() -> None:
    feed = Feed(query(tumbling(10)))
    feed.batch(row("a", 1, 2))
    before = dict(feed.cells.cells)
    with pytest.raises(StateError, match="cannot be stored"):
        feed.batches([((key,), [row(key, 5, 6, object() if key == 5 else 1)]) for key in range(9)])
    with pytest.raises(StateError, match=r"must have equally many values, got \[1, 2\]"):
        feed.batch(InputChange("b", 1, 2, (1, 2)))
    assert feed.cells.cells == before


def test_another_query_cannot_read_the_state() -> None:
    cells = MemoryCells()
    Bucket(query(tumbling(10)), cells, Codec(), {"module": "test.members 1"}).process(many(1, 5), Progress(0, 6, 5))
    with pytest.raises(
        StateMismatchError, match=r"module: the checkpoint has 'test.members 1', the query has 'test.members 2'"
    ):
        Bucket(query(tumbling(10)), cells, Codec(), {"module": "test.members 2"}).process([], Progress(1, 6, 5))


def test_payloads_of_no_and_of_many_values_are_kept_apart() -> None:
    counting = query(tumbling(10))
    for payload in ((), (1, [2, 3], {"a": None}, "x")):
        feed = Feed(counting)
        rows = [InputChange(place, place, place + 1, payload) for place in range(3)]
        feed.batch(*rows)
        (state,) = feed.states
        assert [event.payload for event in state.events] == [payload] * 3
