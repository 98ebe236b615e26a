"""The results of modules and functions, for windows small enough to check by eye: a line each."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date
from decimal import Decimal as D
from itertools import permutations, product
from math import inf, isnan, log, nan
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.catalog import installed
from muntin_stats import (
    Average,
    CollectList,
    Correlation,
    Count,
    Covariance,
    DistinctCount,
    First,
    Histogram,
    Last,
    LinearTrend,
    Max,
    MaxBy,
    Median,
    Min,
    MinBy,
    Mode,
    Place,
    Point,
    Quantile,
    Ranked,
    StandardDeviation,
    Sum,
    TopBy,
    TopK,
    Variance,
    clamp,
    log1p,
)
from tests.plugins.forms import form_of, result

FAR = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]
"""Numbers far from zero, whose squares are rounded: a variance of 30 by the sum of squares would be wrong."""

PRICES = [D("0.10"), None, D("0.20"), D("0.15")]
TODAY = 1_700_000_000_000_000.0
"""Microseconds since 1970."""

RESULTS: list[tuple[Any, list[Any], Any]] = [
    # module, payloads, result
    # counts
    (Count(), [None, None, None], 3),
    (Count(skip_nulls=True), [None, 0, "", nan, None], 3),
    (Count(skip_nulls=True), [None], 0),
    (DistinctCount(), ["a", "b", "a", None], 2),
    (DistinctCount(), [nan, -nan, 0.0, -0.0], 2),
    (DistinctCount(), [None], 0),
    # a sum has the type of its numbers, is null of nulls alone, and exact
    (Sum(), [1, None, 2], 3),
    (Sum(), [1.5, 2.5], 4.0),
    (Sum(), [1, 2.5], 3.5),
    (Sum(), [D("1.10"), None, D("2.20")], D("3.30")),
    (Sum(), [None, None], None),
    (Sum(), [0.0], 0.0),
    (Sum(), [0], 0),
    (Sum(), [1e16, 1.0, -1e16], 1.0),
    (Sum(), [0.1] * 10, 1.0),
    (Sum(), [10**30, 1, -(10**30)], 1),
    (Sum(), [2**63 - 1, 1], 2**63),
    (Sum(), [D("1e40"), D("1e-10")], D(f"1{40 * '0'}.0000000001")),
    (Sum(), [1.0, nan], nan),
    # an average of decimals has as many digits as Spark divides with
    (Average(), [1.0, None, 4.0], 2.5),
    (Average(), [7.0], 7.0),
    (Average(), [None], None),
    (Average(), [inf, -inf], nan),
    (Average(), [1.7e308, 1.7e308, 1.7e308], 1.7e308),
    (Average(), PRICES, D("0.15")),
    (Average(), [D(1), D(0), D(0)], D("0." + 38 * "3")),
    (Average(), [D(2), D(0), D(0)], D("0." + 37 * "6" + "7")),
    (Average(), [D("0.5"), 1.0], 0.75),
    # deviations; of one number they are null, unless it is the whole population
    (Variance(), FAR, 30.0),
    (Variance(ddof=0), FAR, 22.5),
    (Variance(ddof=0), [5.0, None], 0.0),
    (Variance(ddof=1), [5.0, None], None),
    (Variance(ddof=2), [5.0, None], None),
    (Variance(), [0.1, 0.1, 0.1], 0.0),
    (Variance(), [1.0, 3.0, inf], nan),
    (Variance(), [1e200, -1e200], inf),
    (StandardDeviation(), [1.0], None),
    (StandardDeviation(ddof=0), [1.0, inf], nan),
    (StandardDeviation(ddof=0), [1e200, -1e200], 1e200),
    # pairs
    (Covariance(), [Point(0.0, 0.0), Point(2.0, 1.0)], 1.0),
    (Covariance(ddof=0), [Point(5.0, 6.0)], 0.0),
    (Correlation(), [None, Point(1.0, None)], None),
    (LinearTrend(), [Point(0.0, 1.0), Point(2.0, 5.0)], 2.0),
    (LinearTrend(), [Point(0.0, 0.0), Point(1.0, 1.0), Point(2.0, 0.0)], 0.0),
    (LinearTrend(), [Point(TODAY + at, 3.0 * at + 1) for at in range(5)], 3.0),
    (LinearTrend(), [None], None),
    (LinearTrend(), [Point(1.0, 2.0)], None),
    (LinearTrend(), [Point(1.0, 2.0), Point(1.0, 3.0)], None),
    (LinearTrend(), [Point(1.0, 2.0), Point(2.0, None)], None),
    # the least and the largest of any ordered type; NaN is larger than any number, and no zero has a sign
    (Min(), [3, None, 1, 2], 1),
    (Max(), [3, None, 1, 2], 3),
    (Min(), ["b", "a"], "a"),
    (Max(), [D("1.5"), D("1.25")], D("1.5")),
    (Min(), [date(2024, 2, 1), date(2024, 1, 31)], date(2024, 1, 31)),
    (Max(), [10**30, 10**30 + 1], 10**30 + 1),
    (Min(), [inf, -inf, 0.0], -inf),
    (Max(), [False], False),
    (Min(), [None], None),
    *((Min(), list(order), 1.0) for order in permutations((nan, 1.0, inf))),
    *((Max(), list(order), nan) for order in permutations((nan, 1.0, inf))),
    (Min(), [nan, None], nan),
    *(
        (module(), zeros, 0.0)
        for module, zeros in product((Min, Max, Mode, Median), ([0.0, -0.0], [-0.0, 0.0], [-0.0]))
    ),
    # a quantile lies linearly between the closest ranks
    (Median(), [9.0, None, 1.0, 2.0], 2.0),
    (Median(), [9.0, 1.0, 2.0, 4.0], 3.0),
    (Median(), [5.0], 5.0),
    (Median(), [None], None),
    (Median(), [nan, 1.0, inf], inf),
    (Median(), [inf, inf], inf),
    (Median(), [-1.7e308, 1.7e308], 0.0),
    (Quantile(0), [4.0, 1.0, 3.0, 2.0], 1.0),
    (Quantile(0.25), [4.0, 1.0, 3.0, 2.0], 1.75),
    (Quantile(0.5), [4.0, 1.0, 3.0, 2.0], 2.5),
    (Quantile(1), [4.0, 1.0, 3.0, 2.0], 4.0),
    (Quantile(1.0), [nan, 1.0, inf], nan),
    (Quantile(0.0), [3, 1], 1.0),
    (Quantile(0.5), [1.0, inf], inf),
    (Quantile(0.5), [-inf, 1.0], -inf),
    (Quantile(0.5), [1.0, nan], nan),
    (Quantile(0.0), [1.0, inf], 1.0),
    (Quantile(0.0), [1.0, nan], 1.0),
    # the most frequent value, of several the smallest; the first rows, with or without those that tie
    (Mode(), ["b", "a", "b", None, None, None], "b"),
    (Mode(), ["b", "a", "b", "a", "c"], "a"),
    (Mode(), [None], None),
    (Mode(), [nan, -nan, 1.0], nan),
    (Mode(), [nan, 1.0], 1.0),
    (TopK(2), [5, 9, 9, None, 9], [Place(1, 9), Place(2, 9)]),
    (TopK(2, largest=False), [5, 9, 5, 9], [Place(1, 5), Place(2, 5)]),
    (TopK(3), ["a", None], [Place(1, "a")]),
    (TopK(3), [None], []),
    (TopK(2), [1.0, nan, inf], [Place(1, nan), Place(2, inf)]),
    (TopK(2, largest=False), [nan, 1.0], [Place(1, 1.0), Place(2, nan)]),
    (TopK(1), [-0.0], [Place(1, 0.0)]),
    *((MaxBy(), list(order), "c") for order in permutations((Ranked("a", 3), Ranked("b", 7), Ranked("c", 7), None))),
    *((MinBy(), list(order), "b") for order in permutations((Ranked("b", 7), Ranked("c", 7), Ranked(None, 7)))),
    (MinBy(), [Ranked("a", 3), Ranked("b", 7), Ranked("z", None)], "a"),
    (MaxBy(), [Ranked("a", 1.0), Ranked("b", nan), Ranked("c", inf)], "b"),
    (MinBy(), [Ranked("a", nan), Ranked("b", inf)], "b"),
    (MaxBy(), [Ranked(None, 5), Ranked("a", 4)], None),
    (MaxBy(), [Ranked("a", None)], None),
    (MaxBy(), [Ranked(-0.0, 1)], 0.0),
    # in the order in which they are given
    (CollectList(), ["z", "a", None, "b"], ["z", "a", "b"]),
    (CollectList(), [-0.0], [0.0]),
    (First(), [-0.0], 0.0),
    (Last(), [-0.0], 0.0),
    (Histogram([0.0]), [-0.0, nan, inf, None], [0, 3]),
]
AFTER_REMOVALS: list[tuple[Any, list[Any], list[Any], Any]] = [
    # module, payloads, those of them that are removed again, and the result, which is that of the others alone
    (Sum(), [None, 4], [4], None),
    (Sum(), [4.5], [4.5], None),
    (Sum(), [1e16, 1.0], [1e16], 1.0),
    (Sum(), [D("1e40"), D("1e-10")], [D("1e40")], D("1E-10")),
    (Sum(), [1.0, nan], [nan], 1.0),
    (Average(), [1e16, 1.0, 3.0], [1e16], 2.0),
    (Average(), [inf, -inf, 3.0], [-inf, inf], 3.0),
    (Average(), [D("1e30"), *PRICES], [D("1e30")], D("0.15")),
    (Average(), PRICES, PRICES, None),
    (Variance(), [1e16, 4.0, 7.0, 13.0, 16.0], [1e16], 30.0),
    (Variance(), [1.0, 3.0, inf], [inf], 2.0),
    (Covariance(), [Point(0.0, 0.0), Point(2.0, 1.0), Point(nan, 0.0)], [Point(nan, 0.0)], 1.0),
    (Correlation(), [Point(0.0, 0.0), Point(2.0, 1.0), Point(nan, 0.0)], [Point(nan, 0.0)], 1.0),
    (LinearTrend(), [Point(0.0, 0.0), Point(2.0, 1.0), Point(nan, 0.0)], [Point(nan, 0.0)], 0.5),
    (Mode(), [2, 2, 1], [2], 1),
    (DistinctCount(), ["a", "a", "b"], ["a", "b"], 1),
    (CollectList(), ["z", "a", "b"], ["z", None], ["a", "b"]),
]


def module_id(value: Any) -> str:
    """Return the id of a case: its module with the parameters. Payloads and results have none."""
    is_module = hasattr(value, "version")
    if not is_module:
        return ""
    parameters = ", ".join(f"{name}={argument}" for name, argument in vars(value).items() if not name.startswith("_"))
    return f"{value.name}({parameters})"


# Results are compared as text, in which 1 and 1.0 differ, 0.0 and -0.0 too, and NaN equals itself.


@pytest.mark.parametrize(("module", "payloads", "expected"), RESULTS, ids=module_id)
def test_a_window_of_these_payloads_has_this_result(module: Any, payloads: list[Any], expected: Any) -> None:
    assert repr(result(module, payloads)) == repr(expected)


@pytest.mark.parametrize(("module", "payloads", "removed", "expected"), AFTER_REMOVALS, ids=module_id)
def test_payloads_that_are_removed_leave_no_trace(
    module: Any, payloads: list[Any], removed: list[Any], expected: Any
) -> None:
    state = module.add_events(module.create_state(), payloads)
    state = module.remove_events(state, removed)
    assert repr(module.compute_result(state)) == repr(expected)


@pytest.mark.parametrize("module", [Min(), Max(), Quantile(q=0.5)], ids=module_id)
@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0], [-0.0]])
def test_the_array_forms_have_no_signed_zero_either(module: Any, zeros: list[float]) -> None:
    assert repr(result(form_of(module, float), zeros)) == "0.0"


@pytest.mark.parametrize("ties", ["exact", "all"])
@pytest.mark.parametrize("largest", [True, False])
@given(st.lists(st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.integers(0, 4))), st.integers(1, 4))
def test_the_first_rows_are_those_of_sqlite(
    largest: bool, ties: str, rows: list[tuple[str | None, int | None]], k: int
) -> None:
    direction = "desc" if largest else "asc"
    if ties == "exact":
        rank = f"row_number() over (order by by {direction}, value {direction} nulls last)"
    else:
        rank = f"rank() over (order by by {direction})"
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table t (value text, by integer)")
        database.executemany("insert into t values (?, ?)", rows)
        ranked = f"select {rank} as rank, value, by from t where by is not null"
        expected = database.execute(f"select * from ({ranked}) where rank <= {k}").fetchall()

    top: TopBy[str, int] = TopBy(k, largest=largest, ties=ties)
    first_rows = result(top, [Ranked(value, by) for value, by in rows])

    assert Counter((row.rank, row.value, row.by) for row in first_rows) == Counter(expected)


def test_rows_of_equal_rank_come_in_the_order_of_their_values_whatever_these_are() -> None:
    rows = [{"km": nan, "stops": [2]}, {"km": 1.0, "stops": [2, None]}, {"km": 1.0, "stops": None}, None]
    for order in permutations(rows):
        first_rows = result(TopBy[Any, int](3, largest=False), [Ranked(row, 1) for row in order])
        assert str([row.value for row in first_rows]) == str([rows[2], rows[1], rows[0]])


def test_a_ranked_row_has_no_signed_zero_wherever_it_is() -> None:
    (row,) = result(TopBy[Any, float](1), [Ranked({"a": [-0.0]}, -0.0)])
    assert repr(row) == "RankedRow(rank=1, value={'a': [0.0]}, by=0.0)"


ALIASES = {
    "average": "mean avg",
    "standard_deviation": "stddev stdev std stddev_samp",
    "variance": "var var_samp",
    "quantile": "percentile percentile_cont",
    "approximate_quantile": "approx_percentile",
    "distinct_count": "count_distinct nunique",
    "covariance": "cov covar_samp",
    "correlation": "corr",
    "first": "first_value",
    "last": "last_value",
    "exponentially_weighted_average": "ewma",
    "collect_list": "array_agg",
    "histogram": "hist",
}


@pytest.mark.parametrize("name", ALIASES)
def test_a_module_is_also_known_by_its_names_in_spark_and_pandas(name: str) -> None:
    for alias in ALIASES[name].split():
        assert installed().module(f"stats.{alias}").name == f"stats.{name}"


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (-1.0, 0.0, 10.0, 0.0),
        (0.0, 0.0, 10.0, 0.0),
        (4.5, 0.0, 10.0, 4.5),
        (10.0, 0.0, 10.0, 10.0),
        (inf, 0.0, 10.0, 10.0),
        (nan, 0.0, 1.0, nan),
        (None, 0.0, 10.0, None),
        (1.0, None, 2.0, None),
        (1.0, 0.0, None, None),
    ],
)
def test_a_value_is_cut_to_a_range(
    value: float | None, low: float | None, high: float | None, expected: float | None
) -> None:
    assert repr(clamp(value, low, high)) == repr(expected)


def test_a_range_that_is_empty_is_refused() -> None:
    with pytest.raises(ValueError, match=r"low=2\.0 to high=1\.0; expected low <= high"):
        clamp(1.5, 2.0, 1.0)


def test_log1p_takes_a_column_and_keeps_small_values() -> None:
    column = pd.Series([0.0, 1.0, 1e-300], index=[7, 8, 9])
    pd.testing.assert_series_equal(log1p(column), pd.Series([0.0, log(2.0), 1e-300], index=[7, 8, 9]))


def test_log1p_is_infinite_at_minus_one_and_nan_below_it() -> None:
    at_minus_one, below, of_null, of_nan = log1p(pd.Series([-1.0, -2.0, None, nan], dtype="float64"))
    assert at_minus_one == -inf
    assert isnan(below)
    assert isnan(of_null)
    assert isnan(of_nan)


def test_a_function_has_a_name_in_sql_and_log1p_alone_takes_columns() -> None:
    assert (clamp.name, clamp.sql_name, clamp.is_vectorized) == ("stats.clamp", "stats_clamp", False)
    assert (log1p.name, log1p.sql_name, log1p.is_vectorized) == ("stats.log1p", "stats_log1p", True)
