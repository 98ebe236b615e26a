"""The meaning of row windows, written as their definition: over the whole history, without a state.

Which rows a window holds is asked of each row, by looking at all rows between it and the moment in question. When
windows are computed is found by going through the history of a partition. Nothing is shared with the automata.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muntin import INFINITY, Window
from muntin.rows import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    LastRows,
    MarkerPolicy,
    PartitionedRows,
    Row,
    RowBatches,
    RowPolicy,
)
from tests.sdk.rows.tracing import Computed


@dataclass(frozen=True)
class Given:
    """A row with what the windows read of it, by what it is for."""

    row: Row
    partition: Hashable
    evict: Any
    trigger: Any
    is_admitted: bool


def computed(windows: PartitionedRows, rows: Sequence[Row], tick: int) -> list[Computed]:
    """Return the windows that are computed of rows and of time up to a tick, in no order that means anything."""
    marked = isinstance(windows.policies[0], MarkerPolicy)
    given = [each for row in rows if (each := _given(windows, row)).is_admitted or (marked and each.evict)]
    if isinstance(windows, LastRows):
        return [one for name in {each.partition for each in given} for one in _sliding(windows, given, name, tick)]
    assert isinstance(windows, RowBatches)
    return [one for name in {each.partition for each in given} for one in _tumbling(windows, given, name, tick)]


def full(windows: LastRows, rows: Sequence[Row], tick: int) -> list[tuple[Hashable, int]]:
    """Return the partitions that were full up to a tick, each with the first tick at which it was.

    It is full with its n-th row, when a row that follows is too far away from one before it, or when its first row is
    too old.
    """
    given = [each for row in rows if (each := _given(windows, row)).is_admitted]
    evicts = windows.evicts
    found = list[tuple[Hashable, int]]()
    for name in {each.partition for each in given}:
        own = [each for each in given if each.partition == name]
        if isinstance(evicts, CountPolicy):
            times = [each.row.time for each in own[evicts.size - 1 :]]
        elif isinstance(evicts, ElapsedPolicy):
            times = [own[0].row.time + evicts.length + 1]
        else:
            times = [
                each.row.time
                for place, each in enumerate(own)
                if not all(_stays(windows, own[: place + 1], at, 0) for at in range(place))
            ]
        found += [(name, time) for time in times[:1] if time <= tick]
    return found


def _given(windows: PartitionedRows, row: Row) -> Given:
    values = list(row.values)
    is_admitted = windows.admits is None or bool(values.pop())
    partition = values.pop(0) if windows.partitions is not None else 0
    reads = DeltaPolicy | MarkerPolicy | ConditionPolicy
    by_role = [values.pop(0) if isinstance(policy, reads) else None for policy in windows.policies]
    evict, trigger = (*by_role, None)[:2]
    return Given(row, partition, evict, trigger, is_admitted)


def _sliding(windows: LastRows, given: Sequence[Given], name: Hashable, tick: int) -> Iterator[Computed]:
    own = [each for each in given if each.partition == name]
    triggers = windows.triggers
    if isinstance(triggers, CountPolicy):
        for count in range(triggers.size, len(own) + 1, triggers.size):
            yield from _result(windows, own[:count], name, own[count - 1].row.time + 1)
    elif isinstance(triggers, ConditionPolicy):
        for count in [place for place, each in enumerate(own, 1) if each.trigger is True]:
            yield from _result(windows, own[:count], name, own[count - 1].row.time + 1)
    elif isinstance(triggers, DeltaPolicy):
        base = None
        for place, each in enumerate(own):
            if base is None:
                base = each.trigger
            elif each.trigger is not None and each.trigger > base + triggers.size:
                base = each.trigger
                newest = own[place - 1].row.time
                yield from _result(windows, own[:place], name, max(each.row.time, newest + 1), before=each.row.time)
    else:
        assert isinstance(triggers, ElapsedPolicy)
        period = triggers.length
        first = own[0].row.time
        last = tick
        for end in range(first // period * period + period, last + 1, period):
            yield from _result(windows, [each for each in own if each.row.time < end], name, end, before=end)


def _result(
    windows: LastRows, so_far: Sequence[Given], name: Hashable, end: int, before: int | None = None
) -> Iterator[Computed]:
    """The window after some rows; time has come to `before`, if not to the last row alone."""
    now = so_far[-1].row.time if before is None else before
    held = [each for place, each in enumerate(so_far) if _stays(windows, so_far, place, now)]
    if not held:
        return
    start = now - windows.evicts.length if isinstance(windows.evicts, ElapsedPolicy) else held[0].row.time
    yield Computed(Window(start, end), name, tuple(each.row.number for each in held))


def _stays(windows: LastRows, so_far: Sequence[Given], place: int, now: int) -> bool:
    """A row stays as long as the nearest one with an attribute: itself, one before it, or one after it."""
    each = so_far[place]
    later = so_far[place + 1 :]
    evicts = windows.evicts
    near = [*reversed(so_far[: place + 1]), *later]
    attribute = next((other.evict for other in near if other.evict is not None), None)
    if isinstance(evicts, CountPolicy):
        return len(later) < evicts.size
    if isinstance(evicts, ElapsedPolicy):
        return now - each.row.time <= evicts.length
    assert isinstance(evicts, DeltaPolicy)
    return all(other.evict - attribute <= evicts.size for other in later if other.evict is not None)


def _tumbling(windows: RowBatches, given: Sequence[Given], name: Hashable, tick: int) -> Iterator[Computed]:
    (evicts,) = windows.policies
    own = [each for each in given if each.partition == name and not (isinstance(evicts, MarkerPolicy) and each.evict)]
    if isinstance(evicts, ElapsedPolicy):
        periods = sorted({each.row.time // evicts.length for each in own})
        for period in periods:
            start = period * evicts.length
            end = (period + 1) * evicts.length
            if end <= tick:
                yield _batch([each for each in own if start <= each.row.time < end], name, start, end)
        return
    while own:
        first = own[0].row.time
        closing = _closing(evicts, own, given)
        overdue = INFINITY if windows.within is None else first + windows.within.length
        if overdue <= (tick if closing is None else closing.row.time):
            batch = [each for each in own if each.row.time < overdue]
            end = overdue
        elif closing is None:
            return
        else:
            last = closing.row.number - (not isinstance(evicts, CountPolicy))
            batch = [each for each in own if each.row.number <= last]
            end = max(closing.row.time + isinstance(evicts, CountPolicy), batch[-1].row.time + 1)
        yield _batch(batch, name, first, end)
        own = own[len(batch) :]


def _closing(evicts: RowPolicy, own: Sequence[Given], given: Sequence[Given]) -> Given | None:
    """The row that ends the batch that begins with the first of a partition's rows, if time does not."""
    if isinstance(evicts, CountPolicy):
        return own[evicts.size - 1] if len(own) >= evicts.size else None
    if isinstance(evicts, MarkerPolicy):
        return next((each for each in given if each.evict and each.row.number > own[0].row.number), None)
    assert isinstance(evicts, DeltaPolicy)
    known = [each for each in own if each.evict is not None]
    return next((each for each in known if each.evict - known[0].evict > evicts.size), None)


def _batch(batch: Sequence[Given], name: Hashable, start: int, end: int) -> Computed:
    return Computed(Window(start, end), name, tuple(each.row.number for each in batch))
