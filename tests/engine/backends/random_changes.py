"""Random histories of a changelog: changes of results, each of which makes sense after those before it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypeAlias

from muntin import INFINITY, Event
from muntin.changes import Insertion, Revision, retraction

Change: TypeAlias = "Insertion[float] | Revision[float]"


def random_changes(draw: random.Random) -> Iterator[Change]:
    """Yield changes of one key's output; no id is used twice."""
    alive: dict[int, Event[float]] = {}
    for id in range(40):
        start = draw.randrange(100)
        alive[id] = Event(start, _random_end(draw, start), float(draw.randrange(10)))
        yield Insertion(id, alive[id])
        while alive and draw.random() < 0.6:
            revised = draw.choice(sorted(alive))
            event = alive[revised]
            if draw.random() < 0.5:
                yield retraction(revised, alive.pop(revised))
            else:
                alive[revised] = Event(event.start, _random_end(draw, event.start), event.payload)
                yield Revision(revised, event, alive[revised].end)


def row_of(key: str | None, batch: int, change: Change) -> dict[str, Any]:
    """Return a change as a row of a changelog."""
    kind = "insert"
    new_end = None
    if isinstance(change, Revision):
        kind = "retract" if change.is_retraction else "revise"
        new_end = None if change.is_retraction else finite(change.new_end)
    return {
        "batch": batch,
        "key": key,
        "lifetime": {"start": change.event.start, "end": finite(change.event.end)},
        "change": kind,
        "event_id": change.id,
        "new_end": new_end,
        "value": change.event.payload,
    }


def finite(tick: int) -> int | None:
    """Return a tick, and None for an end that is not known."""
    return None if tick == INFINITY else tick


def _random_end(draw: random.Random, start: int) -> int:
    return draw.choice([start + 1, start + draw.randrange(1, 9), INFINITY])
