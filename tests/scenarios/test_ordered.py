"""Modules that read the order: the same output however rows arrive, by time, then by order, then by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from muntin import EarlyEmission, EmitPolicy, early, tumbling
from muntin.rows import batch, last
from muntin.testing import Computation, Script, WindowedQuery
from muntin.triggers import every_count
from muntin_engine.testing import crash_everywhere
from muntin_stats import CollectList, First, Last, Ranked, TopBy
from tests.modules.merged_states import Joined
from tests.scenarios.feed import Feed, row
from tests.scenarios.query import Query

pytestmark = pytest.mark.usefixtures("all_states_small")

PRICES = ((5, 1), (3, 2), (4, 3))
"""Prices of one time, each with its order."""

MODULES = (First[int](), Last[int](), CollectList[int]())


def prices_in(arrival: Sequence[tuple[int, int]], query: Query) -> list[Any]:
    """Return the last results of prices of the tick 7 that arrive one by one, and of an earlier one that comes last."""
    feed = Feed(query, "general")
    live = dict[int, Any]()
    rows = [row(n, 7, 8, {"x": price, "order": order}) for n, (price, order) in enumerate(arrival)]
    for batch_rows, watermark in (rows[:1], 6), (rows[1:], 6), ([row(9, 6, 7, {"x": 2, "order": 9})], 6), ([], 100):
        for change in feed.batch(*batch_rows, watermark=watermark).rows:
            if change.get("change") == "retract":
                del live[change["event_id"]]
            else:
                live[change.get("event_id", 0)] = (change["result"], change["m1"], change["m2"])
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
    best = TopBy[str, int](2)
    ordered = TopBy[str, int](2).with_order()
    for module, expected in ((best, "cb"), (ordered, "bc")):
        state = module.add_events(module.add_events([], rows[:2]), rows[2:])
        assert "".join(str(row.value) for row in module.compute_result(state)) == expected
    assert (best.reads_order, ordered.reads_order) == (False, True)


class Text(Joined):
    """The payloads in their order, one after the other."""

    name = "test.text"

    def compute_result(self, payloads: Sequence[Any]) -> str:
        return "".join(payloads)


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
