"""Queries over windows with streams of numbers, for which the results of any part of the events are known."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any, Final, Literal

from muntin import (
    INFINITY,
    EmitPolicy,
    Event,
    count_by_end,
    count_by_start,
    cumulate,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.changes import Insertion, Punctuation, Revision
from muntin.rows import last
from muntin.testing import KeyedChange, OutputEvent, Script, evaluate, horizon_of
from muntin_engine.testing import random_stream
from tests.modules.every_shape import Everything
from tests.scenarios.query import Query

WINDOWS: Final[dict[str, Any]] = {
    "tumbling": tumbling(10),
    "hopping": hopping(12, 5),
    "session": session(4),
    "snapshot": snapshot(),
    "count by start": count_by_start(3),
    "count by end": count_by_end(2),
    "cumulate": cumulate(12, 4),
    "landmark": landmark(9),
    "trailing": trailing(7),
    "last": last(3),
}

LATEST_END: Final = 60

Kind = Literal["points", "intervals", "named"]
"""The kinds of events that streams of numbers have; named ones have ids, and are revised."""


@dataclass(frozen=True)
class WindowCase:
    """A query over windows that shows all members of each, and a stream for it.

    Attributes:
        query: The query.
        stream: Its stream, with a number of its own in each event.
    """

    query: Query
    stream: Script

    def expected_results(self, events: Iterable[Event[Any]], horizon: int) -> list[OutputEvent]:
        """Return the results of some events of one key, by the reference evaluator, when the stream has ended.

        Args:
            events: The events.
            horizon: The first tick past all times of the whole stream, as `horizon_of_stream` finds it.
        """
        if self.query.rows is not None:  # the reference reads rows, and not numbers
            events = [replace(event, payload={"x": event.payload, "order": event.payload}) for event in events]
        return evaluate(self.query.reference_query(self.query.first), events, INFINITY, horizon)


def draw_window_case(window: str, random: Random) -> WindowCase:
    """Draw the kind of events, the emission and the stream of a query over windows of a kind of `WINDOWS`."""
    is_over_rows = window == "last"
    kind: Kind = "points"
    if not is_over_rows:
        kind = random.choice(("points", "intervals", "named"))

    # A result that is emitted before it is complete has the causes of that time, and stays if they change later.
    emit = EmitPolicy.FINAL
    if not is_over_rows and window != "snapshot":
        emit = random.choice(list(EmitPolicy))

    query = Query(WINDOWS[window], (Everything(),), lifetimes=kind, emit=emit, has_order=is_over_rows)
    return WindowCase(query, stream_of_numbers(random, kind))


@dataclass(frozen=True)
class JoinStreams:
    """The two streams of a join, each of whose events has a number of its own for payload.

    Attributes:
        left: The stream of the left input, with intervals.
        right: The stream of the right input, with events that have ids.
    """

    left: Script
    right: Script

    def events_by_key(self) -> dict[Hashable, list[Event[Any]]]:
        """Return the events of both streams, as their last revision leaves them, by key."""
        events: dict[Hashable, list[Event[Any]]] = {}
        for stream in (self.left, self.right):
            for key, events_by_id in stream.history().items():
                events.setdefault(key, []).extend(events_by_id.values())
        return events

    def left_and_right(self, events: Iterable[Event[Any]]) -> tuple[list[Event[Any]], list[Event[Any]]]:
        """Return those of some events that the left stream has, and those that the right one has."""
        left_payloads = set[Any]()
        for events_by_id in self.left.history().values():
            left_payloads.update(event.payload for event in events_by_id.values())

        left_events: list[Event[Any]] = []
        right_events: list[Event[Any]] = []
        for event in events:
            if event.payload in left_payloads:
                left_events.append(event)
            else:
                right_events.append(event)
        return left_events, right_events


def draw_join_streams(random: Random) -> JoinStreams:
    """Draw the two streams of a join."""
    numbers = count(1)
    left = stream_of_numbers(random, "intervals", numbers)
    right = stream_of_numbers(random, "named", numbers)
    return JoinStreams(left, right)


def stream_of_numbers(random: Random, kind: Kind, numbers: Iterator[int] | None = None) -> Script:
    """Draw a stream of two keys, each of whose events has a number of its own for payload.

    Args:
        random: Generator of random numbers.
        kind: The kind of the events.
        numbers: The numbers for the payloads; by default from 1 on. Streams of one query share them.
    """
    if numbers is None:
        numbers = count(1)
    stream = random_stream(
        random.randrange(10**9),
        keys=("a", "b"),
        events=random.randint(4, 16),
        payload=lambda _: next(numbers),
        closed=True,
        starts=range(-10, 20),
    )

    steps = list[Any]()
    for step in stream.steps:
        if not isinstance(step, KeyedChange):
            steps.append(step)
        elif kind == "named":
            steps.append(KeyedChange(step.key, _ended(step.change)))
        elif isinstance(step.change, Insertion):  # events without ids are never revised
            event = step.change.event
            length = 1 if kind == "points" else random.randint(1, 9)
            with_length = replace(event, end=event.start + length)
            steps.append(KeyedChange(step.key, Insertion(step.change.id, with_length)))
    return Script(tuple(steps))


def _ended(change: Insertion[Any] | Revision[Any]) -> Insertion[Any] | Revision[Any]:
    """Return a change whose event ends: without ends, the windows of an event would depend on those of others."""
    event = replace(change.event, end=min(change.event.end, LATEST_END))
    if isinstance(change, Revision):
        return replace(change, event=event, new_end=min(change.new_end, LATEST_END))
    return replace(change, event=event)


def horizon_of_stream(window: Any, stream: Script) -> int:
    """Return the first tick past all times of a stream; it stays the horizon where a part of the events is left out."""
    horizon = horizon_of(window, [step.change.event for step in stream.changes()])
    for step in stream.steps:
        if isinstance(step, Punctuation) and step.time < INFINITY:
            horizon = max(horizon, step.time)
        elif isinstance(step, KeyedChange) and isinstance(step.change, Revision):
            horizon = max(horizon, step.change.new_end)
    return horizon
