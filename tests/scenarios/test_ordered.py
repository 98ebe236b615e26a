"""Modules that read the order: the same output however rows arrive, by time, then by order, then by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import pytest

from muntin import EarlyEmission, EmitPolicy, early, tumbling
from muntin.rows import batch, last
from muntin.testing import Computation, Script, WindowedQuery
from muntin.triggers import every_count
from muntin.windows import WindowSpecification
from muntin_engine.testing import crash_everywhere
from muntin_stats import CollectList, First, Last, Ranked, TopBy
from tests.modules.merged_states import Joined
from tests.scenarios.feed import Feed, row
from tests.scenarios.query import Query

pytestmark = pytest.mark.usefixtures("all_states_small")


class Price(NamedTuple):
    """A price, and its place in the order of those of one time."""

    price: int
    order: int


PRICES = (Price(5, order=1), Price(3, order=2), Price(4, order=3))

MODULES = (First[int](), Last[int](), CollectList[int]())


def first_last_and_all(arrival: Sequence[Price], query: Query) -> list[Any]:
    """Feed prices of the tick 7, then one of the tick 6, and close the window; return the results that are live.

    Args:
        arrival: The prices in the order in which they come: one, and then the others in one micro-batch.
        query: The query, whose modules are `MODULES`.

    Returns:
        The first price, the last one, and all of them, of each window.
    """
    feed = Feed(query, "general")
    rows = [
        row(number, start=7, end=8, value={"x": price, "order": order}) for number, (price, order) in enumerate(arrival)
    ]
    earlier_row = row(9, start=6, end=7, value={"x": 2, "order": 9})
    changes = feed.batch(rows[0], watermark=6).rows
    changes += feed.batch(*rows[1:], watermark=6).rows
    changes += feed.batch(earlier_row, watermark=6).rows
    changes += feed.batch(watermark=100).rows

    live_by_id = dict[int, Any]()
    for change in changes:
        if change.get("change") == "retract":
            del live_by_id[change["event_id"]]
        else:
            live_by_id[change.get("event_id", 0)] = (change["result"], change["m1"], change["m2"])
    return list(live_by_id.values())


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
        assert first_last_and_all(arrival, query) == [(2, 4, [2, 5, 3, 4])]


@pytest.mark.parametrize(
    "emit", [*EmitPolicy, early(every_count(1), refinement="retract")], ids=lambda emit: str(emit)[:12]
)
def test_prices_of_one_time_without_an_order_follow_one_another_by_their_value(
    emit: EmitPolicy | EarlyEmission,
) -> None:
    query = Query(tumbling(10), MODULES, emit=emit)
    for arrival in permutations(PRICES):
        assert first_last_and_all(arrival, query) == [(2, 5, [2, 3, 4, 5])]


@pytest.mark.parametrize(
    ("module", "reads_order", "best_two"),
    [(TopBy[str, int](2), False, "cb"), (TopBy[str, int](2).with_order(), True, "bc")],
    ids=["by value", "by order"],
)
def test_ties_of_a_ranking_go_by_order_where_there_is_one_and_by_value_elsewhere(
    module: TopBy[str, int], reads_order: bool, best_two: str
) -> None:
    """Three rows of the rank 7 come as b, c, a."""
    rows = [Ranked(value, 7) for value in "bca"]
    state = module.add_events([], rows[:2])
    state = module.add_events(state, rows[2:])
    assert "".join(str(row.value) for row in module.compute_result(state)) == best_two
    assert module.reads_order == reads_order


class Text(Joined):
    """The payloads in their order, one after the other."""

    name = "test.text"

    def compute_result(self, payloads: Sequence[Any]) -> str:
        return "".join(payloads)


@pytest.mark.parametrize("windows", [tumbling(3), last(10).trigger(2), batch(4)], ids=str)
def test_the_order_of_a_script_is_that_of_the_engine_and_null_comes_first(windows: WindowSpecification) -> None:
    """The letters d, c, b and a come at one tick; d and a have the same order, and stay as they came.

    A script runs the query by the reference; `crash_everywhere` runs it by the engine, and compares with that.
    """
    orders = {"d": 1, "c": None, "b": 2, "a": 1}
    script = Script()
    for letter in orders:
        script = script.point(letter, 2, letter)
    query = WindowedQuery(windows, [Computation(Text())], order=orders.get)
    *_, last_result = script.close().run(query)[None]
    assert last_result.value == ("cdab",)
    crash_everywhere(script.close(), query)
