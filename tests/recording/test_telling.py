"""A story has the results of its query, whatever evaluator computed them, and says of each row what became of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from muntin_engine.recording.story import Fate
from muntin_engine.recording.telling import tell
from tests.recording.as_it_came import RunAsItCame
from tests.recording.live import live_results
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.running import plain
from tests.scenarios.scenario import Scenario

TOLD = [family for family in FAMILIES if family not in ("upgraded", "hostile")]
SEEDS = 2


@pytest.mark.parametrize("family", TOLD)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_story_has_the_results_of_the_query_and_the_fates_of_all_rows(family: str, seed: int) -> None:
    scenario = drawn(family, seed)
    assert isinstance(scenario, Scenario)
    run = RunAsItCame(scenario)
    task = run.task
    run.go(scenario)
    story = tell(task, run.came)
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
    fates = Counter(str(row.fate) for row in story.rows)
    assert {name: fates[name] for name in ("late", "rejected", "filtered", "shed")} == {
        name: run.counts[name] for name in ("late", "rejected", "filtered", "shed")
    }
    assert all(bool(row.reason) is (row.fate is not Fate.COUNTED) for row in story.rows)
