"""An evaluator of which the engine knows nothing: what it declares and what runs it, a line each, and all works."""

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


def can_be_heard(plan: Plan) -> str | None:
    """There are several buckets."""
    return "there is nothing to hear" if plan.buckets == 1 else None


def explain(plan: Plan) -> Explanation:
    repeated = tuple(f"repeats {module.output}" for module in plan.modules)
    return Explanation("as much as it costs to say it", "what was said last", repeated)


ECHO = Declaration(
    name="echo",
    advantage="it was heard before",
    explain=explain,
    demands=(can_be_heard,),
    takes_revisions=True,
    unreported=frozenset({"events_held"}),
)


class Total(IncrementalAggregate[int, int, int]):
    name, version = "test.total", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


@pytest.fixture(autouse=True)
def another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evaluator_registry.KEEPS_STATE.makers, ECHO.name, GeneralEvaluator)
    for module in (declarations, plans, payloads, query_under_test):
        monkeypatch.setattr(module, "DECLARATIONS", (ECHO, *DECLARATIONS))


def test_the_planner_chooses_it_and_says_why() -> None:
    plan = plan_of(planned(Members))
    assert (plan.choice.evaluator, plan.choice.reason) == ("echo", "it was heard before")
    assert plan_identity(plan)["evaluator"] == "echo"
    passed_over = plan_of(planned(Members), buckets=1)
    assert passed_over.choice.evaluator == "grouped"
    assert declarations.parse_evaluator("echo") == "echo"


def test_explain_asks_it() -> None:
    lines = explain_plan(plan_of(planned(Members))).splitlines()
    assert "evaluator   echo: it was heard before" in lines
    assert "module      m = show.members 1.0.0: repeats m" in lines
    assert "row         as much as it costs to say it" in lines
    assert "state       what was said last" in lines


def test_the_metrics_ask_it() -> None:
    names = {measure.name for measure in metrics_of(plan_of(planned(Members)))}
    assert "keys_held" in names
    assert "events_held" not in names


def test_a_bucket_is_evaluated_by_it() -> None:
    task = task_of(is_static=True, evaluator="echo")
    imported = {
        blob.stream: blob.rows
        for blob in run_bucket(task, 0, MemoryCells(), bucket_input(task, rows(start=[1], end=[2])))
    }
    assert (imported["accepted"], imported["results"]) == (1, 1)


def test_restart_tests_run_it() -> None:
    script = Script().insert("a", 1, 4, 2).revise("a", 9).insert("b", 4, 7, 3).close()
    assert crash_everywhere(script, WindowedQuery(tumbling(5), [Computation(Total())])).evaluators == (
        "general",
        "echo",
    )
