"""Triggers by definition: where they fire in the whole history of a window.

A definition says where a trigger fires among a window's micro-batches, if it starts at one of them, and where it is
finished. The incremental triggers are tested against this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

from muntin import EARLIEST, INFINITY, Window
from muntin.triggers import FINISHED, Decision, Trigger, TriggerView
from muntin.triggers.composed import AllOf, AnyOf, Each, Repeat, Until
from muntin.triggers.elementary import AfterCount, OnSignal, Past, Percentile, Timer, When

Views = Sequence[TriggerView]

RESULT = "result"
"""The name of the first result of a query."""


class Life(NamedTuple):
    """Where a trigger fires, and the place after which it is finished; None if it is not."""

    firings: list[int]
    end: int | None


@dataclass(frozen=True)
class GiveUp(Trigger):
    """A trigger of the tests: finishes without firing when the max event time reaches a time."""

    name: ClassVar[str] = "test.give_up"

    at: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.STOP if view.max_event_time >= self.at else Decision.WAIT

    def next_event_time(self, state: Any, window: Window) -> int:
        return self.at

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        return FINISHED if FINISHED in states else None


@dataclass(frozen=True)
class Wordy(Trigger):
    """A trigger of the tests: fires once, when a member makes the result of a window so many characters long."""

    name: ClassVar[str] = "test.wordy"

    length: int

    @property
    def reads_results(self) -> tuple[str, ...]:
        return (RESULT,)

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.FIRE_LAST if self.fires(view) else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        return FINISHED if FINISHED in states else None

    def fires(self, view: TriggerView) -> bool:
        return bool(view.arrivals or view.departures) and len(str(view.results[RESULT]).replace("-", "")) >= self.length


def life(trigger: Trigger, window: Window, views: Views, begin: int = 0) -> Life:
    """Return the life of a trigger that starts at a place of a window's history."""
    match trigger:
        case Repeat(repeated):
            return repeated_life(repeated, window, views, begin)
        case Each(triggers):
            return in_turn(triggers, window, views, begin)
        case AllOf(triggers):
            return last_of([life(part, window, views, begin) for part in triggers])
        case AnyOf(triggers):
            return first_of([life(part, window, views, begin) for part in triggers])
        case Until(own, end):
            return ended(life(own, window, views, begin), life(end, window, views, begin))
        case GiveUp(time):
            return Life([], next((at for at in range(begin, len(views)) if views[at].max_event_time >= time), None))
    return once(at for at in range(begin, len(views)) if is_at(trigger, window, views, begin, at))


def is_at(trigger: Trigger, window: Window, views: Views, begin: int, at: int) -> bool:
    """True if a plain trigger that starts at one place can fire at another."""
    view = views[at]
    length = window.end - window.start
    match trigger:
        case AfterCount(count):
            return sum(view.arrivals for view in views[begin : at + 1]) >= count
        case Past(part, delay):
            has_place = window.end < INFINITY or part == 0
            return has_place and view.max_event_time >= window.start + round(part * length) + delay
        case Percentile(part):
            return view.arrivals > 0 and window.end < INFINITY and view.newest - window.start >= part * length
        case When(condition):
            return any(view.values[condition])
        case Wordy():
            return trigger.fires(view)
        case OnSignal(signal):
            return signal in view.signals
        case Timer(period, is_aligned):
            return view.clock >= due(period, is_aligned, views[begin:at])
    raise AssertionError(f"what does {trigger} mean?")


def due(period: int, is_aligned: bool, views: Views) -> float:
    """Return when a timer fires: from the first clock that is known when or after a member has come."""
    first_touched = next((place for place, view in enumerate(views) if view.arrivals), len(views))
    clock = next((view.clock for view in views[first_touched:] if view.clock > EARLIEST), None)
    if clock is None:
        return inf
    return clock - clock % period + period if is_aligned else clock + period


def once(places: Iterable[int]) -> Life:
    """Return the life of a trigger that fires at the first of some places, and is finished then."""
    first = next(iter(places), None)
    return Life([] if first is None else [first], first)


def repeated_life(trigger: Trigger, window: Window, views: Views, begin: int) -> Life:
    """Return the life of a trigger that begins anew whenever it is finished."""
    firings: list[int] = []
    while begin < len(views):
        part_firings, end = life(trigger, window, views, begin)
        firings += part_firings
        if end is None:
            break
        begin = end + 1
    return Life(firings, None)


def in_turn(triggers: Sequence[Trigger], window: Window, views: Views, begin: int) -> Life:
    """Return the life of triggers each of which begins when the one before it is finished."""
    firings: list[int] = []
    for trigger in triggers:
        part_firings, end = life(trigger, window, views, begin)
        firings += part_firings
        if end is None:
            return Life(firings, None)
        begin = end + 1
    return Life(firings, begin - 1)


def last_of(lives: Sequence[Life]) -> Life:
    """Return the life of a trigger that fires once all its parts have fired.

    A part that is finished without having fired ends it.
    """
    silent_ends = [part.end for part in lives if not part.firings and part.end is not None]
    if any(not part.firings for part in lives):
        return Life([], min(silent_ends, default=None))
    return once([max(part.firings[0] for part in lives)])


def first_of(lives: Sequence[Life]) -> Life:
    """Return the life of a trigger that fires with the first of its parts; it is finished when all are."""
    firings = [part.firings[0] for part in lives if part.firings]
    if firings:
        return once([min(firings)])
    ends = [part.end for part in lives if part.end is not None]
    if len(ends) < len(lives):
        return Life([], None)
    return Life([], max(ends, default=None))


def ended(life_alone: Life, end: Life) -> Life:
    """Return the life of a trigger that another one ends: the other's first firing is its last."""
    if not end.firings or (life_alone.end is not None and life_alone.end < end.firings[0]):
        return life_alone
    last_firing = end.firings[0]
    earlier_firings = [place for place in life_alone.firings if place < last_firing]
    return Life([*earlier_firings, last_firing], last_firing)
