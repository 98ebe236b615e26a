"""An evaluator that is added to the engine by its declaration and a line in the registry: everything finds it there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muntin import IncrementalAggregate, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.evaluators import declarations
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.evaluators.general.general_evaluator import GeneralEvaluator
from muntin_engine.plan import Plan
from muntin_engine.plan.chosen_evaluator import Explanation
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.metrics import metrics_of
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks import evaluator_registry
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.testing import crash_everywhere, query_under_test
from tests.engine.plan import plans
from tests.engine.plan.plans import plan_of, planned
from tests.engine.wire import payloads
from tests.engine.wire.payloads import bucket_input, rows, task_of
from tests.modules.members import Members


def has_several_buckets(plan: Plan) -> str | None:
    """There are several buckets."""
    return "there is only one bucket" if plan.buckets == 1 else None


def explain(plan: Plan) -> Explanation:
    """Return what `explain()` shows: the cost of a row, the state, and a text for each module."""
    of_modules = tuple(f"echoes {module.output}" for module in plan.modules)
    return Explanation("the cost of an echo", "the last echo", of_modules)


ECHO = Declaration(
    name="echo",
    advantage="it echoes",
    explain=explain,
    demands=(has_several_buckets,),
    takes_revisions=True,
    unreported=frozenset({"events_held"}),
)
"""The declaration of an evaluator that needs several buckets; it runs as the general one does."""


class Total(IncrementalAggregate[int, int, int]):
    name, version = "test.total", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


@pytest.fixture(autouse=True)
def _with_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the evaluator before all others, wherever the declarations are looked up."""
    monkeypatch.setitem(evaluator_registry.KEEPS_STATE.makers, ECHO.name, GeneralEvaluator)
    for module in (declarations, plans, payloads, query_under_test):
        monkeypatch.setattr(module, "DECLARATIONS", (ECHO, *DECLARATIONS))


def test_the_planner_chooses_an_added_evaluator_and_says_why() -> None:
    plan = plan_of(planned(Members))
    assert plan.choice.evaluator == "echo"
    assert plan.choice.reason == "it echoes"
    assert plan_identity(plan)["evaluator"] == "echo"


def test_the_planner_passes_over_an_added_evaluator_whose_demands_are_not_met() -> None:
    assert plan_of(planned(Members), buckets=1).choice.evaluator == "grouped"


def test_an_added_evaluator_can_be_asked_for_by_name() -> None:
    assert declarations.parse_evaluator("echo") == "echo"


def test_explain_shows_what_an_added_evaluator_says() -> None:
    lines = explain_plan(plan_of(planned(Members))).splitlines()
    assert "evaluator   echo: it echoes" in lines
    assert "module      m = show.members 1.0.0: echoes m" in lines
    assert "row         the cost of an echo" in lines
    assert "state       the last echo" in lines


def test_metrics_that_an_added_evaluator_does_not_report_are_left_out() -> None:
    names = {metric.name for metric in metrics_of(plan_of(planned(Members)))}
    assert "keys_held" in names
    assert "events_held" not in names


def test_an_added_evaluator_evaluates_a_bucket() -> None:
    task = task_of(is_static=True, evaluator="echo")
    blobs = run_bucket(task, 0, MemoryCells(), bucket_input(task, rows(start=[1], end=[2])))
    counts = {blob.stream: blob.rows for blob in blobs}
    assert counts["accepted"] == 1
    assert counts["results"] == 1


def test_tests_of_restarts_run_an_added_evaluator() -> None:
    script = Script().insert("a", 1, 4, 2).revise("a", 9).insert("b", 4, 7, 3).close()
    tested = crash_everywhere(script, WindowedQuery(tumbling(5), [Computation(Total())]))
    assert tested.evaluators == ("general", "echo")
