"""Sources of plugins for the tests of the command."""

from __future__ import annotations

TIDES = '''
from __future__ import annotations
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Literal

from muntin import (Aggregate, ClipPolicy, IncrementalAggregate, Operator, function, hookimpl,)
from muntin.triggers import Decision, Trigger


class Unit(Enum):
    METRES = "m"
    FEET = "ft"


@dataclass(frozen=True)
class Level:
    metres: float
    is_estimate: bool = False


class Range(Aggregate[Level, float]):
    """Return the highest level less the lowest.

    Args:
        unit: Of the result.
    """

    name, version = "tides.range", "1.0.0"

    def __init__(self, unit: Unit = Unit.METRES, digits: int | None = None) -> None:
        self.unit, self.digits = unit, digits

    def compute_result(self, payloads):
        levels = [level.metres for level in payloads]
        return max(levels) - min(levels)


class Average(IncrementalAggregate[float, list[float], float]):
    """Return the average."""

    name, version = "tides.average", "1.2.0"

    def create_state(self):
        return []

    def add_events(self, state, payloads):
        return sorted([*state, *payloads])

    def combine(self, state, other):
        return sorted([*state, *other])

    def compute_result(self, state):
        return sum(state) / len(state)


class Above(Aggregate[float, float]):
    """Return the share of the window above a level."""

    name, version = "tides.above", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def __init__(self, level: float, way: Literal["strict", "loose"]) -> None:
        if level <= 0:
            raise ValueError(f"level is {level}, expected more than 0")
        self.level, self.way = level, way

    def compute_result(self, events, window):
        return sum(event.duration for event in events if event.payload > self.level) / window.duration


class Turns(Operator[float, Level]):
    name, version = "tides.turns", "1.0.0"

    def __init__(self, **named: timedelta) -> None:
        self.named = named

    def compute_result(self, payloads):
        return [Level(payload) for payload in sorted(payloads)]


@function("tides.feet", version="1.0.0")
def feet(metres: float) -> float:
    """Return metres as feet."""
    return metres / 0.3048


@dataclass(frozen=True)
class Patience(Trigger):
    """Fire after so many members."""

    name, version = "tides.patience", "1.0.0"
    members: int
    why: str = "enough"

    def create_state(self, window):
        return 0

    def step(self, state, window, view):
        count = state + view.arrivals
        return (0, Decision.FIRE) if count >= self.members else (count, Decision.WAIT)


@hookimpl
def muntin_triggers():
    return [Patience]


@hookimpl
def muntin_modules():
    return [Range, Average, Above, Turns]


@hookimpl
def muntin_functions():
    return [feet]
'''

"""A plugin with a module of each shape that the command tells apart, a function and a trigger."""

BROKEN = "import no_such_package\n"

ENDS_THE_PROCESS = "import sys\nsys.exit('nobody expects this')\n"

LAST = """
from muntin import Aggregate, hookimpl


class Last(Aggregate[float, float]):
    name, version = "last.level", "1.0.0"

    def __init__(self) -> None:
        self.log = open("{log}", "a")

    def compute_result(self, payloads: list[float]) -> str:
        return payloads[-1]


@hookimpl
def muntin_modules():
    import {imported}

    return [Last]
"""
"""A module that breaks what `muntin check` looks at: its order, its type, its pickling; with the path of a log."""
