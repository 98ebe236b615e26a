"""Aggregates as their writers annotate them: nothing here is an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muntin import Aggregate, ClipPolicy, Event, Module, Window, hookimpl


class Level(NamedTuple):
    metres: float
    is_estimate: bool = False


@dataclass(frozen=True)
class Extremes:
    low: float
    high: float


class Range(Aggregate[Level, Extremes]):
    name, version = "tides.range", "1.0.0"

    def compute_result(self, payloads: Sequence[Level]) -> Extremes:
        return Extremes(min(level.metres for level in payloads), max(level.metres for level in payloads))


class Largest(Aggregate[float | None, float | None]):
    """Takes more than its class says, and returns less: both are fine."""

    name, version = "tides.largest", "1.0.0"

    def __init__(self, at_least: float = 0.0) -> None:
        self.at_least = at_least

    def compute_result(self, payloads: Sequence[float | int | None]) -> float:
        return max(self.at_least, *(level for level in payloads if level is not None))


class Coverage(Aggregate[object, float]):
    name, version = "tides.coverage", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[object]], window: Window) -> float:
        return sum(event.duration for event in events) / window.duration


class Gates(Aggregate[Level | Extremes, float]):
    """Reads two streams, each with a record of its own."""

    name, version = "tides.gates", "1.0.0"

    def compute_result(self, payloads: Sequence[Level | Extremes]) -> float:
        return sum(self.of(payload) for payload in payloads)

    def of(self, payload: Level | Extremes) -> float:
        match payload:
            case Level(metres=metres):
                return metres
            case Extremes(low=low, high=high):
                return high - low


@hookimpl
def muntin_modules() -> list[type[Module]]:
    return [Range, Largest, Coverage, Gates]


spread: float = Range().compute_result([Level(1.0), Level(4.0, is_estimate=True)]).high
