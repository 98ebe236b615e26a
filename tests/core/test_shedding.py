"""ON-21: a key holds so many events; others are shed, the latest of a micro-batch first, and each of them is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import settings

from muntin import INFINITY, EmitPolicy, LatePolicy, tumbling
from muntin.lateness import parse_lateness
from muntin_engine.core.changes import InputChange, Reason
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.core.build import Feed, output, query, reasons, revision, row

SETTINGS = settings(max_examples=60, derandomize=True, database=None, deadline=None)


def shed(result: BatchResult) -> list[InputChange]:
    return [rejection.change for _, rejection in result.rejections if rejection.reason is Reason.SHED]


def test_which_rows_are_shed_does_not_depend_on_their_order() -> None:
    rows = [row(id, at, at + 3, value) for id, at, value in [(1, 5, 0), (2, 5, 1), (3, 5, 0), (4, 2, 7), (5, 9, 9)]]
    expected = [rows[2], rows[4]]  # at one time, the smallest as text are taken
    for seed in range(20):
        feed = Feed(query(tumbling(10), most_held=3))
        result = feed.batch(*Random(seed).sample(rows, len(rows)))
        assert sorted(shed(result)) == expected


def test_rows_that_could_not_be_taken_anyway_need_no_room_and_are_told_for_what_they_are() -> None:
    feed = Feed(query(tumbling(10), most_held=2))
    feed.batch(row(1, 12, 15), watermark=11)
    result = feed.batch(row(1, 12, 15), row(2, 3, 20), row(3, 14, 14), row(4, 13, 19), row(5, 16, 17), row(4, 13, 18))
    rejections = [*result.rejections, *feed.batch(watermark=INFINITY).rejections]
    told = {(rejection.change.id, str(rejection.reason)) for _, rejection in rejections}
    assert told == {(1, "duplicate id"), (2, "late"), (3, "empty lifetime"), (4, "duplicate id"), (5, "shed")}


def test_an_adjusted_row_is_a_new_event() -> None:
    feed = Feed(query(tumbling(10), most_held=1, late=parse_lateness(LatePolicy.ADJUST)))
    feed.batch(watermark=8)
    result = feed.batch(row(1, 3, 20), row(2, 9, 12))
    assert [change.id for change in shed(result)] == [2]


def test_there_is_room_again_when_events_leave() -> None:
    feed = Feed(query(tumbling(10), most_held=2))
    assert shed(feed.batch(row(1, 1, 2), row(2, 2, 3), row(3, 11, 12)))
    assert shed(feed.batch(row(4, 12, 13), watermark=10)), "room is that before the batch"
    assert not shed(feed.batch(row(5, 13, 14), row(6, 14, 15)))
    assert shed(feed.batch(row(7, 15, 16)))


def test_a_retraction_passes_and_makes_room_for_the_next_batch() -> None:
    feed = Feed(query(tumbling(10), most_held=1))
    feed.batch(row(1, 1, 5))
    assert shed(feed.batch(revision(1, 1, None, 1), row(2, 2, 5)))
    assert not shed(feed.batch(row(3, 3, 5)))


def test_what_is_said_of_an_event_that_was_shed_is_said_of_one_that_never_came() -> None:
    feed = Feed(query(tumbling(10), most_held=1))
    assert reasons(feed.batch(row(1, 1, 5), row(2, 2, 9), revision(2, 2, 9, 7))) == ["shed"]
    assert reasons(feed.batch(watermark=2)) == [], "it waits while the event may still come"
    assert reasons(feed.batch(watermark=3)) == ["unknown event"]


def test_a_sample_that_is_shed_ends_no_other() -> None:
    feed = Feed(query(tumbling(10), has_ids=False, is_edge=True, most_held=2))
    result = feed.batch(row(None, 1, value=1), row(None, 4, value=2), row(None, 6, value=3), row(None, 4, value=2))
    assert [(str(r.reason), r.change.start) for _, r in result.rejections] == [("duplicate id", 4), ("shed", 6)]
    closed = feed.batch(row(None, 12, value=4), watermark=INFINITY)
    assert reasons(closed) == ["shed"]
    assert [change.value for change in output(closed)] == [((1, 2),), ((2,),)]


def test_a_limit_that_was_lowered_sheds_until_fewer_are_held() -> None:
    feed = Feed(query(tumbling(10), most_held=3))
    feed.batch(row(1, 1, 2), row(2, 12, 13), row(3, 13, 14))
    feed.query = query(tumbling(10), most_held=1)
    assert len(shed(feed.batch(row(4, 14, 15), watermark=10))) == 1
    assert len(shed(feed.batch(row(5, 21, 22), watermark=20))) == 1
    assert not shed(feed.batch(row(6, 22, 23)))


def test_a_hot_key_is_bounded_and_the_others_notice_nothing() -> None:
    most, feed = 500, Feed(query(tumbling(1000), has_ids=False, most_held=500))
    sizes, told = [], Counter[str]()
    for batch in range(12):
        hot = [row(None, number % 1000, number % 1000 + 1, batch) for number in range(2000)]
        result = feed.batches([(("hot",), hot), (("cold",), [row(None, batch, batch + 1, 1)])])
        told.update(shed=len(shed(result)), taken=result.accepted)
        assert result.held.events == most + batch + 1
        sizes.append(result.held.bytes)
    assert sizes[-1] < sizes[1] * 1.5, "what the log keeps of a full key does not grow"
    assert told == {"shed": 12 * 2000 - most, "taken": most + 12}
    (cold,) = (changes for key, changes in feed.batches([], watermark=INFINITY).output if key == ("cold",))
    assert [change.value for change in cold] == [((1,) * 12,)]


def test_the_message_says_how_many_there_were() -> None:
    feed = Feed(query(tumbling(10), most_held=2))
    feed.batch(row(1, 1, 5))
    ((_, rejection),) = feed.batch(row(2, 2, 5), row(3, 3, 5)).rejections
    assert (rejection.late_by, rejection.is_late, rejection.is_shed) == (None, False, True)
    assert rejection.message == (
        "its key has no room: 1 held, 2 new in the micro-batch, most_held=2; those that start earliest are taken"
    )


def test_a_full_key_fails_the_batch_if_that_is_asked_for_and_nothing_is_lost() -> None:
    # window   [0        10)
    # held      1 2 | 3       two have room
    limited = query(tumbling(10), emit=EmitPolicy.FINAL, has_ids=False, most_held=2, fails_when_full=True)
    feed = Feed(limited)
    feed.batch(row(None, 1, 2, 1), row(None, 2, 3, 1))
    before = dict(feed.cells.cells)
    with pytest.raises(StateError, match=r"'k'.* has no room: 2 held, 1 new in .*, most_held=2, when_full='fail'"):
        feed.batch(row(None, 3, 4, 1))
    assert feed.cells.cells == before
    feed.query = replace(limited, most_held=3)
    feed.batch(row(None, 3, 4, 1))
    (change,) = output(feed.batch(watermark=10))
    assert len(change.value[0]) == 3
