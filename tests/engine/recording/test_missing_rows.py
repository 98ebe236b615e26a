"""Recordings that begin with a state of their query show and compare no result of which rows are missing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, JoinKind, tumbling
from muntin.testing import Script
from muntin.windows.specification import Unwindowed
from muntin_engine.recording.story import Story
from tests.engine.recording.cases import WINDOWS, draw_join_streams, draw_window_case
from tests.engine.recording.recorded import recorded, recorded_from_second_batch
from tests.modules.every_shape import Everything
from tests.modules.stream_operators import Newest
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS


def shown_changes(story: Story) -> Counter[Any]:
    """Count the changes of a story, without their numbers and causes."""
    return Counter(
        (change.key, change.change, change.window, change.start, change.end, repr(change.values))
        for change in story.changes
    )


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", range(4))
def test_a_story_that_begins_with_a_state_shows_only_changes_of_the_whole_story(
    window: str, seed: int, tmp_path: Path
) -> None:
    case = draw_window_case(window, Random(f"{window} {seed}"))
    scenario = Scenario(case.query, case.stream, Mishaps(seed, cuts=0.5))
    evaluator = next(iter(case.query.evaluators))
    _, whole_recording = recorded(scenario, evaluator, tmp_path / "whole")
    assert len(whole_recording.batches) > 1, "the stream is cut"
    late_recording = recorded_from_second_batch(scenario, evaluator, tmp_path)

    late_changes = shown_changes(late_recording.story())
    assert late_changes <= shown_changes(whole_recording.story())


@pytest.mark.parametrize("kind", list(JoinKind))
@pytest.mark.parametrize("seed", range(4))
def test_a_story_of_a_join_that_begins_with_a_state_shows_only_changes_of_the_whole_story(
    kind: JoinKind, seed: int, tmp_path: Path
) -> None:
    random = Random(f"{kind} {seed}")
    streams = draw_join_streams(random)
    query = Join(kind, ("intervals", "named"), is_eager=random.random() < 0.5)
    scenario = Scenario(query, (streams.left, streams.right), Mishaps(seed, cuts=0.5))
    evaluator = next(iter(query.evaluators))
    _, whole_recording = recorded(scenario, evaluator, tmp_path / "whole")
    assert len(whole_recording.batches) > 1, "the stream is cut"
    late_recording = recorded_from_second_batch(scenario, evaluator, tmp_path)

    late_changes = shown_changes(late_recording.story())
    assert late_changes <= shown_changes(whole_recording.story())


def test_a_state_of_a_stream_operator_hides_all_results_of_its_keys(tmp_path: Path) -> None:
    query = Query(Unwindowed(), (Newest(),), lifetimes="points", has_order=True)
    # The largest payload of `a` is in the state: without it, the later rows of `a` would seem to be the largest.
    stream = Script().insert(0, 0, 1, 100, key="a").batch()
    for number in range(1, 5):
        stream = stream.insert(number, 10 * number, 10 * number + 1, number, key="a")
        stream = stream.insert(10 + number, 10 * number, 10 * number + 1, number, key="b").batch()
    scenario = Scenario(query, stream.punctuate(60), NO_MISHAPS)

    story = recorded_from_second_batch(scenario, next(iter(query.evaluators)), tmp_path).story()
    assert {change.key for change in story.changes} == {("b",)}


def test_an_event_of_a_state_that_never_ends_hides_the_results_of_its_key_alone(tmp_path: Path) -> None:
    query = Query(tumbling(10), (Everything(),), lifetimes="intervals")
    stream = Script().insert(0, 0, INFINITY, 100, key="a").insert(1, 0, 5, 101, key="b").batch()
    for number in range(2, 6):
        stream = stream.insert(number, 10 * number, 10 * number + 5, number, key="a")
        stream = stream.insert(10 + number, 10 * number, 10 * number + 5, number, key="b").batch()
    scenario = Scenario(query, stream.punctuate(60), NO_MISHAPS)

    story = recorded_from_second_batch(scenario, "general", tmp_path).story()
    assert {change.key for change in story.changes} == {("b",)}
