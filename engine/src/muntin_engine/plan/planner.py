"""The planner: check a query, and choose the evaluator that computes it."""

from __future__ import annotations

from dataclasses import replace

from muntin.errors import QueryError
from muntin.messages import Argument
from muntin_engine.evaluators.evaluator import Evaluator
from muntin_engine.evaluators.registry import BY_NAME, EVALUATORS
from muntin_engine.plan.checks import check_query
from muntin_engine.plan.choice import Choice
from muntin_engine.plan.plan import Plan


def checked_plan(plan: Plan) -> Plan:
    """Return a plan that is checked, with the evaluator that computes it.

    Raises:
        QueryError: The window, the buckets or the names of the result cannot be, or the evaluator that was asked for
            cannot evaluate the query.
        PolicyError: A module is not right under the policies, or needs other windows; or a refinement of early results
            is not right.
    """
    check_query(plan)
    return with_choice(plan)


def evaluator_of(plan: Plan) -> Evaluator:
    """Return the evaluator of a plan that `checked_plan` returned."""
    return BY_NAME[plan.choice.evaluator]


def with_choice(plan: Plan) -> Plan:
    """Return a plan that is checked already with the evaluator that computes it.

    Raises:
        QueryError: The evaluator that was asked for cannot evaluate the query, or none can.
    """
    count = len(plan.inputs)
    if not any(count in evaluator.takes_inputs for evaluator in EVALUATORS):
        names = ", ".join(given.name for given in plan.inputs)
        known = ", ".join(evaluator.name for evaluator in EVALUATORS)
        raise QueryError(
            f"no evaluator takes the {count} inputs of this query, {names}: {known} do not\n"
            "  run a query for each input, or register an evaluator whose takes_inputs says so"
        )
    choice = _cheapest(plan) if plan.wanted is None else _asked_for(plan, plan.wanted)
    if plan.named_windows and not BY_NAME[choice.evaluator].takes_several_windows:
        raise QueryError(
            f"several windows of a query share its slices, and this one has none: {choice.reason}\n"
            "  run a query for each window, and union their results; each then decides by itself which rows are late"
        )
    return replace(plan, choice=choice)


def _asked_for(plan: Plan, name: str) -> Choice:
    found = _choice_of(BY_NAME[name], plan)
    if isinstance(found, str):
        raise QueryError(
            "the {value} evaluator cannot run this query: {reason}\n  leave the choice open with {auto}",
            argument="evaluator",
            value=name,
            reason=found,
            auto=Argument("evaluator", "auto"),
        )
    return found if BY_NAME[name] is EVALUATORS[0] else replace(found, reason="asked for")


def _cheapest(plan: Plan) -> Choice:
    """Return the choice of the first evaluator that can run a query, and why the one before it cannot."""
    why_not = ""
    for evaluator in EVALUATORS:
        found = _choice_of(evaluator, plan)
        if isinstance(found, Choice):
            return replace(found, reason=why_not or found.reason)
        why_not = found
    raise QueryError(f"no evaluator can run this query: {why_not}")


def _choice_of(evaluator: Evaluator, plan: Plan) -> Choice | str:
    """Return the choice of an evaluator, which is asked only about windows and inputs that it takes."""
    if evaluator.takes_windows is not plan.is_windowed:
        return "it is for queries without windows" if plan.is_windowed else "the query has no windows"
    count = len(plan.inputs)
    if count not in evaluator.takes_inputs:
        return f"the query has {count} input{'s' * (count != 1)}"
    return evaluator.choose(plan)
