"""One attempt to break a law: what was drawn, and how a failure is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis.strategies import SearchStrategy

from muntin.drawings import Bar, timeline
from muntin.testing.equality import equal
from muntin.testing.laws.error import LawError, shortened, told_apart
from muntin.testing.laws.law import Law

T = TypeVar("T")


class Trial:
    """Draws data for one attempt, remembers it, and raises `LawError` where the law does not hold.

    Attributes:
        law: The law that is tried.
        module: The module's name and version.
        tolerance: Relative and absolute, for numbers in results.
        stream: The stream that was drawn, for the report.
    """

    def __init__(self, law: Law, module: str, tolerance: float, data: Any) -> None:
        """Prepare an attempt on data from Hypothesis; None for a law that needs none."""
        self.law = law
        self.module = module
        self.tolerance = tolerance
        self.stream: list[Bar | str] = []
        self._data = data

    def draw(self, strategy: SearchStrategy[T]) -> T:
        """Return something from a strategy."""
        drawn: T = self._data.draw(strategy)
        return drawn

    def same(self, left: Any, right: Any, tolerance: float | None = None) -> bool:
        """Return True if two results are equal within a tolerance, by default that of the laws."""
        return equal(left, right, self.tolerance if tolerance is None else tolerance)

    def expect(self, holds: bool, fact: Callable[[], str]) -> None:
        """Raise unless something holds; the fact says what was seen instead."""
        if not holds:
            raise self.broken(fact())

    def expect_same(self, left: tuple[str, Any], right: tuple[str, Any], tolerance: float | None = None) -> None:
        """Raise unless two results, each with a description, are equal within a tolerance.

        Args:
            left: A description and a result.
            right: Another.
            tolerance: By default that of the laws, for floats that were added up in another order; 0 for results that
                are of equal calls.
        """
        is_same = self.same(left[1], right[1], tolerance)
        self.expect(is_same, lambda: "\n".join(f"{text}: {value}" for text, value in told_apart(left, right)))

    def broken(self, facts: str, remedy: str | None = None) -> LawError:
        """Return the report of a broken law, by default with the law's own remedy."""
        law = self.law
        facts = "\n".join(map(shortened, facts.splitlines()))
        stream = "\n".join(map(shortened, timeline(self.stream).splitlines()))
        return LawError(law.name, law.statement, self.module, facts, stream, remedy or law.remedy)
