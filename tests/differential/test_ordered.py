"""Modules that read the order: the same output however rows arrive, by time, then by order, then by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from muntin import EarlyEmission, EmitPolicy, early, hopping, snapshot, tumbling
from muntin.rows import batch, last
from muntin.testing import Computation, Script, WindowedQuery
from muntin.triggers import every_count
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing import RestartLaws, crash_everywhere
from muntin_stats import CollectList, First, Last, Ranked, TopBy
from tests.scenarios.modules import Joined, Spelled
from tests.scenarios.query import Query

PRICES = ((5, 1), (3, 2), (4, 3))
"""Prices of one time, each with its order."""

MODULES = (First[int](), Last[int](), CollectList[int]())


def prices_in(arrival: Sequence[tuple[int, int]], query: Query) -> list[Any]:
    """Return the last results of prices of the tick 7 that arrive one by one, and of an earlier one that comes last."""
    process = BY_NAME["general"].in_memory(query.plan("general"), MemoryCells(), Codec())
    rows, live = [InputChange(number, 7, 8, pair) for number, pair in enumerate(arrival)], dict[int, Any]()
    for rest in ([rows[0]], rows[1:], [InputChange(9, 6, 7, (2, 9))], []):
        keyed = [(("k",), change) for change in rest]
        for _, change in process.take(keyed, Progress(6 if rest else 100, 100 if not rest else 9, 7)):
            if change.kind == "insert":
                live[change.id] = change.value
            else:
                del live[change.id]
    return list(live.values())


@pytest.mark.parametrize(
    "emit", [*EmitPolicy, early(every_count(1), refinement="retract")], ids=lambda emit: str(emit)[:12]
)
def test_prices_of_one_time_follow_one_another_by_their_order(emit: EmitPolicy | EarlyEmission) -> None:
    """
                  0         6    7    10
    price                   2    5, 3, 4 in this order, which is neither that of arrival nor that of the prices
    """
    query = Query(tumbling(10), MODULES, emit=emit, has_order=True)
    for arrival in permutations(PRICES):
        assert prices_in(arrival, query) == [(2, 4, [2, 5, 3, 4])]
    by_value = replace(query, has_order=False)
    for arrival in permutations([(price, price) for price, _ in PRICES]):
        assert prices_in(arrival, by_value) == [(2, 5, [2, 3, 4, 5])]


def test_ties_of_a_ranking_go_by_order_where_there_is_one_and_by_value_elsewhere() -> None:
    """Three rows of the rank 7 come as b, c, a."""
    rows = [Ranked(value, 7) for value in "bca"]
    best, ordered = TopBy[str, int](2), TopBy[str, int](2).with_order()
    for module, expected in ((best, "cb"), (ordered, "bc")):
        state = module.add_events(module.add_events([], rows[:2]), rows[2:])
        assert "".join(str(row.value) for row in module.compute_result(state)) == expected
    assert (best.reads_order, ordered.reads_order) == (False, True)


class Text(Joined):
    """The payloads in their order, one after the other."""

    name = "test.text"

    def compute_result(self, payloads: Sequence[Any]) -> str:
        return "".join(payloads)


class TestJoinedRestarts(RestartLaws):
    module = Joined()


class TestSpelledRestarts(RestartLaws):
    module = Spelled()


class TestListRestarts(RestartLaws):
    module = CollectList[int]()


@pytest.mark.parametrize("windows", [tumbling(3), hopping(4, 2), snapshot(), last(10).trigger(2), batch(3)], ids=str)
def test_a_join_of_strings_has_an_order_over_windows_of_every_kind(windows: Any) -> None:
    """
                  0  1  2  3
    letters          a  b  d
                        c  e     at one time in the order in which they are inserted
    """
    script = Script().point(0, 1, "a").point(1, 2, "b").point(2, 2, "c").point(3, 3, "d").point(4, 3, "e").close()
    query = WindowedQuery(windows, [Computation(Text()), Computation(First[str]())])
    found = [row.value for row in script.run(query)[None]]
    assert all(text == "".join(sorted(text)) and first == text[0] for text, first in found)
    assert any("bc" in text for text, _ in found)
    crash_everywhere(script, query)


def test_the_order_of_a_query_is_that_of_the_engine_and_null_comes_first() -> None:
    """
                  2
    letters       d, c, b and a arrive; their order is 1, null, 2, 1
    """
    orders = {"d": 1, "c": None, "b": 2, "a": 1}
    script = Script()
    for letter in orders:
        script = script.point(letter, 2, letter)
    for windows in (tumbling(3), last(10).trigger(2), batch(4)):
        query = WindowedQuery(windows, [Computation(Text())], order=orders.get)
        *_, whole = script.close().run(query)[None]
        assert whole.value == ("cdab",)
        crash_everywhere(script.close(), query)
