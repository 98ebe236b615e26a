"""The plugin that Muntin finds through the entry point `patterns`."""

from __future__ import annotations

from muntin import Module, hookimpl
from muntin_patterns.consecutive_rise import ConsecutiveRise
from muntin_patterns.followed_by import FollowedBy
from muntin_patterns.followed_without import FollowedWithout
from muntin_patterns.head_and_shoulders import HeadAndShoulders
from muntin_patterns.silence import Silence
from muntin_patterns.state_machine import StateMachine
from muntin_patterns.threshold_crossing import ThresholdCrossing


@hookimpl
def muntin_modules() -> list[type[Module]]:
    """Return the modules of this package."""
    return [ConsecutiveRise, FollowedBy, FollowedWithout, HeadAndShoulders, Silence, StateMachine, ThresholdCrossing]
