"""Aggregates that are added to a query, or removed from it, between two starts of it.

One that is added sees the rows that come from then on; the results of the others are those of a query that was never
stopped. The oracle looks at each window that such a query emits, and at the rows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, Aggregate, IncrementalAggregate, Module, hopping, session, snapshot, tumbling
from muntin.windows import WindowSpecification
from muntin_engine.errors import StateMismatchError
from muntin_engine.state.cells import MemoryCells
from muntin_stats import Max, Min, Sum
from tests.scenarios.feed import Deducted, Feed, Members, RunningTotal, Total, at, query, row
from tests.scenarios.running import extent


class Last(Aggregate[int, int]):
    name, version = "test.last", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


class Largest(IncrementalAggregate[int, list[int], int]):
    """The largest payload, whose state has nothing to say of no payloads."""

    name, version = "test.largest", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [max([*state, *payloads])]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [max(state + other)]

    def compute_result(self, state: list[int]) -> int:
        return state[0]


Known = Mapping[str, tuple[Callable[[], Module], Callable[[Sequence[int]], Any]]]

MODULES: Mapping[str, Known] = {
    "columnar": {"sum": (Sum[int], sum), "min": (Min[int], min), "max": (Max[int], max)},
    "sliced": {"total": (Deducted, sum), "largest": (Largest, max)},
    "grouped": {"total": (Total, sum), "members": (Members, sorted), "last": (Last, max)},
}
WINDOWS = {
    "tumbling": (tumbling(10), "points"),
    "hopping": (hopping(12, 4), "points"),
    "sessions": (session(3), "points"),
    "lasting": (hopping(12, 4), "intervals"),
    "snapshots": (snapshot(), "intervals"),
}
CASES = [
    (evaluator, name)
    for evaluator in MODULES
    for name in WINDOWS
    if (evaluator, name) not in {("sliced", "lasting"), ("sliced", "snapshots"), ("columnar", "snapshots")}
]


@pytest.mark.cases(26)
@pytest.mark.parametrize(("evaluator", "name"), [*CASES, ("sums", "snapshots")])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_added_sees_later_rows_and_the_rest_goes_on(evaluator: str, name: str, seed: int) -> None:
    known: Known = {"sum": (Sum[int], sum)} if evaluator == "sums" else MODULES[evaluator]
    evaluator = "columnar" if evaluator == "sums" else evaluator
    random = Random(f"{evaluator} {name} {seed}")
    (window, lifetimes) = WINDOWS[name]
    asked = [random.choice([*known])]
    since = dict.fromkeys(asked, 0)
    cells = MemoryCells()
    never_stopped = Feed(query(window, Total(), lifetimes=lifetimes), "general")
    feed = Feed(query(window, *(known[one][0]() for one in asked), lifetimes=lifetimes), evaluator, cells)
    rows: list[tuple[int, Mapping[str, Any]]] = []
    found = 0
    for number in range(14):
        if random.random() < 0.4:
            others = [one for one in known if one not in asked]
            if others and (len(asked) == 1 or random.random() < 0.7):
                asked.insert(random.randrange(len(asked) + 1), random.choice(others))
                since = {one: since.get(one, number) for one in asked}
            elif len(asked) > 1:
                asked.remove(random.choice(asked))
                since = {one: since[one] for one in asked}
            feed = Feed(query(window, *(known[one][0]() for one in asked), lifetimes=lifetimes), evaluator, cells)
            feed.restart()
        sent = [drawn(random, 5 * number, lifetimes) for _ in range(random.randrange(5))]
        rows += [(number, one) for one in sent]
        watermark = INFINITY if number == 13 else max(0, 5 * number - 12)
        windows = never_stopped.batch(*sent, watermark=watermark).rows
        for got, of in zip(by_window(feed.batch(*sent, watermark=watermark).rows), by_window(windows), strict=True):
            assert got[:2] == of[:2]
            members = [(came, one["payload"]) for came, one in rows if one["key"] == of[0] and meets(one, *of[1])]
            for place, one in enumerate(asked):
                seen = [value for came, value in members if came >= since[one] or evaluator == "grouped"]
                wanted = known[one][1](seen) if seen else None
                assert got[2][place] == wanted, (one, got, members)
                found += wanted is not None
    assert found > 3


def drawn(random: Random, newest: int, lifetimes: str) -> dict[str, Any]:
    """Draw a row that is not late."""
    start = newest + random.randrange(-5, 6)
    value = random.randrange(100)
    key = random.choice("ab")
    return (
        at(start, value, key) if lifetimes == "points" else row(None, start, start + random.randrange(1, 9), value, key)
    )


def meets(one: Mapping[str, Any], start: int, end: int) -> bool:
    return bool(one["start"] < end and one["end"] > start)


def by_window(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[int, int], list[Any]]]:
    """Return results as their key, their window and their values, in order."""
    named = {"key", "window"}
    found = [
        (one["key"], extent(one["window"]), [value for name, value in one.items() if name not in named]) for one in rows
    ]
    return sorted(found, key=lambda one: one[:2])


def goes_on(
    window: WindowSpecification, evaluator: str, old: Sequence[Module], new: Sequence[Module]
) -> list[list[Any]]:
    """Start a query with what another one has left, and return its results."""
    feed = Feed(query(window, *old, lifetimes="points"), evaluator)
    feed.batch(at(1, 3), watermark=0)
    changed = Feed(query(window, *new, lifetimes="points"), evaluator, feed.cells)
    return [values for _, _, values in by_window(changed.batch(at(2, 4), watermark=INFINITY).rows)]


@pytest.mark.parametrize(
    ("evaluator", "old", "new", "told"),
    [
        ("columnar", [Sum[int]()], [Max[int]()], "not both at once"),
        ("columnar", [Sum[int](), Min[int]()], [Sum[int](), Max[int]()], "not both at once"),
        ("general", [Total()], [Total(), RunningTotal()], "cannot be added or removed here: the state of each key"),
        ("general", [Total(), RunningTotal()], [Total()], "cannot be added or removed here: the state of each key"),
    ],
)
def test_what_cannot_go_on_is_refused_with_the_reason(
    evaluator: str, old: Sequence[Module], new: Sequence[Module], told: str
) -> None:
    with pytest.raises(StateMismatchError, match=told):
        goes_on(tumbling(10), evaluator, old, new)


def test_the_order_of_aggregates_is_no_difference() -> None:
    assert goes_on(tumbling(10), "columnar", [Sum[int](), Min[int]()], [Min[int](), Sum[int]()]) == [[3, 7]]
