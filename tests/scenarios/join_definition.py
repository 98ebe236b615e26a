"""The final output of a join, by definition: a row is final if the join has it in every future that is still legal.

The reference join of `muntin_engine.testing` computes each of these futures anew, from all events. An evaluator knows
none of them: it has rules about watermarks and ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
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

World: TypeAlias = list[Event[Any]]
"""All events of one input in a future that is still legal."""


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
    """Return the rows that a join has whatever comes: those that it has in all worlds that are still legal.

    It is enough to join the most different worlds. In these, all events that may change do so as far as they may, in
    both directions, and new right events cover everything from their watermark on, or nothing. A new left event takes
    no row away, so no world has one.

    Args:
        kind: Kind of the join.
        sides: Left and right input.
        histories: Events of the left and of the right input so far, all of one key.
        watermarks: Watermark of the left and of the right input.
        on: Condition on the payloads.

    Returns:
        The (start, end, left, right) of each row.
    """
    left_side, right_side = sides
    left_events, right_events = histories
    left_watermark, right_watermark = watermarks
    left_worlds = _worlds(left_side, left_events, left_watermark)
    right_worlds = _worlds(right_side, right_events, right_watermark)
    if right_watermark < INFINITY:
        starts = {right_watermark}
        if kind is JoinKind.CLIP:  # it matters where right events start, and not what they cover
            starts |= {max(event.start + 1, right_watermark) for event in left_events}
        new_events = [Event(start, INFINITY, NEW) for start in starts]
        right_worlds += [[*world, *new_events] for world in right_worlds]

    meets = None if on is None else lambda left, right: right == NEW or on(left, right)
    rows_of_worlds: list[Counter[tuple[Any, ...]]] = []
    for left, right in product(left_worlds, right_worlds):
        rows_of_worlds.append(joined_rows(kind, left, right, meets))
    rows_in_all = rows_of_worlds[0]
    for rows in rows_of_worlds[1:]:
        rows_in_all &= rows
    return rows_in_all


def _worlds(side: Side, events: Sequence[Event[Any]], watermark: int) -> list[World]:
    """Return the most different worlds of an input that are still legal after its watermark, without new events."""
    as_is = list(events)
    if watermark == INFINITY:
        return [as_is]
    if side.is_edge:
        # The next sample may come at the watermark, and ends the one before it there.
        cut = [ending_at(event, min(event.end, max(event.start + 1, watermark))) for event in as_is]
        # A sample that the watermark has not passed may be replaced by another, which has nothing in common with it.
        passed = [event for event in as_is if event.start < watermark]
        passed_and_cut = [event for event in cut if event.start < watermark]
        return [as_is, cut, passed, passed_and_cut]
    if not side.has_ids:
        return [as_is]  # nothing can refer to these events

    # An end at or after the watermark may become any other there: an event that starts before it ends there at the
    # earliest, and one that starts later may be retracted.
    fixed = [event for event in as_is if event.end < watermark]
    may_move = [event for event in as_is if event.end >= watermark]
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
