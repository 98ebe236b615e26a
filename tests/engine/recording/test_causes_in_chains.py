"""What the story of a chain says of causes, held against leaving out rows of the first query."""

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
        scenario: The query and its streams.
        events: Its events by key.
        results: Returns the results of a key, by their lifetimes, given events of it.
        is_final: True if no result of it is taken back.
        is_negative: True if there are results where events of the right side are not.
    """

    scenario: Scenario
    events: Mapping[Hashable, list[Event[Any]]]
    results: Any
    is_final: bool
    is_negative: bool = False


def of_windows(window: str, random: Random) -> First:
    kind = WINDOWS[window]
    is_followed = window == "last"
    lifetimes: Any = "points" if is_followed else random.choice(("points", "intervals", "named"))
    emit = EmitPolicy.FINAL if is_followed or window == "snapshot" else random.choice(list(EmitPolicy))
    query = Query(kind, (Everything(),), lifetimes=lifetimes, emit=emit, has_order=is_followed)
    stream = _stream(random, lifetimes)
    scenario = Scenario(query, stream, Mishaps(random.randrange(99), cuts=0.3))
    horizon = _horizon(kind, scenario.arriving[0])

    def results(events: Iterable[Event[Any]]) -> list[Event[Any]]:
        given = [Event(one.start, one.end, {"x": one.payload, "order": one.payload}) for one in events]
        found = evaluate(query.meaning(kind), given if is_followed else events, INFINITY, horizon)
        return [Event(row.start, row.end, row.value) for row in found]

    events = {key: list(named.values()) for key, named in stream.history().items()}
    return First(scenario, events, results, not scenario.query.plan().emission.may_retract)


def of_join(kind: JoinKind, random: Random) -> First:
    numbers = count(1)
    streams = tuple(_stream(random, lifetimes, numbers) for lifetimes in ("intervals", "named"))
    query = Join(kind, ("intervals", "named"), is_eager=random.random() < 0.5)
    sides: list[dict[Hashable, list[Event[Any]]]] = [
        {key: list(named.values()) for key, named in stream.history().items()} for stream in streams
    ]
    lefts = {event.payload for events in sides[0].values() for event in events}

    def results(events: Iterable[Event[Any]]) -> list[Event[Any]]:
        given = list(events)
        left, right = ([one for one in given if (one.payload in lefts) is is_left] for is_left in (True, False))
        return [
            Event(row.start, row.end, (row.left, row.right) if kind.pairs else (row.left,))
            for row in join(kind, left, right)
        ]

    events = {key: [event for side in sides for event in side.get(key, [])] for key in {*sides[0], *sides[1]}}
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
    given = of_join(first, random) if isinstance(first, JoinKind) else of_windows(first, random)
    reading = Reading(
        READINGS[window], (Everything(),), lifetimes="intervals" if given.is_final else "named", sources=((),) * 3
    )
    is_regrouped = random.random() < 0.5
    run, recording = chained(given.scenario, reading, tmp_path, is_regrouped=is_regrouped)
    for batch, emitted in zip(recording.replay().batches, run.emitted, strict=True):
        assert exact_row_differences(batch.changes, emitted) == []

    def last_results(events: Mapping[Hashable, list[Event[Any]]]) -> Counter[Any]:
        read: dict[Hashable, list[Event[Any]]] = {}
        for key, some in events.items():
            for one in given.results(some):
                of_key = read.setdefault("all" if is_regrouped else key, [])
                of_key.append(Event(one.start, one.end, run.number(key, one)))
        return Counter(
            (key, (row.window.start, row.window.end), row.value)
            for key, some in read.items()
            for row in evaluate(reading.meaning(READINGS[window]), some, INFINITY, FAR)
        )

    _check(recording.story(), given, last_results)


def _check(story: Story, given: First, results: Any) -> None:
    truth = results(given.events)
    live = live_results(story)
    assert Counter(map(_name, live)) == truth
    (before,) = story.before
    payloads = {row.number: row.values["x"] for row in before.rows if row.change == "insert"}
    causes = {change.number: _causes(change, story, before, payloads) for change in live}
    assert all(members for members, _ in causes.values())
    for key, events in given.events.items():
        for event in events:
            others = [other for other in events if other is not event]
            left = results({**given.events, key: others})
            # an event of the right side may keep a result of the first query from coming, which is then no cause
            kept_away = given.is_negative and Counter(given.results(others)) - Counter(given.results(events))
            for change in live:
                name = _name(change)
                (members, bounds) = causes[change.number]
                is_other = left[name] < truth[name]
                if event.payload in members:
                    assert is_other, f"{name} is the same without its member {event}"
                elif event.payload not in bounds and not kept_away:
                    assert not is_other, f"{name} is another without {event}, which is said to be no cause"


def _causes(change: StoryChange, story: Story, before: Story, payloads: Mapping[int, Any]) -> tuple[set[Any], set[Any]]:
    """Return the events of the first query that are in a result of the last, and those that set boundaries."""
    members = set[Any]()
    bounds = set[Any]()
    for numbers, is_member in ((change.members, True), (change.bounds, False)):
        for number in numbers:
            origin = story.rows[number].origin
            assert origin is not None, f"row {number} is a result of the first query"
            assert origin[0] == 0
            result = before.changes[origin[1]]
            (members if is_member else bounds).update(payloads[n] for n in result.members if n in payloads)
            bounds.update(payloads[n] for n in result.bounds if n in payloads)
    return members, bounds - members


def _name(change: StoryChange) -> Any:
    return change.key[0], change.window, tuple(change.values.values())


@pytest.mark.nightly
def test_the_smallest_part_of_a_chain_has_the_rows_of_the_results_that_it_reads(tmp_path: Path) -> None:
    random = Random("smallest")
    given = of_windows("tumbling", random)
    reading = Reading(
        READINGS["hopping"], (Everything(),), lifetimes="intervals" if given.is_final else "named", sources=((),) * 3
    )
    run, recording = chained(given.scenario, reading, tmp_path / "whole", is_regrouped=True)
    story = recording.story()
    change = next(change for change in live_results(story) if len(change.members) > 1)
    wanted = change.values["result"]
    small = recording.shrink(lambda replayed: any(row["result"] == wanted for row in replayed.results))
    small.save(tmp_path / "small")
    modules = [module.module for plan in (run.reading_plan, recording.before[0].plan) for module in plan.modules]
    again = Recording(tmp_path / "small", modules=modules)
    told = again.story()
    found = next(one for one in live_results(told) if one.values == change.values and one.window == change.window)

    def causes(one: StoryChange, whole: Story) -> set[Any]:
        payloads = {row.number: row.values["x"] for row in whole.before[0].rows if row.change == "insert"}
        return set.union(*_causes(one, whole, whole.before[0], payloads))

    assert causes(found, told) == causes(change, story)
    rows = {row.values["x"] for row in told.before[0].rows if row.change == "insert"}
    assert rows >= causes(change, story)  # a correction comes when it does for the rows that it corrects
    assert len(rows) < sum(row.change == "insert" for row in story.before[0].rows)
