"""The causes in the story of a chain, held against leaving out events of the first query.

A chain is two queries, the second of which reads the results of the first as its events. What both make of a part of
the first query's events follows from definitions: the reference evaluator, and those of the joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest

from muntin import INFINITY, Event, JoinKind, hopping, session, snapshot, tumbling
from muntin.testing import Script, evaluate
from muntin_engine import Recording
from muntin_engine.recording.row_differences import exact_row_differences
from muntin_engine.recording.story import Story, StoryChange
from muntin_engine.testing import join
from tests.engine.recording.cases import WINDOWS, draw_join_streams, draw_window_case, horizon_of_stream
from tests.engine.recording.chained import BUCKET_SOURCES, Reading, chained
from tests.engine.recording.live import live_results
from tests.modules.every_shape import Everything
from tests.scenarios.join import Join
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS

FIRST_QUERIES: Final = [*WINDOWS, *JoinKind]
"""The kinds of first queries: over windows of a kind, or a join of a kind."""

SECOND_WINDOWS: Final[dict[str, Any]] = {
    "tumbling": tumbling(25),
    "hopping": hopping(30, 12),
    "session": session(6),
    "snapshot": snapshot(),
}
"""The windows of the second query, over lifetimes of results of the first one."""

FAR: Final = 10_000
"""A horizon past all times of the second query's input."""


@dataclass(frozen=True, kw_only=True)
class FirstQuery:
    """The first query of a chain.

    Attributes:
        scenario: Query and its streams.
        events: Events of the streams at their end, by key; each has a number of its own for payload.
        results: Function from a part of the events of a key to their results by definition, as events.
        is_final: True if no result is retracted.
        is_negative: True if it has results where there are no events of the right side, so that such an event prevents
            some.
    """

    scenario: Scenario
    events: Mapping[Hashable, Sequence[Event[Any]]]
    results: Callable[[Iterable[Event[Any]]], list[Event[Any]]]
    is_final: bool
    is_negative: bool = False


def of_windows(window: str, random: Random) -> FirstQuery:
    """Draw a first query over windows of a kind, and its stream."""
    case = draw_window_case(window, random)
    scenario = Scenario(case.query, case.stream, Mishaps(random.randrange(99), cuts=0.3))
    horizon = horizon_of_stream(WINDOWS[window], scenario.arriving[0])

    def results(events: Iterable[Event[Any]]) -> list[Event[Any]]:
        return [Event(row.start, row.end, row.value) for row in case.expected_results(events, horizon)]

    return FirstQuery(
        scenario=scenario,
        events={key: list(events_by_id.values()) for key, events_by_id in case.stream.history().items()},
        results=results,
        is_final=not case.query.plan().emission.may_retract,
    )


def of_join(kind: JoinKind, random: Random) -> FirstQuery:
    """Draw a first query that is a join, and its two streams."""
    streams = draw_join_streams(random)
    query = Join(kind, ("intervals", "named"), is_eager=random.random() < 0.5)

    def results(events: Iterable[Event[Any]]) -> list[Event[Any]]:
        left_events, right_events = streams.left_and_right(events)
        output: list[Event[Any]] = []
        for row in join(kind, left_events, right_events):
            values = (row.left, row.right) if kind.pairs else (row.left,)
            output.append(Event(row.start, row.end, values))
        return output

    return FirstQuery(
        scenario=Scenario(query, (streams.left, streams.right), Mishaps(random.randrange(99), cuts=0.3)),
        events=streams.events_by_key(),
        results=results,
        is_final=not query.plan().emission.may_retract,
        is_negative=kind in (JoinKind.LEFT, JoinKind.ANTI, JoinKind.CLIP),
    )


def second_query(first_query: FirstQuery, window: str) -> Reading:
    """Return the query over windows that reads the results of a first one and shows all members of each window."""
    lifetimes: Lifetimes = "intervals" if first_query.is_final else "named"
    return Reading(SECOND_WINDOWS[window], (Everything(),), lifetimes=lifetimes, sources=BUCKET_SOURCES)


@pytest.mark.cases(15)
@pytest.mark.parametrize(("first", "window"), [*product(FIRST_QUERIES, SECOND_WINDOWS)])
def test_leaving_out_a_cause_of_the_first_query_changes_the_result_of_the_last(
    first: str, window: str, tmp_path: Path
) -> None:
    random = Random(f"{first} {window}")
    first_query = of_join(first, random) if isinstance(first, JoinKind) else of_windows(first, random)
    reading = second_query(first_query, window)
    is_regrouped = random.random() < 0.5
    run, recording = chained(first_query.scenario, reading, tmp_path, is_regrouped=is_regrouped)
    for batch, emitted in zip(recording.replay().batches, run.emitted, strict=True):
        assert exact_row_differences(batch.changes, emitted) == []

    def last_results(events: Mapping[Hashable, Sequence[Event[Any]]]) -> Counter[Any]:
        """Return the results of the last query by definition, of events by key that the first one reads."""
        first_results: dict[Hashable, list[Event[Any]]] = {}
        for key, key_events in events.items():
            second_key = "all" if is_regrouped else key
            for result in first_query.results(key_events):
                event = Event(result.start, result.end, run.number(key, result))
                first_results.setdefault(second_key, []).append(event)

        output = Counter[Any]()
        for second_key, key_results in first_results.items():
            for row in evaluate(reading.reference_query(SECOND_WINDOWS[window]), key_results, INFINITY, FAR):
                output[second_key, (row.window.start, row.window.end), row.value] += 1
        return output

    check_causes_by_leaving_out_events(recording.story(), first_query, last_results)


def check_causes_by_leaving_out_events(
    story: Story,
    first_query: FirstQuery,
    results: Callable[[Mapping[Hashable, Sequence[Event[Any]]]], Counter[Any]],
) -> None:
    """Check the causes of each live result of the last query among the events of the first one.

    Without one of its members the result is lost, and without an event that is neither member nor bound it is the same.

    Args:
        story: The story of the last query's output.
        first_query: The first query, and its events by key.
        results: Function from a part of these events by key to the results of the last query, by definition.
    """
    true_results = results(first_query.events)
    live = live_results(story)
    assert Counter(map(result_of, live)) == true_results
    causes_by_change = {change.number: causes_of(change, story) for change in live}
    assert all(causes.members for causes in causes_by_change.values())

    for key, events in first_query.events.items():
        for event in events:
            other_events = [other_event for other_event in events if other_event is not event]
            results_without_event = results({**first_query.events, key: other_events})

            # An event of the right side may prevent a result of the first query, and then is no cause of another one,
            # though without it there is one result more.
            is_preventing = False
            if first_query.is_negative:
                more_results = Counter(first_query.results(other_events)) - Counter(first_query.results(events))
                is_preventing = bool(more_results)

            for change in live:
                result = result_of(change)
                causes = causes_by_change[change.number]
                is_lost = results_without_event[result] < true_results[result]
                if event.payload in causes.members:
                    assert is_lost, f"{result} is the same without its member {event}"
                elif event.payload not in causes.bounds and not is_preventing:
                    assert not is_lost, f"{result} is another without {event}, which is said to be no cause"


class Causes(NamedTuple):
    """The events of the first query, by their payloads, that a result of the last one is made of.

    Attributes:
        members: Members of the results that the result was computed from.
        bounds: Other events that set the boundaries of a window of either query.
    """

    members: set[Any]
    bounds: set[Any]


def causes_of(change: StoryChange, story: Story) -> Causes:
    """Follow a change of the last query's output to the events of the first one."""
    (first_story,) = story.upstream
    payload_by_row = {row.number: row.values["x"] for row in first_story.rows if row.change == "insert"}
    members = set[Any]()
    bounds = set[Any]()
    for number in (*change.members, *change.bounds):
        origin = story.rows[number].origin
        assert origin is not None, f"row {number} is a result of the first query"
        query_place, change_number = origin
        assert query_place == 0
        first_result = first_story.changes[change_number]
        result_members = {payload_by_row[row] for row in first_result.members if row in payload_by_row}
        if number in change.members:
            members |= result_members
        else:
            bounds |= result_members
        bounds |= {payload_by_row[row] for row in first_result.bounds if row in payload_by_row}
    return Causes(members, bounds - members)


def result_of(change: StoryChange) -> Any:
    """Return the key, window and values of a result."""
    return change.key[0], change.window, tuple(change.values.values())


@pytest.mark.nightly
def test_the_smallest_part_of_a_chain_has_the_rows_of_the_results_that_it_reads(tmp_path: Path) -> None:
    first_query = of_windows("tumbling", Random("smallest"))
    reading = second_query(first_query, "hopping")
    run, recording = chained(first_query.scenario, reading, tmp_path / "whole", is_regrouped=True)
    story = recording.story()
    change = next(change for change in live_results(story) if len(change.members) > 1)

    # The recording is made as small as it can be while it still has this result.
    result = change.values["result"]
    small = recording.shrink(lambda replayed: any(row["result"] == result for row in replayed.results))
    small.save(tmp_path / "small")
    modules: list[Any] = []
    for plan in (run.reading_plan, recording.upstream[0].plan):
        modules += [module.module for module in plan.modules]
    small_story = Recording(tmp_path / "small", modules=modules).story()

    # The result has the same causes in it.
    small_change = next(
        small_result
        for small_result in live_results(small_story)
        if small_result.values == change.values and small_result.window == change.window
    )
    causes = causes_of(change, story)
    assert causes_of(small_change, small_story) == causes

    # Other rows are gone, but for those that a cause corrects.
    all_payloads = inserted_payloads(story.upstream[0])
    left_payloads = inserted_payloads(small_story.upstream[0])
    assert left_payloads >= causes.members | causes.bounds
    assert len(left_payloads) < len(all_payloads)


def inserted_payloads(story: Story) -> set[Any]:
    """Return the payloads of all events that came, each of which has one of its own."""
    return {row.values["x"] for row in story.rows if row.change == "insert"}


def test_a_chain_whose_first_query_has_passed_on_nothing_can_be_saved(tmp_path: Path) -> None:
    stream = Script().insert(0, 2, 6, 4, key="a")  # without punctuation no result is final
    first_query = Query(tumbling(8), (Everything(),))
    reading = Reading(tumbling(25), (Everything(),), lifetimes="intervals", sources=BUCKET_SOURCES)
    scenario = Scenario(first_query, stream, NO_MISHAPS)
    run, recording = chained(scenario, reading, tmp_path / "whole", is_regrouped=True)
    recording.save(tmp_path / "copy")
    modules = [module.module for module in run.reading_plan.modules]
    assert Recording(tmp_path / "copy", modules=modules).replay().results == []
