"""Decimals as the axis (ON-06, TH-11), without Spark: what modules need, identities, and exact ticks."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import Axis, tumbling
from muntin.errors import PolicyError
from muntin_engine.errors import StateMismatchError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.wire.times import as_ticks, as_times, far_times_column
from muntin_patterns import FollowedBy
from tests.engine.plan.plans import plan_of, planned


def windows_of(size: str) -> Any:
    """Return tumbling windows over decimals of two places, whose lengths are in ticks: in hundredths."""
    return AxisScale(Axis.TICKS, decimal_places=2).resolve(tumbling(Decimal(size)))


DECIMAL_AXIS: dict[str, Any] = {
    "axis": Axis.TICKS,
    "decimal_places": 2,
    "columns": {"start": NamedColumn("price", "decimal(10,2)")},
}
OF_HALVES: dict[str, Any] = DECIMAL_AXIS | {"window": windows_of("0.5")}


def test_the_error_for_windows_that_a_module_finds_too_short_has_decimals() -> None:
    with pytest.raises(PolicyError, match=r"stay members for 0\.\d+ after .*, and tumbling\(1\) keeps them for less"):
        plan_of(planned(FollowedBy, within=50), window=windows_of("1"), **DECIMAL_AXIS)


@pytest.mark.parametrize("type", ["decimal(10,2)", "decimal(18,2)"])
def test_a_query_over_decimals_goes_on_if_the_number_of_places_is_the_same(type: str) -> None:
    identity = json.loads(json.dumps(plan_identity(plan_of(**OF_HALVES))))
    plan = plan_of(**(OF_HALVES | {"columns": {"start": NamedColumn("price", type)}}))
    check_plans([plan], [identity], "s3://a/b", DECLARATIONS)


@pytest.mark.parametrize(
    ("changed", "in_checkpoint", "in_query"),
    [
        ({"window": windows_of("0.25")}, "tumbling(Decimal('0.5'))", "tumbling(Decimal('0.25'))"),
        ({"decimal_places": 3}, "decimals of 2 places", "decimals of 3 places"),
    ],
    ids=["length", "places"],
)
def test_another_length_or_number_of_places_is_a_difference_in_decimals(
    changed: dict[str, Any], in_checkpoint: str, in_query: str
) -> None:
    identity = json.loads(json.dumps(plan_identity(plan_of(**OF_HALVES))))
    with pytest.raises(StateMismatchError) as refused:
        check_plans([plan_of(**(OF_HALVES | changed))], [identity], "s3://a/b", DECLARATIONS)
    differences = [(difference.checkpoint, difference.query) for difference in refused.value.differences]
    assert (in_checkpoint, in_query) in differences


@pytest.mark.parametrize("seed", range(5))
def test_ticks_are_the_digits_of_a_decimal_and_become_the_same_decimal_again(seed: int) -> None:
    random = Random(seed)
    places = random.choice([0, 2, 18])
    ticks: list[int | None] = []
    for _ in range(50):
        tick = random.randrange(-(10 ** random.randrange(1, 19)), 10**18)
        ticks.append(None if random.random() < 0.1 else tick)
    decimals = [None if tick is None else Decimal(tick).scaleb(-places) for tick in ticks]
    sliced_array = pa.array([Decimal(0), *decimals], pa.decimal128(38, places)).slice(1)

    tick_array = as_ticks(sliced_array)
    assert tick_array.to_pylist() == ticks
    assert as_times(tick_array, sliced_array.type).equals(sliced_array)
    assert far_times_column("start", sliced_array, tick_array) == {}


def test_a_decimal_of_too_many_ticks_has_the_farthest_tick_and_is_kept_in_a_column_of_its_own() -> None:
    far_numbers = [2**62, -(2**62), 10**37, -(10**37), 2**64 + 1]
    array = pa.array([*map(Decimal, far_numbers), Decimal(7), None], pa.decimal128(38, 0))
    ticks = as_ticks(array)
    assert ticks.to_pylist() == [2**62, -(2**62), 2**62, -(2**62), 2**62, 7, None]
    far_decimals = far_times_column("start", array, ticks)["far_start"]
    assert far_decimals.to_pylist() == [*map(Decimal, far_numbers), None, None]
