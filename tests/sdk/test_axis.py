"""The axis: durations are ticks, and ticks datetimes; events lie on it, and changes add up to their history."""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import INFINITY, Event, Lifetime, instant, moment, ticks
from muntin.axis import spell_ticks
from muntin.changes import Change, Insertion, Punctuation, Revision, fold, retraction
from muntin.errors import DurationError, StreamError

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (7, 7),
        (-7, -7),
        (timedelta(milliseconds=2), 2000),
        ("10 minutes", 10 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("1 hour, 30 min", 90 * MINUTE),
        ("1.5 h", 90 * MINUTE),
        ("250ms", 250_000),
        ("0.000001 s", 1),
        ("3 µs", 3),
        ("1 Week", 7 * 24 * 60 * MINUTE),
    ],
)
def test_a_duration_is_read_as_ticks(duration: int | str | timedelta, expected: int) -> None:
    assert ticks(duration) == expected


UNITS = "units: microseconds (us), milliseconds (ms), seconds (s), minutes (min), hours (h), days (d), weeks (w)"


@pytest.mark.parametrize(
    ("duration", "unit", "meant"),
    [
        ("10 minuts", "minuts", "10 minutes"),
        ("10m", "m", "10 minutes"),
        ("1 minut", "minut", "1 minute"),
        ("1 hour 30 mins 5 sceonds", "sceonds", "1 hour 30 mins 5 seconds"),
        ("-7 millis", "millis", "-7 milliseconds"),
        ("3 fortnights", "fortnights", None),
        ("5 nanoseconds", "nanoseconds", None),
        ("1 M", "M", None),
    ],
)
def test_an_unknown_unit_is_answered_with_the_closest_and_with_all(duration: str, unit: str, meant: str | None) -> None:
    with pytest.raises(DurationError) as refused:
        ticks(duration)
    suggestion = "" if meant is None else f"  did you mean {meant!r}?\n"
    assert str(refused.value) == (
        f"{duration!r} is not a duration: the unit {unit!r} is unknown\n"
        "  expected: ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'\n"
        f"{suggestion}  {UNITS}"
    )
    if meant is not None:
        assert ticks(meant)


@given(st.integers(-(2**62), 2**62))
def test_a_length_in_words_is_read_as_itself(length: int) -> None:
    assert ticks(spell_ticks(length)) == length


@pytest.mark.parametrize(
    ("duration", "reason"),
    [
        ("soon", "it is not a list of numbers with units"),
        ("", "it is not a list of numbers with units"),
        ("10", "it is not a list of numbers with units"),
        ("5 - 3 minutes", "it is not a list of numbers with units"),
        ("--5 minutes", "it is not a list of numbers with units"),
        ("-", "it is not a list of numbers with units"),
        ("1,000 ms", "it is not a list of numbers with units"),
        ("10 minutes ago", "it is not a list of numbers with units"),
        ("0.5 us", "0.5 us is not a whole number of microseconds"),
        (True, "it is a bool"),
        (1.5, "it is a float"),
        (None, "it is a NoneType"),
    ],
)
def test_what_has_no_fixed_length_is_refused_with_the_reason(duration: object, reason: str) -> None:
    with pytest.raises(DurationError) as refused:
        ticks(duration)  # type: ignore[arg-type]  # that is the point
    assert refused.value.value is duration
    assert str(refused.value) == (
        f"{duration!r} is not a duration: {reason}\n"
        "  expected: ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'"
    )


@pytest.mark.parametrize(
    ("duration", "unit", "windows", "days"),
    [
        ("1 month", "month", "1 month", 30),
        ("2 years", "years", "2 years", 730),
        ("1.5 months", "months", "1 month", 45),
    ],
)
def test_a_unit_without_a_fixed_length_is_refused_with_windows_of_it_and_days(
    duration: str, unit: str, windows: str, days: int
) -> None:
    with pytest.raises(DurationError) as refused:
        ticks(duration)
    assert str(refused.value) == (
        f"{duration!r} is not a duration: the unit {unit!r} has no fixed length\n"
        "  expected: ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'\n"
        f"  windows of months are calendar({windows!r})\n"
        f"  any other length is in days, such as '{days} days'"
    )


HOUR_EAST = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), 1_000_005),
        (datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), -1_000_000),
        (datetime(1970, 1, 1, 0, 0, 1), 1_000_000),  # noqa: DTZ001  # a naive one is taken as UTC
        (datetime(1970, 1, 1, 1, tzinfo=HOUR_EAST), 0),
    ],
)
def test_an_instant_counts_microseconds_from_the_epoch(at: datetime, expected: int) -> None:
    assert instant(at) == expected


@pytest.mark.parametrize("tick", [0, -1, 1_388_534_400_000_001])
def test_a_moment_is_the_instant_again(tick: int) -> None:
    at = moment(tick)
    assert at is not None
    assert (instant(at), at.tzinfo) == (tick, UTC)
    assert moment(INFINITY) is None
    with pytest.raises(OverflowError):
        moment(INFINITY - 1)  # beyond the year 9999


# events and lifetimes


def test_an_event_lasts_a_tick_or_until_more_is_known_or_from_one_time_to_another() -> None:
    point = Event.point(4, "hit")
    edge = Event.edge(4, 1.5)
    event = Event(0, 1_000_000, None)
    assert (point.start, point.end, point.duration) == (4, 5, 1)
    assert (edge.end, edge.lifetime.is_open, edge.ends_at) == (INFINITY, True, None)
    assert (event.starts_at, event.ends_at) == (moment(0), moment(1_000_000))


@pytest.mark.parametrize("kind", [Lifetime, lambda start, end: Event(start, end, "payload")])
@pytest.mark.parametrize("end", [3, 2, -4])
def test_an_end_must_lie_after_the_start(kind: type[Lifetime], end: int) -> None:
    with pytest.raises(StreamError, match=rf"must end after it starts, got \[3, {end}\)") as refused:
        kind(3, end)
    assert refused.value.values == {"start": 3, "end": end}


#         0    5    10
# first   [----)
# second       [----)      they touch
# third       [-)          it overlaps both
def test_lifetimes_that_touch_do_not_overlap_and_sort_by_start_then_end() -> None:
    first = Lifetime(0, 5)
    second = Lifetime(5, 10)
    third = Lifetime(4, 6)
    overlaps = [(a, b) for a, b in permutations((first, second, third), 2) if a.overlaps(b)]
    assert overlaps == [(first, third), (second, third), (third, first), (third, second)]
    assert sorted([Lifetime(2, 4), Lifetime(1, 9), Lifetime(2, 3)]) == [Lifetime(1, 9), Lifetime(2, 3), Lifetime(2, 4)]


def test_events_are_values() -> None:
    event = Event(1, 2, ("a", 1))
    assert pickle.loads(pickle.dumps(event)) == event
    assert len({event, Event(1, 2, ("a", 1))}) == 1
    with pytest.raises(AttributeError):
        event.end = 5  # type: ignore[misc]  # that is the point


P1 = "P1"
P2 = "P2"


def meaning(*changes: Change[str]) -> Mapping[tuple[Hashable, int], Event[str]]:
    return fold(changes)


#          1    5    10
# E0       [---------------->   inserted
# E0       [--------)           ended at 10
# E0       [---)                ended at 5
# E1          [----)            inserted
def test_table_2_of_the_paper_folds_to_table_1() -> None:
    table = meaning(
        Insertion("E0", Event(1, INFINITY, P1)),
        Revision("E0", Event(1, INFINITY, P1), 10),
        Revision("E0", Event(1, 10, P1), 5),
        Insertion("E1", Event(4, 9, P2)),
    )
    assert table == {("E0", 1): Event(1, 5, P1), ("E1", 4): Event(4, 9, P2)}


def test_punctuation_does_not_change_the_table() -> None:
    assert meaning(Insertion(1, Event(4, 9, P1)), Punctuation(9), Punctuation(INFINITY)) == {(1, 4): Event(4, 9, P1)}


def test_a_new_end_equal_to_the_start_deletes_the_event() -> None:
    event = Event(4, 9, P1)
    assert retraction(1, event) == Revision(1, event, 4)
    assert retraction(1, event).is_retraction
    assert meaning(Insertion(1, event), retraction(1, event)) == {}


def test_a_deleted_event_may_be_inserted_anew() -> None:
    event = Event(4, 9, P1)
    assert meaning(Insertion(1, event), retraction(1, event), Insertion(1, Event(5, 6, P2))) == {
        (1, 5): Event(5, 6, P2)
    }


def test_a_new_end_before_the_start_is_refused() -> None:
    with pytest.raises(StreamError, match="event 'E0' starts at 4 and cannot end at 3"):
        Revision("E0", Event(4, 9, P1), 3)


@pytest.mark.parametrize(
    ("change", "sync_time"),
    [
        (Insertion(1, Event(4, 9, P1)), 4),
        (Revision(1, Event(4, 9, P1), 6), 6),
        (Revision(1, Event(4, 9, P1), 12), 9),
        (Revision(1, Event(4, INFINITY, P1), 12), 12),
        (Revision(1, Event(4, 9, P1), 4), 4),
        (Punctuation(7), 7),
    ],
    ids=str,
)
def test_the_sync_time_is_where_the_axis_changes_first(change: Change[Any], sync_time: int) -> None:
    assert change.sync_time == sync_time


def test_an_id_that_is_alive_cannot_be_inserted() -> None:
    with pytest.raises(StreamError, match="event 1 is inserted twice"):
        meaning(Insertion(1, Event(4, 9, P1)), Insertion(1, Event(4, 7, P1)))


def test_two_events_of_one_id_start_at_different_ticks() -> None:
    first = Event(4, 9, P1)
    second = Event(5, 9, P2)
    table = meaning(Insertion(1, first), Insertion(1, second), Revision(1, second, 7))
    assert table == {(1, 4): first, (1, 5): Event(5, 7, P2)}


def test_a_revision_must_know_the_event_it_revises() -> None:
    with pytest.raises(StreamError, match=r"a revision of event 1 expects .*end=8.*, the table has .*end=9"):
        meaning(Insertion(1, Event(4, 9, P1)), Revision(1, Event(4, 8, P1), 6))
    with pytest.raises(StreamError, match="the table has None"):
        meaning(Revision(1, Event(4, 8, P1), 6))
