"""Taking in the rows of a batch: what is admitted, what waits, and what is refused with which reason."""

from __future__ import annotations

from itertools import permutations

from muntin import INFINITY, Axis, tumbling
from muntin_engine.core.admission import Admission
from muntin_engine.core.key_state import KeyState
from tests.core.build import Taken, query, revision, row

WITHOUT_IDS = query(tumbling(10), has_ids=False)


def test_an_insertion_without_an_end_lasts_until_it_is_revised() -> None:
    """
              0    5    10
    a         [------------>
    revised   [----)
    """
    taken = Taken([row("a", 0, None)])
    assert taken.events == {"a": (0, INFINITY)}
    taken.take([revision("a", 0, INFINITY, 5)])
    assert taken.events == {"a": (0, 5)}


def test_rows_of_a_batch_mean_the_same_in_every_order() -> None:
    rows = [row("a", 0, 20), revision("a", 0, 20, 9), revision("a", 0, 9, 12), revision("a", 0, 12, 9), row("b", 3, 4)]
    for arrival in permutations(rows):
        taken = Taken(list(arrival))
        assert taken.events == {"a": (0, 9), "b": (3, 4)}
        assert taken.refused == []


def test_a_batch_touches_an_event_once_whatever_it_does_to_it() -> None:
    taken = Taken([row("a", 0, 20), row("b", 0, 20)])
    admission = taken.take(
        [revision("a", 0, 20, 9), revision("a", 0, 9, 12), revision("b", 0, 20, 9), revision("b", 0, 9, 20)]
    )
    assert {id: (before and before.end, after and after.end) for id, (before, after) in admission.touched.items()} == {
        "a": (20, 12)
    }


def test_an_event_that_comes_and_goes_in_one_batch_was_never_there() -> None:
    admission = Taken().take([row("a", 0, 20), revision("a", 0, 20, 0)])
    assert admission.touched == {}
    assert admission.refusals == []


def test_a_new_end_at_the_start_deletes() -> None:
    taken = Taken([row("a", 3, 20)], [revision("a", 3, 20, 3)])
    assert taken.events == {}
    taken.take([row("a", 5, 6)])
    assert taken.events == {"a": (5, 6)}


def test_a_revision_waits_for_its_event() -> None:
    taken = Taken([revision("a", 4, 20, 9)])
    assert (taken.events, taken.refused, taken.state.parked_count) == ({}, [], 1)
    taken.take([revision("a", 4, 9, 6)])
    taken.take([row("a", 4, 20)])
    assert (taken.events, taken.refused, taken.state.parked_count) == ({"a": (4, 6)}, [], 0)


def test_a_revision_waits_no_longer_than_its_event_may_legally_come() -> None:
    """
              0    5    10
    a             [---      starts at 4, revised to end at 9
    punctuation   !         4: it may still come
                   !        5: it may not
    """
    taken = Taken([revision("a", 4, 20, 9)])
    taken.take([], after=4)
    assert taken.state.parked_count == 1
    taken.take([], 4, after=5)
    assert taken.refused == [("a", "unknown event")]
    assert taken.state.is_empty


def test_the_end_of_the_stream_ends_all_waiting() -> None:
    taken = Taken([revision("a", INFINITY - 5, INFINITY, INFINITY - 1)])
    taken.take([], after=INFINITY)
    assert taken.refused == [("a", "unknown event")]


def test_a_revision_of_an_event_that_cannot_come_any_more_is_refused_at_once() -> None:
    assert Taken([revision("a", 4, 20, 9)], punctuation=5).refused == [("a", "unknown event")]


def test_a_revision_that_expects_another_end_is_refused() -> None:
    taken = Taken([row("a", 0, 20)], [revision("a", 0, 19, 5)])
    assert taken.refused == [("a", "stale revision")]
    assert taken.events == {"a": (0, 20)}


def test_a_revision_may_expect_no_particular_end() -> None:
    assert Taken([row("a", 0, 20)], [revision("a", 0, None, 5)]).events == {"a": (0, 5)}
    assert Taken([revision("a", 0, None, 5), row("a", 0, 20)]).events == {"a": (0, 5)}


def test_a_second_insertion_of_an_id_that_is_alive_is_refused() -> None:
    assert Taken([row("a", 0, 20), row("a", 3, 4)]).refused == [("a", "duplicate id")]
    assert Taken([row("a", 0, 20)], [row("a", 3, 4)]).refused == [("a", "duplicate id")]
    assert Taken([row("a", 0, 20)], [revision("a", 0, 20, 0), row("a", 3, 4)]).refused == [("a", "duplicate id")]


def test_a_lifetime_without_a_tick_is_refused() -> None:
    assert Taken([row("a", 5, 5)]).refused == [("a", "empty lifetime")]
    assert Taken([row("a", 5, 4)]).refused == [("a", "empty lifetime")]
    assert Taken([row("a", 5, 9)], [revision("a", 5, 9, 4)]).refused == [("a", "empty lifetime")]


def test_what_changes_the_axis_before_the_punctuation_is_late() -> None:
    """
                  0    5    10
    punctuation        !             5 is promised: nothing below
    inserted          [--            at 4: late
    revised       [------)           from 8 to 4: late
                  [--)               from 3 to 9: late too
    """
    state = Taken([row("a", 0, 8), row("b", 0, 3)]).state
    taken = Taken([row("c", 4, 9), row("d", 5, 9)], state=state, punctuation=5)
    taken.take([revision("a", 0, 8, 4), revision("b", 0, 3, 9)], 5)
    assert taken.refused == [("c", "late"), ("a", "late"), ("b", "late")]
    taken.take([revision("a", 0, 8, 5)], 5)
    assert taken.events["a"] == (0, 5)


def test_a_refusal_says_by_how_much_a_row_is_late() -> None:
    (refusal,) = Taken().take([row("a", 4, 9)], 7).refusals
    assert refusal.message == "it changes the axis at 4, 3 ticks before the punctuation 7"
    assert refusal.is_late
    (refusal,) = Taken().take([row("a", 4, 9)], INFINITY).refusals
    assert refusal.message == "it changes the axis at 4, after the end of the stream"


def test_a_refusal_reads_times_as_times() -> None:
    admission = Admission(KeyState(query(tumbling(10))), 90_000_000, axis=Axis.TIME)
    admission.admit([row("a", 60_000_000, 120_000_000), row("b", 120_000_000, 100_000_000)])
    late, empty = admission.refusals
    assert late.message == (
        "it changes the axis at 1970-01-01T00:01:00Z, 30 seconds before the punctuation 1970-01-01T00:01:30Z"
    )
    assert empty.message == "it ends at 1970-01-01T00:01:40Z, not after its start 1970-01-01T00:02:00Z"


def test_events_without_ids_are_all_different() -> None:
    taken = Taken([row(None, 0, 5), row(None, 0, 5)], state=KeyState(WITHOUT_IDS))
    assert taken.events == {1: (0, 5), 2: (0, 5)}


def test_an_event_without_an_id_is_not_taken_for_one_that_has_its_number() -> None:
    taken = Taken([row(1, 0, 5), row(None, 2, 9), row(2, 3, 4)])
    assert sorted(taken.events.values()) == [(0, 5), (2, 9), (3, 4)]


def test_an_event_without_an_id_cannot_be_revised() -> None:
    taken = Taken([row(None, 0, 5)], [revision(None, 0, 5, 3)])
    assert taken.refused == [(None, "unknown event")]
    assert taken.state.parked_count == 0
