"""What combinators make obeys the laws of the base class of what it was made of, with all its capabilities."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from muntin.testing import (
    AggregateLaws,
    IncrementalAggregateLaws,
    OperatorLaws,
)
from muntin_adapters.combinators import (
    all_of,
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
from muntin_stats import CollectList
from tests.plugins.combined_modules import Busy, Coverage, Distinct, Largest, Mean, Starts, Total, Values

GROUPED = st.builds(Grouped, st.sampled_from("ab"), st.integers(-3, 3))


def is_even(value: int) -> bool:
    return value % 2 == 0


class TestFiltering(IncrementalAggregateLaws):
    module = filtering(Values, is_even)()


class TestFilteringTimes(IncrementalAggregateLaws):
    module = filtering(Busy, is_even)()


class TestFilteringAnOperator(OperatorLaws):
    module = filtering(Starts, is_even)()


class TestMapping(IncrementalAggregateLaws):
    module = mapping(Total, len, input=str)(times=2)


class TestMappingTimes(AggregateLaws):
    module = mapping(Coverage, str, input=float)()


def parts(value: int) -> list[int]:
    """None of odd numbers, and two of each even one."""
    return [] if value % 2 else [value, value // 2]


class TestFlatMapping(IncrementalAggregateLaws):
    module = flat_mapping(Values, parts)()


class TestFlatMappingAndDeducting(IncrementalAggregateLaws):
    module = flat_mapping(Total, parts)(times=2)


class TestFlatMappingTimes(IncrementalAggregateLaws):
    module = flat_mapping(Busy, parts)()


class TestFlatMappingAnOperator(OperatorLaws):
    module = flat_mapping(Distinct, parts)()


class TestFlatMappingInOrder(IncrementalAggregateLaws):
    module = flat_mapping(CollectList, parts)()


class TestSorting(AggregateLaws):
    module = sorting(CollectList)()
    payloads = st.none() | st.floats() | st.integers(-3, 3).map(float)


class TestSortingByAKey(AggregateLaws):
    module = sorting(CollectList, abs, descending=True)()
    payloads = st.integers(-3, 3)


class TestSortingAnOperator(OperatorLaws):
    module = sorting(Distinct, abs)()


class TestSortingTimes(AggregateLaws):
    module = sorting(Busy, abs)()


class Trip(NamedTuple):
    distance: int | None
    hours: int


class TestSkippingNulls(IncrementalAggregateLaws):
    module = skipping_nulls(Values)()


class TestSkippingNullsInRecords(AggregateLaws):
    module = skipping_nulls(mapping(Largest, lambda distance, hours: distance * hours, input=Trip, to=int))()


class TestSkippingNullsOnArrays(IncrementalAggregateLaws):
    module = skipping_nulls(Mean)()


class TestWithDefault(IncrementalAggregateLaws):
    module = with_default(filtering(Total, is_even), -1)()


class TestWithDefaultOnArrays(IncrementalAggregateLaws):
    module = with_default("stats.average", -1.0)()


class TestWithDefaultRow(OperatorLaws):
    module = with_default(filtering(Distinct, is_even), 0)()


class TestGroupingBy(IncrementalAggregateLaws):
    module = grouping_by(Values)()
    payloads = GROUPED


class TestGroupingByAndDeducting(IncrementalAggregateLaws):
    module = grouping_by(preset(Total, times=3))()
    payloads = GROUPED


class TestGroupingByWithTimes(IncrementalAggregateLaws):
    module = grouping_by(Busy)()


class TestTopN(IncrementalAggregateLaws):
    module = top_n(grouping_by(Total), 1)()
    payloads = GROUPED


class TestAllOf(IncrementalAggregateLaws):
    module = all_of(values=Values, twice=preset(Total, times=2), even=filtering(Total, is_even))()


class TestAllOfOnArrays(IncrementalAggregateLaws):
    module = all_of(mean=Mean, present=skipping_nulls(Mean))()


class TestAllOfWhereOneSeesTimes(AggregateLaws):
    module = all_of(largest=Largest, total=Total, coverage=Coverage, busy=Busy)()


class TestAllOfWithTimesAndStates(IncrementalAggregateLaws):
    module = all_of(total=Total, busy=Busy)()
