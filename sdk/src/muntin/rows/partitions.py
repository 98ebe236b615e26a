"""Partitions of row windows, and what bounds them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from muntin.errors import WindowError


class PartitionView(NamedTuple):
    """A partition, as one sees it who selects partitions to remove.

    Attributes:
        partition: Its value.
        rows: The number of rows it holds.
        last: The time of the last row that was inserted.
    """

    partition: Hashable
    rows: int
    last: int


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions of a row window: each has rows, eviction and triggers of its own.

    Attributes:
        by: The column, or SQL expression, whose value says which partition a row belongs to.
        age: A partition without an insertion for so long is removed.
        most: Partitions are removed until there are so many.
        most_rows: Partitions are removed until they hold so many rows together.
        on_insertion: True if a partition that is too old is only removed when a row is inserted, as IBM Streams has it.
            By default it goes when its time comes.
    """

    by: str
    age: int | None = None
    most: int | None = None
    most_rows: int | None = None
    on_insertion: bool = False

    def __post_init__(self) -> None:
        by: object = self.by
        if not isinstance(by, str) or not by:
            raise WindowError(f"partition() takes a column or an SQL expression as text, got {by!r}")
        for name in ("age", "most", "most_rows"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0):
                raise WindowError(f"the limit {name} of partitions is a whole number above zero, got {limit!r}")

    @property
    def has_limits(self) -> bool:
        """True if partitions may be removed."""
        return any(limit is not None for limit in (self.age, self.most, self.most_rows))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            name: int(value) if type(value) is not bool and isinstance(value, int) else value
            for name, value in values.items()
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Partitions:
        """Undo `to_dict`.

        Raises:
            WindowError: A field is missing, or none of it.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise WindowError(f"{dict(data)!r} does not say how row windows are partitioned: {error}") from error
