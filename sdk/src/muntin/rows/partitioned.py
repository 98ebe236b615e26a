"""PartitionedRows: what tumbling and sliding row windows have in common, time and partitions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Generic, Self

from muntin.axis import INFINITY, Axis, Duration, ticks
from muntin.errors import WindowError
from muntin.rows.partitions import Partitions, PartitionView
from muntin.rows.policies import (
    ConditionPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    RowPolicy,
    elapsed,
    policy_from_dict,
    policy_of,
    policy_to_dict,
)
from muntin.rows.row_windows import RowWindows
from muntin.rows.subwindows import Subwindow, Subwindows, W
from muntin.rows.view import Action, ActionKind, Row

_NAMED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "evicts": policy_of,
    "triggers": policy_of,
    "within": lambda given: given if isinstance(given, ElapsedPolicy) else elapsed(given),
    "partitions": lambda given: given if isinstance(given, Partitions) else Partitions(given),
}
"""How a query names the values of fields, by field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedRows(RowWindows, Generic[W]):
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

    @property
    def _is_limited(self) -> bool:
        """True if rows may leave with their partition, when others come."""
        by = self.partitions
        return by is not None and any(limit is not None for limit in (by.age, by.most, by.most_rows))

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
            age: Remove a partition without an insertion for so long.
            most: Remove partitions until there are so many, the least recently used first.
            most_rows: Remove partitions until they hold so many rows together.
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

    def with_empty(self) -> Self:
        """Return the same windows, computed also when they have no rows."""
        return replace(self, shows_empty=True)

    def with_marks(self) -> Self:
        """Return the same windows, whose results have a column `ends_window`.

        It is true of the last row that an operator returns for a window, in `on_trigger` and `on_flush` if it follows
        rows, and of each result of aggregates; false of other rows. (IBM Streams: window punctuation in the output.) A
        window for which an operator returns no row has no mark.

        Example:
            >>> from muntin.rows import last
            >>> print(last(10).trigger(2).with_marks())
            last(10).trigger(2).with_marks()
        """
        return replace(self, is_marked=True)

    def admit(self, condition: str) -> Self:
        """Return the same windows, of the rows alone that meet a condition.

        Other rows are no members and count for nothing, but time passes with them, and a `RowOperator` is told of them:
        queries beside the readings that they ask for, in one stream.

        Args:
            condition: An SQL expression over the columns of the input. Null keeps a row out.

        Raises:
            WindowError: It is no text.

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

        By default that is the first one. A class of its own may choose others. It is asked again while there are still
        too many, or the first one is still too old.

        Args:
            partitions: All there are, the least recently used first.
        """
        return [partitions[0].partition]

    @property
    @abstractmethod
    def policies(self) -> tuple[RowPolicy, ...]:
        """The policies, eviction first."""

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

    @property
    @abstractmethod
    def _lifetime(self) -> int | None:
        """For how long a row stays, where it leaves by age: it goes at the first tick after that."""

    @property
    @abstractmethod
    def _period(self) -> int | None:
        """The period at which windows are computed by time; None if they are not."""

    @abstractmethod
    def _kind(self) -> type[W]:
        """Return the class of the windows of partitions."""

    @abstractmethod
    def _compute(self, state: Subwindows[W], partition: Hashable, now: int) -> Iterator[Action]:
        """Yield the actions that compute the window of a partition at some time.

        The window ends there, or after its newest row.
        """

    def create_state(self) -> Subwindows[W]:
        """Return the state of a key without rows."""
        return Subwindows(self._kind())

    def next_tick(self, state: Subwindows[W]) -> int:
        """Return the next tick at which a row is too old, a partition is, or a period ends."""
        due = INFINITY if state.clock is None else state.clock
        if self._lifetime is not None and (oldest := state.oldest()) is not None:
            due = min(due, oldest.time + self._lifetime + 1)
        if self._age is not None and state.partitions:
            due = min(due, next(iter(state.partitions.values())).last + self._age)
        return due

    def advance(self, state: Subwindows[W], tick: int) -> Iterator[Action]:
        """Yield the actions due up to a tick: at one tick rows leave, then partitions, then windows are computed."""
        while (due := self.next_tick(state)) <= tick and due < INFINITY:
            yield from self._expire(state, due)
            if self._age is not None:
                yield from self._remove_old(state, due, self._age)
            yield from self._end_overdue(state, due)
            if state.clock == due and self._period is not None:
                for partition in [*state.partitions] or ([0] if self.shows_empty else []):
                    yield from self._compute(state, partition, due)
                goes_on = state.count > 0 or self.shows_empty
                state.clock = due + self._period if goes_on else None

    def earliest_start(self, state: Subwindows[W], tick: int) -> int:
        """Return the time of the oldest row, or by how much time a window holds, where it does."""
        if self._lifetime is not None:
            return tick - self._lifetime
        firsts = (found.first for found in state.partitions.values() if found.size)
        return min(tick, *firsts) if state.count else tick

    def is_empty(self, state: Subwindows[W]) -> bool:
        """Return True if no row is left, nothing is counted since, and there is no time to wait for."""
        if state.clock is not None or (self.partitions is not None and state.partitions):
            return False
        return all(found.is_new for found in state.partitions.values())

    def to_data(self, state: Subwindows[W]) -> list[Any]:
        """Return the state as plain data."""
        return state.to_data()

    def from_data(self, data: Sequence[Any]) -> Subwindows[W]:
        """Undo `to_data`."""
        return Subwindows.from_data(self._kind(), data, expires=self._lifetime is not None)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call that names it, with the fields that are not left out, and the calls after it."""
        common = PartitionedRows.__dataclass_fields__
        given = [part.name for part in fields(self) if part.name not in common]
        named = [name for name in given if getattr(self, name) != self.__dataclass_fields__[name].default]
        told = [repr(self.name), *(f"{name}={self.spell_field(name, axis)}" for name in named)]
        return f"window({', '.join(told)}){self._spell_more(axis)}"

    def spell_field(self, name: str, axis: Axis) -> str:
        """Return the value of a field as a query writes it."""
        value = getattr(self, name)
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

    @classmethod
    def _field_written(cls, value: Any) -> Any:
        if isinstance(value, Partitions):
            return value.to_dict()
        return policy_to_dict(value) if isinstance(value, RowPolicy) else RowWindows._field_written(value)

    @classmethod
    def _field_read(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return RowWindows._field_read(value)
        return policy_from_dict(value) if "policy" in value else Partitions.from_dict(value)

    @property
    def _age(self) -> int | None:
        """The age at which a partition goes when its time comes."""
        return None if self.partitions is None or self.partitions.on_insertion else self.partitions.age

    def _read(self, row: Row) -> tuple[Hashable, list[Any]]:
        """Return the partition of a row, and what the policies read of it; NaN is like null."""
        values = [None if value != value else value for value in row.values]  # noqa: PLR0124  # only NaN differs
        values = values if self.admits is None else values[:-1]
        return (0, values) if self.partitions is None else (values[0], values[1:])

    def _is_admitted(self, row: Row) -> bool:
        """Return True if a row may be a member."""
        return self.admits is None or bool(row.values[-1])

    def _wake(self, state: Subwindows[W], time: int) -> None:
        """Let periods begin with a row; they end at multiples of their length, counted from tick 0."""
        if state.clock is None and self._period is not None:
            state.clock = (time // self._period + 1) * self._period

    def _expire(self, state: Subwindows[W], tick: int) -> Iterator[Action]:
        """Yield the removal of rows by age, in a partition at a time."""
        if self._lifetime is None:
            return
        gone: dict[Hashable, list[int]] = {}
        while (oldest := state.oldest()) is not None and oldest.time + self._lifetime < tick:
            state.expiring.popleft()
            found = state.partitions[oldest.partition]
            assert isinstance(found, Subwindow), "only these are among those that leave by age"
            del found.rows[oldest.number]
            state.count -= 1
            gone.setdefault(oldest.partition, []).append(oldest.number)
        for partition, numbers in gone.items():
            window = state.partitions[partition]
            if isinstance(window, Subwindow) and not window.is_full:
                window.is_full = True
                yield Action(ActionKind.FULL, partition)
            yield Action(ActionKind.EVICT, partition, tuple(numbers))

    def _remove_old(self, state: Subwindows[W], tick: int, age: int) -> Iterator[Action]:
        """Yield the removal of partitions while the least recently used one is too old."""
        while state.partitions and next(iter(state.partitions.values())).last + age <= tick:
            yield from self._remove_selected(state)

    def _end_overdue(self, state: Subwindows[W], tick: int) -> Iterator[Action]:
        """Yield the end of windows that are as old as they may be; none, unless a subclass knows such."""
        del state, tick
        return iter(())

    def _limit(self, state: Subwindows[W], time: int) -> Iterator[Action]:
        """Yield the removal of partitions after an insertion."""
        limits = self.partitions
        if limits is None or not limits.has_limits:
            return
        if limits.on_insertion and limits.age is not None:
            yield from self._remove_old(state, time, limits.age)
        while (limits.most is not None and len(state.partitions) > limits.most) or (
            limits.most_rows is not None and state.count > limits.most_rows
        ):
            yield from self._remove_selected(state)

    def _remove_selected(self, state: Subwindows[W]) -> Iterator[Action]:
        views = [PartitionView(name, found.size, found.last) for name, found in state.partitions.items()]
        chosen = list(dict.fromkeys(self.select_partitions(views)))
        if not chosen or not all(name in state.partitions for name in chosen):
            raise WindowError(
                f"{type(self).__name__}.select_partitions returned {chosen!r}\n"
                f"  expected: one or more of the {len(views)} it was given, as some are too many, or too old"
            )
        for name in chosen:
            state.remove(name)
            yield Action(ActionKind.REMOVE, name)

    def _spell_more(self, axis: Axis) -> str:
        """Return the calls that say more than the policies, as a query writes them."""
        told = ".with_empty()" if self.shows_empty else ""
        told += ".with_marks()" if self.is_marked else ""
        told += f".admit({self.admits!r})" if self.admits is not None else ""
        if (of := self.partitions) is None:
            return told
        age = None if of.age is None else ElapsedPolicy(of.age).spell(axis).replace("elapsed(", "").rstrip(")")
        limits = {"age": age, "most": of.most, "most_rows": of.most_rows, "on_insertion": of.on_insertion or None}
        said = [repr(of.by), *(f"{name}={limit}" for name, limit in limits.items() if limit is not None)]
        return f"{told}.partition({', '.join(said)})"
