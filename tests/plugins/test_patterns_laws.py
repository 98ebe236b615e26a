"""Every module of muntin-patterns obeys the laws of its base class, also where samples tie or are missing."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from hypothesis import strategies as st

from muntin.testing import TimeSensitiveOperatorLaws
from muntin_patterns import ConsecutiveRise, FollowedBy, HeadAndShoulders, Step, ThresholdCrossing

LEVELS = st.sampled_from([1.0, 2.0, 3.0, 4.0, inf, nan, None])
"""Few enough that runs, crossings and level shoulders are common."""


class TestConsecutiveRise(TimeSensitiveOperatorLaws):
    module = ConsecutiveRise(2)
    payloads = LEVELS


class TestFollowedBy(TimeSensitiveOperatorLaws):
    module = FollowedBy[Any](within=5)


class TestFollowedByWithLabelsAlone(TimeSensitiveOperatorLaws):
    module = FollowedBy[Any](within=0)
    payloads = st.builds(Step, st.sampled_from("ab"))


class TestHeadAndShoulders(TimeSensitiveOperatorLaws):
    module = HeadAndShoulders(tolerance=0.5)
    payloads = LEVELS


class TestThresholdCrossing(TimeSensitiveOperatorLaws):
    module = ThresholdCrossing(2.0)
    payloads = LEVELS


class TestThresholdCrossingUpward(TimeSensitiveOperatorLaws):
    module = ThresholdCrossing(2.0, direction="up")
    payloads = LEVELS
