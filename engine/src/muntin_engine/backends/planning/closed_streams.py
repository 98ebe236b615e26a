"""Whether the stream of a query can be closed, so that its last windows are emitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from muntin.errors import QueryError

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

BY_A_ROW: Final = "  let its input say that it has ended: by a row with change='close', see events()"
"""The advice to close a stream by a row."""


def check_closes(query: PlannedQuery) -> None:
    """Refuse a query whose stream cannot be closed: closing emits the windows that are open in its state.

    Raises:
        QueryError: The query keeps no state, or reads the results of another one.
    """
    if not query.plan.choice.keeps_state:
        raise QueryError(
            "on_end='close' emits what waits for the end, and this query keeps no state\n  leave on_end out"
        )
    if query.inner:
        raise QueryError(
            f"on_end='close' works only for queries on an input stream; this query reads another query's results\n"
            f"{BY_A_ROW}"
        )
