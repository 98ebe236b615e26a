"""What the windows of a row follow from: each kind says so much, and not more than it needs."""

from __future__ import annotations

from itertools import takewhile
from random import Random
from typing import NamedTuple

import pytest

from muntin import (
    Window,
    calendar,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.rows import Row, RowWindows, batch, delta, elapsed, last, marker, on_row
from muntin.windows import Stretches, WindowContext, WindowKind
from tests.sdk.rows.tracing import Trace

FREE, BACKWARD, FORWARD = WindowContext

KINDS: dict[WindowKind, WindowContext] = {
    tumbling(8): FREE,
    hopping(9, 4, 1, reach=3): FREE,
    calendar("day"): FREE,
    cumulate(9, 3): FREE,
    landmark(5, since=3): FREE,
    global_windows(): FREE,
    count_by_start(1): FREE,
    count_by_end(1): FREE,
    count_by_start(2): FORWARD,
    count_by_end(3): FORWARD,
    count_by_start(1, every=2): BACKWARD,
    count_by_end(1, every=2): FORWARD,
    count_by_start(2, every=2): FORWARD,
    count_by_start(2, every=3): FORWARD,
    snapshot(): FORWARD,
    session(3): FORWARD,
    trailing(6): FORWARD,
    trailing(6, every=3): FORWARD,
}
ROWS: dict[RowWindows, WindowContext] = {
    batch(3): BACKWARD,
    batch(delta("x", 4)): BACKWARD,
    batch(marker("x > 5")): BACKWARD,
    batch(elapsed(4)): FREE,
    last(4).trigger(2): BACKWARD,
    last(3): BACKWARD,
    last(elapsed(6)).trigger(elapsed(3)): FREE,
    last(elapsed(6)).trigger(2): FORWARD,
    last(4).trigger(elapsed(3)): FORWARD,
    last(delta("x", 3)): FORWARD,
    last(4).trigger(delta("x", 3)): FORWARD,
    last(4).trigger(on_row("x > 5")): FORWARD,
    last(elapsed(6)).trigger(on_row("x > 5")): FORWARD,
}
LIMIT = 40


def events(random: Random) -> list[tuple[int, int]]:
    starts = [random.randint(0, 20) for _ in range(6)]
    return [(start, start + random.choice((1, 2, 5, 9))) for start in starts]


def windows_of(kind: WindowKind, event: tuple[int, int], neighbours: list[tuple[int, int]]) -> list[Window]:
    """Return the windows of an event up to a limit, beside its neighbours on the axis."""
    stretches: list[tuple[int, int]] = []
    for neighbour in neighbours:
        start, end = kind.membership(*neighbour)
        if start < end:
            stretches.append((start, end))
    return list(takewhile(lambda window: window.start < LIMIT, kind.windows_of(Stretches(stretches), *event)))


def needs(kind: WindowKind) -> WindowContext:
    """Return the least context that is enough, found by leaving other events out."""
    is_free = is_backward = True
    for seed in range(100):
        known_events = events(Random(seed))
        for event in known_events:
            expected = windows_of(kind, event, known_events)
            is_free = is_free and windows_of(kind, event, [event]) == expected
            before = [earlier for earlier in known_events if earlier[0] <= event[0]]
            is_backward = is_backward and windows_of(kind, event, before) == expected
    return FREE if is_free else BACKWARD if is_backward else FORWARD


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_kind_says_as_much_context_as_its_windows_need(kind: WindowKind) -> None:
    assert kind.context is KINDS[kind] is needs(kind)


def rows(random: Random, first: int, at: int, count: int) -> list[Row]:
    """Draw rows, whose numbers begin with `first`, and whose times go on from `at`."""
    random_rows: list[Row] = []
    for number in range(first, first + count):
        at += random.randint(0, 2)
        random_rows.append(Row(number, at, (random.randint(0, 9),)))
    return random_rows


class RowPlaces(NamedTuple):
    """The windows that have a row: windows of time by their ends, others by how many there were before.

    Attributes:
        places: The windows that have the row.
        limit: Place up to which all windows are computed.
    """

    places: set[int]
    limit: int

    def before(self, limit: int) -> set[int]:
        """Return the places before a limit."""
        return {place for place in self.places if place < limit}


def row_places(windows: RowWindows, rows_of_stream: list[Row], number: int) -> RowPlaces:
    """Return in which of the windows that are computed a row is."""
    computed_windows = Trace(windows).rows(*rows_of_stream).computed
    if windows.context is FREE:
        ends = [computed.window.end for computed in computed_windows]
        places = {computed.window.end for computed in computed_windows if number in computed.rows}
        return RowPlaces(places, max(ends, default=0))
    places = {place for place, computed in enumerate(computed_windows) if number in computed.rows}
    return RowPlaces(places, len(computed_windows))


@pytest.mark.parametrize("windows", ROWS, ids=str)
def test_row_windows_say_as_much_context_as_they_need(windows: RowWindows) -> None:
    assert windows.context is ROWS[windows]
    differences = 0
    for seed in range(60):
        random = Random(seed)
        past = rows(random, 0, 0, 5)
        other_past = rows(random, 0, 0, 4) if windows.context is FREE else past[:4]
        row = Row(4, max(past[4].time, other_past[-1].time), past[4].values)
        after_past = row_places(windows, [*past[:4], row, *rows(random, 5, row.time, 15)], 4)
        after_other_past = row_places(windows, [*other_past, row, *rows(random, 5, row.time, 15)], 4)
        limit = min(after_past.limit, after_other_past.limit)
        if after_past.before(limit) != after_other_past.before(limit):
            differences += 1
    assert (differences > 0) == (windows.context is FORWARD)


def test_partitions_that_are_bounded_together_take_rows_with_them() -> None:
    assert batch(3).partition("x").context is BACKWARD
    assert batch(3).partition("x", most=2).context is FORWARD
    assert last(elapsed(6)).trigger(elapsed(3)).partition("x", age=5).context is FORWARD
