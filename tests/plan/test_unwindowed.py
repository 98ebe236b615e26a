"""Queries without windows: what plans say of them, and which evaluators are asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muntin import StreamOperator, tumbling
from muntin.errors import QueryError
from muntin.named_windows import from_dict, to_dict
from muntin.windows.specification import Unwindowed
from muntin_engine.api.query_text import text_of
from muntin_engine.evaluators import registry
from muntin_engine.evaluators.general.evaluator import GeneralEvaluator
from muntin_engine.plan import Plan, planner
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.differences import differences_between
from tests.plan.plans import plan_of, planned
from tests.spark.modules import Members


class Steps(StreamOperator[int, list[int], int]):
    """Gives each payload."""

    name, version = "test.steps", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> list[int]:
        return [payload]


class Alone(GeneralEvaluator):
    """Would take each event by itself."""

    name = "alone"
    advantage = "there are no windows"
    takes_windows = False

    def why_not(self, plan: Plan) -> str | None:
        return None

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        return "is complete up to the watermark", "none"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    windowed = tuple(one for one in registry.EVALUATORS if one.takes_windows)
    monkeypatch.setitem(registry.BY_NAME, Alone.name, Alone())
    monkeypatch.setattr(planner, "EVALUATORS", (*windowed, registry.BY_NAME[Alone.name]))


@pytest.mark.usefixtures("alone")
def test_a_query_without_windows_has_lifetimes_and_the_evaluator_says_how_complete_it_is() -> None:
    plan = plan_of(planned(Steps), window=Unwindowed())
    assert (plan.choice.evaluator, plan.choice.reason) == ("alone", "the query has no windows")
    assert plan.added == ("lifetime",)
    assert plan.lifetime_column == "lifetime"
    told = dict(line.split(maxsplit=1) for line in explain_plan(plan).splitlines())
    assert told["window"] == "none, each event by itself, emit final"
    assert (told["output"], told["lag"]) == ("is complete up to the watermark", "none")
    assert "context" not in told
    assert text_of(plan).splitlines()[0] == "Query without windows, by key, emit final"
    assert plan.spelled_grouping == f"{Steps.name} by key"


@pytest.mark.usefixtures("alone")
def test_a_query_with_windows_does_not_meet_an_evaluator_without() -> None:
    assert plan_of(planned(Members)).choice.evaluator == "grouped"
    with pytest.raises(QueryError, match="alone evaluator cannot run this query: it is for queries without windows"):
        plan_of(planned(Members), wanted="alone")


@pytest.mark.parametrize("name", [one.name for one in registry.EVALUATORS if one.takes_windows])
def test_an_evaluator_of_windows_refuses_a_query_without(name: str) -> None:
    with pytest.raises(QueryError, match=f"the {name} evaluator cannot run this query: the query has no windows"):
        plan_of(planned(Steps), window=Unwindowed(), wanted=name)


@pytest.mark.usefixtures("alone")
def test_a_checkpoint_knows_a_query_without_windows_from_one_with_some() -> None:
    assert from_dict(to_dict(Unwindowed())) == Unwindowed()
    plan = plan_of(planned(Steps), window=Unwindowed())
    windowed = plan_identity(replace(plan, window=tumbling(5)))
    (found,) = [one for one in differences_between(windowed, plan_identity(plan)) if one.subject == "window"]
    assert (found.checkpoint, found.query) == ("tumbling('5 microseconds')", "no windows")
