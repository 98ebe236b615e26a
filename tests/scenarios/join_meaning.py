"""What a join has to have emitted, by definition: independent of how an engine finds it."""

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
    """One input: how its events come.

    Attributes:
        has_ids: True if its events may be revised.
        is_edge: True if they are samples, each of which lasts until the next one.
    """

    has_ids: bool = True
    is_edge: bool = False


Condition: TypeAlias = Callable[[Any, Any], bool | None]
"""Of the payloads of a left and a right event: whether they meet; None if that is not known, and then they do not."""

NEW: Final = "new"
"""The payload of right events that may still come. They may be such that all left events meet them."""


def rows(
    kind: JoinKind, left: Sequence[Event[Any]], right: Sequence[Event[Any]], on: Condition | None = None
) -> Counter[tuple[Any, ...]]:
    """Return the rows of a join as they are, if nothing more comes."""
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
    worlds = [_worlds(*given) for given in zip(sides, histories, watermarks, strict=True)]
    if watermarks[1] < INFINITY:
        starts = {watermarks[1]}
        if kind is JoinKind.CLIP:  # it matters where right events start, and not what they cover
            starts |= {max(event.start + 1, watermarks[1]) for event in histories[0]}
        worlds[1] += [[*world, *(Event(start, INFINITY, NEW) for start in starts)] for world in worlds[1]]
    met = None if on is None else lambda left, right: right == NEW or on(left, right)
    found = [rows(kind, left, right, met) for left, right in product(*worlds)]
    common = found[0]
    for other in found[1:]:
        common = common & other
    return common


def _worlds(side: Side, events: Sequence[Event[Any]], watermark: int) -> list[list[Event[Any]]]:
    as_is = list(events)
    if watermark == INFINITY or not (side.has_ids or side.is_edge):
        return [as_is]
    if side.is_edge:
        cut = [Event(e.start, min(e.end, max(e.start + 1, watermark)), e.payload) for e in as_is]
        # each that the watermark has not passed may give way to another, which has nothing in common with it
        replaced = [[event for event in world if event.start < watermark] for world in (as_is, cut)]
        return [as_is, cut, *replaced]
    may_move = [event for event in as_is if event.end >= watermark]
    fixed = [event for event in as_is if event.end < watermark]
    short = [Event(e.start, watermark, e.payload) for e in may_move if e.start < watermark]
    long = [Event(e.start, INFINITY, e.payload) for e in may_move]
    return [as_is, fixed + short, fixed + long]


def lasting(samples: Sequence[Event[Any]]) -> list[Event[Any]]:
    """Let each sample last until the next."""
    ordered = sorted(samples, key=lambda event: event.start)
    ends = [*(event.start for event in ordered[1:]), INFINITY]
    return [Event(event.start, end, event.payload) for event, end in zip(ordered, ends, strict=True)]
