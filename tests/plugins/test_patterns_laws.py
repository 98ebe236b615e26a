"""Every module of muntin-patterns obeys the laws of its base class, also where samples tie or are missing."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from hypothesis import strategies as st

from muntin.testing import OperatorLaws, StreamOperatorLaws
from muntin_patterns import (
    ConsecutiveRise,
    FollowedBy,
    FollowedWithout,
    HeadAndShoulders,
    Part,
    Silence,
    StateMachine,
    Step,
    ThresholdCrossing,
)

LEVELS = st.sampled_from([1.0, 2.0, 3.0, 4.0, inf, nan, None])
"""Few enough that runs, crossings and level shoulders are common."""


class TestConsecutiveRise(OperatorLaws):
    module = ConsecutiveRise(2)
    payloads = LEVELS


class TestFollowedBy(OperatorLaws):
    module = FollowedBy[Any](within=5)


class TestFollowedByWithLabelsAlone(OperatorLaws):
    module = FollowedBy[Any](within=0)
    payloads = st.builds(Step, st.sampled_from("ab"))


class TestFollowedWithout(StreamOperatorLaws):
    module = FollowedWithout[Any](within=6)
    payloads = st.builds(Part, st.sampled_from("ab"), st.booleans(), st.booleans(), st.booleans())


class TestHeadAndShoulders(OperatorLaws):
    module = HeadAndShoulders(tolerance=0.5)
    payloads = LEVELS


class TestSilence(StreamOperatorLaws):
    module = Silence(after=4)
    payloads = st.none()


class TestStateMachine(StreamOperatorLaws):
    module = StateMachine(
        "shut", [("shut", "open", "open"), ("open", "open", "open"), ("ajar", "close", "shut")], [("open", 4, "ajar")]
    )
    payloads = st.sampled_from(["open", "close", "knock"])


class TestThresholdCrossing(OperatorLaws):
    module = ThresholdCrossing(2.0)
    payloads = LEVELS


class TestThresholdCrossingUpward(OperatorLaws):
    module = ThresholdCrossing(2.0, direction="up")
    payloads = LEVELS
