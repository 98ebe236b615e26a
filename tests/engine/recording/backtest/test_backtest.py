"""Two versions of a module over one recording: what differs is found, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from muntin_engine import backtest
from tests.engine.recording.recorded import recorded
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.scenario import Scenario

RECORDED: Final = [family for family in FAMILIES if family not in ("upgraded", "hostile")]


@pytest.mark.cases(9)
@pytest.mark.parametrize("family", RECORDED)
def test_a_version_differs_nowhere_from_itself(family: str, tmp_path: Path) -> None:
    scenario = drawn(family, 1)
    assert isinstance(scenario, Scenario)
    modules = {module.name: module for module in scenario.query.modules}
    if len(modules) < len(scenario.query.modules) or scenario.query.plan().join is not None:
        pytest.skip("modules of one name are not told apart, and joins have none")
    evaluator, *_ = scenario.query.evaluators
    _, recording = recorded(scenario, evaluator, tmp_path / "recording")
    result = backtest(recording, modules)
    assert (result.differing, result.differences.num_rows) == (0, 0)
    assert result.old.results == result.new.results == len(recording.replay().results)
    assert result.old.evaluator == result.new.evaluator == evaluator
