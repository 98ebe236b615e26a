"""A description that keeps what is derived from it, for evaluators that derive the same for every key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

T = TypeVar("T")


class MakesOnce:
    """A constant description of a query, which keeps what functions make of it."""

    def once(self, make: Callable[[Self], T]) -> T:
        """Return the result of a function of this, which is called the first time only."""
        results: dict[object, T] = self.__dict__.setdefault("_made", {})
        if make not in results:
            results[make] = make(self)
        return results[make]
