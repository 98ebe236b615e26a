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
    """Read a length of time as a query writes it: as a policy, or as the length alone."""
    return value if isinstance(value, ElapsedPolicy) else elapsed(value)


def _partitions_of(value: Partitions | str) -> Partitions:
    """Read partitions as a query writes them: as `Partitions`, or as their expression alone."""
    return value if isinstance(value, Partitions) else Partitions(value)


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "evicts": policy_of,
    "triggers": policy_of,
    "within": _elapsed_of,
    "partitions": _partitions_of,
}
"""The function that reads the value of a field as a query may write it, by the name of the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedRows(RowWindows):
    """Row windows with partitions.

    Attributes:
        partitions: The partitions of rows, with their limits; None if rows are not partitioned.
        shows_empty: True if a window without rows is computed too.
        admits: The condition that a row must meet to be a member; None to admit all rows. Rows that do not meet it
            count for nothing, but time passes with them, and they end a batch if they are markers.
        is_marked: True if results have the column `ends_window`, which says where the output of a window ends.
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

        Partitions with a common limit have to belong to one key of the query. Without such a limit, use a key in the
        place of partitions: it does the same, and is spread over the machines.

        Args:
            by: The column, or SQL expression, that says which partition a row belongs to.
            age: The time without an insertion after which a partition is removed.
            most: The greatest number of partitions; the least recently used ones are removed first.
            most_rows: The greatest number of rows in all partitions; the least recently used ones are removed first.
            on_insertion: True to remove partitions that are too old only when a row is inserted.

        Raises:
            WindowError: A limit is not above zero.

        Example:
            >>> from muntin.rows import last
            >>> print(last(10).trigger(2).partition("sensor", most=1000))
            last(10).trigger(2).partition('sensor', most=1000)
        """
        age_ticks = None if age is None else ticks(age)
        partitions = Partitions(by, age=age_ticks, most=most, most_rows=most_rows, on_insertion=on_insertion)
        return replace(self, partitions=partitions)

    def with_empty(self) -> Self:
        """Compute windows also when they have no rows."""
        return replace(self, shows_empty=True)

    def with_marks(self) -> Self:
        """Add a column `ends_window` to the results.

        The column is true for each result of aggregates, and for the last row that an operator returns for a window; a
        `RowOperator` returns it in `on_trigger` or `on_flush`. It is false for all other rows. (IBM Streams: window
        punctuation in the output.) A window for which an operator returns no row has no mark.
        """
        return replace(self, is_marked=True)

    def admit(self, condition: str) -> Self:
        """Admit as members only the rows that meet a condition.

        Other rows are not members and count for nothing, but time passes with them, and a `RowOperator` gets them in
        `on_pass`. This suits a stream that has both readings and requests for results.

        Args:
            condition: An SQL expression over the columns of the input. Null keeps a row out.

        Raises:
            WindowError: The condition is not a text.

        Example:
            >>> from muntin.rows import last
            >>> print(last(100).admit("kind = 'reading'"))
            last(100).admit("kind = 'reading'")
        """
        expression: object = condition  # at run time a caller may give a value of any type
        if not isinstance(expression, str) or not expression:
            raise WindowError(f"admit() takes an SQL expression as text, got {condition!r}")
        return replace(self, admits=condition)

    def select_partitions(self, partitions: Sequence[PartitionView]) -> Sequence[Hashable]:
        """Return partitions to remove, when there are too many, they hold too many rows, or the first one is too old.

        The default removes the first one. A subclass, which needs a `name` and a `version` of its own, may choose
        others. The method is called again as long as a limit is exceeded.

        Args:
            partitions: All partitions, the least recently used first.
        """
        return [partitions[0].partition]

    @property
    @abstractmethod
    def _eviction_policy(self) -> RowPolicy | None:
        """The policy by which rows leave one by one; None if all rows leave when the window is computed."""

    @property
    @abstractmethod
    def _trigger_policy(self) -> RowPolicy | None:
        """The policy that says when the window is computed; None if only rows that open and close say it."""

    @property
    def _is_limited(self) -> bool:
        """True if a partition with its rows may be removed because of a limit."""
        return self.partitions is not None and self.partitions.has_limits

    @property
    def policies(self) -> tuple[RowPolicy, ...]:
        """The policies, eviction first."""
        return tuple(policy for policy in (self._eviction_policy, self._trigger_policy) if policy is not None)

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
        """The expression by which rows are partitioned; None if they are not."""
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
        """Return the windows with each length of time converted, for example into another unit."""
        converted: dict[str, Any] = {}
        for field in fields(self):
            policy = getattr(self, field.name)
            if isinstance(policy, ElapsedPolicy):
                converted[field.name] = ElapsedPolicy(convert(policy.length))
        if self.partitions is not None and self.partitions.age is not None:
            converted["partitions"] = replace(self.partitions, age=convert(self.partitions.age))
        return replace(self, **converted)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call that makes the windows, and the calls of modifiers after it."""
        # A kind of a plugin, which may subclass one of Muntin's, has no function of its own: it is named by `window`.
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
        """Make windows from parameters as a query writes them: policies as in `last`, partitions by an expression."""
        values: dict[str, Any] = {}
        for name, value in parameters.items():
            # Only fields that a query may write in short, such as a number for a policy, have a reader.
            has_reader = name in _READERS and value is not None
            values[name] = _READERS[name](value) if has_reader else value
        return cls(**values)

    def _call(self, axis: Axis) -> str:
        """Return the call of `window` for the kind, with the fields that differ from their default."""
        arguments = [repr(self.name)]
        for field in fields(self):
            # Modifiers are spelled as calls behind this one.
            is_a_modifier = field.name in PartitionedRows.__dataclass_fields__
            if not is_a_modifier and getattr(self, field.name) != field.default:
                arguments.append(f"{field.name}={self.spell_field(field.name, axis)}")
        return f"window({', '.join(arguments)})"

    @classmethod
    def _field_written(cls, value: Any) -> Any:
        """Return the value of a field for JSON: a policy as its data."""
        return value.to_dict() if isinstance(value, PlainPolicy) else RowWindows._field_written(value)

    @classmethod
    def _field_read(cls, value: Any) -> Any:
        """Return the value of a field from JSON: the only mappings are policies."""
        return PlainPolicy.from_dict(value) if isinstance(value, Mapping) else RowWindows._field_read(value)
