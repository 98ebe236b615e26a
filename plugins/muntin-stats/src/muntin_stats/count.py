"""The number of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field, Struct
from muntin_stats.group import GroupAggregate
from muntin_stats.parameters import flag


class Count(GroupAggregate[Any, int, int]):
    """Count the members of a window, or those whose value is not null.

    With no input every event counts, as `count(*)` does; with an input and `skip_nulls`, as `count(column)` does.

    Args:
        skip_nulls: True to leave out events whose payload is null. In a query without an input the payload of each
            event is null, so it needs the default.

    Types: anything to int; zero where all payloads are null and skipped.

    Laws: integers form a group, so removing, combining and deducting are exact.

    Cost: an int per window; constant time per call, or one test per payload with `skip_nulls`.

    Example:
        >>> events = Count()
        >>> values = Count(skip_nulls=True)
        >>> events.add_events(0, ["a", None, "b"]), values.add_events(0, ["a", None, "b"])
        (3, 2)
    """

    name, version = "stats.count", "0.1.0"

    def __init__(self, skip_nulls: bool = False) -> None:
        self.skip_nulls = flag("skip_nulls", skip_nulls)

    def lift(self, payloads: Sequence[object]) -> int:
        """Return the number of payloads, or of those that are not null."""
        if self.skip_nulls:
            return sum(payload is not None for payload in payloads)
        return len(payloads)

    def compute_result(self, state: int) -> int:
        """Return the count."""
        return state

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays.

        None with `skip_nulls` for records: a form also skips those with a null field.
        """
        from muntin_stats.columns.count import ColumnarCount, ColumnarCountOfValues

        if not self.skip_nulls:
            return ColumnarCount()
        return None if isinstance(reads.type, Struct) else ColumnarCountOfValues()
