"""The engine with one evaluator more."""

from __future__ import annotations

import pytest

from muntin_engine.evaluators import registry
from muntin_engine.plan import planner
from tests.inputs.meeting import Meeting


@pytest.fixture(autouse=True)
def meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the evaluator, for the driver; workers get it with the modules."""
    all_of_them = (Meeting(), *registry.EVALUATORS)
    monkeypatch.setitem(registry.BY_NAME, Meeting.name, all_of_them[0])
    monkeypatch.setattr(registry, "EVALUATORS", all_of_them)
    monkeypatch.setattr(planner, "EVALUATORS", all_of_them)
