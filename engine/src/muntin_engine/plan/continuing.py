"""Check planned queries against the checkpoint that they are to continue from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from muntin import EARLIEST
from muntin.errors import QueryError
from muntin_engine.core.changes import Progress
from muntin_engine.errors import Difference, StateMismatchError
from muntin_engine.plan.code import describe_other_code, other_code
from muntin_engine.plan.declaration import Declaration
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.planner import with_choice
from muntin_engine.state.compatibility import Changes, Compatibility
from muntin_engine.state.differences import QueryIdentity


def check_plans(
    plans: Sequence[Plan],
    stored: Sequence[QueryIdentity],
    checkpoint: str,
    declarations: Sequence[Declaration],
    names: Sequence[str] = (),
    reached: Callable[[], Sequence[Progress]] = tuple,
) -> list[str]:
    """Raise unless a query, with those that it takes the results of, can go on with a checkpoint.

    Returns:
        In words, what has the version that it had when the checkpoint began with it, and other code; and what was added
        or removed.

    Args:
        plans: The plans, that of the query last; or, of one pass, those of all its queries last.
        stored: The properties that the states in the checkpoint depend on, in the same order.
        checkpoint: The checkpoint, for the error.
        declarations: The evaluators that there are, the cheapest first.
        names: The names of the queries of one pass, in order.
        reached: Returns how far each of them is in the checkpoint; nothing if that is not known.

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
    wanted = [plan_compatibility(plan) for plan in plans]
    for of, plan, own, identity in zip(called, plans, wanted, stored, strict=True):
        found = _mismatch(own, identity)
        if found is not None:
            differences += [replace(part, subject=part.subject + of) for part in found.differences]
            remedies += found.remedies
            if {part.subject for part in found.differences} == {"evaluator"}:
                remedies += _evaluator_remedies(plan, identity, declarations)
    if differences:
        raise StateMismatchError(differences, remedies, checkpoint)
    told = [
        describe_other_code(*changed)
        for own, identity in zip(wanted, stored, strict=True)
        for changed in other_code(identity, own.identity)
    ]
    changes = [own.changes(identity) for own, identity in zip(wanted, stored, strict=True)]
    if any(map(any, changes)):
        known = [*reached()] or [Progress()] * len(plans)
        for of, plan, some, progress in zip(called, plans, changes, known, strict=True):
            told += [f"{text}{of}" for text in _told(plan, some, progress)]
    return told


def _told(plan: Plan, changes: Changes, reached: Progress) -> Iterator[str]:
    """Say what the changes of a query mean for its results, given how far it is."""
    spell = plan.words.spell
    for module in changes.added:
        since = f"start at {spell(reached.horizon)} or later"
        if reached == Progress():
            since = "have no event from before"
        elif plan.input.is_point:
            since = f"start after {spell(reached.newest)}"
        yield f"{module} was added and sees rows from now on: it is complete for windows that {since}"
    for module in changes.removed:
        yield f"{module} was removed, and what was kept of it is dropped"
    for source in changes.joined:
        at = f" at {spell(reached.watermark)}" if reached.watermark > EARLIEST else ""
        yield f"the source {source} joins at the watermark{at}: its rows before that are late"
    for source in changes.left:
        yield f"the source {source} is not waited for any more, and its rows are rejected"


def _mismatch(wanted: Compatibility, stored: QueryIdentity) -> StateMismatchError | None:
    try:
        wanted.check(stored)
    except StateMismatchError as found:
        return found
    return None


def _evaluator_remedies(plan: Plan, stored: QueryIdentity, declarations: Sequence[Declaration]) -> Iterator[str]:
    """Yield the advice to use the evaluator of the checkpoint, or the reason why that would not help."""
    evaluator = stored["evaluator"]
    try:
        same = with_choice(replace(plan, wanted=evaluator), declarations)
    except QueryError as error:
        yield str(error).partition("\n")[0]
        return
    found = _mismatch(plan_compatibility(same), stored)
    if found is None:
        yield f"go on with window(..., evaluator={evaluator!r})"
    else:
        yield from map(str, found.differences)
