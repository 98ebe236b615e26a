"""Sliding row windows: rows leave step by step, and a trigger says when the window is computed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Final

from muntin.axis import Axis
from muntin.errors import WindowError
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.policies import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    RowPolicy,
    policy_of,
)
from muntin.rows.subwindows import Expiring, Member, Subwindow, Subwindows
from muntin.rows.view import Action, ActionKind, Row
from muntin.windows.extent import Window
from muntin.windows.specification import WindowContext

_EVERY_ROW: Final = CountPolicy(1)


@dataclass(frozen=True, slots=True)
class LastRows(PartitionedRows[Subwindow]):
    """The last rows of each partition; made by `last` (IBM Streams: sliding windows).

    What happens when a row comes, by policy; `|` is what time alone does:

    | rows leave by | trigger by count, or by a row | by delta | by time |
    |---|---|---|---|
    | count, delta | evict, insert, trigger | trigger, evict, insert | evict, insert, `|` trigger |
    | time | insert, trigger, `|` evict | trigger, insert, `|` evict | insert, `|` evict, `|` trigger |

    What time does comes before the row at that time; at one tick rows leave before the window is computed. A row leaves
    by time when it is there for longer than the length. So a window that is computed by time holds
    `[end - length, end)`, and one that is computed for a row those that are no further behind it than the length.

    A row whose attribute is null or NaN makes no row leave by delta and triggers nothing. It leaves with the row before
    it; before the first row that has the attribute, with that one.

    Attributes:
        evicts: When rows leave: `CountPolicy`, `DeltaPolicy` or `ElapsedPolicy`.
        triggers: When the window is computed: `CountPolicy`, `DeltaPolicy`, `ElapsedPolicy` or `ConditionPolicy`.
        waits_until_full: True if it is not computed before it was full once.
        partitions: How rows are partitioned.
        shows_empty: True if a window without rows is computed too.
    """

    name: ClassVar[str] = "last"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows over the last rows"

    evicts: RowPolicy
    triggers: RowPolicy = _EVERY_ROW
    waits_until_full: bool = False

    def __post_init__(self) -> None:
        for role, policy in (("evicted", self.evicts), ("triggered", self.triggers)):
            if isinstance(policy, MarkerPolicy):
                raise WindowError(
                    f"sliding windows cannot be {role} by {policy.spell(Axis.TICKS)}\n"
                    "  a marker ends a whole window, and a sliding one has no end: use batch(marker(...))"
                )
        if isinstance(self.evicts, ConditionPolicy):
            raise WindowError(
                f"{self.evicts.spell(Axis.TICKS)} says when a window is computed, and not which rows leave it\n"
                f"  write last(10).trigger({self.evicts.spell(Axis.TICKS)}), with the rows that stay"
            )

    def trigger(self, when: RowPolicy | int | str | timedelta = 1) -> LastRows:
        """Return the same rows, computed at other times.

        Args:
            when: After so many rows; every so much time, such as `"1 minute"`; when an attribute has grown, with
                `delta`; or at rows that meet a condition, with `on_row`. By time windows are computed at multiples of
                the period, counted from tick 0.

        Raises:
            WindowError: It is no policy, or a marker.

        Example:
            >>> print(last(10).trigger(2))
            last(10).trigger(2)
        """
        return replace(self, triggers=policy_of(when))

    def when_full(self) -> LastRows:
        """Return the same windows, not computed before they were full once: had as many rows, or had one leave."""
        return replace(self, waits_until_full=True)

    @property
    def policies(self) -> tuple[RowPolicy, ...]:
        """Eviction and trigger."""
        return (self.evicts, self.triggers)

    @property
    def least_events(self) -> int:
        """The rows that stay by their number, and the one that pushes the oldest out."""
        return self.evicts.size + 1 if isinstance(self.evicts, CountPolicy) else 1

    @property
    def context(self) -> WindowContext:
        """Rows before, where rows leave and windows are computed by a number of rows; by time alone, none."""
        if self._is_limited or type(self.evicts) is not type(self.triggers) or isinstance(self.evicts, DeltaPolicy):
            return WindowContext.FORWARD
        is_timed = isinstance(self.evicts, ElapsedPolicy) and not self.waits_until_full
        return WindowContext.FREE if is_timed else WindowContext.BACKWARD

    def step(self, state: Subwindows[Subwindow], row: Row) -> Iterator[Action]:
        """Take a row, and yield what is done."""
        yield from self.advance(state, row.time)
        if not self._is_admitted(row):
            return
        partition, values = self._read(row)
        found, evicts, triggers = state.open(partition, row.time), self.evicts, self.triggers
        value = values[0] if isinstance(evicts, DeltaPolicy) else None
        if isinstance(triggers, DeltaPolicy):
            attribute = values[-1]
            if found.base is None:
                found.base = attribute if triggers.start is None else triggers.start
            if triggers.is_exceeded(attribute, found.base):
                found.base = attribute
                yield from self._compute(state, partition, row.time)
        gone: tuple[int, ...] = ()
        if isinstance(evicts, CountPolicy) and len(found.rows) == evicts.size:
            gone = (found.rows.popitem(last=False)[0],)
        elif isinstance(evicts, DeltaPolicy):
            gone, value = found.exceeded(value, evicts.size), found.shared(value)
        if gone:
            state.count -= len(gone)
            if not found.is_full:
                found.is_full = True
                yield Action(ActionKind.FULL, partition)
            yield Action(ActionKind.EVICT, partition, gone)
        found.insert(row.number, Member(row.time, value))
        state.count += 1
        if isinstance(evicts, ElapsedPolicy):
            state.expiring.append(Expiring(row.time, row.number, partition))
        self._wake(state, row.time)
        yield Action(ActionKind.INSERT, partition, (row.number,))
        if isinstance(evicts, CountPolicy) and len(found.rows) == evicts.size and not found.is_full:
            found.is_full = True
            yield Action(ActionKind.FULL, partition)
        is_due = isinstance(triggers, ConditionPolicy) and bool(values[-1])
        if isinstance(triggers, CountPolicy):
            found.counted = (found.counted + 1) % triggers.size
            is_due = found.counted == 0
        if is_due:
            yield from self._compute(state, partition, row.time)
        yield from self._limit(state, row.time)

    def is_empty(self, state: Subwindows[Subwindow]) -> bool:
        """Return True if no row is left, nothing is counted since, and there is no time to wait for."""
        was_full = self.waits_until_full and any(found.is_full for found in state.partitions.values())
        return not was_full and PartitionedRows.is_empty(self, state)

    def close(self, state: Subwindows[Subwindow], tick: int) -> Iterator[Action]:
        """Yield the next actions of the trigger by time, if rows came since it was last due."""
        yield from self.advance(state, tick)
        if state.clock is not None and any(found.is_fresh for found in state.partitions.values()):
            yield from self.advance(state, state.clock)

    @property
    def _lifetime(self) -> int | None:
        return self.evicts.length if isinstance(self.evicts, ElapsedPolicy) else None

    @property
    def _period(self) -> int | None:
        return self.triggers.length if isinstance(self.triggers, ElapsedPolicy) else None

    def _kind(self) -> type[Subwindow]:
        return Subwindow

    def _compute(self, state: Subwindows[Subwindow], partition: Hashable, now: int) -> Iterator[Action]:
        found = state.partitions.get(partition)
        rows = found.rows if found is not None else {}
        if found is not None:
            found.is_fresh = False
        is_full = not self.waits_until_full or (found is not None and found.is_full)
        if not is_full or not (rows or self.shows_empty):
            return
        start, end = now, now if self._lifetime is not None else now + 1
        if found is not None and rows:
            start, end = found.first, max(now, found.newest + 1)
        start = start if self._lifetime is None else now - self._lifetime
        yield Action(ActionKind.TRIGGER, partition, (), Window(start, end))

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `last`, and those after it."""
        if "." in self.name:
            return PartitionedRows.spell(self, axis)
        trigger = f".trigger({self.triggers.spell(axis)})" if self.triggers != _EVERY_ROW else ""
        full = ".when_full()" if self.waits_until_full else ""
        return f"last({self.evicts.spell(axis)}){trigger}{full}{self._spell_more(axis)}"


def last(size: RowPolicy | int | str | timedelta = 1) -> LastRows:
    """Return sliding windows over the last rows, computed at each row unless `trigger` says otherwise.

    Args:
        size: So many rows; those of so much time, such as `"5 minutes"`; or, with `delta`, those whose attribute is not
            too far behind that of the newest.

    Raises:
        WindowError: It is no policy, or a marker.
        DurationError: A length of time cannot be read.

    Example:
        >>> print(last(100), last("5 minutes").trigger("1 minute").describe())
        last(100) last(elapsed(300000000)).trigger(elapsed(60000000))
    """
    return LastRows(policy_of(size))
