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
    furthest = 400 if end == INFINITY else max(400, end)
    windows = _windows(change.windows, furthest + 1_000)
    overlapped = [window for window in windows if window.start < min(end, furthest) and start < window.end]
    first = overlapped[0]
    last = overlapped[-1]
    new_end = last.end
    if isinstance(change, ShareWindows):  # up to the next window, so that events overlap if they share one
        new_end = min(window.start for window in windows if window.start > last.start)
    return Life(first.start, INFINITY if end == INFINITY else new_end, payload)


def _windows(kind: WindowSpecification, furthest: int = 400) -> list[Window]:
    """Return the windows of a grid that start before a tick, from before the events of these streams on."""
    assert isinstance(kind, HoppingWindows)
    starts = range(kind.offset - 60 * kind.hop, furthest, kind.hop)
    return [Window(start, start + kind.size) for start in starts]


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
        end = random.choice([INFINITY, start + random.randint(1, 30), start + random.randint(1, 5)])
        rows = [Row("insert", id, start, _end(end), payload=id)]
        revision_count = random.choice([0, 0, 1, 2, 3]) if are_revised else 0
        for _ in range(revision_count):
            new_end = start + random.randint(1, 40)
            rows.append(Row("revise", id, start, _end(end), new_end, payload=id))
            end = new_end
        is_deleted = are_revised and random.random() < 0.2
        if is_deleted:
            rows.append(Row("retract", id, start, _end(end), payload=id))
        events.append((None if is_deleted else Life(start, end, id), rows))
    return events


def random_stream(random: Random, rows: Sequence[Sequence[Row]]) -> Iterator[list[Row]]:
    """Yield the rows of events in any order, in micro-batches with legal punctuation after each.

    Args:
        random: Generator of random numbers.
        rows: The rows of each event.
    """
    all_rows = list(chain.from_iterable(rows))
    waiting_rows = [*all_rows]
    random.shuffle(waiting_rows)
    while waiting_rows:
        size = random.randint(1, 6)
        batch = waiting_rows[:size]
        waiting_rows = waiting_rows[size:]
        # Of an event with rows that have not come, all rows bound the watermark: a revision may come before its event.
        unfinished_ids = {row.id for row in waiting_rows}
        bound = min((_sync_time(row) for row in all_rows if row.id in unfinished_ids), default=200)
        yield [*batch, Row("punctuate", start=min(bound, random.randint(-40, 200)))]
    yield [Row("punctuate", start=200)]


def _end(end: int) -> int | None:
    """Return an end as a row has it: null if there is none."""
    return None if end == INFINITY else end


def _sync_time(row: Row) -> int:
    """Return the first tick at which a row changes the axis."""
    assert row.start is not None
    if row.change != "revise":
        return row.start
    assert row.new_end is not None
    return row.new_end if row.end is None else min(row.end, row.new_end)
