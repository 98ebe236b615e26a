"""A story has the results of its query, whatever evaluator computed them, and the fate of each row."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from muntin import JoinKind
from muntin.testing import Script
from muntin_engine.recording.story import Fate, Story
from tests.engine.recording.live import live_results
from tests.engine.recording.recorded import recorded
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.join import Join
from tests.scenarios.running import comparable
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS

RECORDED_FAMILIES = [family for family in FAMILIES if family not in ("upgraded", "hostile")]
SEEDS = 2
EARLY_CHANGES = [("joined", 29), ("joined_eagerly", 15), ("joined_eagerly", 26), ("joined_narrowly", 19)]
"""Families and seeds of joins whose filters leave out rows, and of which a change comes before its event."""


@pytest.mark.cases(20)
@pytest.mark.parametrize(("family", "seed"), [*product(RECORDED_FAMILIES, range(SEEDS)), *EARLY_CHANGES])
def test_a_story_has_the_results_of_the_query_and_the_fates_of_all_rows(family: str, seed: int, tmp_path: Path) -> None:
    scenario = drawn(family, seed)
    assert isinstance(scenario, Scenario)
    run, recording = recorded(scenario, next(iter(scenario.query.evaluators)), tmp_path)
    story = recording.story()

    output: Counter[Any] = Counter()
    for row, number in run.output.items():
        key = row.key if isinstance(row.key, tuple) else (row.key,)
        output[key, row.window, row.lifetime, row.values] += number
    results: Counter[Any] = Counter()
    for result in live_results(story):
        lifetime = (result.start, result.end)
        values = tuple(map(comparable, result.values.values()))
        results[result.key, result.window or lifetime, lifetime, values] += 1
    assert results == output
    for change in story.changes:
        assert change.members, "each change has rows that it was computed from"

    assert [row.number for row in story.rows] == list(range(len(story.rows)))
    fates = Counter(str(row.fate) for row in story.rows)
    for fate in ("late", "rejected", "filtered", "shed"):
        assert fates[fate] == run.counts[fate]
    for story_row in story.rows:
        has_reason = bool(story_row.reason)
        assert has_reason is (story_row.fate is not Fate.COUNTED)


@pytest.mark.parametrize("family", ["cutting", "of_sessions", "in_order", "joined", "united"])
def test_a_story_of_one_key_is_that_part_of_the_story_of_all(family: str, tmp_path: Path) -> None:
    scenario = _first_scenario_of_several_keys(family)
    _, recording = recorded(scenario, next(iter(scenario.query.evaluators)), tmp_path)
    key = next(iter(_keys(scenario)))

    story = recording.story()
    story_of_key = recording.story(keys=[key])
    assert {row.key for row in story_of_key.rows} <= {(key,), None}, "some rows, such as punctuation, are of no key"
    assert _changes_of_key(story_of_key, key) == _changes_of_key(story, key)


def test_a_micro_batch_says_which_input_holds_the_watermark_back(tmp_path: Path) -> None:
    left = Script().insert(1, 0, 4, 1, key="a").punctuate(5).batch().close()
    right = Script().insert(2, 2, 6, 2, key="a").punctuate(9).batch().close()
    query = Join(JoinKind.INNER, ("intervals", "intervals"))
    _, recording = recorded(Scenario(query, (left, right), NO_MISHAPS), next(iter(query.evaluators)), tmp_path)

    batches = recording.story().batches
    assert batches[0].watermark == 5
    assert batches[0].held_by == "left"
    assert batches[-1].held_by is None, "both inputs are closed"


def _changes_of_key(story: Story, key: Any) -> list[Any]:
    """Return the changes of a key, with their members by value: the numbers of rows differ between stories."""
    changes: list[Any] = []
    for change in story.changes:
        if change.key == (key,):
            members = [str(story.rows[number].values) for number in change.members]
            extent = (change.window, change.start, change.end)
            changes.append((change.batch, change.change, extent, str(change.values), members))
    return changes


def _first_scenario_of_several_keys(family: str) -> Scenario:
    for seed in range(99):
        scenario = drawn(family, seed)
        assert isinstance(scenario, Scenario)
        if len(_keys(scenario)) > 1:
            return scenario
    raise AssertionError(f"no scenario of {family} has several keys")


def _keys(scenario: Scenario) -> set[Any]:
    """Return the keys of all changes in the streams of a scenario."""
    keys: set[Any] = set()
    for stream in scenario.scripts:
        keys.update(step.key for step in stream.changes())
    return keys
