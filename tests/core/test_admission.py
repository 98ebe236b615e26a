"""Taking in the rows of a batch: what is admitted, what waits, and what is refused with which reason."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from muntin import EARLIEST, INFINITY, Axis, Lateness, LatePolicy, tumbling
from muntin_engine.core.changes import InputChange
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.codec import Codec
from tests.core.build import Taken, query, revision, row

ADJUSTING = query(tumbling(10), late=Lateness(LatePolicy.ADJUST))
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
        assert taken.rejected == []


def test_a_batch_touches_an_event_once_whatever_it_does_to_it() -> None:
    taken = Taken([row("a", 0, 20), row("b", 0, 20)])
    admission = taken.take(
        [revision("a", 0, 20, 9), revision("a", 0, 9, 12), revision("b", 0, 20, 9), revision("b", 0, 9, 20)]
    )
    assert {id: (before and before.end, after and after.end) for id, (before, after) in admission.touched.items()} == {
        ("a", 0): (20, 12)
    }


def test_an_event_that_comes_and_goes_in_one_batch_was_never_there() -> None:
    admission = Taken().take([row("a", 0, 20), revision("a", 0, 20, 0)])
    assert admission.touched == {}
    assert admission.rejections == []


def test_a_new_end_at_the_start_deletes() -> None:
    taken = Taken([row("a", 3, 20)], [revision("a", 3, 20, 3)])
    assert taken.events == {}
    taken.take([row("a", 5, 6)])
    assert taken.events == {"a": (5, 6)}


def test_an_event_that_comes_again_with_a_zero_of_another_sign_has_that_one() -> None:
    taken = Taken([row("a", 3, 20, 0.0)])
    taken.take([revision("a", 3, 20, 3), row("a", 3, 20, -0.0)])
    assert [str(event.payload) for event in taken.state.events] == ["(-0.0,)"]


def test_a_revision_waits_for_its_event() -> None:
    taken = Taken([revision("a", 4, 20, 9)])
    assert (taken.events, taken.rejected, len(taken.state.waiting)) == ({}, [], 1)
    taken.take([revision("a", 4, 9, 6)])
    taken.take([row("a", 4, 20)])
    assert (taken.events, taken.rejected, len(taken.state.waiting)) == ({"a": (4, 6)}, [], 0)


def test_a_revision_waits_no_longer_than_its_event_may_legally_come() -> None:
    """
              0    5    10
    a             [---      starts at 4, revised to end at 9
    punctuation   !         4: it may still come
                   !        5: it may not
    """
    taken = Taken([revision("a", 4, 20, 9)])
    taken.take([], after=4)
    assert len(taken.state.waiting) == 1
    taken.take([], 4, after=5)
    assert taken.rejected == [("a", "unknown event")]
    assert taken.state.is_empty


def test_the_end_of_the_stream_ends_all_waiting() -> None:
    taken = Taken([revision("a", INFINITY - 5, INFINITY, INFINITY - 1)])
    taken.take([], after=INFINITY)
    assert taken.rejected == [("a", "unknown event")]


def test_a_revision_of_an_event_that_cannot_come_any_more_is_refused_at_once() -> None:
    assert Taken([revision("a", 4, 20, 9)], watermark=5).rejected == [("a", "unknown event")]


def test_a_revision_that_expects_another_end_is_refused() -> None:
    """
                  0    5    10   15   20
    a             [--------------------)
    expected                          )    ends at 19, and is to end at 5
    punctuation        !                   5: a revision to 19 may still come before it
                        !                  6: this one cannot be taken any more
    """
    taken = Taken([row("a", 0, 20)])
    taken.take([revision("a", 0, 19, 5)], after=5)
    assert (taken.rejected, len(taken.state.waiting)) == ([], 1)
    (rejection,) = taken.take([], 5, after=6).rejections
    assert taken.rejected == [("a", "stale revision")]
    assert rejection.message == "it expects event 'a' to end at 19, but the event ends at 20"
    assert (taken.events, taken.state.pending) == ({"a": (0, 20)}, {})


def test_a_revision_may_expect_no_particular_end() -> None:
    assert Taken([row("a", 0, 20)], [revision("a", 0, None, 5)]).events == {"a": (0, 5)}
    assert Taken([revision("a", 0, None, 5), row("a", 0, 20)]).events == {"a": (0, 5)}


@pytest.mark.parametrize("batches", [[[row("a", 0, 20), row("a", 0, 9)]], [[row("a", 0, 20)], [row("a", 0, 9)]]])
def test_a_second_insertion_of_an_event_that_is_alive_waits_for_a_retraction(batches: list[list[InputChange]]) -> None:
    taken = Taken(*batches)
    assert taken.rejected == []
    taken.take([revision("a", 0, 20, 0)], after=1)
    assert (taken.events, taken.rejected, len(taken.state.waiting)) == ({"a": (0, 9)}, [], 0)
    taken = Taken(*batches)
    (rejection,) = taken.take([], after=1).rejections
    assert taken.rejected == [("a", "duplicate id")]
    assert rejection.message.startswith("an event 'a' is alive, [0, ")


def test_what_is_retracted_is_inserted_again_in_one_batch_as_in_two() -> None:
    rows = [revision("a", 1, 8, 1), row("a", 1, 9)]
    for batches in [rows], [rows[::-1]], [rows[:1], rows[1:]], [rows[1:], rows[:1]]:
        taken = Taken([row("a", 1, 8)], *batches)
        assert (taken.events, taken.rejected, len(taken.state.waiting)) == ({"a": (1, 9)}, [], 0)


def test_what_is_inserted_again_has_the_payload_that_was_not_taken_back() -> None:
    rows = [row("a", 1, 8, "old"), revision("a", 1, 8, 1)._replace(payload=("old",)), row("a", 1, 8, "new")]
    for order in permutations(rows):
        for cuts in (), (1,), (2,), (1, 2):
            taken = Taken(*(list(order[start:end]) for start, end in pairwise((0, *cuts, 3))))
            assert [event.payload for event in taken.state.events] == [("new",)]
            assert len(taken.state.waiting) == 0


def test_a_revision_of_another_start_leaves_an_event_alone() -> None:
    taken = Taken([row("x", 1, 8)], [revision("x", 4, None, 4), revision("x", 4, 8, 6)])
    assert (taken.events, taken.rejected) == ({"x": (1, 8)}, [])
    taken.take([], after=5)
    assert taken.rejected == [("x", "unknown event")] * 2


def test_a_revision_that_is_left_over_does_not_hit_the_next_event_of_the_id() -> None:
    taken = Taken([revision("x", 1, None, 9)], [row("x", 7, 30)])
    assert taken.events == {"x": (7, 30)}
    taken.take([], after=7)
    assert (taken.events, taken.rejected) == ({"x": (7, 30)}, [("x", "unknown event")])


def test_revisions_of_different_batches_are_put_in_order() -> None:
    taken = Taken([row("a", 1)], [revision("a", 1, 10, 5)], [revision("a", 1, INFINITY, 10)])
    assert (taken.events, taken.rejected) == ({"a": (1, 5)}, [])


def test_of_blind_revisions_the_one_with_the_smallest_end_is_the_last() -> None:
    rows = [revision("a", 1, None, 9), revision("a", 1, None, 5), revision("a", 1, None, 7), revision("a", 1, 9, 30)]
    for order in permutations(rows):
        taken = Taken([row("a", 1, 20)], list(order))
        assert (taken.events, taken.rejected) == ({"a": (1, 5)}, [])
    assert Taken([row("a", 1, 20)], [rows[0], revision("a", 1, None, 1)]).events == {}


@pytest.mark.parametrize("is_held", [True, False])
def test_why_a_blind_revision_is_refused_does_not_depend_on_what_is_held(is_held: bool) -> None:
    """
    a             [---)              1 to 5: a window may still need it, or not
    punctuation         !            7
    revised          )               to 4: late by 3
                              )      to 12: no event of that id can be revised any more
    """
    taken = Taken([row("a", 1, 5)] if is_held else [])
    taken.take([], after=7)
    late, unknown = taken.take([revision("a", 1, None, 4), revision("a", 1, None, 12)], 7).rejections
    assert (late.reason, late.late_by) == ("late", 3)
    assert (unknown.reason, unknown.message) == ("unknown event", "no event 'a' that started at 1 is alive")


@pytest.mark.parametrize("cut", range(3))
def test_the_revisions_of_an_event_whose_start_was_adjusted_find_it(cut: int) -> None:
    """
                  0    5    10   15
    punctuation         !                 6
    a                [---------)          inserted at 3: it starts at 6
    revised                 )             from 14 to 9
    """
    rows = [row("a", 3, 14), revision("a", 3, 14, 9)]
    for order in permutations(rows):
        taken = Taken(state=KeyState(ADJUSTING))
        for batch in [order[:cut], order[cut:]]:
            taken.take(list(batch), 6, adjusts=True)
        assert (taken.events, taken.rejected) == ({"a": (6, 9)}, [])
    taken.take([revision("a", 3, 9, 3)], 6, adjusts=True)
    assert (taken.events, taken.rejected) == ({}, [])


def test_an_adjusted_start_stays_when_the_event_is_restored_and_revised() -> None:
    taken = Taken(state=KeyState(ADJUSTING))
    taken.take([row("a", 3, 14)], 6, adjusts=True)
    kept = StateSerializer(ADJUSTING, Codec())
    data = Codec().unpack(Codec().pack(taken.state.to_data(kept, ())))
    again = Taken(state=KeyState.from_data(ADJUSTING, [data], kept, ()))
    again.take([revision("a", 3, 14, 10)], 8, adjusts=True)
    assert (again.events, again.rejected) == ({"a": (6, 10)}, [])
    again.take([revision("a", 3, 10, 3)], 8, adjusts=True)
    assert again.rejected == [("a", "late")]


@pytest.mark.parametrize("new_end", [1, 10])
def test_a_revision_from_where_an_adjusted_event_would_start_is_of_none(new_end: int) -> None:
    """
                  0    5    10
    punctuation         !            6: an insertion that comes now starts at 6 or later
    revised        [----)---)        from 6 to 10, or retracted; what ends at 6 has not come, and can come no more
    """
    found = revision("a", 1, 6, new_end)
    at_once, later = Taken(state=KeyState(ADJUSTING)), Taken(state=KeyState(ADJUSTING))
    at_once.take([found], EARLIEST, 6, adjusts=True)
    later.take([found], EARLIEST, 5, adjusts=True)
    assert (later.rejected, len(later.state.waiting)) == ([], 1)
    later.take([], 5, 6, adjusts=True)
    for taken in (at_once, later):
        assert (taken.events, taken.rejected, taken.state.pending) == ({}, [("a", "unknown event")], {})


def test_what_is_left_of_an_adjusted_event_at_its_start_is_nothing_to_revise() -> None:
    taken = Taken(state=KeyState(ADJUSTING))
    rows = [row("a", 1, 20, 4), revision("a", 1, 20, 6), revision("a", 1, 6, 10)]
    taken.take(rows, 6, adjusts=True)
    assert (taken.events, taken.rejected) == ({}, [("a", "unknown event")])


def test_a_lifetime_without_a_tick_is_refused() -> None:
    assert Taken([row("a", 5, 5)]).rejected == [("a", "empty lifetime")]
    assert Taken([row("a", 5, 4)]).rejected == [("a", "empty lifetime")]
    assert Taken([row("a", 5, 9)], [revision("a", 5, 9, 4)]).rejected == [("a", "empty lifetime")]


def test_what_changes_the_axis_before_the_punctuation_is_late() -> None:
    """
                  0    5    10
    punctuation        !             5 is promised: nothing below
    inserted          [--            at 4: late
    revised       [------)           from 8 to 4: late
                  [--)               from 3 to 9: late too
    """
    state = Taken([row("a", 0, 8), row("b", 0, 3)]).state
    taken = Taken([row("c", 4, 9), row("d", 5, 9)], state=state, watermark=5)
    taken.take([revision("a", 0, 8, 4), revision("b", 0, 3, 9)], 5)
    assert taken.rejected == [("c", "late"), ("a", "late"), ("b", "late")]
    taken.take([revision("a", 0, 8, 5)], 5)
    assert taken.events["a"] == (0, 5)


def test_a_refusal_says_by_how_much_a_row_is_late() -> None:
    (rejection,) = Taken().take([row("a", 4, 9)], 7).rejections
    assert rejection.message == "event time 4 is 3 ticks behind the watermark 7"
    assert rejection.is_late
    (rejection,) = Taken().take([row("a", 4, 9)], INFINITY).rejections
    assert rejection.message == "event time 4 arrived after the end of the stream"


def test_a_refusal_reads_times_as_times() -> None:
    admission = Admission(KeyState(query(tumbling(10))), 90_000_000, axis=Axis.TIME)
    admission.admit([row("a", 60_000_000, 120_000_000), row("b", 120_000_000, 100_000_000)], 90_000_000)
    late, empty = admission.rejections
    assert late.message == ("event time 1970-01-01T00:01:00Z is 30 seconds behind the watermark 1970-01-01T00:01:30Z")
    assert empty.message == "it ends at 1970-01-01T00:01:40Z, not after its start 1970-01-01T00:02:00Z"


def test_events_without_ids_are_all_different() -> None:
    taken = Taken([row(None, 0, 5), row(None, 0, 5)], state=KeyState(WITHOUT_IDS))
    assert taken.events == {1: (0, 5), 2: (0, 5)}


def test_an_event_without_an_id_is_not_taken_for_one_that_has_its_number() -> None:
    taken = Taken([row(1, 0, 5), row(None, 2, 9), row(2, 3, 4)])
    assert sorted(taken.events.values()) == [(0, 5), (2, 9), (3, 4)]


def test_an_event_without_an_id_cannot_be_revised() -> None:
    taken = Taken([row(None, 0, 5)], [revision(None, 0, 5, 3)])
    assert taken.rejected == [(None, "unknown event")]
    assert len(taken.state.waiting) == 0
