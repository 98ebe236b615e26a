"""Patterns of keys: what each allows, which are superfluous, and how many may be kept."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY
from muntin_engine.errors import StateError
from muntin_engine.state.key_patterns import CompletePattern, KeyPatterns

SETTINGS = settings(max_examples=200, derandomize=True, database=None, deadline=None)

VALUES = (None, 0, 1, 2, 3)
KEYS = list(product(VALUES, VALUES))
"""All keys of two columns that have these values."""


def conditions() -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw conditions on a key column: `()` for any value, `(value,)`, or a range `(low, high)`."""
    limits = st.none() | st.integers(0, 4)
    ranges = st.tuples(limits, limits).filter(lambda limits: limits != (None, None))
    return st.just(()) | st.tuples(st.sampled_from(VALUES)) | ranges


PATTERNS = st.tuples(st.tuples(conditions(), conditions()), st.integers(1, 9) | st.just(INFINITY))
"""Patterns of both columns, each with the time up to which its keys are complete."""


def allows(pattern: Any, key: tuple[Any, Any]) -> bool:
    """Tell whether a key meets both conditions of a pattern, by the definition of conditions."""
    return all(map(is_met, pattern, key))


def is_met(condition: Any, value: Any) -> bool:
    """Tell whether a value meets a condition; null is in no range."""
    if condition == ():
        return True
    if len(condition) == 1:
        return bool(condition == (value,))
    low, high = condition
    return value is not None and (low is None or low <= value) and (high is None or value < high)


@SETTINGS
@given(stored=st.lists(PATTERNS, max_size=8), reported=st.lists(PATTERNS, max_size=4), watermark=st.integers(0, 9))
def test_a_key_is_as_far_as_the_furthest_pattern_that_allows_it(
    stored: list[CompletePattern], reported: list[CompletePattern], watermark: int
) -> None:
    read_back = KeyPatterns(KeyPatterns(stored).to_data())
    patterns = read_back.advance(reported, watermark)

    for key in KEYS:
        times: list[int] = []
        for pattern, time in (*stored, *reported):
            if time > watermark and allows(pattern, key):
                times.append(time)
        finite_times = [time for time in times if time < INFINITY]
        assert patterns.watermark_of(key) == max(times, default=EARLIEST)
        assert patterns.finite_watermark_of(key) == max(finite_times, default=EARLIEST)

    data = patterns.to_data()
    assert len(patterns) == len(data) == len(set(data)), "no pattern is there twice"


def test_patterns_that_others_make_superfluous_are_not_kept() -> None:
    # conditions on the region and the sensor, time
    needed: list[CompletePattern] = [
        ((("eu",), (3,)), 30),
        ((("eu",), ()), 20),  # any sensor
        (((), (10, 20)), 9),  # a range of sensors, of any region
    ]
    superfluous: list[CompletePattern] = [
        ((("eu",), (3,)), 20),  # all of eu is complete to 20
        (((), (10, 15)), 9),  # the wider range is complete to 9
        ((("eu",), (10, 20)), 9),  # and so in any region
        (((), (12,)), 4),  # and so is 12 in it
    ]
    for patterns in (superfluous + needed, needed + superfluous):
        assert sorted(KeyPatterns(patterns).to_data(), key=str) == sorted(needed, key=str)


def test_a_range_that_is_closed_further_and_further_is_one_pattern() -> None:
    forever = 2**62
    patterns = KeyPatterns()
    for day in range(50):
        patterns = patterns.advance([([(None, day)], forever)], watermark=day)
    assert patterns.to_data() == [([(None, 49)], forever)]


FOUR_SENSORS: list[CompletePattern] = [([(sensor,)], 9) for sensor in range(4)]
"""Patterns of a single sensor each, all complete to 9."""


def test_more_patterns_than_may_be_kept_are_an_error_that_says_how_to_go_on() -> None:
    assert len(KeyPatterns().advance(FOUR_SENSORS, watermark=0, most=4)) == 4
    with pytest.raises(StateError, match=r"4 patterns of keys (.|\n)* 3 may be\n (.|\n)*spark.muntin.patterns.limit"):
        KeyPatterns().advance(FOUR_SENSORS, watermark=0, most=3)


def test_patterns_that_the_watermark_has_reached_do_not_count_among_those_kept() -> None:
    assert len(KeyPatterns().advance(FOUR_SENSORS, watermark=9, most=3)) == 0
