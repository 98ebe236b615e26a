"""Trying all laws of a module, function or trigger at once, without a test class of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from traceback import walk_tb
from typing import Any, TypeAlias

import pytest

from muntin.errors import ModuleDefinitionError
from muntin.modules.function import Function
from muntin.modules.module import Module
from muntin.progress import ProgressPolicy
from muntin.testing.laws.aggregate_laws import (
    AggregateLaws,
    ColumnarAggregateLaws,
    IncrementalAggregateLaws,
    IncrementalOperatorLaws,
    OperatorLaws,
)
from muntin.testing.laws.conformance import Conformance, laws_of
from muntin.testing.laws.following_laws import RowOperatorLaws, StreamOperatorLaws
from muntin.testing.laws.function_laws import FunctionLaws
from muntin.testing.laws.progress_policy_laws import ProgressPolicyLaws
from muntin.testing.laws.result_refinement_laws import ResultRefinementLaws
from muntin.testing.laws.row_window_laws import RowWindowLaws
from muntin.testing.laws.trial import LawError
from muntin.testing.laws.trigger_laws import TriggerLaws
from muntin.testing.laws.window_kind_laws import WindowKindLaws
from muntin.triggers.refining import ResultRefinement
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowSpecification

_LAWS: tuple[type[Conformance], ...] = (
    ColumnarAggregateLaws,
    AggregateLaws,
    OperatorLaws,
    IncrementalAggregateLaws,
    IncrementalOperatorLaws,
    RowOperatorLaws,
    StreamOperatorLaws,
    FunctionLaws,
    TriggerLaws,
    WindowKindLaws,
    ProgressPolicyLaws,
    ResultRefinementLaws,
    RowWindowLaws,
)

_DEFINITION = "definition is complete"
_TAKES_PAYLOADS = ("add_events", "compute_result", "call")

Subject: TypeAlias = Module | Function[..., Any] | Trigger | WindowSpecification | ProgressPolicy | ResultRefinement
"""Anything that has laws."""


class Outcome(StrEnum):
    """The outcome of trying a law."""

    KEPT = "kept"
    """No random stream broke it."""
    BROKEN = "broken"
    """A stream breaks it."""
    SKIPPED = "skipped"
    """It does not apply to the module, or cannot be tried until the fault that breaks an earlier law is mended."""
    UNTRIED = "untried"
    """The valid payloads cannot be derived from the module's types: it refuses some with a `ValueError`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one law.

    Attributes:
        law: The law's name, for example `"order does not matter"`.
        statement: The law in one sentence.
        outcome: The outcome: kept, broken, skipped or untried.
        reason: The report of a broken law, with the smallest stream; or the reason why it was not tried. Empty for a
            law that is kept.
    """

    law: str
    statement: str
    outcome: Outcome
    reason: str = ""


def laws_for(subject: Subject) -> type[Conformance]:
    """Return the laws class of a module's base class, or that of functions or triggers.

    Raises:
        ModuleDefinitionError: The subject is neither a module nor a function or trigger.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[int, int]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> laws_for(Largest()).__name__
        'AggregateLaws'
    """
    for laws in _LAWS:
        if isinstance(subject, laws.subject_type()):
            return laws
    raise ModuleDefinitionError(
        f"{subject!r} has no laws\n  expected: an instance of a module class, a trigger or windows, or a function"
    )


def laws_applying_to(subject: Subject) -> dict[str, str]:
    """Return the laws that apply to a module, function or trigger, with their statements.

    Example:
        >>> from muntin import function
        >>> @function("demo.twice", version="1.0.0")
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> laws_applying_to(twice)["arguments are read only"]
        'No argument is changed.'
    """
    laws = laws_for(subject)
    suite = type("TestSubject", (laws,), {laws.subject_name(): subject})
    statements: dict[str, str] = {}
    for test in laws_of(suite):
        law = getattr(laws, test).law
        if law.does_not_apply(subject) is None:
            statements[law.name] = law.statement
    return statements


def try_laws(subject: Subject, **attributes: object) -> Iterator[Verdict]:
    """Try the laws of a module, function or trigger and yield the verdict on each.

    Args:
        subject: The subject: an instance of a module or a trigger, or a function.
        attributes: The attributes of the laws class, for example `payloads`, `arguments` or `tolerance`.

    Example:
        >>> from muntin import Aggregate
        >>> class First(Aggregate[int, int]):
        ...     name, version = "demo.first", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return payloads[0]
        >>> [verdict.law for verdict in try_laws(First()) if verdict.outcome is Outcome.BROKEN]
        ['order does not matter']
    """
    laws = laws_for(subject)
    why_untried = ""
    if isinstance(subject, Function) and subject.is_vectorized and "arguments" not in attributes:
        why_untried = f"{subject.name} is vectorised, so its annotations do not say what a row holds"
    suite = type("TestSubject", (laws,), {laws.subject_name(): subject, **attributes})
    # The law under which each method raised first, by the method and the type of its exception.
    first_laws: dict[tuple[str, type], str] = {}
    for test, statement in laws_of(suite).items():
        if why_untried:
            outcome = Outcome.UNTRIED
            reason = why_untried
        else:
            outcome, reason = _try(suite, test, first_laws)
        yield Verdict(getattr(suite, test).law.name, statement, outcome, reason)


def _is_complete(subject: Subject) -> bool:
    """Return True if a module's class is defined in full, so that laws can be tried on it."""
    try:
        if isinstance(subject, Module):
            type(subject).check_definition()
    except ModuleDefinitionError:
        return False
    return True


def _refuses_payload(broken: LawError) -> bool:
    """Return True if a module's own code refused a payload, which it does by raising ValueError.

    A ValueError from a method that gets removed events or states is no refusal of a payload.
    """
    cause = broken.__cause__
    if not isinstance(cause, ValueError) or broken.method not in _TAKES_PAYLOADS:
        return False
    if broken.law == "accepted clips work":
        return False  # this law tries lifetimes: the module may refuse those, and not a payload
    # The innermost frame tells whose code raised: a law of Muntin's, or the module.
    *_, (innermost_frame, _) = walk_tb(cause.__traceback__)
    return not str(innermost_frame.f_globals.get("__name__")).startswith("muntin.")


def _outcome_of_breach(broken: LawError, law: str, first_laws: dict[tuple[str, type], str]) -> tuple[Outcome, str]:
    """Tell a broken law from a refused payload, and from a fault that another law has shown.

    Args:
        broken: The report.
        law: The name of the law that was tried.
        first_laws: The law under which each method raised first, by the method and the type of its exception. A fault
            that no earlier law has shown is added.

    Returns:
        The outcome, and the report or the reason why the law was not tried.
    """
    if _refuses_payload(broken):
        return Outcome.UNTRIED, str(broken)
    if broken.law != law:  # `Conformance.first_fault` found that another law shows the fault better
        return Outcome.SKIPPED, f"another law is broken first: {broken.law}"
    if broken.method:
        fault = (broken.method, type(broken.__cause__))
        # One fault shows under many laws; the first of them reports it.
        first_law = first_laws.setdefault(fault, broken.law)
        if first_law != broken.law:
            return Outcome.SKIPPED, f"{broken.method} fails as it does under the law: {first_law}"
    return Outcome.BROKEN, str(broken)


def _try(suite: type[Conformance], test: str, first_laws: dict[tuple[str, type], str]) -> tuple[Outcome, str]:
    """Try a law; an exception that a method raises under many laws is one fault, and reported once.

    Args:
        suite: The laws class, with the subject under test.
        test: The name of the law's test method.
        first_laws: The law under which each method raised first, by the method and the type of its exception.

    Returns:
        The outcome, and the report or the reason why the law was not tried; empty for a law that is kept.
    """
    try:
        getattr(suite(), test)()
    except pytest.skip.Exception as skipped:
        return Outcome.SKIPPED, str(skipped).removeprefix("does not apply: ")
    except LawError as broken:
        return _outcome_of_breach(broken, getattr(suite, test).law.name, first_laws)
    except ModuleDefinitionError as error:
        # Of a complete module, this error says that payloads or arguments cannot be drawn from its annotations.
        if _is_complete(suite.subject()):
            return Outcome.UNTRIED, str(error)
        # An incomplete definition breaks one law; all others are skipped.
        if getattr(suite, test).law.name == _DEFINITION:
            return Outcome.BROKEN, str(error)
        return Outcome.SKIPPED, f"another law is broken first: {_DEFINITION}"
    return Outcome.KEPT, ""
