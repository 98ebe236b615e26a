"""Every module and function of muntin-stats obeys the laws of its base class, also on values that make it hard."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from muntin.testing import (
    FunctionLaws,
    IncrementalAggregateLaws,
    IncrementalOperatorLaws,
    TimeSensitiveAggregateLaws,
    TimeSensitiveIncrementalAggregateLaws,
)
from muntin_stats import (
    Average,
    CollectList,
    Correlation,
    Count,
    Covariance,
    DistinctCount,
    ExponentiallyWeightedAverage,
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
    Point,
    Quantile,
    Ranked,
    StandardDeviation,
    Sum,
    TimeWeightedAverage,
    TopK,
    Variance,
    clamp,
    log1p,
)

HARD = st.sampled_from([1e16, -1e16, 1.0, 0.1, -0.0, 5e-324, 1.7e308, -1.7e308, inf, -inf, nan, None])
"""Floats that ordinary addition forgets, overflows on or cannot take back, and null."""

TIED = st.sampled_from([1.0, 2.0, nan, inf, None])
"""Few enough that ties are common."""

ROUND = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)
"""Floats of modest size, so that what the columnar form rounds can be compared."""

EXACTLY = 0.0
"""What was removed leaves not a bit behind."""


class TestAverage(IncrementalAggregateLaws):
    module = Average()
    tolerance = EXACTLY


class TestAverageOfHardFloats(IncrementalAggregateLaws):
    module = Average()
    payloads = HARD
    tolerance = EXACTLY


class TestCollectList(TimeSensitiveIncrementalAggregateLaws):
    module = CollectList[Any]()


class TestCollectListOfTies(TimeSensitiveIncrementalAggregateLaws):
    module = CollectList[Any]()
    payloads = TIED


class TestCorrelation(IncrementalAggregateLaws):
    module = Correlation()
    payloads = st.none() | st.builds(Point, ROUND, ROUND)
    tolerance = 1e-9


class TestCorrelationOfHardFloats(IncrementalAggregateLaws):
    module = Correlation()
    payloads = st.none() | st.builds(Point, HARD, HARD)
    tolerance = EXACTLY


class TestCovariance(IncrementalAggregateLaws):
    module = Covariance(ddof=0)
    payloads = st.none() | st.builds(Point, ROUND, ROUND)
    tolerance = 1e-9


class TestCovarianceOfHardFloats(IncrementalAggregateLaws):
    module = Covariance()
    payloads = st.none() | st.builds(Point, HARD, HARD)
    tolerance = EXACTLY


class TestExponentiallyWeightedAverage(TimeSensitiveAggregateLaws):
    module = ExponentiallyWeightedAverage(half_life=5)
    tolerance = EXACTLY


class TestExponentiallyWeightedAverageOfHardFloats(TimeSensitiveAggregateLaws):
    module = ExponentiallyWeightedAverage(alpha=0.25)
    payloads = HARD
    tolerance = EXACTLY


class TestHistogram(IncrementalAggregateLaws):
    module = Histogram([-1.0, 0.5, 2.0])
    payloads = HARD


class TestMaxBy(IncrementalAggregateLaws):
    module = MaxBy[Any, Any]()
    payloads = st.none() | st.builds(Ranked, TIED, TIED)


class TestMinBy(IncrementalAggregateLaws):
    module = MinBy[Any, Any]()
    payloads = st.none() | st.builds(Ranked, TIED, TIED)


class TestStandardDeviation(IncrementalAggregateLaws):
    module = StandardDeviation()
    payloads = st.none() | ROUND
    tolerance = 1e-9


class TestStandardDeviationOfHardFloats(IncrementalAggregateLaws):
    module = StandardDeviation(ddof=0)
    payloads = HARD


class TestCount(IncrementalAggregateLaws):
    module = Count()
    payloads = st.none() | st.text()


class TestCountWithoutNulls(IncrementalAggregateLaws):
    module = Count(skip_nulls=True)
    payloads = st.none() | st.text()


class TestDistinctCount(IncrementalAggregateLaws):
    module = DistinctCount()
    payloads = TIED


class TestFirst(TimeSensitiveIncrementalAggregateLaws):
    module = First[Any]()


class TestFirstOfTies(TimeSensitiveIncrementalAggregateLaws):
    module = First[Any]()
    payloads = TIED


class TestLast(TimeSensitiveIncrementalAggregateLaws):
    module = Last[Any]()


class TestLastOfTies(TimeSensitiveIncrementalAggregateLaws):
    module = Last[Any]()
    payloads = TIED


class TestLinearTrend(IncrementalAggregateLaws):
    module = LinearTrend()
    tolerance = EXACTLY


class TestLinearTrendOfHardFloats(IncrementalAggregateLaws):
    module = LinearTrend()
    payloads = st.none() | st.builds(Point, HARD, HARD)
    tolerance = EXACTLY


class TestMax(IncrementalAggregateLaws):
    module = Max[Any]()


class TestMaxOfHardFloats(IncrementalAggregateLaws):
    module = Max[Any]()
    payloads = HARD


class TestMedian(IncrementalAggregateLaws):
    module = Median()
    tolerance = EXACTLY


class TestMedianOfHardFloats(IncrementalAggregateLaws):
    module = Median()
    payloads = HARD
    tolerance = EXACTLY


class TestMin(IncrementalAggregateLaws):
    module = Min[Any]()


class TestMinOfHardFloats(IncrementalAggregateLaws):
    module = Min[Any]()
    payloads = HARD


class TestMode(IncrementalAggregateLaws):
    module = Mode[Any]()
    payloads = TIED


class TestModeOfText(IncrementalAggregateLaws):
    module = Mode[Any]()
    payloads = st.none() | st.sampled_from("abc")


class TestQuantile(IncrementalAggregateLaws):
    module = Quantile(q=0.9)
    tolerance = EXACTLY


class TestQuantileOfHardFloats(IncrementalAggregateLaws):
    module = Quantile(q=0.25)
    payloads = HARD
    tolerance = EXACTLY


class TestSum(IncrementalAggregateLaws):
    module = Sum[Any]()
    tolerance = EXACTLY


class TestSumOfBigInts(IncrementalAggregateLaws):
    module = Sum[Any]()
    payloads = st.none() | st.integers()
    tolerance = EXACTLY


class TestSumOfDecimals(IncrementalAggregateLaws):
    module = Sum[Any]()
    payloads = st.none() | st.sampled_from(
        [Decimal("1e30"), Decimal("-1e30"), Decimal("0.0000000001"), Decimal("1.10")]
    )
    tolerance = EXACTLY


class TestSumOfHardFloats(IncrementalAggregateLaws):
    module = Sum[Any]()
    payloads = HARD
    tolerance = EXACTLY


class TestTimeWeightedAverage(TimeSensitiveIncrementalAggregateLaws):
    module = TimeWeightedAverage()
    tolerance = EXACTLY


class TestTimeWeightedAverageOfHardFloats(TimeSensitiveIncrementalAggregateLaws):
    module = TimeWeightedAverage()
    payloads = HARD
    tolerance = EXACTLY


class TestTopK(IncrementalOperatorLaws):
    module = TopK[Any](3)


class TestTopKOfTies(IncrementalOperatorLaws):
    module = TopK[Any](3, largest=False)
    payloads = TIED


class TestVariance(IncrementalAggregateLaws):
    module = Variance()
    tolerance = EXACTLY


class TestVarianceOfHardFloats(IncrementalAggregateLaws):
    module = Variance(ddof=0)
    payloads = HARD
    tolerance = EXACTLY


class TestClamp(FunctionLaws):
    function = clamp
    arguments = st.tuples(HARD, st.sampled_from([-1.0, 0.0, None]), st.sampled_from([0.0, 2.0, None]))


class TestLog1p(FunctionLaws):
    function = log1p
    arguments = st.tuples(st.sampled_from([-2.0, -1.0, 0.0, 1e-300, 3.5, nan, inf]))
    series = staticmethod(pd.Series)
