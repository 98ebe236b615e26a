"""What micro-batches cost, in counted calls and written bytes; `explain()` says the same."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import pytest

from muntin import (
    INFINITY,
    EmitPolicy,
    Event,
    JoinKind,
    TimestampPolicy,
    count_by_start,
    cumulate,
    early,
    hopping,
    landmark,
    snapshot,
    tumbling,
)
from muntin.changes import Insertion
from muntin.testing import Batch, KeyedChange
from muntin.triggers import every_count, on_signal
from muntin_engine.evaluators.keyed import event_index
from muntin_engine.evaluators.keyed.event_index import EventIndex
from muntin_engine.evaluators.keyed.key_store import KeyStore
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.store_cache import STORE_CACHE
from muntin_stats import Sum
from tests.scenarios.feed import Deducted, Feed, Merged, Row, RunningTotal, Total, at, query, revision, row
from tests.scenarios.join import Join
from tests.scenarios.passing import passing
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Run
from tests.scenarios.stepping import NO_MISHAPS


def points(*ticks: int, key: Any = "k") -> list[Any]:
    return [at(tick, 1, key) for tick in ticks]


def feed_of(window: Any, module: Any, evaluator: str, **policies: Any) -> Feed:
    """Return a feed of a query over points, unless `policies` say otherwise."""
    return Feed(query(window, module, **{"lifetimes": "points", **policies}), evaluator)


# Calls of modules


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("evaluator", "window", "added", "removed"),
    [
        ("general", hopping(500, 10), 37_750, 0),
        ("general", landmark(10), 50_500, 0),
        ("sliced", hopping(500, 10), 1_000, 0),
        ("sliced", landmark(10), 1_000, 0),
        ("sliced", cumulate(100, 10), 1_000, 0),
        ("grouped", hopping(500, 10), 1_000, 510),
        ("grouped", landmark(10), 1_000, 0),
        ("grouped", cumulate(100, 10), 1_000, 0),
    ],
)
def test_a_row_is_added_to_the_states_that_explain_says(evaluator: str, window: Any, added: int, removed: int) -> None:
    """A thousand rows come ten to a micro-batch, each of which closes a window."""
    module = Deducted() if evaluator == "sliced" else RunningTotal()
    feed = feed_of(window, module, evaluator)
    for first in range(0, 1_000, 10):
        feed.batch(*points(*range(first, first + 10)), watermark=first + 10)
    assert module.calls["added"] == added
    assert module.calls["removed"] == removed
    assert evaluator != "general" or module.calls["create_state"] == 100
    assert module.calls["combine"] + module.calls["deduct"] < 1_200


@pytest.mark.parametrize("overlap", [1, 10, 1000])
def test_each_row_enters_once_and_leaves_once_whatever_the_overlap_of_windows(overlap: int) -> None:
    module = RunningTotal()
    result = feed_of(hopping(overlap, 1), module, "general").batch(*points(*range(1000)), watermark=INFINITY)
    assert len(result.rows) == 1000 + overlap - 1
    assert module.calls["create_state"] <= 1000 / overlap + 2
    assert module.calls["added"] + module.calls["removed"] <= 1000 * 2 + overlap


@pytest.mark.parametrize(("rows_per_batch", "entries"), [(10, 5), (50, 2)])
def test_a_row_enters_again_in_each_micro_batch_that_closes_windows_of_it(rows_per_batch: int, entries: int) -> None:
    """A row is in five windows; where each batch closes one, it enters five times, and where one closes five, twice."""
    module = RunningTotal()
    feed = feed_of(hopping(50, 10), module, "general")
    for start in range(0, 1000, rows_per_batch):
        end = start + rows_per_batch
        feed.batch(*points(*range(start, end)), watermark=end)
    feed.batch(watermark=INFINITY)
    assert entries - 1 < module.calls["added"] / 1000 <= entries


@pytest.mark.parametrize("window", [snapshot(), count_by_start(50)], ids=str)
def test_rows_slide_through_windows_that_events_make(window: Any) -> None:
    module = RunningTotal()
    feed = feed_of(window, module, "general", lifetimes="named")
    assert feed.batch(*(row(n, n, n + 50, 1) for n in range(1000)), watermark=INFINITY).rows
    assert module.calls["added"] + module.calls["removed"] <= 1000 * 2 + 50


@pytest.mark.parametrize("overlap", [2, 100])
def test_rows_in_order_cost_the_same_whatever_the_overlap_of_speculative_windows(overlap: int) -> None:
    module = RunningTotal()
    feed = feed_of(hopping(10 * overlap, 10), module, "general", emit=EmitPolicy.SPECULATIVE)
    for first in range(0, 2000, 200):
        feed.batch(*points(*range(first, first + 200)))
    feed.batch(watermark=INFINITY)
    assert module.calls["added"] + module.calls["removed"] <= 2000 * 2 + 11 * 10 * overlap + 200


def test_the_second_change_of_a_window_updates_its_state() -> None:
    module = RunningTotal()
    feed = feed_of(tumbling(100), module, "general", emit=EmitPolicy.EAGER, lifetimes="named")
    feed.batch(*(row(n, n, n + 1, 1) for n in range(50)))
    feed.batch(row(60, 60, 61, 1))
    assert module.calls["added"] == 50 + 51
    feed.batch(row(61, 61, 62, 1), revision(3, 3, 4, 3))
    assert module.calls["added"] == 102
    assert module.calls["removed"] == 1
    assert module.calls["create_state"] == 2
    assert feed.batch(row(62, 62, 63, 5)).changes[-1].endswith(" 56")


def test_a_change_calls_a_module_for_the_windows_that_it_affects_alone() -> None:
    module = RunningTotal()
    feed = feed_of(tumbling(10), module, "general", emit=EmitPolicy.EAGER)
    feed.batch(*points(*range(0, 1000, 10)))
    module.calls.clear()
    feed.batch(at(503))
    assert module.calls["compute_result"] == 1


def test_time_bound_members_that_come_in_order_are_added_to_a_state_once() -> None:
    module = RunningTotal()
    policies: Any = {"emit": EmitPolicy.EAGER, "timestamps": TimestampPolicy.TIME_BOUND}
    feed = feed_of(tumbling(1000), module, "general", lifetimes="intervals", **policies)
    for start in range(100):
        feed.batch(row(None, start, value=start))
    assert module.calls["added"] == 101  # the second event builds the state that the others are added to


def test_modules_are_called_for_windows_that_fire_and_those_share_the_work() -> None:
    module = RunningTotal()
    feed = feed_of(hopping(100, 10), module, "general", emit=early(every_count(100)))
    for start in range(60):
        feed.batch(at(start))
    assert module.calls["create_state"] == 0
    feed = feed_of(hopping(500, 1), module, "general", emit=early(on_signal("now")))
    feed.batch(*points(*range(1000)))
    assert len(feed.batch(signals=["now"]).rows) == 1499
    assert module.calls["added"] + module.calls["removed"] <= 2 * 1000


@pytest.mark.cases(4)
@pytest.mark.parametrize("ratio", [1, 2, 60])
@pytest.mark.parametrize("module", [Merged, Deducted])
@pytest.mark.parametrize("per_batch", [1, 50])
def test_over_slices_calls_grow_with_windows_and_not_with_their_ratio(ratio: int, module: Any, per_batch: int) -> None:
    """100 slices of 2 rows each, in batches of one slice or of fifty; as many windows, and those around the ends."""
    aggregate = module()
    feed = feed_of(hopping(10 * ratio, 10), aggregate, "sliced")
    results = 0
    for first in range(0, 100, per_batch):
        ticks: list[int] = []
        for number in range(first, first + per_batch):
            ticks += [10 * number, 10 * number + 3]
        results += len(feed.batch(*points(*ticks), watermark=10 * first).rows)
    assert results + len(feed.batch(watermark=INFINITY).rows) == 100 + ratio - 1
    calls = aggregate.calls
    assert calls["added"] == 200
    assert calls["compute_result"] == 100 + ratio - 1
    assert calls["combine"] + calls["deduct"] + calls["create_state"] <= 10 * (100 + ratio)


def test_windows_with_the_same_rows_and_years_between_rows_cost_no_call() -> None:
    module = Merged()
    feed_of(hopping(6000, 10), module, "sliced").batch(at(5), at(3005), at(10**15), watermark=INFINITY)
    assert module.calls.total() - module.calls["compute_result"] < 40


# Cells


class CellAccess(NamedTuple):
    """The names of the cells that were read, and of those that were written."""

    read: list[str]
    written: list[str]


class CountingCells(MemoryCells):
    """Cells that record each access.

    Attributes:
        read: The names of the cells that were read.
        written: The bytes that were written, by cell.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.written: Counter[str] = Counter()

    def get(self, name: str) -> bytes | None:
        self.read.append(name)
        return super().get(name)

    def put(self, name: str, data: bytes) -> None:
        self.written[name] += len(data)
        super().put(name, data)

    def reset(self) -> CellAccess:
        """Forget what was recorded, and return it."""
        access = CellAccess(self.read, list(self.written))
        self.read = []
        self.written = Counter()
        return access


EVERY_STATE = pytest.mark.parametrize("evaluator", ["general", "grouped", "sliced", "columnar"])


def counting_feed(evaluator: str, window: Any) -> tuple[Feed, CountingCells]:
    """Return a feed of a query that an evaluator can run, and the cells that record what it reads and writes."""
    cells = CountingCells()
    module: Any = {"columnar": Sum(), "grouped": Total()}.get(evaluator, Merged())
    return Feed(query(window, module, lifetimes="points"), evaluator, cells), cells


@EVERY_STATE
def test_a_batch_reads_the_metadata_alone_and_writes_what_it_brought(evaluator: str) -> None:
    feed, cells = counting_feed(evaluator, tumbling(100))
    feed.batch(*(at(5, 1, f"k{n}") for n in range(1000)))
    bytes_before = feed.bytes
    cells.reset()
    feed.batch(at(6, 1, "k7"))
    read_and_read_back = ["metadata", "metadata"]
    assert cells.reset() == CellAccess(read_and_read_back, written=["entry 2", "metadata"])
    assert len(cells.cells["entry 2"]) < bytes_before / 10
    feed.batch(watermark=4)
    assert cells.reset() == CellAccess(read_and_read_back, written=["metadata"])

    feed.batch(at(7))
    cells.reset()
    feed.restart()
    feed.batch()  # no store is cached from now on
    feed.batch(watermark=5)
    assert set(cells.reset().read) == {"metadata"}, "the log is read only if there is work"
    assert len(feed.batch(watermark=100).rows) == 1001
    assert len(set(cells.reset().read)) == 4


@EVERY_STATE
def test_a_batch_writes_what_it_brought_and_not_the_window(evaluator: str) -> None:
    bytes_written = {}
    for size in (10, 100, 6000):
        feed, cells = counting_feed(evaluator, hopping(size, 10))
        for batch in range(30):
            feed.batch(*(at(10 * batch, n, f"k{n}") for n in range(20)), watermark=10 * batch - 5)
        bytes_written[size] = cells.written.total()
    assert bytes_written[6000] < 4 * bytes_written[100] < 8 * bytes_written[10]


def test_a_hot_key_costs_its_slices_and_not_its_rows() -> None:
    feed, cells = counting_feed("columnar", hopping(600, 10))
    feed.batch(*(at(n % 1000) for n in range(20_000)))
    assert cells.written.total() < 4_000


@pytest.mark.parametrize("size", [100_000, 100], ids=["that only grows", "of which events go"])
def test_a_large_key_is_written_as_its_changes_and_now_and_then_as_a_whole(size: int) -> None:
    feed, cells = counting_feed("general", tumbling(size))
    stored_bytes = []
    for batch in range(60):
        feed.batch(*points(*range(100 * batch, 100 * batch + 100)), watermark=100 * batch if size == 100 else None)
        stored_bytes.append(feed.bytes)
    if size == 100:
        assert max(stored_bytes) < 20_000 + 10 * stored_bytes[0]  # a log is not rewritten for less than 16 KiB
    else:
        assert cells.written.total() - cells.written["metadata"] < 3.5 * stored_bytes[-1]
    assert sum(result["result"] for result in feed.batch(watermark=INFINITY).rows) == (100 if size == 100 else 6_000)


# Live events, and idle keys


def test_a_batch_does_not_put_the_events_of_an_open_window_in_order_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked_events = 0

    def counted_rank(event: Any) -> tuple[int, int]:
        nonlocal ranked_events
        ranked_events += 1
        return event.until, event.since

    monkeypatch.setattr(event_index, "in_order", counted_rank)
    feed = feed_of(tumbling(10_000), Total(), "general", lifetimes="intervals")
    for first in range(0, 2_000, 50):
        feed.batch(*(row(None, start, start + 9) for start in range(first, first + 50)), watermark=first)
    assert ranked_events < 1_000
    feed.batch(watermark=INFINITY)
    assert ranked_events < 3 * 2_000


def test_a_batch_of_an_open_speculative_window_does_not_walk_over_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    walked_events = 0

    def counted_until_after(index: EventIndex, tick: int) -> Any:
        nonlocal walked_events
        events = until_after(index, tick)
        walked_events += len(events)
        return events

    until_after = EventIndex.until_after
    monkeypatch.setattr(EventIndex, "until_after", counted_until_after)
    feed = feed_of(tumbling(10_000), Total(), "general", emit=EmitPolicy.SPECULATIVE)
    feed.batch(*points(*range(0, 1_000)))
    walked_events = 0
    for first in range(1_000, 2_000, 50):
        feed.batch(*points(*range(first, first + 50)), watermark=first)
    assert walked_events < 1_000
    assert feed.batch(*points(10_001)).changes == ["+[0,10000) 2000"]


def test_where_some_decoded_keys_have_no_room_those_alone_are_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded_keys = 0

    def counted_get(store: KeyStore[Any], name: bytes, *args: Any) -> Any:
        nonlocal decoded_keys
        key_records = store.find(name)
        decoded_keys += key_records is not None and key_records.state is None
        return get(store, name, *args)

    get = KeyStore.get
    monkeypatch.setattr(KeyStore, "get", counted_get)
    feed = feed_of(tumbling(10_000), Total(), "general")
    keys = [f"k{number}" for number in range(10)]

    def touch_all_keys(tick: int) -> int:
        nonlocal decoded_keys
        decoded_keys = 0
        feed.batch(*(at(tick, 1, key) for key in keys))
        return decoded_keys

    bytes_of_others = STORE_CACHE.held_bytes
    feed.batch(*(at(tick, 1, key) for key in keys for tick in range(1_000)))
    assert touch_all_keys(1_001) == 0

    room_for_some = (STORE_CACHE.held_bytes - bytes_of_others) * 7 // 10
    feed.task = replace(feed.task, worker=replace(feed.task.worker, cache_bytes=room_for_some))
    touch_all_keys(1_002)  # this batch drops decoded states for the first time
    for tick in range(1_003, 1_006):
        assert 0 < touch_all_keys(tick) < 7
    results = feed.batch(watermark=INFINITY).rows
    assert [result["result"] for result in results] == [1_005] * 10


def calls_of(feed: Feed, *rows: Row, watermark: int | None = None) -> int:
    """Run a batch, and return how many Python and C functions it calls."""
    return called(lambda: feed.batch(*rows, watermark=watermark))


def called(action: Callable[[], object]) -> int:
    """Do something, and return how many Python and C functions it calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    previous_profile = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(previous_profile)
    return calls


@pytest.mark.parametrize(
    ("window", "emit"),
    [*((snapshot(), emit) for emit in EmitPolicy), (tumbling(40), EmitPolicy.EAGER)],
    ids=str,
)
def test_a_row_touches_as_much_of_many_live_events_as_of_few(window: Any, emit: EmitPolicy) -> None:
    costs = []
    for live in (500, 4_000):
        feed = feed_of(window, RunningTotal(), "general", emit=emit, lifetimes="intervals")
        feed.batch(*(row(None, 4 * n, 4 * n + 5, n) for n in range(live)), watermark=0)
        for n in range(3):  # the first ones find out how long events last, and what starts first
            feed.batch(row(None, 2 * live + 40 * n, 2 * live + 40 * n + 9, 1))
        costs.append(calls_of(feed, row(None, 2 * live + 1, 2 * live + 10, 1)))
    few, many = costs
    assert many < 1.2 * few, f"a batch of one row makes {few:,} calls with 500 live events and {many:,} with 4,000"


@pytest.mark.parametrize(
    "join",
    [passing("named"), Join(JoinKind.ANTI, ("named", "intervals")), Join(JoinKind.CLIP, ("named", "intervals"))],
    ids=str,
)
def test_a_row_of_a_join_touches_as_much_of_many_events_that_wait_as_of_few(join: Join) -> None:
    """
    left events    [-----)[-----)[-----) ...    wait for the watermark, which is at 0
    a batch              [--)                   brings one of them
    """
    costs = []
    for live in (500, 4_000):
        run = Run(join, join.plan(buckets=1), NO_MISHAPS)
        process_lefts(run, *((4 * n, 4 * n + 5) for n in range(live)))
        for n in range(3):  # the first ones find out how long events last, and what starts first
            process_lefts(run, (2 * live + 40 * n + 1, 2 * live + 40 * n + 9))
        costs.append(called(partial(process_lefts, run, (2 * live + 3, 2 * live + 10))))
        assert run.last["events_held"] == live + 4
    few, many = costs
    assert many < 1.2 * few, f"a batch of one row makes {few:,} calls with 500 live events and {many:,} with 4,000"


def process_lefts(run: Run, *lifetimes: tuple[int, int]) -> None:
    """Process a batch that brings left events of a join, and the watermark 0 of each input."""
    changes = [KeyedChange("k", Insertion(start, Event(start, end, 1))) for start, end in lifetimes]
    left = Batch(tuple(changes), 0)
    rights = [Batch((), 0)] * (len(run.query.places) - 1)
    run.process(Arrival((left, *rights)))


@pytest.mark.parametrize(
    ("evaluator", "emit"), [*(("general", emit) for emit in EmitPolicy), ("grouped", EmitPolicy.FINAL)]
)
def test_keys_with_nothing_to_do_cost_nothing(evaluator: str, emit: EmitPolicy) -> None:
    """
                  0         100       200
    idle keys      [-)                         1 to 3, in [0, 100)
    another key    ! ! ! ! ! ! ! !             a point every 10 ticks
    """
    costs = []
    for idle in (50, 1_000):
        feed = feed_of(tumbling(100), Total(), evaluator, emit=emit)
        feed.batch(*(at(1, 1, f"k{n}") for n in range(idle)))
        for tick in (10, 20, 30):
            feed.batch(at(tick), watermark=tick)
        costs.append(calls_of(feed, at(40), watermark=40))
    few, many = costs
    assert many < 1.2 * few, f"a batch of one row makes {few:,} calls beside 50 idle keys and {many:,} beside 1,000"
