"""PartitionedRows: row windows as a query writes them, with policies, partitions and modifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

from muntin.axis import Axis, Duration, TimeLength, spell_as_written, ticks
from muntin.errors import WindowError
from muntin.rows.policies import (
    ConditionPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    Partitions,
    PartitionView,
    PlainPolicy,
    RowPolicy,
    elapsed,
    policy_of,
)
from muntin.rows.row_windows import RowWindows


def _elapsed_of(value: ElapsedPolicy | Duration) -> ElapsedPolicy:
    return value if isinstance(value, ElapsedPolicy) else elapsed(value)


def _partitions_of(value: Partitions | str) -> Partitions:
    return value if isinstance(value, Partitions) else Partitions(value)


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "evicts": policy_of,
    "triggers": policy_of,
    "within": _elapsed_of,
    "partitions": _partitions_of,
}
"""Functions that read the value of a field as a query may write it, by field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedRows(RowWindows):
    """Row windows with partitions.

    Attributes:
        partitions: The partitions of rows, with their limits; None if rows are not partitioned.
        shows_empty: True if a window without rows is computed too.
        admits: The condition that a row must meet to be a member; None if any row may be. Other rows count for nothing,
            but time passes with them, and they end a batch if they are markers.
        is_marked: True if results say where the output of a window ends, in the column `ends_window`.
    """

    partitions: Partitions | None = None
    shows_empty: bool = False
    admits: str | None = None
    is_marked: bool = False

    def partition(
        self,
        by: str,
        *,
        age: Duration | None = None,
        most: int | None = None,
        most_rows: int | None = None,
        on_insertion: bool = False,
    ) -> Self:
        """Partition the rows: each partition has rows, eviction and triggers of its own.

        Where partitions are bounded together, they belong to one key; where they are not, a key of the query does the
        same and spreads them over the machines.

        Args:
            by: The column, or SQL expression, that says which partition a row belongs to.
            age: The time without an insertion after which a partition is removed.
            most: The most partitions that are kept; the least recently used are removed first.
            most_rows: The most rows that all partitions hold together; the least recently used are removed first.
            on_insertion: Remove partitions that are too old only when a row is inserted.

        Raises:
            WindowError: A limit is not above zero.

        Example:
            >>> from muntin.rows import last
            >>> print(last(10).trigger(2).partition("sensor", most=1000))
            last(10).trigger(2).partition('sensor', most=1000)
        """
        limit = None if age is None else ticks(age)
        return replace(self, partitions=Partitions(by, limit, most, most_rows, on_insertion))

    def with_empty(self) -> Self:
        """Compute windows also when they have no rows."""
        return replace(self, shows_empty=True)

    def with_marks(self) -> Self:
        """Add a column `ends_window` to the results.

        It is true of the last row that an operator returns for a window, in `on_trigger` and `on_flush` if it follows
        rows, and of each result of aggregates; false of other rows. (IBM Streams: window punctuation in the output.) A
        window for which an operator returns no row has no mark.
        """
        return replace(self, is_marked=True)

    def admit(self, condition: str) -> Self:
        """Admit as members only the rows that meet a condition.

        Other rows are no members and count for nothing, but time passes with them, and a `RowOperator` gets them in
        `on_pass`: for a stream that has both readings and queries for them.

        Args:
            condition: An SQL expression over the columns of the input. Null keeps a row out.

        Raises:
            WindowError: The condition is not a text.

        Example:
            >>> from muntin.rows import last
            >>> print(last(100).admit("kind = 'reading'"))
            last(100).admit("kind = 'reading'")
        """
        expression: object = condition  # a caller may give anything
        if not isinstance(expression, str) or not expression:
            raise WindowError(f"admit() takes an SQL expression as text, got {condition!r}")
        return replace(self, admits=condition)

    def select_partitions(self, partitions: Sequence[PartitionView]) -> Sequence[Hashable]:
        """Return the partitions to remove: there are too many, too many rows, or the first one is too old.

        The default removes the first one. A subclass, which needs a `name` and a `version` of its own, may choose
        others. The method is called again while there are still too many, or the first one is still too old.

        Args:
            partitions: All partitions, the least recently used first.
        """
        return [partitions[0].partition]

    @property
    @abstractmethod
    def _leaving(self) -> RowPolicy | None:
        """The policy by which rows leave one by one; None where a window that is computed loses all of them."""

    @property
    @abstractmethod
    def _computing(self) -> RowPolicy | None:
        """The policy that computes the window; None where only rows that open and close do."""

    @property
    def _is_limited(self) -> bool:
        """True if rows may leave with their partition, when others come."""
        return self.partitions is not None and self.partitions.has_limits

    @property
    def policies(self) -> tuple[RowPolicy, ...]:
        """The policies, eviction first."""
        return tuple(policy for policy in (self._leaving, self._computing) if policy is not None)

    @property
    def reads(self) -> tuple[str, ...]:
        """The expressions of the partition and of the policies, and the condition that admits a row."""
        expressions: list[str] = []
        if self.partitions is not None:
            expressions.append(self.partitions.by)
        for policy in self.policies:
            expressions += policy.reads
        if self.admits is not None:
            expressions.append(self.admits)
        return tuple(expressions)

    @property
    def partition_by(self) -> str | None:
        """The expression by which rows are partitioned."""
        return None if self.partitions is None else self.partitions.by

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of markers and triggers, and the one that admits a row."""
        conditions: list[str] = []
        for policy in self.policies:
            if isinstance(policy, MarkerPolicy | ConditionPolicy):
                conditions.append(policy.condition)
        if self.admits is not None:
            conditions.append(self.admits)
        return tuple(conditions)

    def with_lengths(self, convert: Callable[[int], int]) -> Self:
        """Convert each length of time, as into another unit."""
        converted: dict[str, Any] = {}
        for part in fields(self):
            policy = getattr(self, part.name)
            if isinstance(policy, ElapsedPolicy):
                converted[part.name] = ElapsedPolicy(convert(policy.length))
        if self.partitions is not None and self.partitions.age is not None:
            converted["partitions"] = replace(self.partitions, age=convert(self.partitions.age))
        return replace(self, **converted)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call that makes the windows, and the calls of modifiers after it."""
        # Muntin's own kinds have a call of their own; a plugin's are named by `window`.
        is_of_a_plugin = "." in self.name
        calls = PartitionedRows._call(self, axis) if is_of_a_plugin else self._call(axis)
        if self.shows_empty:
            calls += ".with_empty()"
        if self.is_marked:
            calls += ".with_marks()"
        if self.admits is not None:
            calls += f".admit({self.admits!r})"
        if self.partitions is not None:
            calls += f".{self.partitions.spell(axis)}"
        return calls

    def spell_field(self, name: str, axis: Axis) -> str:
        """Return the value of a field as a query writes it."""
        value = getattr(self, name)
        if isinstance(value, TimeLength):
            return spell_as_written(value)
        return value.spell(axis) if isinstance(value, RowPolicy) else repr(value)

    @classmethod
    def named_by(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the windows as a query names them: policies as in `last`, a partition by its expression."""
        values: dict[str, Any] = {}
        for name, value in parameters.items():
            # Only fields that a query may write in short, such as a number for a policy, have a reader.
            has_reader = name in _READERS and value is not None
            values[name] = _READERS[name](value) if has_reader else value
        return cls(**values)

    def _call(self, axis: Axis) -> str:
        """Return the call that names the kind, with the fields that have other values than by default."""
        arguments = [repr(self.name)]
        for part in fields(self):
            is_a_modifier = part.name in PartitionedRows.__dataclass_fields__
            if not is_a_modifier and getattr(self, part.name) != part.default:
                arguments.append(f"{part.name}={self.spell_field(part.name, axis)}")
        return f"window({', '.join(arguments)})"

    @classmethod
    def _field_written(cls, value: Any) -> Any:
        return value.to_dict() if isinstance(value, PlainPolicy) else RowWindows._field_written(value)

    @classmethod
    def _field_read(cls, value: Any) -> Any:
        return PlainPolicy.from_dict(value) if isinstance(value, Mapping) else RowWindows._field_read(value)
