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


def points(*ticks: int, key: Any = "k") -> list[Row]:
    """Return points of the payload 1."""
    return [at(tick, value=1, key=key) for tick in ticks]


def feed_of(window: Any, module: Any, evaluator: str, **policies: Any) -> Feed:
    """Return a feed of a query over points, unless `policies` say otherwise."""
    return Feed(query(window, module, **{"lifetimes": "points", **policies}), evaluator)


# Calls of modules


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("evaluator", "window", "added", "removed"),
    [
        # key by key, each window that closes adds all of its rows
        ("general", hopping(500, 10), sum(range(10, 500, 10)) + 51 * 500, 0),
        ("general", landmark(10), sum(range(10, 1_001, 10)), 0),
        # over slices, or with a state of rows that slides on, each row is added once
        ("sliced", hopping(500, 10), 1_000, 0),
        ("sliced", landmark(10), 1_000, 0),
        ("sliced", cumulate(100, 10), 1_000, 0),
        ("grouped", hopping(500, 10), 1_000, 510),  # the rows that have left the window when the last batch comes
        ("grouped", landmark(10), 1_000, 0),
        ("grouped", cumulate(100, 10), 1_000, 0),
    ],
)
def test_a_row_is_added_to_the_states_that_explain_says(evaluator: str, window: Any, added: int, removed: int) -> None:
    """A thousand rows come ten to a micro-batch, and each of these hundred micro-batches closes a window."""
    module = Deducted() if evaluator == "sliced" else RunningTotal()
    feed = feed_of(window, module, evaluator)
    for first in range(0, 1_000, 10):
        feed.batch(*points(*range(first, first + 10)), watermark=first + 10)
    assert module.calls["added"] == added
    assert module.calls["removed"] == removed
    if evaluator == "general":
        assert module.calls["create_state"] == 100, "one for each window"
    assert module.calls["combine"] + module.calls["deduct"] < 1_200


@pytest.mark.parametrize("overlap", [1, 10, 1000])
def test_each_row_enters_once_and_leaves_once_whatever_the_overlap_of_windows(overlap: int) -> None:
    module = RunningTotal()
    rows = points(*range(1_000))
    result = feed_of(hopping(overlap, 1), module, "general").batch(*rows, watermark=INFINITY)
    assert len(result.rows) == 1_000 + overlap - 1
    assert module.calls["create_state"] <= 1_000 / overlap + 2
    assert module.calls["added"] + module.calls["removed"] <= 2 * 1_000 + overlap


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
def test_each_row_enters_once_and_leaves_once_where_events_make_the_windows(window: Any) -> None:
    module = RunningTotal()
    feed = feed_of(window, module, "general", lifetimes="named")
    events = [row(start, start=start, end=start + 50, value=1) for start in range(1_000)]  # fifty are alive at a time
    assert feed.batch(*events, watermark=INFINITY).rows
    assert module.calls["added"] + module.calls["removed"] <= 2 * 1_000 + 50


@pytest.mark.parametrize("overlap", [2, 100])
def test_rows_in_order_cost_the_same_whatever_the_overlap_of_speculative_windows(overlap: int) -> None:
    module = RunningTotal()
    feed = feed_of(hopping(10 * overlap, 10), module, "general", emit=EmitPolicy.SPECULATIVE)
    for first in range(0, 2_000, 200):  # ten micro-batches
        feed.batch(*points(*range(first, first + 200)))
    feed.batch(watermark=INFINITY)
    # Each row enters once and leaves once; a micro-batch, and the end, begin with the rows of one window.
    assert module.calls["added"] + module.calls["removed"] <= 2 * 2_000 + 11 * 10 * overlap + 200


def test_the_second_change_of_a_window_builds_its_state_and_later_ones_update_that() -> None:
    module = RunningTotal()
    feed = feed_of(tumbling(100), module, "general", emit=EmitPolicy.EAGER, lifetimes="named")
    feed.batch(*(row(n, start=n, end=n + 1, value=1) for n in range(50)))
    feed.batch(row(60, start=60, end=61, value=1))
    assert module.calls["added"] == 50 + 51, "both batches have added all rows so far"

    feed.batch(row(61, start=61, end=62, value=1), revision(3, start=3, end=4, new_end=3))
    assert module.calls["added"] == 50 + 51 + 1
    assert module.calls["removed"] == 1
    assert module.calls["create_state"] == 2
    assert feed.batch(row(62, start=62, end=63, value=5)).changes[-1] == "+[0,100) 56"  # 50 + 1 + 1 - 1 + 5


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
        feed.batch(row(None, start=start, value=start))
    assert module.calls["added"] == 101  # the second event builds the state that the others are added to


def test_a_module_is_not_called_for_windows_whose_trigger_does_not_fire() -> None:
    module = RunningTotal()
    feed = feed_of(hopping(100, 10), module, "general", emit=early(every_count(100)))
    for start in range(60):
        feed.batch(at(start))
    assert module.calls["create_state"] == 0


def test_each_row_enters_once_and_leaves_once_where_many_windows_fire_together() -> None:
    module = RunningTotal()
    feed = feed_of(hopping(500, 1), module, "general", emit=early(on_signal("now")))
    feed.batch(*points(*range(1_000)))
    assert len(feed.batch(signals=["now"]).rows) == 1_000 + 499
    assert module.calls["added"] + module.calls["removed"] <= 2 * 1_000


@pytest.mark.cases(4)
@pytest.mark.parametrize("ratio", [1, 2, 60])
@pytest.mark.parametrize("module_class", [Merged, Deducted])
@pytest.mark.parametrize("slices_per_batch", [1, 50])
def test_over_slices_calls_grow_with_windows_and_not_with_their_ratio(
    ratio: int, module_class: Any, slices_per_batch: int
) -> None:
    """There are 100 slices of two rows each, and as many windows, beside those that begin before the first slice."""
    module = module_class()
    feed = feed_of(hopping(10 * ratio, 10), module, "sliced")
    result_count = 0
    for first_slice in range(0, 100, slices_per_batch):
        ticks: list[int] = []
        for slice_number in range(first_slice, first_slice + slices_per_batch):
            ticks += [10 * slice_number, 10 * slice_number + 3]
        result_count += len(feed.batch(*points(*ticks), watermark=10 * first_slice).rows)
    result_count += len(feed.batch(watermark=INFINITY).rows)

    window_count = 100 + ratio - 1
    assert result_count == window_count
    assert module.calls["added"] == 200
    assert module.calls["compute_result"] == window_count
    assert module.calls["combine"] + module.calls["deduct"] + module.calls["create_state"] <= 10 * (window_count + 1)


def test_windows_with_the_same_rows_and_years_between_rows_cost_no_call() -> None:
    """Each row is in 600 windows, and a billion empty windows lie before the last row."""
    module = Merged()
    feed = feed_of(hopping(6_000, 10), module, "sliced")
    feed.batch(at(5), at(3_005), at(10**15), watermark=INFINITY)
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


def rows_of_keys(tick: int, key_count: int) -> list[Row]:
    """Return a point at a tick for each of so many keys."""
    return [at(tick, value=1, key=f"k{number}") for number in range(key_count)]


METADATA_AND_BACK = ["metadata", "metadata"]
"""The metadata is read when a micro-batch begins, and read back when it was written."""


@EVERY_STATE
def test_a_batch_reads_the_metadata_alone_and_writes_what_it_brought(evaluator: str) -> None:
    feed, cells = counting_feed(evaluator, tumbling(100))
    feed.batch(*rows_of_keys(5, 1_000))
    bytes_of_thousand_keys = feed.bytes
    cells.reset()

    feed.batch(at(6, value=1, key="k7"))
    assert cells.reset() == CellAccess(METADATA_AND_BACK, written=["entry 2", "metadata"])
    assert len(cells.cells["entry 2"]) < bytes_of_thousand_keys / 10

    feed.batch(watermark=4)
    assert cells.reset() == CellAccess(METADATA_AND_BACK, written=["metadata"])


@EVERY_STATE
def test_where_no_store_is_cached_the_log_is_read_if_there_is_work(evaluator: str) -> None:
    feed, cells = counting_feed(evaluator, tumbling(100))
    feed.batch(*rows_of_keys(5, 1_000))
    feed.batch(at(6, value=1, key="k7"))
    feed.batch(watermark=4)
    feed.batch(at(7))  # of another key
    cells.reset()

    feed.restart()
    feed.batch()
    feed.batch(watermark=5)
    assert set(cells.reset().read) == {"metadata"}
    assert len(feed.batch(watermark=100).rows) == 1_001
    assert len(set(cells.reset().read)) == 4, "the metadata, and the entries of three batches"


@EVERY_STATE
def test_a_batch_writes_what_it_brought_and_not_the_window(evaluator: str) -> None:
    bytes_written: dict[int, int] = {}
    for size in (10, 100, 6_000):
        feed, cells = counting_feed(evaluator, hopping(size, 10))
        for batch in range(30):
            rows = [at(10 * batch, value=number, key=f"k{number}") for number in range(20)]
            feed.batch(*rows, watermark=10 * batch - 5)
        bytes_written[size] = cells.written.total()
    assert bytes_written[6_000] < 4 * bytes_written[100] < 8 * bytes_written[10]


def test_a_hot_key_costs_its_slices_and_not_its_rows() -> None:
    feed, cells = counting_feed("columnar", hopping(600, 10))
    rows = [at(number % 1_000) for number in range(20_000)]  # twenty at each tick of a hundred slices
    feed.batch(*rows)
    assert cells.written.total() < 4_000


def test_a_large_key_that_only_grows_is_written_as_its_changes_and_now_and_then_as_a_whole() -> None:
    feed, cells = counting_feed("general", tumbling(100_000))
    for first in range(0, 6_000, 100):
        feed.batch(*points(*range(first, first + 100)))
    written_to_log = cells.written.total() - cells.written["metadata"]
    assert written_to_log < 3.5 * feed.bytes
    (result,) = feed.batch(watermark=INFINITY).rows
    assert result["result"] == 6_000


def test_the_log_of_a_large_key_is_rewritten_when_its_events_have_gone() -> None:
    """Each batch has the events of the next window, and closes the one before."""
    feed, _ = counting_feed("general", tumbling(100))
    stored_bytes: list[int] = []
    for first in range(0, 6_000, 100):
        feed.batch(*points(*range(first, first + 100)), watermark=first)
        stored_bytes.append(feed.bytes)
    assert max(stored_bytes) < 20_000 + 10 * stored_bytes[0]  # a log is not rewritten for less than 16 KiB
    (result,) = feed.batch(watermark=INFINITY).rows
    assert result["result"] == 100


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
        rows = [row(None, start=start, end=start + 9) for start in range(first, first + 50)]
        feed.batch(*rows, watermark=first)
    assert ranked_events < 1_000
    feed.batch(watermark=INFINITY)
    assert ranked_events < 3 * 2_000, "the end of the window puts its 2,000 events in order"


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

    def touch_all_keys(tick: int) -> int:
        """Run a batch with a row of each of ten keys, and return how many of them it decodes."""
        nonlocal decoded_keys
        decoded_keys = 0
        feed.batch(*rows_of_keys(tick, 10))
        return decoded_keys

    bytes_of_other_tests = STORE_CACHE.held_bytes
    first_rows: list[Row] = []
    for tick in range(1_000):
        first_rows += rows_of_keys(tick, 10)
    feed.batch(*first_rows)
    assert touch_all_keys(1_001) == 0

    bytes_of_all_keys = STORE_CACHE.held_bytes - bytes_of_other_tests
    room_for_seven_keys = bytes_of_all_keys * 7 // 10
    feed.task = replace(feed.task, worker=replace(feed.task.worker, cache_bytes=room_for_seven_keys))
    touch_all_keys(1_002)  # this batch drops decoded states for the first time
    for tick in range(1_003, 1_006):
        assert 0 < touch_all_keys(tick) < 7
    results = feed.batch(watermark=INFINITY).rows
    assert [result["result"] for result in results] == [1_000 + 5] * 10


def calls_of_batch(feed: Feed, *rows: Row, watermark: int | None = None) -> int:
    """Run a batch, and return how many Python and C functions it calls."""
    return calls_of(lambda: feed.batch(*rows, watermark=watermark))


def calls_of(action: Callable[[], object]) -> int:
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
    """
    live events    [-----)                      one every four ticks, each for five; the watermark is at 0
                       [-----) ...
    a batch              [--------)             brings one in the middle of them
    """
    costs: list[int] = []
    for live_count in (500, 4_000):
        feed = feed_of(window, RunningTotal(), "general", emit=emit, lifetimes="intervals")
        live_events = [row(None, start=4 * number, end=4 * number + 5, value=number) for number in range(live_count)]
        feed.batch(*live_events, watermark=0)
        middle = 2 * live_count
        for start in (middle, middle + 40, middle + 80):  # these find out how long events last, and what starts first
            feed.batch(row(None, start=start, end=start + 9, value=1))
        costs.append(calls_of_batch(feed, row(None, start=middle + 1, end=middle + 10, value=1)))
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
    costs: list[int] = []
    for live_count in (500, 4_000):
        run = Run(join, join.plan(buckets=1), NO_MISHAPS)
        process_left_events(run, *((4 * number, 4 * number + 5) for number in range(live_count)))
        middle = 2 * live_count
        for start in (middle, middle + 40, middle + 80):  # these find out how long events last, and what starts first
            process_left_events(run, (start + 1, start + 9))
        # A run draws the number of map tasks and of Arrow batches: the cheapest of ten micro-batches has one of each.
        calls: list[int] = []
        for start in range(middle + 3, middle + 43, 4):
            calls.append(calls_of(partial(process_left_events, run, (start, start + 7))))
        costs.append(min(calls))
        assert run.last["events_held"] == live_count + 3 + 10
    few, many = costs
    assert many < 1.2 * few, f"a batch of one row makes {few:,} calls with 500 live events and {many:,} with 4,000"


def process_left_events(run: Run, *lifetimes: tuple[int, int]) -> None:
    """Process a batch that brings left events of a join, and the watermark 0 of each input.

    Args:
        run: The run.
        lifetimes: Start and end of each event; the start is also its id.
    """
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
    idle keys      !                           a point at 1, whose window stays open
    another key    ! ! ! ! ! ! ! !             a point every 10 ticks
    """
    costs: list[int] = []
    for idle_count in (50, 1_000):
        feed = feed_of(tumbling(100), Total(), evaluator, emit=emit)
        feed.batch(*rows_of_keys(1, idle_count))
        for tick in (10, 20, 30):
            feed.batch(at(tick), watermark=tick)
        costs.append(calls_of_batch(feed, at(40), watermark=40))
    few, many = costs
    assert many < 1.2 * few, f"a batch of one row makes {few:,} calls beside 50 idle keys and {many:,} beside 1,000"
