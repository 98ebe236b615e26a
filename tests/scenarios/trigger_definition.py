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
    """What a trigger does in the history of a window.

    Attributes:
        firings: Places of the micro-batches at which it fires.
        end: Place after which it is finished; None if it is not.
    """

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
class LongResult(Trigger):
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
        case Until(ended_trigger, end):
            return ended(life(ended_trigger, window, views, begin), life(end, window, views, begin))
        case GiveUp(time):
            ends = (place for place in range(begin, len(views)) if views[place].max_event_time >= time)
            return Life([], next(ends, None))
    return once(place for place in range(begin, len(views)) if may_fire(trigger, window, views, begin, place))


def may_fire(trigger: Trigger, window: Window, views: Views, begin: int, place: int) -> bool:
    """True if a plain trigger that starts at `begin` may fire at a place."""
    view = views[place]
    length = window.end - window.start
    match trigger:
        case AfterCount(count):
            return sum(view.arrivals for view in views[begin : place + 1]) >= count
        case Past(part, delay):
            has_such_tick = window.end < INFINITY or part == 0
            return has_such_tick and view.max_event_time >= window.start + round(part * length) + delay
        case Percentile(part):
            return view.arrivals > 0 and window.end < INFINITY and view.newest - window.start >= part * length
        case When(condition):
            return any(view.values[condition])
        case LongResult():
            return trigger.fires(view)
        case OnSignal(signal):
            return signal in view.signals
        case Timer(period, is_aligned):
            return view.clock >= due(period, is_aligned, views[begin:place])
    raise AssertionError(f"{trigger} has no definition")


def due(period: int, is_aligned: bool, views: Views) -> float:
    """Return the clock reading at which a timer fires; infinity if it has not started.

    It starts with the first member, at the first reading of a clock from then on.
    """
    first_place = next((place for place, view in enumerate(views) if view.arrivals), len(views))
    started = next((view.clock for view in views[first_place:] if view.clock > EARLIEST), None)
    if started is None:
        return inf
    if is_aligned:
        return started - started % period + period
    return started + period


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
    silent_parts = [part for part in lives if not part.firings]
    if silent_parts:
        ends = [part.end for part in silent_parts if part.end is not None]
        return Life([], min(ends, default=None))
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
