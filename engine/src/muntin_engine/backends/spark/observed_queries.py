"""What observes the streaming queries of this process; `monitoring` attaches itself here, and nothing here knows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final


class QueryObserver(ABC):
    """Follows what streaming queries report."""

    @abstractmethod
    def on_progress(self, progress: Mapping[str, Any]) -> None:
        """Take in the progress of a micro-batch, as Spark reports it."""

    @abstractmethod
    def on_end(self, run: str) -> None:
        """Take note that a run of a query has ended, by Spark's id of the run."""

    @abstractmethod
    def describe(self, query: Any, *, is_active: bool) -> Sequence[str]:
        """Return a few texts on a query, for who looks at it in a notebook.

        Args:
            query: Spark's streaming query.
            is_active: True if it ran when it was looked at.
        """


OBSERVERS: Final[list[QueryObserver]] = []
"""The observers of every query that this process starts."""


def attach(observer: QueryObserver) -> None:
    """Have an observer follow every query that this process starts, unless one of its class does already."""
    if not any(type(other) is type(observer) for other in OBSERVERS):
        OBSERVERS.append(observer)
