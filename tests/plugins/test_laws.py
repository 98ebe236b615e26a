"""Every module and function of our plugins, and what combinators make, keeps the laws of its kind on hard values too.

The laws draw fewer members than sketches count exactly. For larger windows `test_sketches.py` says what is left of
them, a bound. That an array form gives what its module does is a law of the module; `stats/test_columns.py` tries that
further.
"""

from __future__ import annotations

from decimal import Decimal
from importlib.util import find_spec
from math import inf, nan
from typing import Any, Final, NamedTuple

import pandas as pd
import pytest
from hypothesis import strategies as st

import muntin_patterns as patterns
import muntin_stats as stats
from muntin_adapters.combinators import (
    all_of,
    catching,
    filtering,
    flat_mapping,
    grouping_by,
    mapping,
    preset,
    skipping_nulls,
    sorting,
    top_n,
    with_default,
)
from muntin_adapters.combinators.grouping_by import Grouped
from muntin_stats.columns.average import ColumnarAverage, ColumnarAverageOfIntegers
from muntin_stats.columns.count import ColumnarCount
from muntin_stats.columns.distinct_count import ColumnarDistinctCountOfFloats
from muntin_stats.columns.linear_trend import ColumnarLinearTrend
from muntin_stats.columns.max import ColumnarMaxOfDates
from muntin_stats.columns.pairs import ColumnarCorrelation
from muntin_stats.columns.quantile import ColumnarQuantile
from muntin_stats.columns.standard_deviation import ColumnarStandardDeviation
from muntin_stats.columns.sum import ColumnarSumOfIntegers
from muntin_stats.columns.variance import ColumnarVariance, ColumnarVarianceOfIntegers
from muntin_stats.columns.whole_pairs import ColumnarCorrelationOfIntegers
from tests.naming import spelled
from tests.plugins.adapters.combined_modules import Busy, Coverage, Distinct, Largest, Mean, Starts, Total, Values
from tests.plugins.adapters.failing_modules import FAILING
from tests.plugins.forms import broken_laws

HARD: Final = st.sampled_from([1e16, -1e16, 1.0, 0.1, -0.0, 5e-324, 1.7e308, -1.7e308, inf, -inf, nan, None])
"""Floats that ordinary addition forgets, overflows on or cannot take back, and null."""

MIXED: Final = HARD | st.integers(-80, 80).map(lambda eighths: eighths / 8)
"""Also floats of modest size, so that each window has something to compare."""

TIED: Final = st.sampled_from([1.0, 2.0, nan, inf, None])
"""Few enough that ties are common."""

LEVELS: Final = st.sampled_from([1.0, 2.0, 3.0, 4.0, inf, nan, None])
"""Few enough that runs, crossings and level shoulders are common."""

SPOILING: Final = st.sampled_from([0.0, 1.5, -8.25, 1e9, 1e9 + 7, inf, -inf, nan, None])
"""Also infinities and NaN, which spoil a state: the result must not depend on the order in which they come."""

TEXTS: Final = st.none() | st.text()
PARTS: Final = st.builds(patterns.Part, st.sampled_from("ab"), st.booleans(), st.booleans(), st.booleans())
GROUPED: Final = st.builds(Grouped, st.sampled_from("ab"), st.integers(-3, 3))


class Case(NamedTuple):
    """A subject of laws.

    Attributes:
        subject: Module or function.
        attributes: Attributes of the laws class.
    """

    subject: Any
    attributes: dict[str, Any]

    def __str__(self) -> str:
        """Return the name of the subject with its parameters, such as `stats.variance(ddof=0)`."""
        is_function = callable(self.subject)
        parameters: list[str] = []
        if not is_function:
            for name, value in vars(self.subject).items():
                if not name.startswith("_"):
                    parameters.append(f"{name}={spelled(value)}")
        return f"{self.subject.name}({', '.join(parameters)})"


def exact(subject: Any, payloads: Any = None) -> Case:
    """Return a case of a module that removed payloads leave no trace in, to the last bit."""
    return Case(subject, {"tolerance": 0.0} | ({} if payloads is None else {"payloads": payloads}))


def case(subject: Any, payloads: Any = None) -> Case:
    """Return a case of a module with payloads of a strategy; None for those that the laws draw for its type."""
    return Case(subject, {} if payloads is None else {"payloads": payloads})


def points(numbers: Any) -> Any:
    """Draw points of two numbers, and nulls."""
    return st.none() | st.builds(stats.Point, numbers, numbers)


def sides(payloads: Any) -> Any:
    """Draw payloads of the left or the right stream."""
    return st.builds(stats.Left, payloads) | st.builds(stats.Right, payloads)


WHOLE: Final = st.none() | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 1]) | st.integers(-9, 9)
"""Whole numbers, some of which no float holds."""

PLACES: Final = st.none() | st.decimals(-(10**20), 10**20, places=6)

RANKED: Final = st.none() | st.builds(stats.Ranked, TIED, TIED)
STATS: Final = (
    exact(stats.Average[Any](), MIXED),
    exact(stats.Average[Any](), PLACES),
    exact(stats.Average[Any](), WHOLE),
    exact(stats.AverageDifference(), sides(MIXED)),
    exact(stats.AverageDifference(), st.builds(stats.Left, WHOLE) | st.builds(stats.Right, PLACES)),
    case(stats.CollectList[Any](), TIED),
    exact(stats.Correlation(), points(HARD)),
    exact(stats.Covariance(), points(HARD)),
    case(stats.Count(), TEXTS),
    case(stats.Count(skip_nulls=True), TEXTS),
    case(stats.DistinctCount(), TIED),
    exact(stats.ExponentiallyWeightedAverage(half_life=5)),
    exact(stats.ExponentiallyWeightedAverage(alpha=0.25), HARD),
    case(stats.First[Any](), TIED),
    case(stats.Histogram([-1.0, 0.5, 2.0]), HARD),
    case(stats.Last[Any](), TIED),
    exact(stats.LinearTrend(), points(MIXED)),
    exact(stats.LinearTrend(), points(WHOLE)),
    exact(stats.Covariance(), st.builds(stats.Point, WHOLE, MIXED)),
    exact(stats.MatchedShare[Any](), sides(TIED)),
    case(stats.Max[Any](), MIXED),
    case(stats.MaxBy[Any, Any](), RANKED),
    exact(stats.Median(), MIXED),
    case(stats.Min[Any](), MIXED),
    case(stats.MinBy[Any, Any](), RANKED),
    case(stats.Mode[Any](), TIED),
    case(stats.Mode[Any](), st.none() | st.sampled_from("abc")),
    exact(stats.Quantile(q=0.25), MIXED),
    exact(stats.Quantile(q=0.25), WHOLE),
    exact(stats.Quantile(q=0.25), PLACES),
    case(stats.StandardDeviation(ddof=0), HARD),
    exact(stats.Sum[Any](), st.none() | st.integers()),
    exact(stats.Sum[Any](), st.none() | st.sampled_from(list(map(Decimal, ("1e30", "-1e30", "0.0000000001", "1.10"))))),
    exact(stats.Sum[Any](), MIXED),
    exact(stats.TimeWeightedAverage(), MIXED),
    exact(stats.TimeWeightedAverage(), WHOLE),
    case(stats.TopK[Any](3)),
    case(stats.TopK[Any](3, largest=False), TIED),
    case(stats.TopBy[Any, Any](2), RANKED),
    case(stats.TopBy[Any, Any](2).with_order(), RANKED),
    case(stats.TopBy[Any, Any](2, largest=False, ties="all"), RANKED),
    exact(stats.Variance(ddof=0), MIXED),
    exact(stats.Variance(ddof=0), WHOLE),
    exact(stats.StandardDeviation(), PLACES),
)
SKETCHES: Final = (
    exact(stats.ApproximateDistinctCount(lg_k=7), HARD),
    exact(stats.ApproximateDistinctCount(), TEXTS),
    exact(stats.ApproximateMedian()),
    exact(stats.ApproximateQuantile(q=0.25, k=100), HARD),
)
FUNCTIONS: Final = (
    Case(stats.clamp, {"arguments": st.tuples(HARD, *(st.sampled_from([x, 0.0, None]) for x in (-1.0, 2.0)))}),
    Case(
        stats.log1p,
        {"arguments": st.tuples(st.sampled_from([-2.0, -1.0, 0.0, 1e-300, 3.5, nan, inf])), "series": pd.Series},
    ),
)
PATTERNS: Final = (
    case(patterns.ConsecutiveRise(2), LEVELS),
    case(patterns.FollowedBy[Any](within=5)),
    case(patterns.FollowedBy[Any](within=0), st.builds(patterns.Step, st.sampled_from("ab"))),
    case(patterns.FollowedWithout[Any](within=6), PARTS),
    case(patterns.HeadAndShoulders(tolerance=0.5), LEVELS),
    case(patterns.Silence(after=4), st.none()),
    case(
        patterns.StateMachine(
            "shut",
            [("shut", "open", "open"), ("open", "open", "open"), ("ajar", "close", "shut")],
            [("open", 4, "ajar")],
        ),
        st.sampled_from(["open", "close", "knock"]),
    ),
    case(patterns.ThresholdCrossing(2.0), LEVELS),
    case(patterns.ThresholdCrossing(2.0, direction="up"), LEVELS),
)
COLUMNAR: Final = (
    case(ColumnarAverage()),
    case(ColumnarCount()),
    case(ColumnarDistinctCountOfFloats()),
    case(ColumnarLinearTrend(), points(SPOILING)),
    case(ColumnarMaxOfDates()),
    case(ColumnarQuantile(q=0.9)),
    case(ColumnarCorrelation(), points(SPOILING)),  # covariance keeps the same components by the same code
    case(ColumnarStandardDeviation(ddof=1), SPOILING),
    case(ColumnarSumOfIntegers(), st.none() | st.integers(-(2**54), 2**54)),  # a sum of hundreds is still a bigint
    case(ColumnarVariance(ddof=1), SPOILING),
    exact(ColumnarVarianceOfIntegers(ddof=1), WHOLE),
    exact(ColumnarAverageOfIntegers(), WHOLE),
    exact(ColumnarCorrelationOfIntegers(), points(WHOLE)),
)


def is_even(value: int) -> bool:
    """A condition for `filtering`."""
    return value % 2 == 0


def parts(value: int) -> list[int]:
    """Return no values for an odd number, and two for an even one: a function for `flat_mapping`."""
    return [] if value % 2 else [value, value // 2]


class Trip(NamedTuple):
    """A record that a function for `mapping` reads."""

    distance: int | None
    hours: int


PRODUCT: Final = mapping(Largest, lambda distance, hours: distance * hours, input=Trip, to=int)
COMBINED: Final = (
    *(case(filtering(module, is_even)()) for module in (Values, Busy, Starts)),
    case(mapping(Total, len, input=str)(times=2)),
    case(mapping(Coverage, str, input=float)()),
    *(case(flat_mapping(module, parts)()) for module in (Values, Busy, Distinct, stats.CollectList)),
    case(flat_mapping(Total, parts)(times=2)),
    case(sorting(stats.CollectList)(), st.none() | st.floats() | st.integers(-3, 3).map(float)),
    case(sorting(stats.CollectList, abs, descending=True)(), st.integers(-3, 3)),
    *(case(sorting(module, abs)()) for module in (Distinct, Busy)),
    *(case(skipping_nulls(module)()) for module in (Values, PRODUCT, Mean)),
    case(with_default(filtering(Total, is_even), -1)()),
    case(with_default("stats.average", -1.0)()),
    case(with_default(filtering(Distinct, is_even), 0)()),
    case(grouping_by(Values)(), GROUPED),
    case(grouping_by(preset(Total, times=3))(), GROUPED),
    case(grouping_by(Busy)()),
    case(top_n(grouping_by(Total), 1)(), GROUPED),
    case(all_of(values=Values, twice=preset(Total, times=2), even=filtering(Total, is_even))()),
    case(all_of(mean=Mean, present=skipping_nulls(Mean))()),
    case(all_of(largest=Largest, total=Total, coverage=Coverage, busy=Busy)()),
    case(all_of(total=Total, busy=Busy)()),
    *(case(catching(module)()) for module in (Values, Busy, Starts, Mean)),
    *(case(catching(module)(), st.integers(-3, 9)) for module in FAILING),
)


UNDER_LAWS: Final = (
    *STATS,
    *FUNCTIONS,
    *PATTERNS,
    *COLUMNAR,
    *COMBINED,
    *(SKETCHES if find_spec("datasketches") else ()),
)
"""What is tried; the approximate modules only where what they need is installed."""


@pytest.mark.cases(56)
@pytest.mark.parametrize("case", UNDER_LAWS, ids=str)
def test_a_module_or_function_keeps_all_laws(case: Case) -> None:
    assert broken_laws(case.subject, **case.attributes) == []
