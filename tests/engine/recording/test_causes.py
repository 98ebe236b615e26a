"""What a story says of causes, held against leaving rows out, by the reference and by definitions of joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muntin import (
    INFINITY,
    EmitPolicy,
    Event,
    JoinKind,
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
from muntin.testing import KeyedChange, Script, evaluate, horizon_of
from muntin_engine.recording.story import Story, StoryChange
from muntin_engine.testing import join, random_stream
from tests.engine.recording.live import live_results
from tests.engine.recording.recorded import recorded
from tests.modules.every_shape import Everything
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

WINDOWS = {
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
SEEDS = 4
LAST = 60

Histories = Mapping[Hashable, Mapping[Hashable, Event[Any]]]


@pytest.mark.cases(14)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_leaving_out_a_cause_changes_the_result_and_leaving_out_any_other_row_does_not(
    window: str, seed: int, tmp_path: Path
) -> None:
    random = Random(f"{window} {seed}")
    kind = WINDOWS[window]
    is_followed = window == "last"
    lifetimes: Any = "points" if is_followed else random.choice(("points", "intervals", "named"))
    # A result that is emitted before it is complete has the causes of that time, and stays if they change later.
    emit = EmitPolicy.FINAL if is_followed or window == "snapshot" else random.choice(list(EmitPolicy))
    query = Query(kind, (Everything(),), lifetimes=lifetimes, emit=emit, has_order=is_followed)
    stream = _stream(random, lifetimes)
    scenario = Scenario(query, stream, Mishaps(seed, cuts=0.3))
    story = _story_of(scenario, tmp_path)
    horizon = _horizon(kind, scenario.arriving[0])
    histories = stream.history()

    def results(key: Hashable, events: Iterable[Event[Any]]) -> Counter[Any]:
        if is_followed:
            events = [Event(event.start, event.end, {"x": event.payload, "order": event.payload}) for event in events]
        output = evaluate(query.reference_query(kind), list(events), INFINITY, horizon)
        return Counter((key, (row.window.start, row.window.end), row.value) for row in output)

    def name(change: StoryChange) -> Any:
        return change.key[0], change.window, tuple(change.values.values())

    _check_causes(story, histories, results, name)


@pytest.mark.cases(8)
@pytest.mark.parametrize("kind", list(JoinKind))
@pytest.mark.parametrize("seed", range(SEEDS))
def test_leaving_out_an_event_of_a_join(kind: JoinKind, seed: int, tmp_path: Path) -> None:
    random = Random(f"{kind} {seed}")
    query = Join(kind, ("intervals", "named"))
    numbers = count(1)
    streams = tuple(_stream(random, lifetimes, numbers) for lifetimes in ("intervals", "named"))
    story = _story_of(Scenario(query, streams, Mishaps(seed, cuts=0.3)), tmp_path)
    histories: dict[Hashable, dict[Hashable, Event[Any]]] = {}
    for side, stream in enumerate(streams):
        for key, events in stream.history().items():
            for id, event in events.items():
                histories.setdefault(key, {})[side, id] = event
    left_payloads = {row.values["x"] for row in story.rows if row.input == "left" and row.change == "insert"}

    def results(key: Hashable, events: Sequence[Event[Any]]) -> Counter[Any]:
        left_events = [event for event in events if event.payload in left_payloads]
        right_events = [event for event in events if event.payload not in left_payloads]
        return Counter((key, row.start, row.end, row.left, row.right) for row in join(kind, left_events, right_events))

    def name(change: StoryChange) -> Any:
        return change.key[0], change.start, change.end, change.values["left"], change.values.get("right")

    _check_causes(story, histories, results, name)


def _stream(random: Random, lifetimes: str, numbers: Iterable[int] | None = None) -> Any:
    """Draw a stream of events whose payloads are numbers, each used once.

    Args:
        random: Generator of random numbers.
        lifetimes: Kind of the events: "named", "intervals" or "points".
        numbers: Numbers for payloads; by default from 1 on.
    """
    numbers = iter(numbers or count(1))
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
            continue
        change = step.change
        if lifetimes == "named":  # all events end, so that windows do not depend on the ends of others
            event = replace(change.event, end=min(change.event.end, LAST))
            with_end = replace(change, event=event)
            if isinstance(with_end, Revision):
                with_end = replace(with_end, new_end=min(with_end.new_end, LAST))
            steps.append(KeyedChange(step.key, with_end))
        elif isinstance(change, Insertion):
            start = change.event.start
            length = 1 if lifetimes == "points" else random.randint(1, 9)
            event = Event(start, start + length, change.event.payload)
            steps.append(KeyedChange(step.key, Insertion(change.id, event)))
    return Script(tuple(steps))


def _horizon(kind: Any, stream: Script) -> int:
    """Return the first tick past all times of a stream: leaving out a row does not take it back."""
    horizon = horizon_of(kind, [step.change.event for step in stream.changes()])
    for step in stream.steps:
        if isinstance(step, Punctuation) and step.time < INFINITY:
            horizon = max(horizon, step.time)
        elif isinstance(step, KeyedChange) and isinstance(step.change, Revision):
            horizon = max(horizon, step.change.new_end)
    return horizon


def _story_of(scenario: Scenario, folder: Path) -> Story:
    _, recording = recorded(scenario, next(iter(scenario.query.evaluators)), folder)
    return recording.story()


def _check_causes(story: Story, histories: Histories, results: Any, name: Any) -> None:
    """Check the causes that a story names: a result is lost without one of its members, and stays without others.

    Args:
        story: The story of a query's output.
        histories: The events by key.
        results: Function from a key and its events to the results of the key, by definition.
        name: Function from a live change to what the definition calls the result.
    """
    payloads = {row.number: row.values["x"] for row in story.rows if row.change == "insert"}
    whole = {key: list(events.values()) for key, events in histories.items()}
    truth: Counter[Any] = sum((results(key, events) for key, events in whole.items()), Counter())
    live = live_results(story)
    assert Counter(map(name, live)) == truth
    for change in live:
        key = change.key[0]
        result = name(change)
        members = {payloads[number] for number in change.members if number in payloads}
        bounds = {payloads[number] for number in change.bounds if number in payloads}
        assert members
        for event in whole[key]:
            other_events = [other_event for other_event in whole[key] if other_event is not event]
            without_event = results(key, other_events)
            is_missing = without_event[result] < truth[result]
            if event.payload in members:
                assert is_missing, f"{result} is the same without its member {event}"
            elif event.payload not in bounds:
                assert not is_missing, f"{result} is another without {event}, which is said to be no cause"
        if bounds:
            without_bounds = results(key, [event for event in whole[key] if event.payload not in bounds])
            assert without_bounds[result] < truth[result], f"{result} is the same without its bounds {bounds}"
