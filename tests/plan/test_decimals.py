"""Decimals as the axis (ON-06, TH-11), without Spark: lengths, words, identities, and exact ticks."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import Axis, correct, count_by_start, cumulate, early, hopping, landmark, session, ticks, trailing, tumbling
from muntin.errors import DurationError, PolicyError, QueryError
from muntin.progress import bounded_delay
from muntin.rows import delta, elapsed, last
from muntin.triggers import any_of, every_count, past_end
from muntin_engine.errors import StateMismatchError
from muntin_engine.exchange.times import as_ticks, as_times, too_far
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.lengths import AxisScale
from muntin_patterns import FollowedBy
from tests.plan.plans import plan_of, planned

CENTS = AxisScale(Axis.TICKS, places=2)
QUARTER, HALF = Decimal("0.25"), Decimal("0.5")
SETTINGS: dict[str, Any] = {
    "axis": Axis.TICKS,
    "places": 2,
    "columns": {"start": NamedColumn("price", "decimal(10,2)")},
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (tumbling(QUARTER), tumbling(25)),
        (tumbling(5), tumbling(500)),
        (hopping(2, HALF, Decimal("-0.01"), reach=Decimal("0.1")), hopping(200, 50, -1, reach=10)),
        (cumulate(Decimal(1), QUARTER), cumulate(100, 25)),
        (landmark(1, since=3), landmark(100, 300)),
        (trailing(HALF, every=3), trailing(50, every=3)),
        (session(HALF), session(50)),
        (count_by_start(3), count_by_start(3)),
        (last(elapsed(HALF)), last(elapsed(50))),
        (last(3).trigger(delta("x", 2)), last(3).trigger(delta("x", 2))),
        (bounded_delay(HALF), bounded_delay(50)),
        (early(any_of(past_end(HALF), every_count(3))), early(any_of(past_end(50), every_count(3)))),
    ],
    ids=str,
)
def test_a_number_is_whole_units_and_a_decimal_what_it_says(given: Any, expected: Any) -> None:
    assert CENTS.resolve(given) == expected


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1E-19", "0.0000000000000000001"])
def test_a_decimal_that_no_axis_can_have_is_refused(number: str) -> None:
    with pytest.raises(DurationError, match="no number of at most 18 decimal places"):
        ticks(Decimal(number))


@pytest.mark.parametrize(
    ("scale", "length", "reason"),
    [
        (CENTS, tumbling(Decimal("0.005")), r"is Decimal\('0.005'\), and the times in at are decimals of 2 places"),
        (CENTS, tumbling("1 second"), "give lengths as numbers, such as 5 or"),
        (AxisScale(Axis.TICKS), tumbling(HALF), "and the times in at are integers"),
        (AxisScale(Axis.TIME), tumbling(HALF), "the number .*are timestamps"),
        (AxisScale(Axis.TICKS, "ms"), tumbling(HALF), "the number .*are in ms"),
    ],
)
def test_a_length_of_another_kind_is_refused(scale: AxisScale, length: Any, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        scale.resolve(length)


def test_a_whole_decimal_is_a_length_over_integers() -> None:
    assert AxisScale(Axis.TICKS).resolve(tumbling(Decimal(10))) == tumbling(10)
    assert CENTS.resolve(bounded_delay(0)).delay == 0


def test_a_decimal_is_spelled_as_it_is_written() -> None:
    assert str(tumbling(QUARTER)) == "tumbling(Decimal('0.25'))"
    assert str(landmark(Decimal(2), since=1)) == "landmark(2, since=1)"
    with pytest.raises(QueryError, match=r"got the size Decimal\('1.3'\) and the step Decimal\('0.5'\)"):
        cumulate(Decimal("1.3"), HALF)


def test_a_query_is_explained_in_decimals() -> None:
    told = explain_plan(plan_of(window=CENTS.resolve(hopping(2, HALF)), **SETTINGS))
    assert "hopping(2, Decimal('0.5'))" in told
    assert "less than 2.00" in told


def test_what_a_module_needs_is_said_in_decimals() -> None:
    module = planned(FollowedBy, within=50)
    with pytest.raises(PolicyError, match=r"stay members for 0\.\d+ after .*, and tumbling\(1\) keeps them for less"):
        plan_of(module, window=CENTS.resolve(tumbling(1)), **SETTINGS)


def test_a_checkpoint_knows_the_places_and_says_lengths_in_decimals() -> None:
    stored = plan_of(window=CENTS.resolve(tumbling(HALF)), **SETTINGS)
    identity = json.loads(json.dumps(plan_identity(stored)))
    check_plans([stored], [identity], "s3://a/b")
    wider = {**SETTINGS, "columns": {"start": NamedColumn("price", "decimal(18,2)")}}
    check_plans([plan_of(window=CENTS.resolve(tumbling(HALF)), **wider)], [identity], "s3://a/b")
    for changed in ({"window": CENTS.resolve(tumbling(QUARTER))}, {"places": 3}):
        with pytest.raises(StateMismatchError) as refused:
            check_plans([plan_of(**({"window": stored.window} | SETTINGS | changed))], [identity], "s3://a/b")
        told = [(each.checkpoint, each.query) for each in refused.value.differences]
        if "places" in changed:
            assert ("decimals of 2 places", "decimals of 3 places") in told
        else:
            assert told == [("tumbling(Decimal('0.5'))", "tumbling(Decimal('0.25'))")]


@pytest.mark.parametrize("seed", range(5))
def test_ticks_are_the_digits_and_the_way_back_is_exact(seed: int) -> None:
    """Against Python's own arithmetic, with nulls, signs, slices and numbers that have too many ticks."""
    random = Random(seed)
    places = random.choice([0, 2, 18])
    digits = [random.randrange(-(10 ** random.randrange(1, 19)), 10**18) for _ in range(50)]
    numbers = [None if random.random() < 0.1 else Decimal(tick).scaleb(-places) for tick in digits]
    array = pa.array([Decimal(0), *numbers], pa.decimal128(38, places)).slice(1)
    found = as_ticks(array)
    assert found.to_pylist() == [None if n is None else int(n.scaleb(places)) for n in numbers]
    assert as_times(found, array.type).equals(array)
    assert too_far("start", array, found) == {}


def test_a_number_of_too_many_ticks_is_as_far_as_no_time_may_be_and_kept_as_it_is() -> None:
    numbers = [
        Decimal(2**62),
        Decimal(-(2**62)),
        Decimal(10**37),
        Decimal(-(10**37)),
        Decimal(2**64 + 1),
        Decimal(7),
        None,
    ]
    array = pa.array(numbers, pa.decimal128(38, 0))
    found = as_ticks(array)
    assert found.to_pylist() == [2**62, -(2**62), 2**62, -(2**62), 2**62, 7, None]
    assert too_far("start", array, found)["given_start"].to_pylist() == [*numbers[:5], None, None]


def test_late_rows_may_correct_results_for_a_number() -> None:
    assert CENTS.resolve(correct(HALF), "late").allowed == 50
