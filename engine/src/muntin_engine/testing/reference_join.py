"""The meaning of a temporal join: a function from two canonical history tables to one, computed plainly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from muntin.events import Event
from muntin.policies import JoinKind


@dataclass(frozen=True, slots=True)
class JoinedEvent:
    """One row of a join's canonical history table.

    Attributes:
        start: The start of its lifetime.
        end: The end of its lifetime.
        left: The payload of the left event.
        right: The payload of the right event; None where the row has none.
    """

    start: int
    end: int
    left: Any
    right: Any = None


def join(
    kind: JoinKind,
    left: Iterable[Event[Any]],
    right: Iterable[Event[Any]],
    on: Callable[[Any, Any], bool | None] | None = None,
) -> list[JoinedEvent]:
    """Return the temporal join of the events of one key.

    Args:
        kind: The kind of the join.
        left: The rows of the left canonical history table, in any order.
        right: The rows of the right canonical history table.
        on: The function of the payloads of a left and a right event that says whether they meet; None if all meet. If
            it returns False or None, the two make no pair, and the right event neither covers nor clips the left one.

    Cost:
        Every left event is compared with every right one, at every tick at which one of these starts or ends.

    Example:
        >>> left, right = [Event(0, 10, "a")], [Event(2, 4, "x"), Event(3, 6, "y")]
        >>> [(row.start, row.end, row.right) for row in join(JoinKind.INNER, left, right)]
        [(2, 4, 'x'), (3, 6, 'y')]
        >>> [(row.start, row.end) for row in join(JoinKind.SEMI, left, right)]
        [(2, 6)]
        >>> [(row.start, row.end) for row in join(JoinKind.ANTI, left, right)]
        [(0, 2), (6, 10)]
        >>> [(row.start, row.end) for row in join(JoinKind.CLIP, left, right)]
        [(0, 2)]
        >>> [(row.start, row.end) for row in join(JoinKind.ANTI, left, right, lambda a, x: x == "y")]
        [(0, 3), (6, 10)]
    """
    right_events = list(right)
    output: list[JoinedEvent] = []
    for event in left:
        partners = [partner for partner in right_events if on is None or on(event.payload, partner.payload)]
        # A kind that pairs has a row for each partner, for as long as both events last.
        if kind.pairs:
            for partner in partners:
                start = max(event.start, partner.start)
                end = min(event.end, partner.end)
                if start < end:
                    output.append(JoinedEvent(start, end, event.payload, partner.payload))
        # Besides, the left event has rows of its own: cut at the next partner's start, or the parts that partners
        # cover, or those that none covers.
        if kind is JoinKind.CLIP:
            later_starts = [partner.start for partner in partners if partner.start > event.start]
            output.append(JoinedEvent(event.start, min([event.end, *later_starts]), event.payload))
        elif kind is not JoinKind.INNER:
            for start, end in parts(event, partners, are_covered=kind is JoinKind.SEMI):
                output.append(JoinedEvent(start, end, event.payload))
    return output


def parts(event: Event[Any], others: Iterable[Event[Any]], *, are_covered: bool) -> list[tuple[int, int]]:
    """Return the longest parts of an event's lifetime that other events cover, or that none of them covers.

    Args:
        event: The event.
        others: The other events.
        are_covered: True for the parts that are covered, False for those that are not.
    """
    other_events = list(others)
    ticks = {event.start, event.end}
    for other_event in other_events:
        ticks.update((other_event.start, other_event.end))
    ticks_of_event = sorted(tick for tick in ticks if event.start <= tick <= event.end)

    # Between neighbouring ticks nothing starts or ends, so the part between them is covered as a whole or not at all.
    stretches: list[tuple[int, int]] = []
    for start, end in pairwise(ticks_of_event):
        is_covered = any(other_event.start <= start < other_event.end for other_event in other_events)
        if is_covered is not are_covered:
            continue
        if stretches and stretches[-1][1] == start:
            earlier_start, _ = stretches[-1]
            stretches[-1] = (earlier_start, end)  # this part continues the last stretch
        else:
            stretches.append((start, end))
    return stretches
