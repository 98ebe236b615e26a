"""Plans with refinements of one's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muntin import early
from muntin.errors import PolicyError
from muntin.triggers import every_count
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from tests.core.refinements import OnlyIfMoved, OtherThanBefore
from tests.plan.plans import plan_of, planned
from tests.spark.modules import Echo


def test_the_state_of_one_refinement_is_not_that_of_another() -> None:
    refinements: list[Any] = ["accumulate", "retract", OnlyIfMoved(1), OnlyIfMoved(2), OtherThanBefore()]
    emits = [plan_identity(plan_of(emit=early(every_count(3), refinement=one)))["emit"] for one in refinements]
    assert [json.loads(json.dumps(emit)) for emit in emits] == emits
    assert len({json.dumps(emit) for emit in emits}) == len(refinements)


def test_it_is_explained_with_what_is_kept_for_it() -> None:
    plan = plan_of(emit=early(every_count(3), refinement=OnlyIfMoved(2)))
    told = explain_plan(plan)
    assert "; OnlyIfMoved(threshold=2) says what is emitted of each result" in told
    assert "open window with members, with the state of its refinement" in told
    assert plan.added == ("window", "timing", "firing")


def test_it_works_on_results_and_not_on_the_rows_of_an_operator() -> None:
    with pytest.raises(PolicyError, match=r"OtherThanBefore\(\) refines results by name, and the query is an operator"):
        plan_of(planned(Echo, ""), emit=early(every_count(3), refinement=OtherThanBefore()))
