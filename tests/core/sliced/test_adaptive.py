"""Rows or states, by what they take."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from muntin import INFINITY, hopping, tumbling
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.slices.adaptive import BACK, LEAST_ROWS, MOST_WAITING, AdaptivePolicy, Monitor, Volume
from muntin_engine.evaluators.slices.states import StateStore
from muntin_engine.state.log import StoredEntry
from tests.core.sliced.build import Feed, Members, Row, SizedMembers, blobs_of, expected, sliced


def test_states_are_preferred_where_rows_take_more() -> None:
    """The condition (6.9) of the thesis for one slice, and for several."""
    policy = AdaptivePolicy(state_bytes=100)
    assert not policy.prefers_states(rows=10, slices=1, row_bytes=10)
    assert policy.prefers_states(rows=11, slices=1, row_bytes=10)
    assert not policy.prefers_states(rows=30, slices=3, row_bytes=10)
    assert policy.prefers_states(rows=31, slices=3, row_bytes=10)


def test_a_key_goes_back_to_rows_a_little_later_than_it_came() -> None:
    policy = AdaptivePolicy(state_bytes=100)
    at_threshold, below = 10, int(10 * BACK)
    assert policy.prefers_states(rows=at_threshold, slices=1, row_bytes=10, before=True)
    assert not policy.prefers_states(rows=at_threshold, slices=1, row_bytes=10, before=False)
    assert not policy.prefers_states(rows=below, slices=1, row_bytes=10, before=True)


def test_how_many_rows_may_wait() -> None:
    assert AdaptivePolicy(100).most_rows(row_bytes=9) == 11
    assert AdaptivePolicy(None).most_rows(row_bytes=9) == MOST_WAITING
    assert AdaptivePolicy(100, "eager").most_rows(row_bytes=9) == 0
    assert AdaptivePolicy(100, "lazy").most_rows(row_bytes=9) == NEVER


@pytest.mark.parametrize(
    ("policy", "counts", "lifted"),
    [
        (AdaptivePolicy(None), [int(LEAST_ROWS)] * 3, True),
        (AdaptivePolicy(None), [1, 2, 1], False),
        (AdaptivePolicy(None, "eager"), [1], True),
        (AdaptivePolicy(None, "lazy"), [100], False),
        (AdaptivePolicy(100), [11, 12], True),
        (AdaptivePolicy(100), [10, 3], False),
        (AdaptivePolicy(100), [10, 11], [False, True]),
        (AdaptivePolicy(100, "lazy"), [1000], False),
        (AdaptivePolicy(100, "eager"), [1], True),
    ],
)
def test_what_the_map_side_sends(policy: AdaptivePolicy, counts: list[int], lifted: Any) -> None:
    assert policy.which_lift(counts, row_bytes=10) == lifted


def test_a_monitor_remembers_the_keys_of_the_last_windows_alone() -> None:
    monitor = Monitor(AdaptivePolicy(100))
    monitor.saw(rows=10, size=100)
    assert monitor.most_rows == 10
    monitor.closed(0, [Volume("a", 11, 1), Volume("b", 9, 1), Volume("c", 50, 1)])
    assert monitor.eager == {"a", "c"}
    monitor.closed(0, [Volume("a", 9, 1), Volume("b", 9, 1)])
    assert monitor.eager == {"a"}
    monitor.closed(1, [Volume("d", 30, 2)])
    assert monitor.eager == {"a", "d"}
    monitor.closed(0, [Volume("a", 7, 1)])
    assert monitor.eager == {"d"}


def test_where_memory_does_not_decide_no_key_starts_as_states() -> None:
    for policy in (AdaptivePolicy(None), AdaptivePolicy(100, "lazy"), AdaptivePolicy(100, "eager")):
        monitor = Monitor(policy)
        monitor.closed(0, [Volume("a", 10**6, 1)])
        assert monitor.eager == set()


def test_rows_are_kept_until_they_take_more_than_a_state() -> None:
    module = SizedMembers()
    query = sliced(hopping(20, 10), module)
    store = StateStore(query)
    states: list[int] = []
    for payload in range(12):
        store.take(blobs_of(query, [Row(("k",), 5, payload)]), -NEVER)
        states.append(store.memory().states)
    assert states[0] == 0
    assert states == sorted(states)
    assert states[-1] == SizedMembers.state_bytes
    assert module.calls["payloads"] <= 12


@pytest.mark.parametrize("windows", [tumbling(10), hopping(30, 10)], ids=str)
def test_a_key_with_much_in_its_last_window_starts_the_next_slice_as_a_state(windows: Any) -> None:
    query = sliced(windows, SizedMembers())
    store = StateStore(query)
    busy = [Row(("busy",), tick % 10, tick) for tick in range(100)]
    store.take(blobs_of(query, [*busy, Row(("quiet",), 1, 1)]), -NEVER)
    store.close(0, -NEVER, 1)
    held = {name: store._slices.by_number[0].states[0].keys() for name in ("states",)}
    store.forget(query.grids[0].first_live(1))
    store.take(blobs_of(query, [Row(("busy",), 11, 1), Row(("quiet",), 12, 1)]), -NEVER)
    fresh = store._slices.by_number[1]
    assert list(fresh.states[0]) == [("busy",)]
    assert list(fresh.rows) == [("quiet",)]
    assert ("busy",) in held["states"]


@pytest.mark.parametrize("mode", ["adaptive", "lazy"])
def test_a_key_whose_rows_are_kept_keeps_no_state_between_batches(mode: Any) -> None:
    store = StateStore(sliced(hopping(50, 10), SizedMembers(), mode=mode))
    rows = [Row(("k",), tick, tick) for tick in range(0, 200, 10)]
    store.take(blobs_of(store._query, rows), -NEVER)
    for last in range(1, 15):
        store.close(0, last - 1 if last > 1 else -NEVER, last)
        assert store.memory().states == 0
    assert store.memory().rows > 0


def test_the_volumes_of_keys_survive_being_written() -> None:
    query = sliced(hopping(50, 10), SizedMembers())
    rows = [Row((key,), tick, tick) for key, step in (("busy", 1), ("quiet", 7)) for tick in range(0, 90, step)]
    store = StateStore(query)
    entries = []
    for start in range(0, len(rows), 9):
        delta = store.take(blobs_of(query, rows[start : start + 9]), -NEVER).delta
        assert delta is not None
        entries += [StoredEntry(entry.data) for entry in store.write(delta, -NEVER)]
    other = StateStore(query)
    for entry in other.compact(entries, -NEVER):
        other.restore(StoredEntry(entry.data))
    for number, held in store._slices.by_number.items():
        assert other._slices.by_number[number].counts == held.counts
    assert any(held.states[0] for held in other._slices.by_number.values())
    assert any(held.rows for held in other._slices.by_number.values())


def test_modes_give_the_same_results_and_adaptive_takes_the_least_memory() -> None:
    """Keys as unequal as in the thesis's skewed data sets: a few have most of the rows."""
    random = Random(5)
    rows = [Row((int(random.paretovariate(0.7)) % 50,), tick, random.randrange(100)) for tick in range(3000)]
    windows = hopping(300, 100)
    outputs, peaks = {}, {}
    for mode in ("adaptive", "eager", "lazy"):
        feed = Feed(sliced(windows, Sized(), mode=mode))
        peak = 0
        for start in range(0, len(rows), 50):
            feed.batch(rows[start : start + 50], start)
            ((_, store, *_),) = feed.kept._stores.values()
            peak = max(peak, sum(store.memory()))
        feed.batch([], INFINITY)
        outputs[mode], peaks[mode] = sorted(feed.output), peak
    assert outputs["adaptive"] == outputs["eager"] == outputs["lazy"] == expected(windows, [Members()], rows, INFINITY)
    assert peaks["adaptive"] < min(peaks["eager"], peaks["lazy"])


class Sized(Members):
    """A module whose state takes as much as some eight rows."""

    name = "test.sized"
    state_bytes = 40


def test_a_key_may_change_between_rows_and_states_at_any_time() -> None:
    random = Random(9)
    windows = hopping(40, 10)
    rows = [Row((f"k{random.randrange(3)}",), tick, tick) for tick in range(600) for _ in range(1 + tick // 50 % 4)]
    feed = Feed(sliced(windows, SizedMembers(), Members()))
    modes: set[frozenset[Any]] = set()
    for start in range(0, len(rows), 23):
        batch = rows[start : start + 23]
        feed.batch(batch, batch[0].tick)
        ((_, store, *_),) = feed.kept._stores.values()
        modes.add(frozenset(store._monitor.eager))
    feed.batch([], INFINITY)
    assert sorted(feed.output) == expected(windows, [Members(), Members()], rows, INFINITY)
    assert len(modes) > 2
