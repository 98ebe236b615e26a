"""Changes of lifetimes by definition, and random streams: legal rows that lead to a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from random import Random
from typing import NamedTuple

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import HoppingWindows, WindowSpecification
from muntin_engine.time.lifetimes import (
    Align,
    Extend,
    LengthColumn,
    LifetimeChange,
    PointsAtEnd,
    PointsAtStart,
    SetDuration,
    ShareWindows,
    Shift,
    Shorten,
)


class Life(NamedTuple):
    """An event after all of its changes."""

    start: int
    end: int
    payload: int


class Row(NamedTuple):
    """A row of the stream; columns that a change does not read are null."""

    change: str
    id: int | None = None
    start: int | None = None
    end: int | None = None
    new_end: int | None = None
    payload: int | None = None


def length_of(column: LengthColumn, payload: int) -> int:
    """Return the length in the column of an event of these streams, which is no less than the least one."""
    return column.least + payload * 7 % 11


def changed(change: LifetimeChange, life: Life) -> Life | None:
    """Return an event under a change, by definition; None if it has no lifetime then."""
    start, end, payload = life
    length = change.length
    if isinstance(length, LengthColumn):
        length = length_of(length, payload)
    if isinstance(change, Shift):
        assert length is not None
        return Life(start + length, INFINITY if end == INFINITY else end + length, payload)
    if isinstance(change, SetDuration):
        assert length is not None
        return Life(start, start + length, payload)
    if isinstance(change, Extend):
        assert length is not None
        return Life(start, INFINITY if end == INFINITY else end + length, payload)
    if isinstance(change, Shorten):
        return Life(start, INFINITY if end == INFINITY else max(start + 1, end - change.reduction), payload)
    if isinstance(change, PointsAtStart):
        return Life(start, start + 1, payload)
    if isinstance(change, PointsAtEnd):
        return None if end == INFINITY else Life(end, end + 1, payload)
    assert isinstance(change, Align)
    kind = change.windows
    furthest = 400 if end == INFINITY else max(400, end)
    covered = [window for window in _windows(kind, furthest) if window.start < end and start < window.end]
    new_end = covered[-1].end
    if isinstance(change, ShareWindows):
        new_end = min(window.start for window in _windows(kind, furthest + 1_000) if window.start > covered[-1].start)
    return Life(covered[0].start, INFINITY if end == INFINITY else new_end, payload)


def _windows(kind: WindowSpecification, furthest: int = 400) -> list[Window]:
    """Return the windows of a grid from before the events of these streams on, up to a tick."""
    assert isinstance(kind, HoppingWindows)
    return [Window(first, first + kind.size) for first in range(kind.offset - 60 * kind.hop, furthest, kind.hop)]


def watermark(changes: Sequence[LifetimeChange], tick: int, *, event_ends_move: bool) -> int:
    """Return the watermark of changed events, from that of the events as they come."""
    if tick in (EARLIEST, INFINITY):
        return tick
    for change in changes:
        if isinstance(change, Shift):
            tick += change.shift if isinstance(change.shift, int) else change.shift.least
        elif isinstance(change, Shorten):
            tick -= change.reduction * event_ends_move
        elif isinstance(change, Align):
            tick = min(window.start for window in _windows(change.windows) if window.end > tick)
        event_ends_move = event_ends_move and not isinstance(change, SetDuration | PointsAtStart | PointsAtEnd)
    return tick


def random_lives(random: Random, count: int, *, are_revised: bool) -> list[tuple[Life | None, list[Row]]]:
    """Draw events, None if they are deleted in the end, each with its rows in their order.

    A revision repeats the payload, and the end so far, which is null where there was none.
    """
    events: list[tuple[Life | None, list[Row]]] = []
    for id in range(count):
        start = random.randint(-20, 60)
        ends = [random.choice([INFINITY, start + random.randint(1, 30), start + random.randint(1, 5)])]
        rows = [Row("insert", id, start, _end(ends[0]), None, id)]
        for _ in range(random.choice([0, 0, 1, 2, 3]) if are_revised else 0):
            ends.append(start + random.randint(1, 40))
            rows.append(Row("revise", id, start, _end(ends[-2]), ends[-1], id))
        is_deleted = are_revised and random.random() < 0.2
        if is_deleted:
            rows.append(Row("retract", id, start, _end(ends[-1]), None, id))
        events.append((None if is_deleted else Life(start, ends[-1], id), rows))
    return events


def random_stream(random: Random, rows: Sequence[Sequence[Row]]) -> Iterator[list[Row]]:
    """Yield the rows of events in any order, in micro-batches with legal punctuation after each."""
    order = list(chain.from_iterable(rows))
    random.shuffle(order)
    while order:
        size = random.randint(1, 6)
        batch = order[:size]
        order = order[size:]
        unfinished = {row.id for row in order}
        of_unfinished = [row for row in chain.from_iterable(rows) if row.id in unfinished]
        bound = min(map(_sync_time, of_unfinished), default=200)
        yield [*batch, Row("punctuate", start=min(bound, random.randint(-40, 200)))]
    yield [Row("punctuate", start=200)]


def _end(end: int) -> int | None:
    return None if end == INFINITY else end


def _sync_time(row: Row) -> int:
    assert row.start is not None
    if row.change != "revise":
        return row.start
    assert row.new_end is not None
    return row.new_end if row.end is None else min(row.end, row.new_end)
