"""The results that are there after changes of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from muntin_engine.state.frozen_values import freeze
from muntin_engine.wire.task_payload import TaskPayload

Row: TypeAlias = dict[str, Any]

_COLUMNS_OF_CHANGES: Final = ("change", "event_id", "new_end")


class LiveTable:
    """The results that are there, by the changes so far."""

    def __init__(self, task: TaskPayload) -> None:
        self._key_names = [key.name for key in task.plan.keys]
        self._lifetime_column = task.plan.lifetime_column
        self._changeable: dict[Any, Row] = {}
        self._final: list[Row] = []

    def add_changes(self, changes: Iterable[Row]) -> None:
        """Apply the changes of a micro-batch."""
        for change in changes:
            if "event_id" in change:
                self._apply(change)
            else:
                self._final.append(change)

    def _apply(self, change: Row) -> None:
        """Apply a change to the result that it names by its key and id."""
        row = {column: value for column, value in change.items() if column not in _COLUMNS_OF_CHANGES}
        name = (*(freeze(change[key]) for key in self._key_names), change["event_id"])
        kind = change["change"]
        if kind == "insert":
            self._changeable[name] = row
            return
        self._changeable.pop(name, None)  # a recording may begin after the insertion
        if kind == "revise":
            row[self._lifetime_column] = {**row[self._lifetime_column], "end": change["new_end"]}
            self._changeable[name] = row

    @property
    def rows(self) -> list[Row]:
        """The rows, in an order that does not depend on how they were computed."""
        rows = [*self._changeable.values(), *self._final]
        return sorted(rows, key=lambda row: [_sortable(value) for value in row.values()])


def _sortable(value: Any) -> Any:
    """Return a value that can be compared with those of other rows: null first, NaN last."""
    if isinstance(value, Mapping):
        return (1, [_sortable(part) for part in value.values()])
    if isinstance(value, list | tuple):
        return (1, [_sortable(part) for part in value])
    if value is None:
        return (0, 0)
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124
    return (3, 0) if is_nan else (2, value)
