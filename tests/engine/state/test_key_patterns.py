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


def conditions() -> st.SearchStrategy[tuple[Any, ...]]:
    limits = st.none() | st.integers(0, 4)
    ranges = st.tuples(limits, limits).filter(lambda pair: pair != (None, None))
    return st.just(()) | st.tuples(st.sampled_from(VALUES)) | ranges


TOLD = st.tuples(st.tuples(conditions(), conditions()), st.integers(1, 9) | st.just(INFINITY))


def allowed(pattern: Any) -> set[tuple[Any, Any]]:
    """Return the keys that a pattern allows, one condition after the other."""

    def is_met(condition: Any, value: Any) -> bool:
        if len(condition) < 2:
            return not condition or condition == (value,)
        low, high = condition
        return value is not None and (low is None or low <= value) and (high is None or value < high)

    return {key for key in KEYS if all(map(is_met, pattern, key))}


@SETTINGS
@given(st.lists(TOLD, max_size=8), st.lists(TOLD, max_size=4), st.integers(0, 9))
def test_a_key_is_as_far_as_the_furthest_pattern_that_allows_it(
    stored: list[CompletePattern], reported: list[CompletePattern], watermark: int
) -> None:
    patterns = KeyPatterns(KeyPatterns(stored).to_data()).advance(reported, watermark)
    for key in KEYS:
        times = [time for pattern, time in (*stored, *reported) if time > watermark and key in allowed(pattern)]
        assert patterns.watermark_of(key) == max(times, default=EARLIEST)
        assert patterns.finite_watermark_of(key) == max((time for time in times if time < INFINITY), default=EARLIEST)
    data = patterns.to_data()
    assert len(patterns) == len(data) == len(dict.fromkeys(data))


# eu *       20          eu 3      20   superfluous       * 10..20   9
# eu 3       30          * 10..15   9   superfluous       eu 10..20  9   superfluous
def test_patterns_that_others_make_superfluous_are_not_kept() -> None:
    complete: list[CompletePattern] = [((("eu",), (3,)), 30), ((("eu",), ()), 20), (((), (10, 20)), 9)]
    superfluous: list[CompletePattern] = [
        ((("eu",), (3,)), 20),
        (((), (10, 15)), 9),
        ((("eu",), (10, 20)), 9),
        (((), (12,)), 4),
    ]
    for order in (superfluous + complete, complete + superfluous):
        assert sorted(KeyPatterns(order).to_data(), key=str) == sorted(complete, key=str)


def test_a_range_that_is_closed_further_and_further_is_one_pattern() -> None:
    patterns = KeyPatterns()
    for day in range(50):
        patterns = patterns.advance([([(None, day)], 2**62)], watermark=day)
    assert patterns.to_data() == [([(None, 49)], 2**62)]


def test_more_patterns_than_may_be_kept_are_an_error_that_says_how_to_go_on() -> None:
    complete: list[CompletePattern] = [([(sensor,)], 9) for sensor in range(4)]
    assert len(KeyPatterns().advance(complete, watermark=0, most=4)) == 4
    with pytest.raises(StateError, match=r"4 patterns of keys (.|\n)* 3 may be\n (.|\n)*spark.muntin.patterns.limit"):
        KeyPatterns().advance(complete, watermark=0, most=3)


def test_patterns_that_the_watermark_has_reached_do_not_count_among_those_kept() -> None:
    complete: list[CompletePattern] = [([(sensor,)], 9) for sensor in range(4)]
    assert len(KeyPatterns().advance(complete, watermark=9, most=3)) == 0
