"""A recording replays to what the query did, in every evaluator, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from muntin_engine.recording.row_differences import exact_row_differences
from tests.engine.recording.recorded import recorded
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.scenario import Scenario

RECORDED_FAMILIES: Final = [family for family in FAMILIES if family not in ("upgraded", "hostile")]


@pytest.mark.cases(9)
@pytest.mark.parametrize("family", RECORDED_FAMILIES)
def test_a_replay_emits_what_the_query_emitted_and_all_evaluators_agree(family: str, tmp_path: Path) -> None:
    scenario = drawn(family, 1)
    assert isinstance(scenario, Scenario)
    for evaluator in scenario.query.evaluators:
        run, recording = recorded(scenario, evaluator, tmp_path / evaluator)
        replayed = recording.replay()
        assert [batch.number for batch in replayed.batches] == list(range(len(run.changes)))
        for batch, emitted in zip(replayed.batches, run.changes, strict=True):
            assert exact_row_differences(batch.changes, emitted) == []

        assert set(recording.evaluators) == set(scenario.query.evaluators)
        recording.check_evaluators()
