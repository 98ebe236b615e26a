"""The axis: durations are ticks, and ticks datetimes; events lie on it, and changes add up to their history."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta, timezone
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
        assert ticks(meant), "the suggestion can be read"


@given(st.integers(-(2**62), 2**62))
def test_a_length_that_is_spelled_in_words_is_read_as_that_length(length: int) -> None:
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
def test_a_value_that_is_no_duration_is_refused_with_the_reason(duration: object, reason: str) -> None:
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
        f"  windows of whole months or years are calendar({windows!r})\n"
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
def test_the_moment_of_a_tick_is_a_datetime_in_utc_whose_instant_is_the_tick(tick: int) -> None:
    at = moment(tick)
    assert at is not None
    assert instant(at) == tick
    assert at.tzinfo is UTC


def test_infinity_has_no_moment_and_ticks_beyond_the_year_9999_are_refused() -> None:
    assert moment(INFINITY) is None
    with pytest.raises(OverflowError):
        moment(INFINITY - 1)


# events and lifetimes


def test_a_point_lasts_a_tick_and_an_edge_has_no_end() -> None:
    point = Event.point(4, "hit")
    assert (point.start, point.end, point.duration) == (4, 5, 1)
    edge = Event.edge(4, 1.5)
    assert edge.end == INFINITY
    assert edge.lifetime.is_open
    assert edge.ends_at is None


def test_an_event_has_its_start_and_end_as_moments_too() -> None:
    event = Event(0, 1_000_000, None)
    assert event.starts_at == moment(0)
    assert event.ends_at == moment(1_000_000)


@pytest.mark.parametrize("make", [Lifetime, lambda start, end: Event(start, end, "payload")], ids=["lifetime", "event"])
@pytest.mark.parametrize("end", [3, 2, -4])
def test_an_end_that_is_not_after_the_start_is_refused(make: Callable[[int, int], object], end: int) -> None:
    with pytest.raises(StreamError, match=rf"must end after it starts, got \[3, {end}\)") as refused:
        make(3, end)
    assert refused.value.values == {"start": 3, "end": end}


#         0    5    10
# first   [----)
# second       [----)      touches the first
# third       [-)          overlaps both
def test_lifetimes_that_touch_do_not_overlap() -> None:
    first = Lifetime(0, 5)
    second = Lifetime(5, 10)
    third = Lifetime(4, 6)
    assert not first.overlaps(second)
    assert not second.overlaps(first)
    assert third.overlaps(first)
    assert first.overlaps(third)
    assert third.overlaps(second)
    assert second.overlaps(third)


def test_lifetimes_sort_by_start_then_end() -> None:
    lifetimes = [Lifetime(2, 4), Lifetime(1, 9), Lifetime(2, 3)]
    assert sorted(lifetimes) == [Lifetime(1, 9), Lifetime(2, 3), Lifetime(2, 4)]


def test_events_are_values() -> None:
    event = Event(1, 2, ("a", 1))
    assert pickle.loads(pickle.dumps(event)) == event
    assert len({event, Event(1, 2, ("a", 1))}) == 1
    with pytest.raises(AttributeError):
        event.end = 5  # type: ignore[misc]  # that is the point


# Changes, and the canonical history table that they fold to: from the id and the start of an event to the event.


def table_of(*changes: Change[str]) -> Mapping[tuple[Hashable, int], Event[str]]:
    return fold(changes)


#          1    5    10
# E0       [---------------->   inserted
# E0       [--------)           ended at 10
# E0       [---)                ended at 5
# E1          [----)            inserted
def test_table_2_of_the_paper_folds_to_table_1() -> None:
    table = table_of(
        Insertion("E0", Event(1, INFINITY, "P1")),
        Revision("E0", Event(1, INFINITY, "P1"), new_end=10),
        Revision("E0", Event(1, 10, "P1"), new_end=5),
        Insertion("E1", Event(4, 9, "P2")),
    )
    assert table == {("E0", 1): Event(1, 5, "P1"), ("E1", 4): Event(4, 9, "P2")}


EVENT = Event(4, 9, "P1")


def test_punctuation_does_not_change_the_table() -> None:
    assert table_of(Insertion("E0", EVENT), Punctuation(9), Punctuation(INFINITY)) == {("E0", 4): EVENT}


def test_a_new_end_equal_to_the_start_deletes_the_event() -> None:
    assert retraction("E0", EVENT) == Revision("E0", EVENT, new_end=4)
    assert retraction("E0", EVENT).is_retraction
    assert table_of(Insertion("E0", EVENT), retraction("E0", EVENT)) == {}


def test_a_deleted_event_may_be_inserted_anew() -> None:
    another_event = Event(5, 6, "P2")
    table = table_of(Insertion("E0", EVENT), retraction("E0", EVENT), Insertion("E0", another_event))
    assert table == {("E0", 5): another_event}


def test_a_new_end_before_the_start_is_refused() -> None:
    with pytest.raises(StreamError, match="event 'E0' starts at 4 and cannot end at 3"):
        Revision("E0", EVENT, new_end=3)


@pytest.mark.parametrize(
    ("change", "sync_time"),
    [
        (Insertion("E0", EVENT), 4),
        (Revision("E0", EVENT, new_end=6), 6),
        (Revision("E0", EVENT, new_end=12), 9),
        (Revision("E0", Event.edge(4, "P1"), new_end=12), 12),
        (Revision("E0", EVENT, new_end=4), 4),
        (Punctuation(7), 7),
    ],
    ids=["insertion", "earlier end", "later end", "end of an edge", "retraction", "punctuation"],
)
def test_the_sync_time_of_a_change_is_the_first_tick_at_which_it_alters_the_axis(
    change: Change[Any], sync_time: int
) -> None:
    assert change.sync_time == sync_time


def test_an_event_with_the_id_and_the_start_of_one_that_is_alive_cannot_be_inserted() -> None:
    with pytest.raises(StreamError, match="event 1 is inserted twice"):
        table_of(Insertion(1, EVENT), Insertion(1, Event(4, 7, "P1")))


def test_events_of_one_id_that_start_at_different_ticks_are_two() -> None:
    second = Event(5, 9, "P2")
    table = table_of(Insertion(1, EVENT), Insertion(1, second), Revision(1, second, new_end=7))
    assert table == {(1, 4): EVENT, (1, 5): Event(5, 7, "P2")}


def test_a_revision_of_an_event_that_is_not_in_the_table_is_refused() -> None:
    revision = Revision(1, Event(4, 8, "P1"), new_end=6)
    with pytest.raises(StreamError, match="the table has None"):
        table_of(revision)
    with pytest.raises(StreamError, match=r"a revision of event 1 expects .*end=8.*, the table has .*end=9"):
        table_of(Insertion(1, EVENT), revision)
