"""Laws, and the tests made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.testing.laws.error import LawError

SETTINGS = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,  # a broken law draws its stream itself
    phases=(Phase.generate, Phase.shrink),
)

CROWDED = settings(SETTINGS, max_examples=8)
"""Settings of laws over windows of hundreds of members: fewer examples, as each takes as long as many small ones."""

Reason: TypeAlias = Callable[[Any], str | None]
"""Says why a law does not apply to a module; None if it does."""


@dataclass(frozen=True, slots=True)
class Law:
    """A law of a base class.

    Attributes:
        name: The name of its test method, as words.
        statement: One sentence.
        remedy: The remedy for a writer whose module breaks it.
        is_random: True if it is tried on random streams, False if once.
        does_not_apply: Says for a module why the law does not apply to it; None where it does.
        crowd: The most members that a window may have beyond the few that are drawn one by one.
        is_for_some: True if a laws class has it only where it applies to what is under test, so that it is not skipped.
    """

    name: str
    statement: str
    remedy: str
    is_random: bool
    does_not_apply: Reason
    crowd: int = 0
    is_for_some: bool = False


def law(
    remedy: str,
    *,
    does_not_apply: Reason = lambda module: None,
    is_random: bool = True,
    is_for_some: bool = False,
) -> Callable[[Callable[[Any, Any], None]], Callable[[Any], None]]:
    """Make a method `(self, trial)` of a laws class the test of the law that its name and docstring state.

    Args:
        remedy: The remedy for a writer whose module breaks it.
        does_not_apply: Says for a module why the law does not apply to it; its test is then skipped.
        is_random: False if one trial without random data is enough.
        is_for_some: True to leave it out where it does not apply, instead of skipping it.
    """

    def wrap(body: Callable[[Any, Any], None]) -> Callable[[object], None]:
        statement = (body.__doc__ or "").strip().partition("\n")[0]
        stated = Law(
            body.__name__.removeprefix("test_").replace("_", " "),
            statement,
            remedy,
            is_random,
            does_not_apply,
            is_for_some=is_for_some,
        )

        def test(self: Any) -> None:
            __tracebackhide__ = True
            reason = does_not_apply(self.subject())
            if reason:
                pytest.skip(f"does not apply: {reason}")
            # Small windows first: what they break is told by a small stream. What needs many members shows after that.
            for crowd in (0, self.crowd()) if is_random and self.crowd() else (0,):
                crowded = replace(stated, crowd=crowd)
                try:
                    _try(crowded, partial(self.attempt, crowded, body))
                except LawError as broken:
                    first = self.first_fault(broken)
                    raise first.with_traceback(None) from first.__cause__

        test.__name__, test.__qualname__, test.__doc__ = body.__name__, body.__qualname__, body.__doc__
        test.law = stated  # type: ignore[attr-defined]  # functions take attributes
        return test

    return wrap


def named(module: Any) -> str:
    """Return the name of a module; that of its class, if it has none, which a law says."""
    return getattr(module, "name", None) or type(module).__qualname__


def labelled(module: Any) -> str:
    """Return the name and the version of a module."""
    return f"{named(module)} {getattr(module, 'version', None) or 'without a version'}"


def lacks(*methods: str) -> Reason:
    """Say of a module which of some optional methods it has not defined."""

    def reason(module: Any) -> str | None:
        missing = [method for method in methods if not hasattr(module, method)]
        return f"{named(module)} has no {' and no '.join(missing)}" if missing else None

    return reason


def reads_order(module: Any) -> str | None:
    """Say of a module that it reads the order of events."""
    return f"{named(module)} says that it reads the order" if module.reads_order else None


def first_of(strategy: SearchStrategy[object], count: int) -> list[object]:
    """Return the first values of a strategy, the same ones every time: fewer where it has fewer.

    They are drawn ten at a time, since most of the work of an example is not the drawing. The values of the first
    example are all the simplest one, which is returned once.
    """
    values: list[Any] = []

    def take(ten: list[object]) -> None:
        values.extend(ten)

    settings(SETTINGS, max_examples=1 + count // 10)(given(st.lists(strategy, min_size=10, max_size=10))(take))()
    return values[9 : 9 + count]


def _try(stated: Law, attempt: Callable[[Any], None]) -> None:
    """Attempt a law on random data, smallest failure last; report that one whatever Hypothesis makes of it."""
    __tracebackhide__ = True
    failures: list[LawError] = []

    def example(data: object) -> None:
        try:
            attempt(data)
        except LawError as failure:
            failures.append(failure)
            raise

    try:
        if stated.is_random:
            (CROWDED if stated.crowd else SETTINGS)(given(st.data())(example))()
        else:
            example(None)
    except Exception:
        if not failures:
            raise
    if failures:
        raise failures[-1].with_traceback(None) from failures[-1].__cause__
