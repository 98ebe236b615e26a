"""What a story says of causes: without one of them its result is lost, and without any other event it is the same.

What a query makes of a part of its events follows from definitions: the reference evaluator, and those of the joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muntin import Event, JoinKind
from muntin_engine.recording.story import Story, StoryChange
from muntin_engine.testing import join
from tests.engine.recording.cases import WINDOWS, draw_join_streams, draw_window_case, horizon_of_stream
from tests.engine.recording.live import live_results
from tests.engine.recording.recorded import recorded
from tests.scenarios.join import Join
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

SEEDS = 4


@pytest.mark.cases(14)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_leaving_out_a_cause_changes_the_result_and_leaving_out_any_other_row_does_not(
    window: str, seed: int, tmp_path: Path
) -> None:
    case = draw_window_case(window, Random(f"{window} {seed}"))
    scenario = Scenario(case.query, case.stream, Mishaps(seed, cuts=0.3))
    horizon = horizon_of_stream(WINDOWS[window], scenario.arriving[0])
    events = {key: list(events_by_id.values()) for key, events_by_id in case.stream.history().items()}

    def results(key: Hashable, events: Sequence[Event[Any]]) -> Counter[Any]:
        output = case.expected_results(events, horizon)
        return Counter((key, (row.window.start, row.window.end), row.value) for row in output)

    def result_of(change: StoryChange) -> Any:
        return change.key[0], change.window, tuple(change.values.values())

    check_causes_by_leaving_out_events(story_of(scenario, tmp_path), events, results, result_of)


@pytest.mark.cases(8)
@pytest.mark.parametrize("kind", list(JoinKind))
@pytest.mark.parametrize("seed", range(SEEDS))
def test_leaving_out_a_cause_changes_the_row_of_a_join_and_leaving_out_any_other_event_does_not(
    kind: JoinKind, seed: int, tmp_path: Path
) -> None:
    random = Random(f"{kind} {seed}")
    streams = draw_join_streams(random)
    query = Join(kind, ("intervals", "named"))
    scenario = Scenario(query, (streams.left, streams.right), Mishaps(seed, cuts=0.3))

    def results(key: Hashable, events: Sequence[Event[Any]]) -> Counter[Any]:
        left_events, right_events = streams.left_and_right(events)
        rows = join(kind, left_events, right_events)
        return Counter((key, row.start, row.end, row.left, row.right) for row in rows)

    def result_of(change: StoryChange) -> Any:
        return change.key[0], change.start, change.end, change.values["left"], change.values.get("right")

    check_causes_by_leaving_out_events(story_of(scenario, tmp_path), streams.events_by_key(), results, result_of)


def story_of(scenario: Scenario, folder: Path) -> Story:
    """Record a scenario in one of the evaluators that can run it, and return the story of the recording."""
    _, recording = recorded(scenario, next(iter(scenario.query.evaluators)), folder)
    return recording.story()


def check_causes_by_leaving_out_events(
    story: Story,
    events: Mapping[Hashable, Sequence[Event[Any]]],
    results: Callable[[Hashable, Sequence[Event[Any]]], Counter[Any]],
    result_of: Callable[[StoryChange], Any],
) -> None:
    """Check the members and bounds of each live result of a story.

    Without one of its members the result is lost, and without an event that is neither member nor bound it is the same.
    A single bound may be left out, as another event may begin or end at its tick; without all of them it is lost.

    Args:
        story: The story of a query.
        events: The events of the query at the end, by key, each with a payload of its own.
        results: Function from a key and a part of its events to their results, by definition.
        result_of: Function from a live change to the result, as `results` has it.
    """
    true_results = Counter[Any]()
    for key, key_events in events.items():
        true_results += results(key, key_events)
    live = live_results(story)
    assert Counter(map(result_of, live)) == true_results

    # A story numbers rows; an event is recognized by the payload of the row that inserted it.
    payload_by_row = {row.number: row.values["x"] for row in story.rows if row.change == "insert"}
    for change in live:
        key = change.key[0]
        result = result_of(change)
        members = {payload_by_row[row] for row in change.members if row in payload_by_row}
        bounds = {payload_by_row[row] for row in change.bounds if row in payload_by_row}
        assert members

        for event in events[key]:
            other_events = [other_event for other_event in events[key] if other_event is not event]
            is_lost = results(key, other_events)[result] < true_results[result]
            if event.payload in members:
                assert is_lost, f"{result} is the same without its member {event}"
            elif event.payload not in bounds:
                assert not is_lost, f"{result} is another without {event}, which is said to be no cause"

        if bounds:
            events_without_bounds = [event for event in events[key] if event.payload not in bounds]
            is_lost = results(key, events_without_bounds)[result] < true_results[result]
            assert is_lost, f"{result} is the same without its bounds {bounds}"
