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
from muntin_engine.wire.times import as_ticks, as_times, too_far
from muntin_patterns import FollowedBy
from tests.engine.plan.plans import plan_of, planned

HALF, QUARTER, ONE = (
    AxisScale(Axis.TICKS, decimal_places=2).resolve(tumbling(Decimal(size))) for size in ("0.5", "0.25", "1")
)
SETTINGS: dict[str, Any] = {
    "axis": Axis.TICKS,
    "decimal_places": 2,
    "columns": {"start": NamedColumn("price", "decimal(10,2)")},
}


def test_what_a_module_needs_is_said_in_decimals() -> None:
    with pytest.raises(PolicyError, match=r"stay members for 0\.\d+ after .*, and tumbling\(1\) keeps them for less"):
        plan_of(planned(FollowedBy, within=50), window=ONE, **SETTINGS)


def test_a_checkpoint_knows_the_places_and_says_lengths_in_decimals() -> None:
    settings = SETTINGS | {"window": HALF}
    identity = json.loads(json.dumps(plan_identity(plan_of(**settings))))
    for goes_on in ({}, {"columns": {"start": NamedColumn("price", "decimal(18,2)")}}):
        check_plans([plan_of(**(settings | goes_on))], [identity], "s3://a/b", DECLARATIONS)
    for changed, message in (
        ({"window": QUARTER}, ("tumbling(Decimal('0.5'))", "tumbling(Decimal('0.25'))")),
        ({"decimal_places": 3}, ("decimals of 2 places", "decimals of 3 places")),
    ):
        with pytest.raises(StateMismatchError) as refused:
            check_plans([plan_of(**(settings | changed))], [identity], "s3://a/b", DECLARATIONS)
        assert message in [(each.checkpoint, each.query) for each in refused.value.differences]


@pytest.mark.parametrize("seed", range(5))
def test_ticks_are_the_digits_and_the_way_back_is_exact(seed: int) -> None:
    """Against Python's own arithmetic, with nulls, signs, slices and numbers that have too many ticks."""
    random = Random(seed)
    places = random.choice([0, 2, 18])
    digits = [random.randrange(-(10 ** random.randrange(1, 19)), 10**18) for _ in range(50)]
    numbers = [None if random.random() < 0.1 else Decimal(tick).scaleb(-places) for tick in digits]
    array = pa.array([Decimal(0), *numbers], pa.decimal128(38, places)).slice(1)
    ticks = as_ticks(array)
    assert ticks.to_pylist() == [None if n is None else int(n.scaleb(places)) for n in numbers]
    assert as_times(ticks, array.type).equals(array)
    assert too_far("start", array, ticks) == {}


def test_a_number_of_too_many_ticks_is_as_far_as_no_time_may_be_and_kept_as_it_is() -> None:
    most = [2**62, -(2**62), 10**37, -(10**37), 2**64 + 1]
    array = pa.array([*map(Decimal, most), Decimal(7), None], pa.decimal128(38, 0))
    ticks = as_ticks(array)
    assert ticks.to_pylist() == [2**62, -(2**62), 2**62, -(2**62), 2**62, 7, None]
    assert too_far("start", array, ticks)["far_start"].to_pylist() == [*map(Decimal, most), None, None]
