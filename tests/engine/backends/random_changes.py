"""Random histories of a changelog: changes of results, each of which makes sense after those before it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypeAlias

from muntin import INFINITY, Event
from muntin.changes import Insertion, Revision, retraction

Change: TypeAlias = "Insertion[float] | Revision[float]"


def random_changes(draw: random.Random) -> Iterator[Change]:
    """Yield changes of one key's output: 40 insertions, and in between revisions and retractions of live events."""
    live_events: dict[int, Event[float]] = {}
    for new_id in range(40):
        start = draw.randrange(100)
        live_events[new_id] = Event(start, _random_end(draw, start), float(draw.randrange(10)))
        yield Insertion(new_id, live_events[new_id])

        while live_events and draw.random() < 0.6:
            id = draw.choice(sorted(live_events))
            event = live_events[id]
            if draw.random() < 0.5:
                yield retraction(id, live_events.pop(id))
            else:
                live_events[id] = Event(event.start, _random_end(draw, event.start), event.payload)
                yield Revision(id, event, live_events[id].end)


def row_of(key: str | None, batch: int, change: Change) -> dict[str, Any]:
    """Return a change of a key, in the micro-batch of a number, as a row of a changelog."""
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
    """Return a tick, or None for infinity, the end that is not known."""
    return None if tick == INFINITY else tick


def _random_end(draw: random.Random, start: int) -> int:
    """Draw an end after a start: the next tick, one soon after it, or none that is known."""
    return draw.choice([start + 1, start + draw.randrange(1, 9), INFINITY])
