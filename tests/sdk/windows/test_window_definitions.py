"""Muntin's kinds of windows against independent definitions, as the reference evaluator asks the kinds themselves."""

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
    """Return events whose starts are near multiples of a scale, up to a tick; some have no end."""
    random = Random(seed)
    events = []
    for _ in range(random.randint(1, 8)):
        start = random.randint(-10, 40) * scale
        if scale > 1:
            start += random.choice((0, 0, -1, 1))
        length = random.choice((1, 1, scale, 2 * scale, 5 * scale, 9 * scale, 20 * scale, None))
        end = INFINITY if length is None else start + length
        events.append(Event(start, end, None))
    return events


def is_as_defined(kind: WindowKind, seed: int) -> bool:
    """Return True if a kind puts random events into the windows that its definition says."""
    events = random_events(seed, DAY if kind in CALENDARS else 1)
    if seed % 3:  # in two of three streams all events end
        events = [event for event in events if event.end < INFINITY] or [Event(0, 1, None)]

    # A horizon lies after all starts; it may be a few ticks earlier than one that counts the reach of windows.
    after_all_starts = max(event.start for event in events) + 1
    horizon = max(after_all_starts, horizon_of(kind, events) - seed % 4)
    return pairs_of(kind, events, horizon) == pairs_defined(kind, events, horizon)


def test_every_kind_with_a_definition_is_compared_with_it() -> None:
    assert {type(kind) for kind in KINDS} == set(DEFINED)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_kind_puts_events_into_the_windows_that_its_definition_says(kind: WindowKind) -> None:
    seeds = range(15 if kind in CALENDARS else 200)  # the definition of calendar windows is slow
    for seed in seeds:
        assert is_as_defined(kind, seed), f"seed {seed}"


@pytest.mark.parametrize(
    ("kind", "method", "wrong_method"),
    [
        (trailing(6), "membership", lambda kind, start, end: (start, min(end + kind.length, INFINITY))),
        (hopping(3, 8, reach=4), "membership", lambda kind, start, end: (start, min(end + kind.reach + 1, INFINITY))),
        (cumulate(9, 3, 1), "extent_start", lambda kind, start: start // kind.size * kind.size),
    ],
    ids=["a tick too long", "a reach too long", "another offset"],
)
def test_the_comparison_finds_a_kind_with_a_wrong_method(
    kind: WindowKind, method: str, wrong_method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(kind), method, wrong_method)
    assert not all(is_as_defined(kind, seed) for seed in range(50))
