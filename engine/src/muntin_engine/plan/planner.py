"""The planner: check a query, and choose the evaluator that computes it from what all of them declare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin.errors import QueryError
from muntin.errors.messages import Argument
from muntin_engine.plan.choosing_array_parts import choose_parts
from muntin_engine.plan.chosen_evaluator import Choice
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.query_checks import check_query


def checked_plan(plan: Plan, declarations: Sequence[Declaration]) -> Plan:
    """Check a plan, and return it with the choice of the evaluator that computes it.

    Args:
        plan: The plan.
        declarations: The evaluators that there are, the cheapest first.

    Raises:
        QueryError: The windows, the buckets or the names of the results are refused, or the evaluator that the query
            asks for cannot run it.
        PolicyError: A module cannot run under the policies or over the windows of the query, or a refinement of early
            results does not fit the query.
    """
    check_query(plan)
    return with_choice(plan, declarations)


def with_choice(plan: Plan, declarations: Sequence[Declaration]) -> Plan:
    """Return a plan, which is checked already, with the choice of the evaluator that computes it.

    Args:
        plan: The plan.
        declarations: The evaluators that there are, the cheapest first.

    Raises:
        QueryError: The query asks for an evaluator that cannot run it, or no evaluator can run it.
    """
    input_count = len(plan.inputs)
    if not any(input_count in declaration.takes_inputs for declaration in declarations):
        inputs = ", ".join(input.name for input in plan.inputs)
        names = ", ".join(declaration.name for declaration in declarations)
        raise QueryError(
            f"no evaluator takes the {input_count} inputs of this query, {inputs}: {names} do not\n"
            "  run a query for each input, or declare an evaluator whose takes_inputs says so"
        )

    if plan.requested_evaluator is None:
        declaration, choice = _cheapest_evaluator(plan, declarations)
    else:
        declaration, choice = _requested_evaluator(plan, plan.requested_evaluator, declarations)

    # Checked after the choice: its reason says why the evaluators that take several windows cannot run this query.
    if plan.named_windows and not declaration.takes_several_windows:
        raise QueryError(
            f"several windows of a query share its slices, and this one has none: {choice.reason}\n"
            "  run a query for each window, and union their results; each then decides by itself which rows are late"
        )
    return replace(plan, choice=choice)


def choose(plan: Plan, declaration: Declaration) -> Choice | str:
    """Return the choice of an evaluator for a query; or, as text, the reason why the evaluator cannot run it.

    Args:
        plan: The plan of the query.
        declaration: The declaration of the evaluator.
    """
    if declaration.takes_windows is not plan.is_windowed:
        return "it is for queries without windows" if plan.is_windowed else "the query has no windows"
    input_count = len(plan.inputs)
    if input_count not in declaration.takes_inputs:
        inputs = "input" if input_count == 1 else "inputs"
        return f"the query has {input_count} {inputs}"
    for demand in declaration.demands:
        why_not = demand(plan)
        if why_not is not None:
            return why_not

    # An evaluator on arrays needs a combination of parts that can evaluate the query.
    arrays = None
    if declaration.holds is not None:
        parts = choose_parts(plan, declaration.holds, declaration.combinations)
        if isinstance(parts, str):
            return parts
        arrays = parts
    choice = Choice(
        evaluator=declaration.name,
        reason=declaration.advantage,
        arrays=arrays,
        lifts=declaration.lifts,
        lifts_in_buckets=declaration.lifts_in_buckets,
        keeps_state=declaration.keeps_state,
        unreported=declaration.unreported,
    )
    # The words of an explanation depend on the parts that were chosen.
    return replace(choice, explanation=declaration.explain(replace(plan, choice=choice)))


def _requested_evaluator(plan: Plan, name: str, declarations: Sequence[Declaration]) -> tuple[Declaration, Choice]:
    """Return the declaration of the evaluator that a query asks for by its name, and the choice of it.

    Raises:
        QueryError: There is no evaluator of that name, or it cannot run the query.
    """
    declaration = next((declaration for declaration in declarations if declaration.name == name), None)
    if declaration is None:
        names = ", ".join(repr(declaration.name) for declaration in declarations)
        raise QueryError(f"there is no evaluator {name!r}; there are {names}")
    choice = choose(plan, declaration)
    if isinstance(choice, str):
        raise QueryError(
            "the {value} evaluator cannot run this query: {reason}\n  leave the choice open with {auto}",
            argument="evaluator",
            value=name,
            reason=choice,
            auto=Argument("evaluator", "auto"),
        )
    # The cheapest evaluator would have been chosen anyway, so its advantage is still the reason.
    is_cheapest = declaration is declarations[0]
    if not is_cheapest:
        choice = replace(choice, reason="asked for")
    return declaration, choice


def _cheapest_evaluator(plan: Plan, declarations: Sequence[Declaration]) -> tuple[Declaration, Choice]:
    """Return the declaration of the first evaluator that can run a query, and the choice of it.

    The reason of the choice says why the next cheaper evaluator cannot run the query, if there is one.

    Raises:
        QueryError: No evaluator can run the query.
    """
    why_not_cheaper = ""
    for declaration in declarations:
        choice = choose(plan, declaration)
        if isinstance(choice, Choice):
            return declaration, replace(choice, reason=why_not_cheaper or choice.reason)
        why_not_cheaper = choice
    raise QueryError(f"no evaluator can run this query: {why_not_cheaper}")
