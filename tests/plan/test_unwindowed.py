"""Queries without windows: what plans say of them, and which evaluators are asked."""

from __future__ import annotations

import pytest

from muntin.errors import QueryError
from muntin.named_windows import from_dict
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators import registry
from muntin_engine.evaluators.general.evaluator import GeneralEvaluator
from muntin_engine.plan import Plan, planner
from muntin_engine.plan.explanation import text_of, topics_of
from tests.plan.queries import query, value_of


class Alone(GeneralEvaluator):
    """Would take each event by itself."""

    name = "alone"
    advantage = "there are no windows"
    takes_windows = False

    def why_not(self, plan: Plan) -> str | None:
        return None

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        return "is complete up to the watermark", "none"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    windowed = tuple(one for one in registry.EVALUATORS if one.takes_windows)
    monkeypatch.setitem(registry.BY_NAME, Alone.name, Alone())
    monkeypatch.setattr(planner, "EVALUATORS", (*windowed, registry.BY_NAME[Alone.name]))


def test_a_query_without_windows_has_lifetimes_and_the_evaluator_says_how_complete_it_is() -> None:
    plan = value_of("query(Steps, window=Unwindowed())")
    assert (plan.choice.evaluator, plan.choice.reason) == ("alone", "the query has no windows")
    assert (plan.added, plan.lifetime_column) == (("lifetime",), "lifetime")
    told = dict(topics_of(plan))
    assert told["window"] == "none, each event by itself, emit final"
    assert (told["output"], told["lag"]) == ("is complete up to the watermark", "none")
    assert "context" not in told
    assert text_of(plan).splitlines()[0] == "Query without windows, by key, emit final"
    assert plan.spelled_grouping == "test.steps by key"
    assert from_dict(Unwindowed().to_dict()) == Unwindowed()


def test_a_query_with_windows_does_not_meet_an_evaluator_without() -> None:
    assert query().choice.evaluator == "grouped"
    with pytest.raises(QueryError, match="alone evaluator cannot run this query: it is for queries without windows"):
        query(wanted="alone")
