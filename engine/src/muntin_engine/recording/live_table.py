"""The results that exist after changes of results: those that were inserted, as revised, and not retracted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from muntin_engine.state.frozen_values import freeze
from muntin_engine.wire.task_payload import TaskPayload

Row: TypeAlias = dict[str, Any]

_COLUMNS_OF_CHANGES: Final = ("change", "event_id", "new_end")
"""The columns that describe a change of a result, and are not part of the result."""


class LiveTable:
    """The results of a query that exist after the changes so far."""

    def __init__(self, task: TaskPayload) -> None:
        """Begin without results."""
        self._key_names = [key.name for key in task.plan.keys]
        self._lifetime_column = task.plan.lifetime_column
        self._changeable: dict[Any, Row] = {}
        self._final: list[Row] = []

    def add_changes(self, changes: Iterable[Row]) -> None:
        """Apply the changes of a micro-batch."""
        for change in changes:
            if "event_id" in change:
                self._apply(change)
            else:  # results of this query never change
                self._final.append(change)

    def _apply(self, change: Row) -> None:
        """Apply a change to the result that has its key and its id."""
        row = {column: value for column, value in change.items() if column not in _COLUMNS_OF_CHANGES}
        key = tuple(freeze(change[name]) for name in self._key_names)
        result_id = (*key, change["event_id"])
        kind = change["change"]
        if kind == "insert":
            self._changeable[result_id] = row
            return
        self._changeable.pop(result_id, None)  # a recording may begin after the insertion
        if kind == "revise":
            row[self._lifetime_column] = {**row[self._lifetime_column], "end": change["new_end"]}
            self._changeable[result_id] = row

    @property
    def rows(self) -> list[Row]:
        """The results as rows, ordered by their values, so that replays by any evaluator can be compared."""

        def sort_key(row: Row) -> list[Any]:
            """Return the values of a row in a form in which they can be compared."""
            return [_sortable(value) for value in row.values()]

        return sorted([*self._changeable.values(), *self._final], key=sort_key)


def _sortable(value: Any) -> Any:
    """Return a value with its rank before it, so that any two values of a column can be compared.

    Nulls come first, and NaN last.
    """
    if isinstance(value, Mapping):
        return (1, [_sortable(part) for part in value.values()])
    if isinstance(value, list | tuple):
        return (1, [_sortable(part) for part in value])
    if value is None:
        return (0, 0)
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124
    return (3, 0) if is_nan else (2, value)
