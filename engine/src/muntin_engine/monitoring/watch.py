"""A streaming query that is looked at now and then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from muntin_engine.monitoring.history import Histories, History


class Watched(Protocol):
    """The part of a `StreamingQuery` that is watched; nothing of it changes the query."""

    @property
    def name(self) -> str | None:
        """Its name, if it was given one."""
        ...

    @property
    def isActive(self) -> bool:
        """True while it runs."""
        ...

    @property
    def recentProgress(self) -> Sequence[Mapping[str, object]]:
        """Its progress, batch by batch, oldest first."""
        ...

    def exception(self) -> Exception | None:
        """Return the exception that ended it, if it failed."""
        ...


class Watch:
    """The observations of a query so far.

    Attributes:
        status: Its status, in a line.
    """

    def __init__(self, query: Watched) -> None:
        self._query = query
        self._histories = Histories()
        self.status = "nothing seen yet"

    @property
    def histories(self) -> Mapping[str, History]:
        """The histories of the Muntin queries in it, by the names under which they report."""
        return self._histories.by_query

    def look(self) -> bool:
        """Take in what is new; return whether the query runs."""
        is_active = self._query.isActive  # first, so that what the last batch said is not missed
        self._histories.take(self._query.recentProgress)
        self.status = f"{self._query.name or 'the query'} {self._status(is_active)}"
        return is_active

    def leave(self) -> None:
        """Stop watching."""
        self.status = f"{self._query.name or 'the query'} goes on; nobody watches it any more"

    def _status(self, is_active: bool) -> str:
        if is_active:
            return "runs" if self.histories else "runs; it has not reported any Muntin query yet"
        error = self._query.exception()
        return "has ended" if error is None else f"has failed: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
