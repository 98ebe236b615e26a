"""PartitionedRows: what a query says of row windows, their policies and partitions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

from muntin.axis import Axis, Duration, TimeLength, spell_given, ticks
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

_NAMED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "evicts": policy_of,
    "triggers": policy_of,
    "within": lambda given: given if isinstance(given, ElapsedPolicy) else elapsed(given),
    "partitions": lambda given: given if isinstance(given, Partitions) else Partitions(given),
}
"""The query's names for the values of fields, by field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedRows(RowWindows):
    """Row windows with partitions.

    Attributes:
        partitions: How rows are partitioned, and what bounds the partitions; None if they are not.
        shows_empty: True if a window without rows is computed too.
        admits: The condition that a row must meet to be a member; None if any may be. Others count for nothing: windows
            see no more of them than their time, and that they end a batch if they are markers.
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
        """Return the same windows, each partition with rows, eviction and triggers of its own.

        Where partitions are bounded together, they belong to one key; where they are not, a key of the query does the
        same and spreads them over the machines.

        Args:
            by: The column, or SQL expression, that says which partition a row belongs to.
            age: The time without an insertion after which a partition is removed.
            most: The most partitions that are kept; the least recently used are removed first.
            most_rows: The most rows that all partitions hold together; the same are removed first.
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
        """Return the same windows, computed also when they have no rows."""
        return replace(self, shows_empty=True)

    def with_marks(self) -> Self:
        """Return the same windows, whose results have a column `ends_window`.

        It is true of the last row that an operator returns for a window, in `on_trigger` and `on_flush` if it follows
        rows, and of each result of aggregates; false of other rows. (IBM Streams: window punctuation in the output.) A
        window for which an operator returns no row has no mark.
        """
        return replace(self, is_marked=True)

    def admit(self, condition: str) -> Self:
        """Return the same windows, of the rows alone that meet a condition.

        Other rows are no members and count for nothing, but time passes with them, and a `RowOperator` gets them in
        `on_pass`: for a stream that has both readings and queries for them.

        Args:
            condition: An SQL expression over the columns of the input. Null keeps a row out.

        Raises:
            WindowError: It is not a text.

        Example:
            >>> from muntin.rows import last
            >>> print(last(100).admit("kind = 'reading'"))
            last(100).admit("kind = 'reading'")
        """
        given: object = condition
        if not isinstance(given, str) or not given:
            raise WindowError(f"admit() takes an SQL expression as text, got {condition!r}")
        return replace(self, admits=condition)

    def select_partitions(self, partitions: Sequence[PartitionView]) -> Sequence[Hashable]:
        """Return the partitions to remove: there are too many, too many rows, or the first one is too old.

        By default that is the first one. A subclass, which needs a `name` and a `version` of its own, may choose
        others. It is called again while there are still
        too many, or the first one is still too old.

        Args:
            partitions: All there are, the least recently used first.
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
        """The partition, what the policies read, and what admits a row."""
        own = () if self.partitions is None else (self.partitions.by,)
        admits = () if self.admits is None else (self.admits,)
        return (*own, *(expression for policy in self.policies for expression in policy.reads), *admits)

    @property
    def partition_by(self) -> str | None:
        """The expression by which rows are partitioned."""
        return None if self.partitions is None else self.partitions.by

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of markers and triggers, and the one that admits a row."""
        admits = () if self.admits is None else (self.admits,)
        found = (policy.condition for policy in self.policies if isinstance(policy, MarkerPolicy | ConditionPolicy))
        return (*found, *admits)

    def with_lengths(self, convert: Callable[[int], int]) -> Self:
        """Return the same windows with each length of time converted."""
        lengths: dict[str, Any] = {
            part.name: ElapsedPolicy(convert(policy.length))
            for part in fields(self)
            if isinstance(policy := getattr(self, part.name), ElapsedPolicy)
        }
        of = self.partitions
        if of is not None and of.age is not None:
            lengths["partitions"] = replace(of, age=convert(of.age))
        return replace(self, **lengths)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call that makes it, and the calls after it."""
        told = PartitionedRows._call(self, axis) if "." in self.name else self._call(axis)
        told += ".with_empty()" if self.shows_empty else ""
        told += ".with_marks()" if self.is_marked else ""
        told += f".admit({self.admits!r})" if self.admits is not None else ""
        return told if self.partitions is None else f"{told}.{self.partitions.spell(axis)}"

    def spell_field(self, name: str, axis: Axis) -> str:
        """Return the value of a field as a query writes it."""
        value = getattr(self, name)
        if isinstance(value, TimeLength):
            return spell_given(value)
        return value.spell(axis) if isinstance(value, RowPolicy) else repr(value)

    @classmethod
    def named_by(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the windows as a query names them: policies as in `last`, a partition by its expression."""
        return cls(
            **{
                name: _NAMED[name](value) if name in _NAMED and value is not None else value
                for name, value in parameters.items()
            }
        )

    def _call(self, axis: Axis) -> str:
        """Return the call that names the kind, with the fields that are not left out."""
        common = PartitionedRows.__dataclass_fields__
        given = [part for part in fields(self) if part.name not in common and getattr(self, part.name) != part.default]
        return f"window({', '.join([repr(self.name), *(f'{p.name}={self.spell_field(p.name, axis)}' for p in given)])})"

    @classmethod
    def _field_written(cls, value: Any) -> Any:
        return value.to_dict() if isinstance(value, PlainPolicy) else RowWindows._field_written(value)

    @classmethod
    def _field_read(cls, value: Any) -> Any:
        return PlainPolicy.from_dict(value) if isinstance(value, Mapping) else RowWindows._field_read(value)
