"""Patterns in time for Muntin: one event after another, crossings, runs and chart patterns."""

from muntin_patterns.calls import (
    consecutive_rise,
    followed_by,
    followed_without,
    head_and_shoulders,
    silence,
    state_machine,
    threshold_crossing,
)
from muntin_patterns.consecutive_rise import ConsecutiveRise, Rise
from muntin_patterns.followed_by import FollowedBy, Match, Step
from muntin_patterns.followed_without import FollowedWithout, Pair, Part
from muntin_patterns.head_and_shoulders import Formation, HeadAndShoulders
from muntin_patterns.silence import Silence, Silent
from muntin_patterns.state_machine import Machine, StateMachine, Transition
from muntin_patterns.threshold_crossing import Crossing, ThresholdCrossing

__all__ = [
    "ConsecutiveRise",
    "Crossing",
    "FollowedBy",
    "FollowedWithout",
    "Formation",
    "HeadAndShoulders",
    "Machine",
    "Match",
    "Pair",
    "Part",
    "Rise",
    "Silence",
    "Silent",
    "StateMachine",
    "Step",
    "ThresholdCrossing",
    "Transition",
    "consecutive_rise",
    "followed_by",
    "followed_without",
    "head_and_shoulders",
    "silence",
    "state_machine",
    "threshold_crossing",
]
