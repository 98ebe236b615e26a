"""Check planned queries against the checkpoint that they are to continue from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from muntin import EARLIEST
from muntin.errors import QueryError
from muntin_engine.errors import Difference, StateMismatchError
from muntin_engine.plan.code_in_use import changed_code
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.planner import with_choice
from muntin_engine.state.compatibility import Changes, Compatibility
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.time.changes import Progress


def check_plans(
    plans: Sequence[Plan],
    stored: Sequence[QueryIdentity],
    checkpoint: str,
    declarations: Sequence[Declaration],
    names: Sequence[str] = (),
    stored_progress: Callable[[], Sequence[Progress]] = tuple,
) -> list[str]:
    """Check that queries can go on with the state in a checkpoint, and return warnings about what changed.

    Args:
        plans: The plans of all queries of a run. Inner queries, whose results others read, come first. The query itself
            follows, or all queries of one pass.
        stored: The identity of each query in the checkpoint, in the same order.
        checkpoint: The path of the checkpoint, for the error.
        declarations: The evaluators that there are, the cheapest first.
        names: The names of the queries of one pass, in order; they belong to the last plans.
        stored_progress: Returns the progress of each query in the checkpoint; empty if it is not known.

    Returns:
        Warnings: on code that changed under an unchanged version, and on modules and sources that were added or
        removed.

    Raises:
        StateMismatchError: A query cannot go on.
    """
    if len(plans) != len(stored):
        query_count = Difference("number of queries", str(len(stored)), str(len(plans)))
        raise StateMismatchError([query_count], checkpoint=checkpoint)
    # The words that say in each message below which query it is about, such as " of query 1 of 2".
    words_by_query = _words_for_queries(len(plans), names)
    queries: list[_ContinuedQuery] = []
    for plan, identity, words in zip(plans, stored, words_by_query, strict=True):
        queries.append(_ContinuedQuery(plan, plan_compatibility(plan), stored=identity, words=words))

    # Collect the differences of all queries into one error.
    differences: list[Difference] = []
    remedies: list[str] = []
    for query in queries:
        mismatch = _mismatch(query.compatibility, query.stored)
        if mismatch is None:
            continue
        for difference in mismatch.differences:
            differences.append(replace(difference, subject=difference.subject + query.words))
        remedies += mismatch.remedies
        differs_in_evaluator_alone = {difference.subject for difference in mismatch.differences} == {"evaluator"}
        if differs_in_evaluator_alone:
            remedies += _evaluator_remedies(query.plan, query.stored, declarations)
    if differences:
        raise StateMismatchError(differences, remedies, checkpoint)

    # All of them can go on: warn of changes that have consequences for results.
    warnings = []
    changes_by_query: list[Changes] = []
    for query in queries:
        for change in changed_code(query.stored, query.compatibility.identity):
            warnings.append(change.describe())
        changes_by_query.append(query.compatibility.changes(query.stored))
    # `Changes` are four lists: modules and sources that were added or removed.
    has_changes = any(any(changes) for changes in changes_by_query)
    if has_changes:
        # Reading the progress from the checkpoint costs time, so that is done only here.
        progress_by_query = list(stored_progress()) or [Progress()] * len(plans)
        for query, changes, progress in zip(queries, changes_by_query, progress_by_query, strict=True):
            warnings += [f"{text}{query.words}" for text in _describe_changes(query.plan, changes, progress)]
    return warnings


class _ContinuedQuery(NamedTuple):
    """A query that is to go on with a state.

    Attributes:
        plan: The plan of the query.
        compatibility: The identity of the query, and the changes with which it can go on.
        stored: The identity of the query that wrote the state.
        words: The words that tell the query from the others.
    """

    plan: Plan
    compatibility: Compatibility
    stored: QueryIdentity
    words: str


def _words_for_queries(count: int, names: Sequence[str]) -> list[str]:
    """Return for each query the words that tell it from the others in a message.

    Args:
        count: The number of queries.
        names: The names of the last ones among them; none where queries have no names.

    Example:
        >>> _words_for_queries(1, []), _words_for_queries(2, ["trips"])
        ([''], [' of query 1 of 2', " of 'trips'"])
    """
    words = [f" of query {number} of {count}" for number in range(1, count + 1)]
    if count == 1:
        words = [""]
    if names:
        words[-len(names) :] = [f" of {name!r}" for name in names]
    return words


def _describe_changes(plan: Plan, changes: Changes, progress: Progress) -> Iterator[str]:
    """Yield the consequences that the changes of a query have for its results, in words.

    Args:
        plan: The plan of the query.
        changes: The modules and sources that were added or removed since the checkpoint was written.
        progress: The progress of the query in the checkpoint.
    """
    spell = plan.words.axis.spell
    # The windows of which a new module sees every row: those that no row lies in that came before the module.
    if progress == Progress():
        complete_windows = "have no event from before"  # the progress is not known, so nobody knows where rows lie
    elif plan.inputs[0].is_point:
        complete_windows = f"start after {spell(progress.newest)}"  # no point so far lies after the latest start
    else:
        complete_windows = f"start at {spell(progress.horizon)} or later"
    for module in changes.new_modules:
        yield f"{module} was added and sees rows from now on: it is complete for windows that {complete_windows}"
    for module in changes.dropped_modules:
        yield f"{module} was removed, and what was kept of it is dropped"
    for source in changes.new_sources:
        watermark = f" at {spell(progress.watermark)}" if progress.watermark > EARLIEST else ""
        yield f"the source {source} joins at the watermark{watermark}: its rows before that are late"
    for source in changes.dropped_sources:
        yield f"the source {source} is not waited for any more, and its rows are rejected"


def _mismatch(compatibility: Compatibility, stored: QueryIdentity) -> StateMismatchError | None:
    """Return the error of a query that cannot go on with a state; None if the query can go on.

    Args:
        compatibility: The identity of the query, and the changes with which it can go on.
        stored: The identity of the query that wrote the state.
    """
    try:
        compatibility.check(stored)
    except StateMismatchError as error:
        return error
    return None


def _evaluator_remedies(plan: Plan, stored: QueryIdentity, declarations: Sequence[Declaration]) -> Iterator[str]:
    """Yield the advice to use the evaluator of the checkpoint; or, if that would not help, the reasons.

    Args:
        plan: The plan of the query, with another evaluator.
        stored: The identity of the query in the checkpoint.
        declarations: The evaluators that there are, the cheapest first.
    """
    evaluator = stored["evaluator"]
    try:
        plan_of_checkpoint = with_choice(replace(plan, requested_evaluator=evaluator), declarations)
    except QueryError as error:
        reason, _, _advice = str(error).partition("\n")
        yield reason
        return
    mismatch = _mismatch(plan_compatibility(plan_of_checkpoint), stored)
    if mismatch is None:
        yield f"go on with window(..., evaluator={evaluator!r})"
    else:
        yield from map(str, mismatch.differences)
