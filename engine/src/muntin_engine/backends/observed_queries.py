"""The observers of the streaming queries of this process.

`muntin_engine/__init__.py` attaches those that every query has; nothing below knows who they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
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
    def html(self, query: Any, *, is_active: bool) -> str:
        """Return a query as HTML, for somebody who looks at it in a notebook.

        Args:
            query: Spark's streaming query.
            is_active: True if it ran when it was looked at.
        """


class QueryObservers:
    """The observers of every query that this process starts."""

    def __init__(self) -> None:
        self._attached: list[QueryObserver] = []
        self._makers: list[Callable[[], QueryObserver]] = []
        self._lock = Lock()  # several threads of Spark's report progress

    def attach(self, make_observer: Callable[[], QueryObserver]) -> None:
        """Attach an observer, which is made when the first query is observed: not all processes have queries."""
        self._makers.append(make_observer)

    def all(self) -> Sequence[QueryObserver]:
        """Return the observers, in the order in which they were attached; the first call makes them."""
        with self._lock:
            for make_observer in self._makers:
                self._attached.append(make_observer())
            self._makers.clear()
        return tuple(self._attached)


OBSERVERS: Final = QueryObservers()
"""The observers of this process."""
