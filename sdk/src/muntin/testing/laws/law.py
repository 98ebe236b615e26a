"""Laws, why they do not apply, and how they are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

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


def settings_of(law: Law) -> settings:
    """Return the settings of the attempts to break a law."""
    return CROWDED if law.crowd else SETTINGS


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
