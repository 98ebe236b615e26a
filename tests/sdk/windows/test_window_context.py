"""The context of a kind of windows: which other rows the windows of a row depend on.

None (free), those before it (backward), or those after it too (forward). Each kind says as much as it needs, not more.
"""

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
ROW_WINDOWS: dict[RowWindows, WindowContext] = {
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
"""A start after all random events: kinds without an end to their windows are compared up to here."""

Lifetime = tuple[int, int]


def random_events(seed: int) -> list[Lifetime]:
    random = Random(seed)
    starts = [random.randint(0, 20) for _ in range(6)]
    return [(start, start + random.choice((1, 2, 5, 9))) for start in starts]


def windows_of(kind: WindowKind, event: Lifetime, known_events: list[Lifetime]) -> list[Window]:
    """Return the windows of an event up to a limit, as far as they follow from the events that are known."""
    stretches: list[tuple[int, int]] = []
    for known_event in known_events:
        start, end = kind.membership(*known_event)
        if start < end:
            stretches.append((start, end))
    windows = kind.windows_of(Stretches(stretches), *event)
    return list(takewhile(lambda window: window.start < LIMIT, windows))


def needed_context(kind: WindowKind) -> WindowContext:
    """Return the least context that is enough for the windows of random events, by leaving other events out."""
    is_free = True
    is_backward = True
    for seed in range(100):
        events = random_events(seed)
        for event in events:
            windows = windows_of(kind, event, known_events=events)
            earlier_events = [earlier for earlier in events if earlier[0] <= event[0]]
            is_free = is_free and windows_of(kind, event, known_events=[event]) == windows
            is_backward = is_backward and windows_of(kind, event, known_events=earlier_events) == windows
    if is_free:
        return FREE
    return BACKWARD if is_backward else FORWARD


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_context_of_a_kind_is_the_least_that_its_windows_need(kind: WindowKind) -> None:
    assert kind.context is KINDS[kind]
    assert needed_context(kind) is KINDS[kind]


def random_rows(random: Random, first_number: int, last_time: int, count: int) -> list[Row]:
    """Return rows whose numbers begin with a number, and whose times go on from the last time before them."""
    rows: list[Row] = []
    time = last_time
    for number in range(first_number, first_number + count):
        time += random.randint(0, 2)
        rows.append(Row(number, time, (random.randint(0, 9),)))
    return rows


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


def row_places(windows: RowWindows, rows: list[Row], number: int) -> RowPlaces:
    """Return in which of the windows that are computed of these rows the row with a number is."""
    computed_windows = Trace(windows).rows(*rows).computed
    if windows.context is FREE:
        ends = [computed.window.end for computed in computed_windows]
        places = {computed.window.end for computed in computed_windows if number in computed.rows}
        return RowPlaces(places, max(ends, default=0))
    places = {place for place, computed in enumerate(computed_windows) if number in computed.rows}
    return RowPlaces(places, len(computed_windows))


@pytest.mark.parametrize("windows", ROW_WINDOWS, ids=str)
def test_the_windows_of_a_row_depend_on_later_rows_only_where_their_context_is_forward(windows: RowWindows) -> None:
    """Two streams are compared that share a row and, unless the context is free, all rows before it."""
    assert windows.context is ROW_WINDOWS[windows]
    differences = 0
    for seed in range(60):
        random = Random(seed)
        *past, shared_row = random_rows(random, first_number=0, last_time=0, count=5)
        other_past = past
        if windows.context is FREE:
            other_past = random_rows(random, first_number=0, last_time=0, count=4)
            time = max(shared_row.time, other_past[-1].time)
            shared_row = Row(shared_row.number, time, shared_row.values)

        future = random_rows(random, first_number=5, last_time=shared_row.time, count=15)
        other_future = random_rows(random, first_number=5, last_time=shared_row.time, count=15)
        places = row_places(windows, [*past, shared_row, *future], shared_row.number)
        other_places = row_places(windows, [*other_past, shared_row, *other_future], shared_row.number)
        limit = min(places.limit, other_places.limit)
        if places.before(limit) != other_places.before(limit):
            differences += 1
    assert (differences > 0) == (windows.context is FORWARD)


def test_rows_depend_on_later_rows_where_these_may_remove_their_partition() -> None:
    assert batch(3).partition("x").context is BACKWARD
    assert batch(3).partition("x", most=2).context is FORWARD
    assert last(elapsed(6)).trigger(elapsed(3)).partition("x", age=5).context is FORWARD
