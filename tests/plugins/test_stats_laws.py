"""Every module and function of muntin-stats obeys the laws of its base class, also on values that make it hard."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from muntin.testing import (
    AggregateLaws,
    FunctionLaws,
    IncrementalAggregateLaws,
    IncrementalOperatorLaws,
)
from muntin_stats import (
    Average,
    AverageDifference,
    CollectList,
    Correlation,
    Count,
    Covariance,
    DistinctCount,
    ExponentiallyWeightedAverage,
    First,
    Histogram,
    Last,
    Left,
    LinearTrend,
    MatchedShare,
    Max,
    MaxBy,
    Median,
    Min,
    MinBy,
    Mode,
    Point,
    Quantile,
    Ranked,
    Right,
    StandardDeviation,
    Sum,
    TimeWeightedAverage,
    TopBy,
    TopK,
    Variance,
    clamp,
    log1p,
)

HARD = st.sampled_from([1e16, -1e16, 1.0, 0.1, -0.0, 5e-324, 1.7e308, -1.7e308, inf, -inf, nan, None])
"""Floats that ordinary addition forgets, overflows on or cannot take back, and null."""

MIXED = HARD | st.integers(-80, 80).map(lambda eighths: eighths / 8)
"""Also floats of modest size, so that each window has something to compare."""

TIED = st.sampled_from([1.0, 2.0, nan, inf, None])
"""Few enough that ties are common."""

EXACTLY = 0.0
"""What was removed leaves not a bit behind."""


class TestAverage(IncrementalAggregateLaws):
    module = Average[Any]()
    payloads = MIXED
    tolerance = EXACTLY


class TestAverageDifference(IncrementalAggregateLaws):
    module = AverageDifference()
    payloads = st.builds(Left, MIXED) | st.builds(Right, MIXED)
    tolerance = EXACTLY


class TestAverageOfDecimals(IncrementalAggregateLaws):
    module = Average[Any]()
    payloads = st.none() | st.decimals(-(10**20), 10**20, places=6)
    tolerance = EXACTLY


class TestCollectList(IncrementalAggregateLaws):
    module = CollectList[Any]()
    payloads = TIED


class TestCorrelation(IncrementalAggregateLaws):
    module = Correlation()
    payloads = st.none() | st.builds(Point, HARD, HARD)
    tolerance = EXACTLY


class TestCovariance(IncrementalAggregateLaws):
    module = Covariance()
    payloads = st.none() | st.builds(Point, HARD, HARD)
    tolerance = EXACTLY


class TestExponentiallyWeightedAverage(AggregateLaws):
    module = ExponentiallyWeightedAverage(half_life=5)
    tolerance = EXACTLY


class TestExponentiallyWeightedAverageOfHardFloats(AggregateLaws):
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


class TestFirst(IncrementalAggregateLaws):
    module = First[Any]()
    payloads = TIED


class TestLast(IncrementalAggregateLaws):
    module = Last[Any]()
    payloads = TIED


class TestLinearTrend(IncrementalAggregateLaws):
    module = LinearTrend()
    payloads = st.none() | st.builds(Point, MIXED, MIXED)
    tolerance = EXACTLY


class TestMatchedShare(IncrementalAggregateLaws):
    module = MatchedShare[Any]()
    payloads = st.builds(Left, TIED) | st.builds(Right, TIED)
    tolerance = EXACTLY


class TestMax(IncrementalAggregateLaws):
    module = Max[Any]()
    payloads = MIXED


class TestMedian(IncrementalAggregateLaws):
    module = Median()
    payloads = MIXED
    tolerance = EXACTLY


class TestMin(IncrementalAggregateLaws):
    module = Min[Any]()
    payloads = MIXED


class TestMode(IncrementalAggregateLaws):
    module = Mode[Any]()
    payloads = TIED


class TestModeOfText(IncrementalAggregateLaws):
    module = Mode[Any]()
    payloads = st.none() | st.sampled_from("abc")


class TestQuantile(IncrementalAggregateLaws):
    module = Quantile(q=0.25)
    payloads = MIXED
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


class TestSum(IncrementalAggregateLaws):
    module = Sum[Any]()
    payloads = MIXED
    tolerance = EXACTLY


class TestTimeWeightedAverage(IncrementalAggregateLaws):
    module = TimeWeightedAverage()
    payloads = MIXED
    tolerance = EXACTLY


class TestTopK(IncrementalOperatorLaws):
    module = TopK[Any](3)


class TestTopKOfTies(IncrementalOperatorLaws):
    module = TopK[Any](3, largest=False)
    payloads = TIED


class TestTopBy(IncrementalOperatorLaws):
    module = TopBy[Any, Any](2)
    payloads = st.none() | st.builds(Ranked, TIED, TIED)


class TestTopByInOrder(IncrementalOperatorLaws):
    module = TopBy[Any, Any](2).with_order()
    payloads = st.none() | st.builds(Ranked, TIED, TIED)


class TestTopByWithTies(IncrementalOperatorLaws):
    module = TopBy[Any, Any](2, largest=False, ties="all")
    payloads = st.none() | st.builds(Ranked, TIED, TIED)


class TestVariance(IncrementalAggregateLaws):
    module = Variance(ddof=0)
    payloads = MIXED
    tolerance = EXACTLY


class TestClamp(FunctionLaws):
    function = clamp
    arguments = st.tuples(HARD, st.sampled_from([-1.0, 0.0, None]), st.sampled_from([0.0, 2.0, None]))


class TestLog1p(FunctionLaws):
    function = log1p
    arguments = st.tuples(st.sampled_from([-2.0, -1.0, 0.0, 1e-300, 3.5, nan, inf]))
    series = staticmethod(pd.Series)
