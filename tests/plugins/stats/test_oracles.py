"""Statistics against others that know: fractions, `statistics`, NumPy and pandas."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isnan, nan
from random import Random
from statistics import pstdev, stdev, variance
from sys import float_info
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import ClipPolicy, Event, Window, hopping, snapshot, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin_stats import (
    Correlation,
    Covariance,
    ExponentiallyWeightedAverage,
    First,
    Histogram,
    Last,
    Point,
    Quantile,
    StandardDeviation,
    TimeWeightedAverage,
    Variance,
)
from muntin_stats.exact import expand, nearest, nearest_root, whole
from muntin_stats.total import Total
from tests.plugins.forms import form_of, result, tree_result

EIGHTHS = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
"""Any finite ones, from the smallest to the largest."""

FEW_FLOATS = st.lists(FLOATS, max_size=6)
RANDOMS = st.randoms(use_true_random=False)
WINDOW = Window(0, 100)


def exact(values: Sequence[float]) -> Fraction:
    """Return the sum of floats, without rounding."""
    return sum(map(Fraction, values), Fraction(0))


# exact sums


@given(FEW_FLOATS)
def test_floats_are_expanded_to_others_of_the_same_sum_in_any_order(values: list[float]) -> None:
    assert exact(expand(values)) == exact(values)
    assert expand(values) == expand(values[::-1]) == expand(sorted(values))


@given(FEW_FLOATS, FEW_FLOATS)
def test_numbers_that_leave_a_total_leave_no_trace(remaining: list[float], removed: list[float]) -> None:
    assert Total.of(remaining) + Total.of(removed) - Total.of(removed) == Total.of(remaining)


@given(FEW_FLOATS, st.integers(1, 2**70))
def test_a_total_over_a_count_is_rounded_once(values: list[float], count: int) -> None:
    quotient = exact(values) / count
    assert Total.of(values).over(count) == nearest(quotient.numerator, quotient.denominator)


@given(FEW_FLOATS)
def test_floats_are_whole_numbers_over_one_power_of_two(values: list[float]) -> None:
    integers, scale = whole(values)
    assert [Fraction(integer, 2**scale) for integer in integers] == list(map(Fraction, values))


def test_the_largest_and_the_smallest_float_are_summed_as_any_others() -> None:
    assert expand([float_info.max, 5e-324]) == [float_info.max, 5e-324]
    assert expand([5e-324, float_info.max, -float_info.max]) == [5e-324]
    assert expand([]) == expand([0.0, -0.0]) == expand([2.5, -2.5]) == []


def test_a_total_beyond_the_largest_float_is_infinite_and_its_average_is_not() -> None:
    total = Total.of([1.7e308, 1.7e308])
    assert total.rounded == inf
    assert total.over(2) == 1.7e308
    assert (total - Total.of([1.7e308])).rounded == 1.7e308
    assert Total().rounded == 0.0


def test_a_quotient_beyond_the_largest_float_is_infinite_with_its_sign() -> None:
    assert nearest(10**400, -3) == nearest(-(10**400), 3) == -inf
    assert nearest(-(10**400), -3) == inf


@pytest.mark.parametrize(
    ("values", "expected"), [([inf, 1.0], inf), ([-inf, inf], nan), ([nan, inf], nan), ([-inf, -inf], -inf)]
)
def test_infinity_and_nan_decide_a_sum_until_they_leave_it(values: list[float], expected: float) -> None:
    total = Total.of([2.5]) + Total.of(values)
    assert str(total.rounded) == str(expected)
    assert (total - Total.of(values)).rounded == 2.5


@pytest.mark.parametrize("values", [[inf, 1.0], [-inf, inf], [nan, inf], [-inf, -inf]])
def test_infinity_and_nan_are_no_whole_numbers(values: list[float]) -> None:
    with pytest.raises((OverflowError, ValueError)):
        whole(values)


@settings(max_examples=200)
@given(st.floats(0, 1e300) | st.sampled_from([5e-324, 1.7e308, 2.0]))
def test_the_root_of_a_square_is_the_number(value: float) -> None:
    square = Fraction(value) ** 2
    assert nearest_root(square.numerator, square.denominator) == value


# deviations, pairs, ranks


@given(st.lists(st.floats(-1e100, 1e100), min_size=2, max_size=5))
def test_a_variance_is_the_exact_one_rounded(values: list[float]) -> None:
    assert result(Variance(), values) == float(variance(map(Fraction, values)))


@given(st.lists(EIGHTHS, min_size=2, max_size=9), RANDOMS)
def test_a_deviation_is_that_of_statistics(values: list[float], random: Random) -> None:
    fractions = [Fraction(value) for value in values]
    assert result(StandardDeviation(), values) == stdev(fractions) == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert result(StandardDeviation(ddof=0), values) == pstdev(fractions)
    form = form_of(StandardDeviation(), float)
    assert tree_result(form, values, random) == pytest.approx(stdev(fractions), rel=1e-12)


def test_a_deviation_is_finite_where_the_variance_is_not() -> None:
    for module in (StandardDeviation(ddof=0), form_of(StandardDeviation(ddof=0), float)):
        assert result(module, [1e200, -1e200]) == pytest.approx(1e200, rel=1e-15)
        assert result(module, [3e-200, 1e-200]) == pytest.approx(1e-200, rel=1e-15)
        assert isnan(result(module, [1.0, inf]))


@settings(max_examples=40)
@given(st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=2, max_size=9), RANDOMS)
def test_covariance_and_correlation_are_those_of_numpy(pairs: list[tuple[float, float]], random: Random) -> None:
    points = [Point(x, y) for x, y in pairs]
    xs, ys = np.array(pairs).T

    spread = float(np.std(xs) * np.std(ys)) + 1e-9
    for ddof in (0, 1):
        expected = pytest.approx(np.cov(xs, ys, ddof=ddof)[0, 1], rel=1e-9, abs=1e-9 * spread)
        assert result(Covariance(ddof=ddof), points) == expected
        assert tree_result(form_of(Covariance(ddof=ddof), Point[float, float]), points, random) == expected

    correlation = result(Correlation(), points)
    correlation_of_form = tree_result(form_of(Correlation(), Point[float, float]), points, random)
    if len(set(xs)) == 1 or len(set(ys)) == 1:
        assert correlation is correlation_of_form is None
    else:
        assert correlation == pytest.approx(np.corrcoef(xs, ys)[0, 1], abs=1e-9)
        assert correlation_of_form == pytest.approx(correlation, abs=1e-9)
        assert -1 <= correlation_of_form <= 1


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-200])
def test_points_on_a_line_correlate_fully_whatever_their_size(scale: float) -> None:
    points = [Point(x * scale, (7 - 3 * x) * scale) for x in range(5)]
    assert result(Correlation(), points) == pytest.approx(-1.0, abs=1e-15)
    assert result(form_of(Correlation(), Point[float, float]), points) == pytest.approx(-1.0, abs=1e-14)


@pytest.mark.parametrize("q", [0.0, 0.1, 1 / 3, 0.5, 0.77, 0.9, 1.0])
def test_a_quantile_is_that_of_numpy(q: float) -> None:
    random = Random(7)
    values = [random.gauss(0, 1) for _ in range(101)]
    assert result(Quantile(q), values) == pytest.approx(float(np.quantile(values, q)), rel=1e-14)


@given(st.lists(EIGHTHS, max_size=20))
def test_a_histogram_is_that_of_numpy(values: list[float]) -> None:
    limits = [-100.0, 0.0, 0.5, 300.0]
    assert result(Histogram(limits), values) == np.histogram(values, [-inf, *limits, inf])[0].tolist()


# over time

MEMBERS = st.lists(st.tuples(st.integers(0, 50), EIGHTHS), min_size=1, max_size=9, unique_by=lambda member: member[0])


@given(MEMBERS, st.sampled_from([1, 7, 30]))
def test_weights_that_halve_are_those_of_pandas(members: list[tuple[int, float]], half_life: int) -> None:
    ordered = sorted(members)
    events = [Event(start, start + 1, value) for start, value in ordered]
    times = pd.to_datetime([start for start, _ in ordered], unit="s")
    series = pd.Series([value for _, value in ordered])

    by_time: Any = ExponentiallyWeightedAverage(half_life=half_life)
    by_time_in_pandas = series.ewm(halflife=f"{half_life}s", times=times).mean().iloc[-1]
    assert by_time.compute_result(events, WINDOW) == pytest.approx(by_time_in_pandas, rel=1e-9, abs=1e-9)

    by_place: Any = ExponentiallyWeightedAverage(alpha=0.3)
    by_place_in_pandas = series.ewm(alpha=0.3).mean().iloc[-1]
    assert by_place.compute_result(events, WINDOW) == pytest.approx(by_place_in_pandas, rel=1e-9, abs=1e-9)


def test_a_payload_whose_weight_is_no_float_weighs_nothing() -> None:
    average: ExponentiallyWeightedAverage[float] = ExponentiallyWeightedAverage(half_life=1)
    # five thousand half-lives before the other
    assert average.compute_result([Event(0, 1, nan), Event(5000, 5001, 2.0)], Window(0, 10000)) == 2.0


def test_a_weighted_average_of_nulls_is_null_and_one_of_large_numbers_is_finite() -> None:
    average: ExponentiallyWeightedAverage[float] = ExponentiallyWeightedAverage(half_life=1)
    assert average.compute_result([Event(0, 1, None)], WINDOW) is None
    assert average.compute_result([Event(0, 1, 1.7e308), Event(0, 1, 1.7e308)], WINDOW) == 1.7e308


def time_weighted_average(events: Sequence[Event[Any]], window: Window) -> Any:
    """Return the average of events over the time of a window."""
    module = TimeWeightedAverage()
    return module.compute_result(module.add_events(module.create_state(window), events, window), window)


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.integers(1, 2**62)), min_size=1, max_size=4))
def test_an_average_over_time_is_the_exact_one_rounded(pairs: list[tuple[float, int]]) -> None:
    window = Window(0, 2**62)
    integral = sum((Fraction(value) * length for value, length in pairs), Fraction(0))
    events = [Event(0, length, value) for value, length in pairs]
    assert time_weighted_average(events, window) == float(integral / window.duration)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([Event(0, 5, 4.0), Event(5, 10, None)], 2.0),  # nulls hold for no time
        ([Event(0, 5, None)], None),
        ([Event(0, 1, inf), Event(1, 10, 1.0)], inf),
        ([Event(0, 1, inf), Event(1, 10, -inf)], nan),
        ([Event(0, 1, nan)], nan),
    ],
)
def test_in_an_average_over_time_nulls_hold_for_no_time_and_infinity_decides(
    events: list[Event[Any]], expected: Any
) -> None:
    assert repr(time_weighted_average(events, Window(0, 10))) == repr(expected)


def run(script: Script, window: Any, *modules: Any) -> list[tuple[Any, ...]]:
    """Return start, end and values of each result of modules over clipped events."""
    query = WindowedQuery(window, [Computation(module) for module in modules], clip=ClipPolicy.FULL)
    return [(row.start, row.end, *row.value) for row in script.close().run(query).get(None, [])]


@pytest.mark.parametrize(
    ("script", "window", "expected"),
    [
        # 0         10        20
        # [--2--)               2.0 for 6 of the first 10 ticks
        #       [----4-----)    4.0 for the other 4, and for 7 of the next 10
        (Script().insert("a", 0, 6, 2.0).insert("b", 6, 17, 4.0), tumbling(10), [(0, 10, 2.8), (10, 20, 2.8)]),
        # 0    5    10
        # [---3-----)
        #      [--7-)       both add up
        (Script().insert("a", 0, 10, 3.0).insert("b", 5, 10, 7.0), snapshot(), [(0, 5, 3.0), (5, 10, 10.0)]),
        # 0         10        20        30
        # [8)               [5-)          a member by reach that lies before the window is left out
        (
            Script().insert("a", 0, 2, 8.0).insert("b", 18, 21, 5.0),
            hopping(10, 10, reach=10),
            [(0, 10, 1.6), (10, 20, 1.0), (20, 30, 0.5)],
        ),
    ],
)
def test_each_payload_weighs_as_much_as_it_lasts(script: Script, window: Any, expected: Any) -> None:
    assert run(script, window, TimeWeightedAverage())[: len(expected)] == expected


@pytest.mark.parametrize(
    ("script", "first", "last"),
    [
        # 0    5    10
        # [-a--)
        #   [--b----)
        #     [c)
        (Script().insert(0, 0, 5, "a").insert(1, 2, 10, "b").insert(2, 4, 6, "c"), "a", "c"),
        # nulls have no value to give
        (Script().insert(0, 0, 5).insert(1, 2, 3, "b").insert(2, 4, 5), "b", "b"),
        # [b)       one start: the order decides, which is that of the steps
        # [--a-)
        (Script().insert(0, 1, 2, "b").insert(1, 1, 5, "a"), "b", "a"),
        (Script().insert(0, 3, 4), None, None),
        (Script().insert(0, -5, 40, "only"), "only", "only"),
    ],
)
def test_first_and_last_go_by_start_and_then_by_order(script: Script, first: Any, last: Any) -> None:
    assert run(script, tumbling(100, -50), First[str](), Last[str]()) == [(-50, 50, first, last)]
