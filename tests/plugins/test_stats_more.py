"""Deviations, pairs, lists, choices and histograms against statistics, NumPy and pandas."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, nan
from random import Random
from statistics import pstdev, stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Event, Window
from muntin.catalog import installed
from muntin_stats import (
    CollectList,
    Correlation,
    Covariance,
    ExponentiallyWeightedAverage,
    First,
    Histogram,
    Last,
    Max,
    MaxBy,
    Min,
    MinBy,
    Mode,
    Point,
    Quantile,
    Ranked,
    StandardDeviation,
    TopK,
)
from muntin_stats.exact import nearest_root
from tests.plugins.forms import form_of, result, tree_result

EIGHTHS = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)
WINDOW = Window(0, 100)


@given(st.lists(EIGHTHS, min_size=2, max_size=9), st.randoms(use_true_random=False))
def test_a_deviation_is_that_of_statistics(values: list[float], random: Random) -> None:
    exact = [Fraction(value) for value in values]
    assert result(StandardDeviation(), values) == stdev(exact) == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert result(StandardDeviation(ddof=0), values) == pstdev(exact)
    form = form_of(StandardDeviation(), float)
    assert tree_result(form, values, random) == pytest.approx(stdev(exact), rel=1e-12)


def test_a_deviation_is_finite_where_the_variance_is_not() -> None:
    for module in (StandardDeviation(ddof=0), form_of(StandardDeviation(ddof=0), float)):
        assert result(module, [1e200, -1e200]) == pytest.approx(1e200, rel=1e-15)
        assert result(module, [3e-200, 1e-200]) == pytest.approx(1e-200, rel=1e-15)
        assert isnan(result(module, [1.0, inf]))
    assert result(StandardDeviation(), [1.0]) is None


@settings(max_examples=200)
@given(st.floats(0, 1e300) | st.sampled_from([5e-324, 1.7e308, 2.0]))
def test_the_root_of_a_square_is_the_number(value: float) -> None:
    assert nearest_root(Fraction(value) ** 2) == value


@settings(max_examples=40)
@given(st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=2, max_size=9), st.randoms(use_true_random=False))
def test_covariance_and_correlation_are_those_of_numpy(pairs: list[tuple[float, float]], random: Random) -> None:
    points = [Point(x, y) for x, y in pairs]
    xs, ys = np.array(pairs).T
    spread = float(np.std(xs) * np.std(ys)) + 1e-9
    for module, expected in ((Covariance(), np.cov(xs, ys)[0, 1]), (Covariance(ddof=0), np.cov(xs, ys, ddof=0)[0, 1])):
        assert result(module, points) == pytest.approx(expected, rel=1e-9, abs=1e-9 * spread)
        assert tree_result(form_of(module, Point), points, random) == pytest.approx(
            expected, rel=1e-9, abs=1e-9 * spread
        )
    exact, rounded = result(Correlation(), points), tree_result(form_of(Correlation(), Point), points, random)
    if len(set(xs)) == 1 or len(set(ys)) == 1:
        assert exact is rounded is None
    else:
        assert exact == pytest.approx(np.corrcoef(xs, ys)[0, 1], abs=1e-9)
        assert rounded == pytest.approx(exact, abs=1e-9)
        assert -1 <= rounded <= 1


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-200])
def test_points_on_a_line_correlate_fully_whatever_their_size(scale: float) -> None:
    points = [Point(x * scale, (7 - 3 * x) * scale) for x in range(5)]
    assert result(Correlation(), points) == pytest.approx(-1.0, abs=1e-15)
    assert result(form_of(Correlation(), Point), points) == pytest.approx(-1.0, abs=1e-14)


def test_pairs_that_are_not_finite_are_nan_until_they_are_removed() -> None:
    for module in (Covariance(), Correlation()):
        state = module.add_events(module.create_state(), [Point(0.0, 0.0), Point(2.0, 1.0), Point(nan, 0.0)])
        assert isnan(module.compute_result(state) or 0.0)
        assert module.compute_result(module.remove_events(state, [Point(nan, 0.0)])) == 1.0
        assert result(module, [None, Point(1.0, None)]) is None
    assert result(Covariance(ddof=0), [Point(5.0, 6.0)]) == 0.0


MEMBERS = st.lists(st.tuples(st.integers(0, 50), EIGHTHS), min_size=1, max_size=9, unique_by=lambda member: member[0])


@given(MEMBERS, st.sampled_from([1, 7, 30]))
def test_weights_that_halve_are_those_of_pandas(members: list[tuple[int, float]], half_life: int) -> None:
    ordered = sorted(members)
    events = [Event(start, start + 1, value) for start, value in ordered]
    times = pd.to_datetime([start for start, _ in ordered], unit="s")
    weighted = pd.Series([value for _, value in ordered]).ewm(halflife=f"{half_life}s", times=times).mean()
    found = ExponentiallyWeightedAverage(half_life=half_life).compute_result(events, WINDOW)
    assert found == pytest.approx(weighted.iloc[-1], rel=1e-9, abs=1e-9)
    by_place = pd.Series([value for _, value in ordered]).ewm(alpha=0.3).mean()
    found = ExponentiallyWeightedAverage(alpha=0.3).compute_result(events, WINDOW)
    assert found == pytest.approx(by_place.iloc[-1], rel=1e-9, abs=1e-9)


def test_what_is_older_than_floats_can_say_weighs_nothing() -> None:
    average = ExponentiallyWeightedAverage(half_life=1)
    assert average.compute_result([Event(0, 1, nan), Event(5000, 5001, 2.0)], Window(0, 10000)) == 2.0
    assert average.compute_result([Event(0, 1, None)], WINDOW) is None
    assert average.compute_result([Event(0, 1, 1.7e308), Event(0, 1, 1.7e308)], WINDOW) == 1.7e308


def test_a_list_is_in_the_order_in_which_it_was_given() -> None:
    listed: CollectList[str] = CollectList()
    assert result(listed, ["z", "a", None, "b"]) == ["z", "a", "b"]
    assert listed.remove_events(["z", "a", "b"], ["z", None]) == ["a", "b"]


@given(st.permutations([Ranked("a", 3), Ranked("b", 7), Ranked("c", 7), Ranked(None, 7), Ranked("z", None), None]))
def test_of_equal_ranks_the_order_of_values_decides(payloads: list[Any]) -> None:
    assert result(MaxBy(), payloads) == "c"
    assert result(MinBy(), [payload for payload in payloads if payload != Ranked("a", 3)]) == "b"
    assert result(MinBy(), payloads) == "a"


def test_nan_ranks_highest_and_a_null_value_is_chosen_if_it_is_alone() -> None:
    assert result(MaxBy(), [Ranked("a", 1.0), Ranked("b", nan), Ranked("c", inf)]) == "b"
    assert result(MinBy(), [Ranked("a", nan), Ranked("b", inf)]) == "b"
    assert result(MaxBy(), [Ranked(None, 5), Ranked("a", 4)]) is None
    assert result(MaxBy(), [Ranked("a", None)]) is None


@given(st.lists(EIGHTHS, max_size=20))
def test_a_histogram_is_that_of_numpy(values: list[float]) -> None:
    limits = [-100.0, 0.0, 0.5, 300.0]
    counts = np.histogram(values, [-inf, *limits, inf])[0].tolist()
    assert result(Histogram(limits), values) == counts
    assert result(Histogram([0.0]), [-0.0, nan, inf, None]) == [0, 3]


def test_a_zero_that_is_chosen_has_no_sign() -> None:
    for module in (Min[Any](), Max[Any](), Mode[Any](), Quantile(q=0.0), form_of(Min(), float), form_of(Max(), float)):
        assert {repr(result(module, zeros)) for zeros in ([0.0, -0.0], [-0.0, 0.0], [-0.0])} == {"0.0"}
    assert repr(result(form_of(Quantile(q=0.5), float), [-0.0])) == "0.0"
    assert repr(result(TopK(1), [-0.0])) == "[Place(rank=1, value=0.0)]"
    assert repr(result(MaxBy(), [Ranked(-0.0, 1)])) == "0.0"
    for ordered in (First[Any](), Last[Any](), CollectList[Any]()):
        assert repr(result(ordered, [-0.0])) in ("0.0", "[0.0]")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        *((typed, "average") for typed in ("mean", "avg")),
        *((typed, "standard_deviation") for typed in ("stddev", "stdev", "std", "stddev_samp")),
        *((typed, "variance") for typed in ("var", "var_samp")),
        *((typed, "quantile") for typed in ("percentile", "percentile_cont")),
        ("approx_percentile", "approximate_quantile"),
        *((typed, "distinct_count") for typed in ("count_distinct", "nunique")),
        *((typed, "covariance") for typed in ("cov", "covar_samp")),
        ("corr", "correlation"),
        ("first_value", "first"),
        ("last_value", "last"),
        ("ewma", "exponentially_weighted_average"),
        ("array_agg", "collect_list"),
        ("hist", "histogram"),
    ],
)
def test_the_names_that_people_type_are_known(typed: str, name: str) -> None:
    assert installed().module(f"stats.{typed}").name == f"stats.{name}"
