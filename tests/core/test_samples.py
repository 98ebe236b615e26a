"""An edge stream: each sample lasts until the next one of its key, in whatever order they come."""

from __future__ import annotations

from itertools import permutations

from muntin import INFINITY, snapshot, tumbling
from muntin_engine.evaluators.general.key_state import KeyState
from tests.core.build import Feed, Taken, query, reasons, revision, row, spelled

EDGES = query(tumbling(10), is_edge=True, has_ids=False)


def lifetimes(*ats: int) -> list[tuple[int, int]]:
    taken = Taken(*([row(None, at)] for at in ats), state=KeyState(EDGES))
    assert taken.rejected == []
    return sorted(taken.events.values())


def test_a_sample_lasts_until_the_next() -> None:
    """
              0    5    10
    at 2        [----)          until the next, at 7
    at 7             [------->  until one is seen
    """
    assert lifetimes(2, 7) == [(2, 7), (7, INFINITY)]


def test_samples_out_of_order_give_the_same_lifetimes() -> None:
    for ats in permutations([2, 7, -3, 11]):
        assert lifetimes(*ats) == [(-3, 2), (2, 7), (7, 11), (11, INFINITY)]


def test_samples_of_one_batch_have_no_order() -> None:
    for ats in permutations([2, 7, 11]):
        taken = Taken([row(None, at) for at in ats], state=KeyState(EDGES))
        assert sorted(taken.events.values()) == [(2, 7), (7, 11), (11, INFINITY)]


def test_two_samples_at_one_time_cannot_both_hold() -> None:
    feed = Feed(EDGES)
    assert reasons(feed.batch(row(None, 2), row(None, 2))) == ["duplicate id"]
    assert reasons(feed.batch(row(None, 2))) == ["duplicate id"]


def test_which_of_two_samples_at_one_time_holds_does_not_depend_on_their_order() -> None:
    for rows in permutations([row(None, 2, value=7), row(None, 2, value=3), row(None, 5, value=0)]):
        feed = Feed(EDGES)
        assert [rejection.change.payload for _, rejection in feed.batch(*rows).rejections] == [(7,)]
        assert spelled(feed.batch(watermark=10)) == ["+3 [0,10) (0, 3)"]


def test_a_sample_behind_the_punctuation_is_late() -> None:
    feed = Feed(EDGES)
    feed.batch(row(None, 2), watermark=5)
    assert reasons(feed.batch(row(None, 4))) == ["late"]
    assert reasons(feed.batch(row(None, 5))) == []


def test_a_sample_cannot_be_revised() -> None:
    feed = Feed(EDGES)
    feed.batch(row(None, 2))
    assert reasons(feed.batch(revision(1, 2, INFINITY, 5))) == ["unknown event"]


def test_the_last_sample_is_kept_however_far_the_punctuation_is() -> None:
    """
                  0    10   20   30
    at 3             [-------------->   a level that holds until something else is heard
    punctuation                  !      30
    at 31                         [->
    """
    feed = Feed(EDGES)
    assert spelled(feed.batch(row(None, 3, value=7), watermark=30)) == [
        "+2 [0,10) (7,)",
        "+3 [10,20) (7,)",
        "+4 [20,30) (7,)",
    ]
    feed.batch(row(None, 31, value=8))
    assert spelled(feed.batch(watermark=40)) == ["+6 [30,40) (7, 8)"]


def test_closed_samples_are_forgotten_and_their_neighbours_still_known() -> None:
    feed = Feed(query(snapshot(), is_edge=True, has_ids=False))
    feed.batch(row(None, 0, value=1), row(None, 5, value=2), row(None, 9, value=3))
    assert spelled(feed.batch(watermark=8)) == ["+4 [0,5) (1,)"]
    assert spelled(feed.batch(row(None, 8, value=4), watermark=10)) == ["+6 [5,8) (2,)", "+7 [8,9) (4,)"]
    assert spelled(feed.batch(watermark=INFINITY)) == ["+8 [9,inf) (3,)"]
    assert feed.states == []
