"""Torture by scenarios: each is drawn anew, and run by every evaluator that can."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.scenarios.drawing import FAMILIES, drawn
from tests.torture.kind import Figures


def scenarios(seed: int, folder: Path) -> Figures:
    """Run a scenario of any family."""
    del folder
    scenario = drawn(Random(seed).choice(list(FAMILIES)), seed)
    scenario.check()
    changes, batches = scenario.size
    return {"streams": 1, "changes": changes, "batches": batches, "evaluators": len(scenario.query.evaluators)}
