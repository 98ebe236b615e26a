"""The reference evaluator asks a kind where it cuts; here Muntin's kinds are compared with their definitions."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from muntin import INFINITY, Event, calendar, cumulate, hopping, trailing
from muntin.testing import horizon_of
from muntin.windows import WindowKind
from tests.sdk.testing.laws.test_hostile import HONEST_KINDS
from tests.sdk.windows.window_definitions import DEFINED, pairs_defined, pairs_of

DAY = 86_400_000_000
CALENDARS = [
    calendar("day", zone="Europe/Berlin", start="02:30"),
    calendar("2 days", "3 days", zone="Pacific/Apia"),
    calendar("3 months", "month", zone="America/New_York", reach="5 days"),
    calendar("week"),
]
KINDS = [kind for kind in [*HONEST_KINDS, *CALENDARS] if type(kind) in DEFINED]


def random_events(seed: int, scale: int) -> list[Event[Any]]:
    """Draw events near multiples of a scale; some have no end."""
    random = Random(seed)
    events = []
    for _ in range(random.randint(1, 8)):
        start = random.randint(-10, 40) * scale
        if scale > 1:
            start += random.choice((0, 0, -1, 1))
        length = random.choice((1, 1, scale, 2 * scale, 5 * scale, 9 * scale, 20 * scale, None))
        events.append(Event(start, INFINITY if length is None else start + length, None))
    return events


def is_as_defined(kind: WindowKind, seed: int) -> bool:
    """Return True if a kind puts random events into the windows that its definition says."""
    events = random_events(seed, DAY if kind in CALENDARS else 1)
    if seed % 3:  # most streams end
        events = [event for event in events if event.end < INFINITY] or [Event(0, 1, None)]

    # A horizon lies after all starts; it may be a few ticks earlier than one that counts the reach of windows.
    after_all_starts = max(event.start for event in events) + 1
    horizon = max(after_all_starts, horizon_of(kind, events) - seed % 4)
    return pairs_of(kind, events, horizon) == pairs_defined(kind, events, horizon)


def test_every_kind_of_muntin_is_compared() -> None:
    assert {type(kind) for kind in KINDS} == set(DEFINED)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_kind_is_as_it_is_defined(kind: WindowKind) -> None:
    seeds = range(15 if kind in CALENDARS else 200)  # the definition of calendar windows is slow

    assert [seed for seed in seeds if not is_as_defined(kind, seed)] == []


@pytest.mark.parametrize(
    ("kind", "method", "wrong_method"),
    [
        (trailing(6), "membership", lambda kind, start, end: (start, min(end + kind.length, INFINITY))),
        (hopping(3, 8, reach=4), "membership", lambda kind, start, end: (start, min(end + kind.reach + 1, INFINITY))),
        (cumulate(9, 3, 1), "extent_start", lambda kind, start: start // kind.size * kind.size),
    ],
    ids=["a tick too long", "a reach too long", "another offset"],
)
def test_a_kind_that_differs_from_its_definition_is_noticed(
    kind: WindowKind, method: str, wrong_method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(kind), method, wrong_method)

    assert not all(is_as_defined(kind, seed) for seed in range(50))
