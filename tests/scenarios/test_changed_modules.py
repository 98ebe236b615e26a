"""Aggregates that are added to a query, or removed from it, between two starts of it.

One that is added sees the rows that come from then on; the results of the others are those of a query that was never
stopped. The oracle looks at each window that such a query emits, and at the rows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from random import Random
from statistics import mean
from typing import Any, NamedTuple

import pytest

from muntin import INFINITY, Aggregate, IncrementalAggregate, Module, hopping, session, snapshot, tumbling
from muntin_engine.errors import StateMismatchError
from muntin_engine.state.cells import MemoryCells
from muntin_stats import Average, Max, Min, Sum
from tests.scenarios.feed import Deducted, Feed, Members, Result, RunningTotal, Total, at, query, row
from tests.scenarios.running import extent


class Maximum(Aggregate[int, int]):
    """The largest payload, of all payloads of a window."""

    name, version = "test.maximum", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


class Largest(IncrementalAggregate[int, list[int], int]):
    """The largest payload, whose state has no result without payloads."""

    name, version = "test.largest", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [max([*state, *payloads])]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [max(state + other)]

    def compute_result(self, state: list[int]) -> int:
        return state[0]


class Definition(NamedTuple):
    """An aggregate: its module, and the function of payloads that it computes."""

    module: Callable[[], Module]
    function: Callable[[Sequence[int]], Any]


Aggregates = Mapping[str, Definition]
"""Aggregates by name."""

MODULES: Mapping[str, Aggregates] = {
    "columnar": {
        "sum": Definition(Sum[int], sum),
        "min": Definition(Min[int], min),
        "max": Definition(Max[int], max),
    },
    "sums": {"sum": Definition(Sum[int], sum), "average": Definition(Average[int], mean)},
    "sliced": {"total": Definition(Deducted, sum), "largest": Definition(Largest, max)},
    "grouped": {
        "total": Definition(Total, sum),
        "members": Definition(Members, sorted),
        "maximum": Definition(Maximum, max),
    },
}
"""Aggregates that a query may have, by the evaluator that computes them; the columnar one computes also `sums`."""

WINDOWS = {
    "tumbling": (tumbling(10), "points"),
    "hopping": (hopping(12, 4), "points"),
    "sessions": (session(3), "points"),
    "lasting": (hopping(12, 4), "intervals"),
    "snapshots": (snapshot(), "intervals"),
}
QUERIES = [
    *product(["columnar", "sliced"], ["tumbling", "hopping", "sessions"]),
    ("columnar", "lasting"),
    ("sums", "snapshots"),  # on arrays, snapshots need aggregates that can subtract
    *product(["grouped"], WINDOWS),
]
"""Aggregates of `MODULES`, and windows over which their evaluator can compute them."""

BATCHES = 14
BATCH_TICKS = 5
"""By so many ticks the newest row moves on from one micro-batch to the next."""


class ArrivedRow(NamedTuple):
    """A row, and the number of the micro-batch in which it came."""

    batch: int
    row: Mapping[str, Any]


@pytest.mark.cases(26)
@pytest.mark.parametrize(("modules", "windows"), QUERIES)
@pytest.mark.parametrize("seed", range(6))
def test_an_added_aggregate_sees_later_rows_and_the_others_go_on(modules: str, windows: str, seed: int) -> None:
    """
    Where the state is the payloads, which all aggregates share, an added one sees the earlier rows of open windows too.

    A query that has one other aggregate, and is never stopped, says which windows are due.
    """
    random = Random(f"{modules} {windows} {seed}")
    aggregates = MODULES[modules]
    evaluator = "columnar" if modules == "sums" else modules
    shares_payloads = evaluator == "grouped"
    specification, lifetimes = WINDOWS[windows]
    cells = MemoryCells()

    def start(names: Sequence[str]) -> Feed:
        """Start the query with these aggregates; the state is what an earlier start of it left."""
        instances = [aggregates[name].module() for name in names]
        return Feed(query(specification, *instances, lifetimes=lifetimes), evaluator, cells)

    never_stopped = Feed(query(specification, Total(), lifetimes=lifetimes), "general")
    names = [random.choice([*aggregates])]
    first_batch_seen = dict.fromkeys(names, 0)  # by each aggregate
    changing = start(names)
    arrived_rows: list[ArrivedRow] = []
    values_of_rows = 0
    for number in range(BATCHES):
        if random.random() < 0.4:
            add_or_remove_one(random, names, list(aggregates))
            sees_since = 0 if shares_payloads else number
            first_batch_seen = {name: first_batch_seen.get(name, sees_since) for name in names}
            changing = start(names)
            changing.restart()

        newest = BATCH_TICKS * number
        rows = [random_row(random, newest, lifetimes) for _ in range(random.randrange(5))]
        arrived_rows += [ArrivedRow(number, new_row) for new_row in rows]
        is_last = number == BATCHES - 1
        watermark = INFINITY if is_last else max(0, newest - 12)  # no row is late by it
        results = results_of(changing.batch(*rows, watermark=watermark))
        due = results_of(never_stopped.batch(*rows, watermark=watermark))

        assert [(result.key, result.window) for result in results] == [(result.key, result.window) for result in due]
        for result in results:
            members = [arrived for arrived in arrived_rows if is_member(arrived.row, result)]
            expected: list[Any] = []
            for name in names:
                payloads = [member.row["payload"] for member in members if member.batch >= first_batch_seen[name]]
                expected.append(aggregates[name].function(payloads) if payloads else None)
            assert result.values == expected, (names, result.window, members)
            values_of_rows += len(expected) - expected.count(None)
    assert values_of_rows > 3, "hardly anything was compared"


def add_or_remove_one(random: Random, names: list[str], choices: Sequence[str]) -> None:
    """Add another aggregate at a random place, or remove one if there are several."""
    new_names = [name for name in choices if name not in names]
    if new_names and (len(names) == 1 or random.random() < 0.7):
        names.insert(random.randrange(len(names) + 1), random.choice(new_names))
    elif len(names) > 1:
        names.remove(random.choice(names))


def random_row(random: Random, newest: int, lifetimes: str) -> dict[str, Any]:
    """Draw a row that is not late."""
    start = newest + random.randrange(-5, 6)
    value = random.randrange(100)
    key = random.choice("ab")
    if lifetimes == "points":
        return at(start, value=value, key=key)
    return row(None, start=start, end=start + random.randrange(1, 9), value=value, key=key)


class WindowResult(NamedTuple):
    """The results of all aggregates for a window of a key."""

    key: str
    window: tuple[int, int]
    values: list[Any]


def is_member(row: Mapping[str, Any], result: WindowResult) -> bool:
    """True if a row is of the key of a result, and overlaps its window."""
    start, end = result.window
    return bool(row["key"] == result.key and row["start"] < end and row["end"] > start)


def results_of(output: Result) -> list[WindowResult]:
    """Return the results of a micro-batch, by key and window."""
    results: list[WindowResult] = []
    for output_row in output.rows:
        values = [value for name, value in output_row.items() if name not in ("key", "window")]
        results.append(WindowResult(output_row["key"], extent(output_row["window"]), values))
    return sorted(results, key=lambda result: (result.key, result.window))


def values_after_change(evaluator: str, old: Sequence[Module], new: Sequence[Module]) -> list[Any]:
    """Feed a query 3, start another one from its state and feed that 4; return its values for the window of both."""
    feed = Feed(query(tumbling(10), *old, lifetimes="points"), evaluator)
    feed.batch(at(1, value=3), watermark=0)
    changed_feed = Feed(query(tumbling(10), *new, lifetimes="points"), evaluator, feed.cells)
    (result,) = results_of(changed_feed.batch(at(2, value=4), watermark=INFINITY))
    return result.values


@pytest.mark.parametrize(
    ("evaluator", "old", "new", "message"),
    [
        ("columnar", [Sum[int]()], [Max[int]()], "not both at once"),
        ("columnar", [Sum[int](), Min[int]()], [Sum[int](), Max[int]()], "not both at once"),
        ("general", [Total()], [Total(), RunningTotal()], "cannot be added or removed here: the state of each key"),
        ("general", [Total(), RunningTotal()], [Total()], "cannot be added or removed here: the state of each key"),
    ],
    ids=["another one", "another one beside one that stays", "one more, key by key", "one less, key by key"],
)
def test_a_query_that_cannot_continue_is_refused_with_the_reason(
    evaluator: str, old: Sequence[Module], new: Sequence[Module], message: str
) -> None:
    with pytest.raises(StateMismatchError, match=message):
        values_after_change(evaluator, old, new)


def test_aggregates_may_be_named_in_another_order() -> None:
    """Each finds its own state again: 3 + 4 is the sum, and 3 the minimum."""
    assert values_after_change("columnar", [Sum[int](), Min[int]()], [Min[int](), Sum[int]()]) == [3, 7]
