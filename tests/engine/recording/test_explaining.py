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
from tests.scenarios.running import Mishaps, comparable
from tests.scenarios.scenario import Scenario

TOLD = [family for family in FAMILIES if family not in ("upgraded", "hostile")]
SEEDS = 2
JOINS = [("joined", 29), ("joined_eagerly", 15), ("joined_eagerly", 26), ("joined_narrowly", 19)]
"""Joins whose filters hide the numbers of changes, and of which a change comes before its event."""


@pytest.mark.cases(20)
@pytest.mark.parametrize(("family", "seed"), [*product(TOLD, range(SEEDS)), *JOINS])
def test_a_story_has_the_results_of_the_query_and_the_fates_of_all_rows(family: str, seed: int, tmp_path: Path) -> None:
    scenario = drawn(family, seed)
    assert isinstance(scenario, Scenario)
    run, recording = recorded(scenario, next(iter(scenario.query.evaluators)), tmp_path)
    story = recording.story()
    expected: Counter[Any] = Counter()
    for row, number in run.output.items():
        key = row.key if isinstance(row.key, tuple) else (row.key,)
        expected[key, row.window, row.lifetime, row.values] += number
    results: Counter[Any] = Counter()
    for result in live_results(story):
        lifetime = (result.start, result.end)
        results[result.key, result.window or lifetime, lifetime, tuple(map(comparable, result.values.values()))] += 1
    assert results == expected
    assert all(change.members for change in story.changes)
    assert [row.number for row in story.rows] == list(range(len(story.rows)))
    fates = Counter(str(row.fate) for row in story.rows)
    assert {name: fates[name] for name in ("late", "rejected", "filtered", "shed")} == {
        name: run.counts[name] for name in ("late", "rejected", "filtered", "shed")
    }
    assert all(bool(row.reason) is (row.fate is not Fate.COUNTED) for row in story.rows)


@pytest.mark.parametrize("family", ["cutting", "of_sessions", "in_order", "joined", "united"])
def test_a_story_of_one_key_is_that_part_of_the_story_of_all(family: str, tmp_path: Path) -> None:
    scenario = next(scenario for seed in range(99) if len(_keys(scenario := drawn(family, seed))) > 1)
    assert isinstance(scenario, Scenario)
    _, recording = recorded(scenario, next(iter(scenario.query.evaluators)), tmp_path)
    whole = recording.story()
    key = next(iter(_keys(scenario)))
    part = recording.story(keys=[key])
    assert {row.key for row in part.rows} <= {(key,), None}
    assert _changes_of_key(part, key) == _changes_of_key(whole, key)


def test_a_micro_batch_says_which_input_holds_the_watermark_back(tmp_path: Path) -> None:
    """The left side says that it is complete up to 5, the right one up to 9 and then, with the left one, to the end."""
    left = Script().insert(1, 0, 4, 1, key="a").punctuate(5).batch().close()
    right = Script().insert(2, 2, 6, 2, key="a").punctuate(9).batch().close()
    query = Join(JoinKind.INNER, ("intervals", "intervals"))
    scenario = Scenario(query, (left, right), Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0))
    _, recording = recorded(scenario, next(iter(query.evaluators)), tmp_path)
    batches = recording.story().batches
    assert batches[0].watermark == 5
    assert batches[0].held_by == "left"
    assert batches[-1].held_by is None


def _changes_of_key(story: Story, key: Any) -> list[Any]:
    """Return the changes of a key, with their members by value: the numbers of rows differ between stories."""
    changes: list[Any] = []
    for change in story.changes:
        if change.key == (key,):
            members = [str(story.rows[number].values) for number in change.members]
            extent = (change.window, change.start, change.end)
            changes.append((change.batch, change.change, extent, str(change.values), members))
    return changes


def _keys(scenario: Any) -> set[Any]:
    keys: set[Any] = set()
    for stream in scenario.scripts:
        keys.update(step.key for step in stream.changes())
    return keys
