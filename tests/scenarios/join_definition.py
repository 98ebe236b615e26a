"""The final output of a join, by definition: independent of how an engine finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import and_
from typing import Any, Final, TypeAlias

from muntin import INFINITY, Event, JoinKind
from muntin_engine.testing import join


@dataclass(frozen=True)
class Side:
    """One input of a join.

    Attributes:
        has_ids: True if its events may be revised.
        is_edge: True if they are samples, each of which lasts until the next one.
    """

    has_ids: bool = True
    is_edge: bool = False


Condition: TypeAlias = Callable[[Any, Any], bool | None]
"""A condition on the payloads of a left and a right event; None is unknown, and then they do not meet."""

NEW: Final = "new"
"""The payload of right events that may still come. They may be such that all left events meet them."""


def joined_rows(
    kind: JoinKind, left: Sequence[Event[Any]], right: Sequence[Event[Any]], on: Condition | None = None
) -> Counter[tuple[Any, ...]]:
    """Return the (start, end, left, right) of each row of a join, if no more events come."""
    return Counter((row.start, row.end, row.left, row.right) for row in join(kind, left, right, on))


def final_rows(
    kind: JoinKind,
    sides: Sequence[Side],
    histories: Sequence[Sequence[Event[Any]]],
    watermarks: Sequence[int],
    on: Condition | None = None,
) -> Counter[tuple[Any, ...]]:
    """Return the rows that are in the join whatever comes: those of the most different worlds that are still legal.

    Each event that may change does so as far as it may, in both directions, and new right events cover everything from
    their watermark on, or nothing.
    """
    left_worlds = _worlds(sides[0], histories[0], watermarks[0])
    right_worlds = _worlds(sides[1], histories[1], watermarks[1])
    if watermarks[1] < INFINITY:
        starts = {watermarks[1]}
        if kind is JoinKind.CLIP:  # it matters where right events start, and not what they cover
            starts |= {max(event.start + 1, watermarks[1]) for event in histories[0]}
        new_events = [Event(start, INFINITY, NEW) for start in starts]
        right_worlds += [[*world, *new_events] for world in right_worlds]

    meets = None if on is None else lambda left, right: right == NEW or on(left, right)
    rows_of_worlds: list[Counter[tuple[Any, ...]]] = []
    for left, right in product(left_worlds, right_worlds):
        rows_of_worlds.append(joined_rows(kind, left, right, meets))
    return reduce(and_, rows_of_worlds)


def _worlds(side: Side, events: Sequence[Event[Any]], watermark: int) -> list[list[Event[Any]]]:
    """Return the most different histories of an input that are still legal after its watermark."""
    as_is = list(events)
    if watermark == INFINITY:
        return [as_is]
    if side.is_edge:
        cut = [ending_at(event, min(event.end, max(event.start + 1, watermark))) for event in as_is]
        # A sample that the watermark has not passed may be replaced by another, which has nothing in common with it.
        passed = [event for event in as_is if event.start < watermark]
        passed_and_cut = [event for event in cut if event.start < watermark]
        return [as_is, cut, passed, passed_and_cut]
    if not side.has_ids:
        return [as_is]
    may_move = [event for event in as_is if event.end >= watermark]
    fixed = [event for event in as_is if event.end < watermark]
    shortest = [ending_at(event, watermark) for event in may_move if event.start < watermark]
    longest = [ending_at(event, INFINITY) for event in may_move]
    return [as_is, fixed + shortest, fixed + longest]


def ending_at(event: Event[Any], end: int) -> Event[Any]:
    """Return an event with another end."""
    return Event(event.start, end, event.payload)


def lasting(samples: Sequence[Event[Any]]) -> list[Event[Any]]:
    """Return samples as events, each of which lasts until the next."""
    ordered = sorted(samples, key=lambda event: event.start)
    ends = [*(event.start for event in ordered[1:]), INFINITY]
    return [Event(event.start, end, event.payload) for event, end in zip(ordered, ends, strict=True)]
