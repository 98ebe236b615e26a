"""The causes in the story of a chain, held against leaving out rows of the first query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, Event, JoinKind, hopping, session, snapshot, tumbling
from muntin.testing import evaluate
from muntin_engine import Recording
from muntin_engine.recording.row_differences import exact_row_differences
from muntin_engine.recording.story import Story, StoryChange
from muntin_engine.testing import join
from tests.engine.recording.chained import Reading, chained
from tests.engine.recording.live import live_results
from tests.engine.recording.test_causes import WINDOWS, _horizon, _stream
from tests.modules.every_shape import Everything
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

READINGS = {"tumbling": tumbling(25), "hopping": hopping(30, 12), "session": session(6), "snapshot": snapshot()}
FAR = 10_000


@dataclass(frozen=True)
class First:
    """The first query of a chain.

    Attributes:
        scenario: Query and its streams.
        events: Events of the streams by key.
        results: Function from events of a key to the results of the key, by their lifetimes.
        is_final: True if no result is retracted.
        is_negative: True if there are results where there are no events of the right side.
    """

    scenario: Scenario
    events: Mapping[Hashable, list[Event[Any]]]
    results: Any
    is_final: bool
    is_negative: bool = False


def of_windows(window: str, random: Random) -> First:
    """Draw a first query over windows of a kind, and its stream."""
    kind = WINDOWS[window]
    is_followed = window == "last"
    lifetimes: Any = "points" if is_followed else random.choice(("points", "intervals", "named"))
    emit = EmitPolicy.FINAL if is_followed or window == "snapshot" else random.choice(list(EmitPolicy))
    query = Query(kind, (Everything(),), lifetimes=lifetimes, emit=emit, has_order=is_followed)
    stream = _stream(random, lifetimes)
    scenario = Scenario(query, stream, Mishaps(random.randrange(99), cuts=0.3))
    horizon = _horizon(kind, scenario.arriving[0])

    def results(events: Iterable[Event[Any]]) -> list[Event[Any]]:
        if is_followed:
            events = [Event(event.start, event.end, {"x": event.payload, "order": event.payload}) for event in events]
        output = evaluate(query.reference_query(kind), list(events), INFINITY, horizon)
        return [Event(row.start, row.end, row.value) for row in output]

    events = {key: list(named.values()) for key, named in stream.history().items()}
    return First(scenario, events, results, not scenario.query.plan().emission.may_retract)


def of_join(kind: JoinKind, random: Random) -> First:
    """Draw a first query that is a join, and its two streams."""
    numbers = count(1)
    streams = tuple(_stream(random, lifetimes, numbers) for lifetimes in ("intervals", "named"))
    query = Join(kind, ("intervals", "named"), is_eager=random.random() < 0.5)
    events: dict[Hashable, list[Event[Any]]] = {}
    left_payloads = set[Any]()
    for side, stream in enumerate(streams):
        for key, named in stream.history().items():
            events.setdefault(key, []).extend(named.values())
            if side == 0:
                left_payloads.update(event.payload for event in named.values())

    def results(events: Iterable[Event[Any]]) -> list[Event[Any]]:
        left_events: list[Event[Any]] = []
        right_events: list[Event[Any]] = []
        for event in events:
            if event.payload in left_payloads:
                left_events.append(event)
            else:
                right_events.append(event)
        output: list[Event[Any]] = []
        for row in join(kind, left_events, right_events):
            values = (row.left, row.right) if kind.pairs else (row.left,)
            output.append(Event(row.start, row.end, values))
        return output

    scenario = Scenario(query, streams, Mishaps(random.randrange(99), cuts=0.3))
    is_negative = kind in (JoinKind.LEFT, JoinKind.ANTI, JoinKind.CLIP)
    return First(scenario, events, results, not query.plan().emission.may_retract, is_negative)


FIRSTS = [*WINDOWS, *JoinKind]


@pytest.mark.cases(15)
@pytest.mark.parametrize(("first", "window"), [*product(FIRSTS, READINGS)])
def test_leaving_out_a_cause_of_the_first_query_changes_the_result_of_the_last(
    first: str, window: str, tmp_path: Path
) -> None:
    random = Random(f"{first} {window}")
    first_query = of_join(first, random) if isinstance(first, JoinKind) else of_windows(first, random)
    reading = reading_of(first_query, window)
    is_regrouped = random.random() < 0.5
    run, recording = chained(first_query.scenario, reading, tmp_path, is_regrouped=is_regrouped)
    for batch, emitted in zip(recording.replay().batches, run.emitted, strict=True):
        assert exact_row_differences(batch.changes, emitted) == []

    def last_results(events: Mapping[Hashable, list[Event[Any]]]) -> Counter[Any]:
        """Return the results of the last query by definition, of the events that the first one reads."""
        first_results: dict[Hashable, list[Event[Any]]] = {}
        for key, key_events in events.items():
            for result in first_query.results(key_events):
                reading_key = "all" if is_regrouped else key
                event = Event(result.start, result.end, run.number(key, result))
                first_results.setdefault(reading_key, []).append(event)
        output = Counter[Any]()
        for key, key_results in first_results.items():
            for row in evaluate(reading.reference_query(READINGS[window]), key_results, INFINITY, FAR):
                output[key, (row.window.start, row.window.end), row.value] += 1
        return output

    _check_causes(recording.story(), first_query, last_results)


def reading_of(first_query: First, window: str) -> Reading:
    """Return the query over windows that reads the results of another one."""
    lifetimes: Any = "intervals" if first_query.is_final else "named"
    return Reading(READINGS[window], (Everything(),), lifetimes=lifetimes, sources=((),) * 3)


def _check_causes(story: Story, first_query: First, results: Any) -> None:
    """Check the causes that a story names: a result is lost without one of its members, and stays without others.

    Args:
        story: The story of the last query's output.
        first_query: The first query, and its events by key.
        results: Function from events by key to the results of the last query, by definition.
    """
    truth = results(first_query.events)
    live = live_results(story)
    assert Counter(map(_name, live)) == truth
    (before,) = story.before
    payloads = {row.number: row.values["x"] for row in before.rows if row.change == "insert"}
    causes = {change.number: _causes(change, story, before, payloads) for change in live}
    assert all(members for members, _ in causes.values())
    for key, events in first_query.events.items():
        for event in events:
            other_events = [other_event for other_event in events if other_event is not event]
            without_event = results({**first_query.events, key: other_events})
            # An event of the right side may prevent a result of the first query, and then is no cause of another one.
            prevented = first_query.is_negative and Counter(first_query.results(other_events)) - Counter(
                first_query.results(events)
            )
            for change in live:
                name = _name(change)
                members, bounds = causes[change.number]
                is_missing = without_event[name] < truth[name]
                if event.payload in members:
                    assert is_missing, f"{name} is the same without its member {event}"
                elif event.payload not in bounds and not prevented:
                    assert not is_missing, f"{name} is another without {event}, which is said to be no cause"


def _causes(change: StoryChange, story: Story, before: Story, payloads: Mapping[int, Any]) -> tuple[set[Any], set[Any]]:
    """Return the events of the first query that are in a result of the last, and those that set boundaries."""
    members = set[Any]()
    bounds = set[Any]()
    for number in (*change.members, *change.bounds):
        origin = story.rows[number].origin
        assert origin is not None, f"row {number} is a result of the first query"
        place, result_number = origin
        assert place == 0
        result = before.changes[result_number]
        result_members = {payloads[row] for row in result.members if row in payloads}
        if number in change.members:
            members |= result_members
        else:
            bounds |= result_members
        bounds |= {payloads[row] for row in result.bounds if row in payloads}
    return members, bounds - members


def _name(change: StoryChange) -> Any:
    return change.key[0], change.window, tuple(change.values.values())


@pytest.mark.nightly
def test_the_smallest_part_of_a_chain_has_the_rows_of_the_results_that_it_reads(tmp_path: Path) -> None:
    random = Random("smallest")
    first_query = of_windows("tumbling", random)
    reading = reading_of(first_query, "hopping")
    run, recording = chained(first_query.scenario, reading, tmp_path / "whole", is_regrouped=True)
    story = recording.story()
    change = next(change for change in live_results(story) if len(change.members) > 1)
    result = change.values["result"]
    small = recording.shrink(lambda replayed: any(row["result"] == result for row in replayed.results))
    small.save(tmp_path / "small")
    plans = (run.reading_plan, recording.before[0].plan)
    modules: list[Any] = []
    for plan in plans:
        modules += [module.module for module in plan.modules]
    small_story = Recording(tmp_path / "small", modules=modules).story()
    small_change = next(
        small_result
        for small_result in live_results(small_story)
        if small_result.values == change.values and small_result.window == change.window
    )

    def causes(change: StoryChange, story: Story) -> set[Any]:
        payloads = {row.number: row.values["x"] for row in story.before[0].rows if row.change == "insert"}
        members, bounds = _causes(change, story, story.before[0], payloads)
        return members | bounds

    assert causes(small_change, small_story) == causes(change, story)
    rows = {row.values["x"] for row in small_story.before[0].rows if row.change == "insert"}
    assert rows >= causes(change, story)  # a correction comes when it does for the rows that it corrects
    assert len(rows) < sum(row.change == "insert" for row in story.before[0].rows)
