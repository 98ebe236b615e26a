"""Events, and a stream in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.bars import lifetimes
from docs.pictures.picture import Picture
from muntin import INFINITY, Event
from muntin.drawings import Bar
from muntin.testing import Script


def pictures() -> Iterator[Picture]:
    """Yield a picture of the three kinds of events, and one of a stream."""
    kinds = {"point": Event.point(3, "click"), "interval": Event(2, 7, "ride"), "edge": Event.edge(4, "6.5")}
    bars = [Bar(kind, event.start, event.end, event.payload) for kind, event in kinds.items()]
    yield Picture("events", "a point, an interval and an edge event", bars)
    script = Script().insert("E0", 1, INFINITY, "P1").revise("E0", 10).insert("E1", 4, 9, "P2").revise("E0", 5)
    stream = script.punctuate(5)
    rows = [*stream.drawing().rows, "what it means", *lifetimes(stream)]
    yield Picture("arrival", "a stream in order of arrival, and the events that it means", rows)
