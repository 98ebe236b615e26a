"""The array forms of muntin-stats obey the laws of columnar aggregates. That each gives what its module does is a law
of the modules, in `test_stats_laws.py`, and tested further in `test_stats_columns.py`.
"""

from __future__ import annotations

from math import inf, nan

from hypothesis import strategies as st

from muntin.testing import ColumnarAggregateLaws
from muntin_stats import Point
from muntin_stats.columns.average import ColumnarAverage
from muntin_stats.columns.count import ColumnarCount
from muntin_stats.columns.distinct_count import ColumnarDistinctCountOfFloats
from muntin_stats.columns.linear_trend import ColumnarLinearTrend
from muntin_stats.columns.max import ColumnarMaxOfDates
from muntin_stats.columns.pairs import ColumnarCorrelation
from muntin_stats.columns.quantile import ColumnarQuantile
from muntin_stats.columns.standard_deviation import ColumnarStandardDeviation
from muntin_stats.columns.sum import ColumnarSumOfIntegers
from muntin_stats.columns.variance import ColumnarVariance

FEW = st.sampled_from([0.0, 1.5, -8.25, 1e9, 1e9 + 7, inf, -inf, nan, None])
"""Also what must not depend on the order by which it spoils a state."""


class TestColumnarAverage(ColumnarAggregateLaws):
    module = ColumnarAverage()


class TestColumnarCount(ColumnarAggregateLaws):
    module = ColumnarCount()


class TestColumnarDistinctCount(ColumnarAggregateLaws):
    module = ColumnarDistinctCountOfFloats()


class TestColumnarLinearTrend(ColumnarAggregateLaws):
    module = ColumnarLinearTrend()
    payloads = st.none() | st.builds(Point, FEW, FEW)


class TestColumnarMax(ColumnarAggregateLaws):
    module = ColumnarMaxOfDates()


class TestColumnarQuantile(ColumnarAggregateLaws):
    module = ColumnarQuantile(q=0.9)


class TestColumnarCorrelation(ColumnarAggregateLaws):
    """Covariance keeps the same components by the same code; its results are compared in `test_stats_columns.py`."""

    module = ColumnarCorrelation()
    payloads = st.none() | st.builds(Point, FEW, FEW)


class TestColumnarStandardDeviation(ColumnarAggregateLaws):
    module = ColumnarStandardDeviation(ddof=1)
    payloads = FEW


class TestColumnarSumOfIntegers(ColumnarAggregateLaws):
    module = ColumnarSumOfIntegers()
    payloads = st.none() | st.integers(-(2**54), 2**54)  # a sum of hundreds is still a bigint


class TestColumnarVariance(ColumnarAggregateLaws):
    module = ColumnarVariance(ddof=1)
    payloads = FEW
