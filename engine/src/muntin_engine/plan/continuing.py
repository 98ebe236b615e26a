"""Check planned queries against the checkpoint that they are to continue from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from muntin.errors import QueryError
from muntin_engine.errors import Difference, StateMismatchError
from muntin_engine.plan.code import describe_other_code, other_code
from muntin_engine.plan.identity import plan_compatibility, plan_identity
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.planner import with_choice
from muntin_engine.state.differences import QueryIdentity


def check_plans(
    plans: Sequence[Plan], stored: Sequence[QueryIdentity], checkpoint: str, names: Sequence[str] = ()
) -> list[str]:
    """Raise unless a query, with those that it takes the results of, can go on with a checkpoint.

    Returns:
        In words, what has the version that it had when the checkpoint began with it, and other code.

    Args:
        plans: The plans, that of the query last; or, of one pass, those of all its queries last.
        stored: The properties that the states in the checkpoint depend on, in the same order.
        checkpoint: The checkpoint, for the error.
        names: The names of the queries of one pass, in order.

    Raises:
        StateMismatchError: It cannot.
    """
    if len(plans) != len(stored):
        number = Difference("queries one after the other", str(len(stored)), str(len(plans)))
        raise StateMismatchError([number], checkpoint=checkpoint)
    differences: list[Difference] = []
    remedies: list[str] = []
    called = [f" of query {place} of {len(plans)}" if len(plans) > 1 else "" for place, _ in enumerate(plans, 1)]
    if names:
        called[-len(names) :] = [f" of {name!r}" for name in names]
    for of, plan, identity in zip(called, plans, stored, strict=True):
        found = _mismatch(plan, identity)
        if found is not None:
            differences += [replace(part, subject=part.subject + of) for part in found.differences]
            remedies += found.remedies
            if {part.subject for part in found.differences} == {"evaluator"}:
                remedies += _evaluator_remedies(plan, identity)
    if differences:
        raise StateMismatchError(differences, remedies, checkpoint)
    return [
        describe_other_code(*changed)
        for plan, identity in zip(plans, stored, strict=True)
        for changed in other_code(identity, plan_identity(plan))
    ]


def _mismatch(plan: Plan, stored: QueryIdentity) -> StateMismatchError | None:
    try:
        plan_compatibility(plan).check(stored)
    except StateMismatchError as found:
        return found
    return None


def _evaluator_remedies(plan: Plan, stored: QueryIdentity) -> Iterator[str]:
    """Yield the advice to use the evaluator of the checkpoint, or the reason why that would not help."""
    evaluator = stored["evaluator"]
    try:
        same = with_choice(replace(plan, wanted=evaluator))
    except QueryError as error:
        yield str(error).partition("\n")[0]
        return
    found = _mismatch(same, stored)
    if found is None:
        yield f"go on with window(..., evaluator={evaluator!r})"
    else:
        yield from map(str, found.differences)
