"""Which evaluator a query gets, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from muntin import (
    EmitPolicy,
    HoppingWindows,
    LatePolicy,
    PolicyError,
    QueryError,
    SupportsCombine,
)
from muntin_engine.plan.module_plan import ModulePlan

if TYPE_CHECKING:
    from muntin_engine.plan.plan import Plan


class Evaluator(StrEnum):
    """How windows are computed. All give the same results."""

    COLUMNAR = "columnar"
    """Components are merged per key and slice, on arrays; windows are made of slices for all keys at once."""
    SLICED = "sliced"
    """Python states are merged per key and slice; windows are made of slices, key by key."""
    GENERAL = "general"
    """Events are kept, and windows computed from their members: any window, module and policy."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An evaluator, and why it is this one.

    Attributes:
        evaluator: The cheapest one that is right, or the one that was asked for.
        reason: Why not a cheaper one, or why this one.
    """

    evaluator: Evaluator
    reason: str


def parse_evaluator(value: str) -> Evaluator | None:
    """Return an evaluator from its text; None for `"auto"`.

    Raises:
        PolicyError: The text names none.

    Example:
        >>> parse_evaluator("columnar"), parse_evaluator("auto")
        (<Evaluator.COLUMNAR: 'columnar'>, None)
    """
    if value == "auto":
        return None
    try:
        return Evaluator(value)
    except ValueError:
        names = ", ".join(repr(str(evaluator)) for evaluator in Evaluator)
        raise PolicyError(f"{value!r} is not an evaluator; there are 'auto', {names}") from None


def choose_evaluator(plan: Plan, wanted: Evaluator | None) -> Choice:
    """Return the evaluator of a query.

    Raises:
        QueryError: The one that is wanted cannot evaluate it, or it has several windows and no slices to share.
    """
    choice = _choose(plan, wanted)
    if plan.named_windows and choice.evaluator is Evaluator.GENERAL:
        raise QueryError(
            f"several windows of a query share its slices, and this one has none: {choice.reason}\n"
            "  run a query for each window, and union their results; each then decides by itself which rows are late"
        )
    return choice


def _choose(plan: Plan, wanted: Evaluator | None) -> Choice:
    if wanted is Evaluator.GENERAL:
        return Choice(Evaluator.GENERAL, "asked for")
    unsliced = next(_whatever_forbids_slices(plan), None)
    if unsliced is not None:
        return _general(wanted, unsliced)
    plain = [module.label for module in plan.modules if module.form is None]
    if not plain and wanted is not Evaluator.SLICED:
        return Choice(Evaluator.COLUMNAR, "all modules have a columnar form")
    if wanted is Evaluator.COLUMNAR:
        raise QueryError(_cannot(wanted, f"{plain[0]} has no columnar form for its input"))
    if plan.lifetimes != "point":
        return _general(wanted, "events have lifetimes, so a row may lie in several slices")
    unmergeable = [module.label for module in plan.modules if not _is_mergeable(module)]
    if unmergeable:
        return _general(wanted, f"{unmergeable[0]} has no combine")
    return Choice(Evaluator.SLICED, "asked for" if wanted else f"{plain[0]} has no columnar form for its input")


def forbids_steps(plan: Plan) -> str | None:
    """Return why windows may change or close elsewhere than at their ends; None if they do not."""
    for window in plan.windows:
        if not isinstance(window, HoppingWindows):
            return f"{window} is cut by each key's own events"
        if window.reach:
            return "events are members of windows that they do not overlap, by the window's reach"
    if plan.early is None and plan.emit is not EmitPolicy.FINAL:
        return f"emit={str(plan.emit)!r} puts out results that may change"
    if plan.input.progress.by_key:
        return "keys may punctuate themselves, so each closes windows of its own"
    if plan.input.late.policy in (LatePolicy.ADJUST, LatePolicy.CORRECT):
        return f"late={str(plan.input.late)!r} takes late rows in"
    if plan.columns.id is not None:
        return "events have ids, so they may be revised"
    return "samples last until the next one of their key" if plan.is_edge else None


def _whatever_forbids_slices(plan: Plan) -> Iterator[str]:
    unsteady = forbids_steps(plan)
    if unsteady is not None:
        yield unsteady
    if plan.early is not None:
        yield "a trigger watches each window by itself"
    if plan.named_windows and plan.lifetimes != "point":
        yield "events have lifetimes, so they belong to another range of each window"
    yield from (f"{module.label} sees events and the window" for module in _time_sensitive(plan.modules))
    if plan.is_operator:
        yield f"{plan.modules[0].label} is an operator"
    if plan.keeps_late_rows:
        yield "late rows are wanted, and partial states have no rows in them"


def _time_sensitive(modules: Sequence[ModulePlan]) -> Iterator[ModulePlan]:
    return (module for module in modules if module.module.is_time_sensitive)


def _is_mergeable(module: ModulePlan) -> bool:
    return module.module.is_incremental and isinstance(module.module, SupportsCombine)


def _general(wanted: Evaluator | None, reason: str) -> Choice:
    if wanted is not None:
        raise QueryError(_cannot(wanted, reason))
    return Choice(Evaluator.GENERAL, reason)


def _cannot(wanted: Evaluator, reason: str) -> str:
    return f"the {wanted} evaluator cannot run this query: {reason}\n  leave the choice open with evaluator='auto'"
