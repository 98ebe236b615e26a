"""The functions of muntin-stats."""

from __future__ import annotations

from math import inf, isnan, log, nan

import pandas as pd
import pytest

from muntin_stats import clamp, log1p


@pytest.mark.parametrize(
    ("value", "expected"), [(-1.0, 0.0), (0.0, 0.0), (4.5, 4.5), (10.0, 10.0), (inf, 10.0), (None, None)]
)
def test_a_value_is_cut_to_the_range(value: float | None, expected: float | None) -> None:
    assert clamp(value, 0.0, 10.0) == expected


def test_a_null_bound_gives_null() -> None:
    assert clamp(1.0, None, 2.0) is None
    assert clamp(1.0, 0.0, None) is None


def test_nan_is_in_no_range_and_stays() -> None:
    assert isnan(clamp(nan, 0.0, 1.0) or 0.0)


def test_an_empty_range_is_refused_with_its_bounds() -> None:
    with pytest.raises(ValueError, match=r"low=2\.0 to high=1\.0; expected low <= high"):
        clamp(1.5, 2.0, 1.0)


def test_log1p_takes_a_column_and_keeps_small_values() -> None:
    column = pd.Series([0.0, 1.0, 1e-300], index=[7, 8, 9])
    pd.testing.assert_series_equal(log1p(column), pd.Series([0.0, log(2.0), 1e-300], index=[7, 8, 9]))


def test_log1p_has_no_value_below_minus_one() -> None:
    logarithms = log1p(pd.Series([-1.0, -2.0, None, nan], dtype="float64"))
    assert logarithms[0] == -inf
    assert logarithms[1:].isna().all()


def test_functions_are_named_for_queries_and_for_sql() -> None:
    assert (clamp.name, clamp.sql_name, clamp.is_vectorized) == ("stats.clamp", "stats_clamp", False)
    assert (log1p.name, log1p.sql_name, log1p.is_vectorized) == ("stats.log1p", "stats_log1p", True)
