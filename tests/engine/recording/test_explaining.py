"""A story has the results of its query, whatever evaluator computed them, and says of each row what became of it."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from muntin import JoinKind
from muntin.testing import Script
from muntin_engine.recording.story import Fate
from tests.engine.recording.live import live_results
from tests.engine.recording.recorded import recorded
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.join import Join
from tests.scenarios.running import Mishaps, plain
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
    wanted: Counter[Any] = Counter()
    for row, number in run.output.items():
        key = row.key if isinstance(row.key, tuple) else (row.key,)
        wanted[key, row.window, row.lifetime, row.values] += number
    got = Counter(
        (one.key, one.window or (one.start, one.end), (one.start, one.end), tuple(map(plain, one.values.values())))
        for one in live_results(story)
    )
    assert got == wanted
    assert all(change.members for change in story.changes)
    assert [row.number for row in story.rows] == list(range(len(story.rows)))
    fates = Counter(str(row.fate) for row in story.rows)
    assert {name: fates[name] for name in ("late", "rejected", "filtered", "shed")} == {
        name: run.counts[name] for name in ("late", "rejected", "filtered", "shed")
    }
    assert all(bool(row.reason) is (row.fate is not Fate.COUNTED) for row in story.rows)


@pytest.mark.parametrize("family", ["cutting", "of_sessions", "in_order", "joined", "united"])
def test_a_story_of_one_key_is_that_part_of_the_story_of_all(family: str, tmp_path: Path) -> None:
    scenario = next(one for seed in range(99) if len(_keys(one := drawn(family, seed))) > 1)
    assert isinstance(scenario, Scenario)
    _, recording = recorded(scenario, next(iter(scenario.query.evaluators)), tmp_path)
    whole, key = recording.story(), next(iter(_keys(scenario)))
    part = recording.story(keys=[key])
    assert {row.key for row in part.rows} <= {(key,), None}

    def said(story: Any) -> list[Any]:
        rows = story.rows
        own = [change for change in story.changes if change.key == (key,)]
        shown = [[str(rows[number].values) for number in change.members] for change in own]
        return [
            (c.batch, c.change, c.window, c.start, c.end, str(c.values), m) for c, m in zip(own, shown, strict=True)
        ]

    assert said(part) == said(whole)


def test_a_micro_batch_says_which_input_holds_the_watermark_back(tmp_path: Path) -> None:
    """The left side says that it is complete up to 5, the right one up to 9 and then, with the left one, to the end."""
    left = Script().insert(1, 0, 4, 1, key="a").punctuate(5).batch().close()
    right = Script().insert(2, 2, 6, 2, key="a").punctuate(9).batch().close()
    query = Join(JoinKind.INNER, ("intervals", "intervals"))
    scenario = Scenario(query, (left, right), Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0))
    _, recording = recorded(scenario, next(iter(query.evaluators)), tmp_path)
    told = [(batch.watermark, batch.held_by) for batch in recording.story().batches]
    assert told[0] == (5, "left")
    assert told[-1][1] is None


def _keys(scenario: Any) -> set[Any]:
    return {step.key for stream in scenario.scripts for step in stream.changes()}
