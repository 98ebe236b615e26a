"""Scripts: streams as data, what they refuse, and punctuation of some keys alone.

A script inserts events by id, start, end and payload: `insert("a", 1, 8, "x")`; `edge` leaves the end open, `point`
lasts one tick. Drawings stand above the tests that need them: an event is a bar `[---)`, a punctuation is an `!`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from itertools import permutations
from typing import NamedTuple

import pytest

from muntin import EARLIEST, INFINITY, Event, count_by_start, tumbling
from muntin.changes import Insertion, Revision, retraction
from muntin.errors import StreamError
from muntin.rows import elapsed, last
from muntin.testing import (
    Batch,
    Boundary,
    Computation,
    KeyedChange,
    KeyPunctuation,
    KeyRange,
    Script,
    WindowedQuery,
)
from muntin.testing.batches import matches
from muntin_engine.testing import shuffle, split
from tests.modules.small import Names

A = Event(1, 8, "a")
"""The event that most scripts insert, as `insert("a", 1, 8, "a")`."""


#          1   5 6 8   12
# a        [------)
# a        [---)            revised: it had ended at 8
# b             [-->
# 5            !
# b             [-----)     revised: it had been open
def test_a_script_builds_the_revisions_of_its_events() -> None:
    script = Script().insert("a", 1, 8, "a").revise("a", 5).edge("b", 6, "b").punctuate(5).revise("b", 12)
    assert [step.change for step in script.changes()] == [
        Insertion("a", Event(1, 8, "a")),
        Revision("a", Event(1, 8, "a"), 5),
        Insertion("b", Event(6, INFINITY, "b")),
        Revision("b", Event(6, INFINITY, "b"), 12),
    ]
    assert script.history() == {None: {("a", 1): Event(1, 5, "a"), ("b", 6): Event(6, 12, "b")}}


def test_steps_may_be_given_as_a_list() -> None:
    fluent = Script().insert("a", 1, 8, "a", key="k").batch().retract("a").restart().close()
    listed = Script(fluent.steps)
    assert listed == fluent


def test_the_end_of_a_micro_batch_and_a_restart_are_steps() -> None:
    script = Script().point("a", 1).batch().point("b", 2).restart()
    boundaries = [step for step in script.steps if isinstance(step, Boundary)]
    assert boundaries == [Boundary.BATCH, Boundary.RESTART]


def test_a_step_leaves_the_script_it_is_added_to_as_it_was() -> None:
    script = Script().point("a", 1)
    script.retract("a")
    assert script.history() == {None: {("a", 1): Event(1, 2, None)}}


def test_the_key_of_a_revision_is_found_if_only_one_has_the_event() -> None:
    script = Script().insert("a", 1, 8, "a", key="x").insert("b", 1, 8, "b", key="y").revise("b", 5)
    assert script.changes()[-1] == KeyedChange("y", Revision("b", Event(1, 8, "b"), 5))


def test_the_key_of_a_revision_must_be_given_if_several_have_the_event() -> None:
    script = Script().insert("a", 1, 8, "of x", key="x").insert("a", 2, 8, "of y", key="y")
    with pytest.raises(StreamError, match=r"the keys \['x', 'y'\] all have an event 'a'\n  to do: say which"):
        script.revise("a", 5)
    assert script.revise("a", 5, key="y").history()["y"] == {("a", 2): Event(2, 5, "of y")}


RETRACTED = Script().insert("a", 1, 8, "a").retract("a")
REFUSED_STEPS: list[tuple[Callable[[], Script], str]] = [
    (lambda: RETRACTED.revise("a", 5), "no event 'a' is alive here"),
    (lambda: RETRACTED.retract("b"), "no event 'b' is alive here"),
    (lambda: Script().point("a", 9, key="x").punctuate(9).point("b", 8, key="y"), "below the watermark 9"),
    (lambda: Script().close().point("a", INFINITY - 2), "below the watermark"),
    (lambda: Script().punctuate(5).punctuate(4), "watermark goes back from 5 to 4"),
    (lambda: Script().insert("a", 1, 8).insert("a", 1, 5), "an event 'a' that starts at 1 is alive here"),
]


@pytest.mark.parametrize(("add_step", "message"), REFUSED_STEPS, ids=[message for _, message in REFUSED_STEPS])
def test_a_step_that_cannot_come_here_is_refused(add_step: Callable[[], Script], message: str) -> None:
    with pytest.raises(StreamError, match=message):
        add_step()


@pytest.mark.parametrize(
    ("script", "watermark"),
    [
        (Script(), EARLIEST),
        (Script().punctuate(-3), -3),
        (Script().punctuate(5).punctuate(5), 5),
        (Script().punctuate(4).close(), INFINITY),
    ],
    ids=["none", "one", "twice the same", "closed"],
)
def test_the_last_punctuation_says_how_far_the_stream_is_complete(script: Script, watermark: int) -> None:
    assert script.last_watermark() == watermark
    assert script.illegal() == ()


@pytest.mark.parametrize("watermark", [2, 5, 8])
def test_a_change_below_the_punctuation_is_refused(watermark: int) -> None:
    script = Script().insert("a", 1, 8, "a").punctuate(watermark)
    with pytest.raises(StreamError) as refused:
        script.retract("a")
    assert str(refused.value) == (
        f"the revision of event 'a' has the sync time 1, below the watermark {watermark}\n"
        "  expected: no change of the axis before the watermark\n"
        "  to test an engine with such a change: Script(allow_illegal=True)"
    )
    assert refused.value.values["watermark"] == watermark


#          1  4   8
# a        [------)
# 4           !
# a        [--)            legal: its sync time is the watermark
def test_a_revision_is_legal_if_neither_its_old_nor_its_new_end_is_before_the_punctuation() -> None:
    script = Script().insert("a", 1, 8, "a").punctuate(4)
    assert script.revise("a", 4).history() == {None: {("a", 1): Event(1, 4, "a")}}
    assert script.revise("a", 99).history() == {None: {("a", 1): Event(1, 99, "a")}}
    with pytest.raises(StreamError, match="sync time 3, below the watermark 4"):
        script.revise("a", 3)


def test_an_insertion_is_legal_if_its_event_starts_at_the_punctuation_or_later() -> None:
    script = Script().insert("a", 1, 8, "a").punctuate(4)
    assert script.point("b", 4).changes()[-1].change.sync_time == 4
    with pytest.raises(StreamError, match="the insertion of event 'b' of key 'k' has the sync time 3"):
        script.point("b", 3, key="k")


@pytest.mark.parametrize(
    "change",
    [
        Insertion("a", Event(1, 3, "again")),
        Revision("a", Event(1, 9, "a"), new_end=5),
        Revision("a", Event(1, 8, "b"), new_end=5),
    ],
    ids=["inserted twice", "another end", "another payload"],
)
def test_a_change_that_does_not_fit_its_event_is_refused_when_nothing_can_come_between_any_more(
    change: Insertion[str] | Revision[str],
) -> None:
    script = Script().insert("a", 1, 8, "a").add(change).punctuate(change.sync_time)
    assert script.history() == {None: {("a", 1): A}}, "the change waits for another one, which makes it fit"
    with pytest.raises(StreamError, match=r"but (that event is alive|the event is)"):
        script.punctuate(change.sync_time + 1)


def test_an_event_is_named_by_its_id_and_its_start() -> None:
    script = Script().insert("a", 1, 8, "a").insert("a", 3, 9, "b")
    assert script.revise("a", 5, start=3).history() == {None: {("a", 1): A, ("a", 3): Event(3, 5, "b")}}
    with pytest.raises(StreamError, match=r"events 'a' start at \[1, 3\]\n  to do: say which, with start="):
        script.retract("a")
    with pytest.raises(StreamError, match="an event 'a' that starts at 3 is alive here"):
        script.insert("a", 3, 4)


INSERTED_AGAIN = Event(1, 3, "again")
CHANGES_OF_AN_EVENT: list[Insertion[str] | Revision[str]] = [
    Insertion("a", A),
    Revision("a", A, new_end=5),
    Revision("a", Event(1, 5, "a"), new_end=8),
    retraction("a", A),
    Insertion("a", INSERTED_AGAIN),
]


@pytest.mark.parametrize("order", list(permutations(range(5))))
def test_the_changes_of_an_event_may_come_in_any_order(order: tuple[int, ...]) -> None:
    """The event comes, ends earlier, ends where it did before, is retracted, and comes again, with another payload."""
    script = Script()
    for place in order:
        script = script.add(CHANGES_OF_AN_EVENT[place])
    assert script.close().history() == {None: {("a", 1): INSERTED_AGAIN}}


def test_an_insertion_may_come_twice_before_the_retraction_in_between() -> None:
    event = Event(1, 5, None)
    insertion = Insertion("a", event)
    in_turn = Script().add(insertion).add(retraction("a", event)).add(insertion)
    first_inserted, retracted, again_inserted = in_turn.steps
    twice = Script((first_inserted, again_inserted, retracted))
    assert in_turn.history() == {None: {("a", 1): event}}
    assert twice.history() == {None: {("a", 1): event}}


def test_a_revision_may_come_before_its_event() -> None:
    script = Script().add(Revision("a", A, new_end=5)).punctuate(1).add(Insertion("a", A)).revise("a", 6)
    assert script.history() == {None: {("a", 1): Event(1, 6, "a")}}


@pytest.mark.parametrize(
    ("end", "final_event"), [(1, "gone"), (5, r"Event\(start=1, end=5")], ids=["retracted", "ended"]
)
def test_a_revision_cannot_bring_back_an_event_that_was_over_before_the_watermark(end: int, final_event: str) -> None:
    """It goes on from an event that ends at 8; whatever made such an event again would alter the axis at `end`."""
    over = Script().insert("a", 1, 8, "a").revise("a", end)
    prolonged = Revision("a", A, new_end=9)

    assert over.punctuate(end).add(prolonged).history() == over.history(), "it waits as long as that may still come"
    with pytest.raises(StreamError, match=f"the revision of event 'a' expects .*, but the event is {final_event}"):
        over.punctuate(6).add(prolonged)
    with pytest.raises(StreamError, match=f"but the event is {final_event}"):
        over.add(prolonged).punctuate(6)


def test_illegal_steps_count_for_nothing_but_the_changes_if_they_are_allowed() -> None:
    script = Script(allow_illegal=True).insert("a", 1, 8, "a").punctuate(5).point("late", 4).retract("a").punctuate(3)
    inserted, _, late, retracted, backwards = script.steps
    assert script.illegal() == (late, retracted, backwards)
    assert script.history() == {None: {("a", 1): A}}
    assert script.last_watermark() == 5
    assert script.changes() == (inserted, late, retracted)


def test_the_horizon_is_the_first_tick_after_the_events_of_all_keys() -> None:
    script = Script().edge("a", 1, key="x").insert("b", 4, 9, key="y")
    assert script.horizon(tumbling(5)) == 9
    assert script.close().horizon(tumbling(5)) == 9


def test_the_horizon_is_the_watermark_if_that_is_later_and_a_reach_moves_it() -> None:
    script = Script().edge("a", 1, key="x").insert("b", 4, 9, key="y")
    assert script.punctuate(1).horizon(tumbling(5)) == 9
    assert script.punctuate(20).horizon(tumbling(5)) == 20
    assert script.punctuate(20).close().horizon(tumbling(5)) == 20
    assert script.horizon(tumbling(5, reach=3)) == 12


class BatchShape(NamedTuple):
    """What is told of a micro-batch: its number of changes, its highest punctuation, and if a restart is before it."""

    change_count: int
    punctuation: int | None = None
    restart_before: bool = False


@pytest.mark.parametrize(
    ("script", "batches"),
    [
        (Script(), []),
        (Script().point("a", 1), [BatchShape(1)]),
        (Script().point("a", 1).batch(), [BatchShape(1)]),
        (Script().point("a", 1).restart(), [BatchShape(1), BatchShape(0, restart_before=True)]),
        (
            Script().point("a", 1).punctuate(1).point("b", 2).punctuate(2).restart().point("c", 3).batch(),
            [BatchShape(2, punctuation=2), BatchShape(1, restart_before=True)],
        ),
        (
            Script().point("a", 1).batch().batch().close(),
            [BatchShape(1), BatchShape(0), BatchShape(0, punctuation=INFINITY)],
        ),
        (
            Script(allow_illegal=True).point("a", 1).punctuate(5).point("b", 5).point("late", 4),
            [BatchShape(2, punctuation=5), BatchShape(1)],
        ),
    ],
    ids=[
        "no step",
        "one event",
        "a batch that ends with the script",
        "a restart before a batch without changes",
        "the highest punctuation, and a restart",
        "batches without changes, and the end of the stream",
        "a batch ends before a change that its own punctuation forbids",
    ],
)
def test_a_script_is_cut_into_micro_batches(script: Script, batches: list[BatchShape]) -> None:
    shapes: list[BatchShape] = []
    changes: list[KeyedChange] = []
    for batch in script.batches():
        shapes.append(BatchShape(len(batch.changes), batch.punctuation, batch.restart_before))
        changes += batch.changes
    assert shapes == batches
    assert changes == list(script.changes())


#         0    5    10   15
# a         [-------------->    key x
# b            [---)            key y: the horizon of both is 9
def test_a_run_gives_the_reference_output_of_each_key_with_one_horizon_for_all() -> None:
    script = Script().edge("a", 2, "a", key="x").insert("b", 5, 9, "b", key="y")
    script = script.point("c", 7, "c", key="z").retract("c")
    query = WindowedQuery(tumbling(5), [Computation(Names())])

    output = script.close().run(query)
    assert output.keys() == {"x", "y"}
    assert [(row.start, row.end, row.value) for row in output["x"]] == [(0, 5, ("a",)), (5, 10, ("a",))]
    assert [(row.start, row.end, row.value) for row in output["y"]] == [(5, 10, ("b",))]

    assert script.punctuate(9).run(query).keys() == {"x"}, "the window [5, 10) of y is not complete"
    assert script.run(query) == {}


def test_a_run_that_is_not_closed_stops_at_the_punctuation() -> None:
    script = Script().point("a", 1, "a").point("b", 3, "b").point("c", 5, "c").punctuate(4)
    [row] = script.run(WindowedQuery(count_by_start(2), [Computation(Names())]))[None]
    assert (row.start, row.end, row.value) == (1, 4, ("ab",))


def test_the_text_of_a_script_is_a_drawing_of_its_steps() -> None:
    script = Script().insert("a", 1, 8, "x", key="k").revise("a", 4).batch().punctuate(1).retract("a").restart().close()
    assert str(script) == "\n".join(
        [
            "             1",
            "+ 'k' 'a'    [------)   'x'",
            "~ 'k' 'a'    [--)       ended at 8",
            "------- batch",
            "punctuation  !          1",
            "- 'k' 'a'    [--)",
            "======= restart",
            "the stream is closed",
        ]
    )


def test_an_id_that_is_nan_is_equal_to_itself() -> None:
    script = Script().insert(float("nan"), 1, 9, "a").revise(float("nan"), 5).batch().retract(float("nan"))
    assert script.history() == {None: {}}
    with pytest.raises(StreamError, match="an event nan that starts at 1 is alive here"):
        Script().insert(float("nan"), 1, 9).insert(float("nan"), 1, 5)


# Punctuation of some keys alone: a key is a region and a sensor, `("eu", 1)`, and a pattern stands for many.

EU: Hashable = ("eu", ...)
"""The keys of all sensors in the region eu."""
NAMES_BY_TEN = WindowedQuery(tumbling(10), [Computation(Names())])


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        (("eu", 12), [("eu", 12)]),
        (("eu", ...), [("eu", 12), ("eu", 20), ("eu", None)]),
        ((..., KeyRange(12, 20)), [("eu", 12), ("us", 12)]),
        ((KeyRange("f"), KeyRange(None, 20)), [("us", 12)]),
        ((..., KeyRange()), [("eu", 12), ("eu", 20), ("us", 12)]),
        ((..., None), [("eu", None)]),
        (("eu",), []),
    ],
    ids=str,
)
def test_a_pattern_stands_for_the_keys_that_each_of_its_parts_allows(pattern: Hashable, keys: list[Hashable]) -> None:
    known_keys: list[Hashable] = [("eu", 12), ("eu", 20), ("eu", None), ("us", 12)]
    assert [key for key in known_keys if matches(pattern, key)] == keys


@pytest.mark.parametrize("is_composite", [False, True])
def test_each_nan_is_the_same_key_and_id(is_composite: bool) -> None:
    def new_nan() -> Hashable:
        """Return a NaN that is another object than each NaN before, or a tuple with such a NaN."""
        nan = float("nan")
        return ("eu", nan) if is_composite else nan

    script = Script().insert(new_nan(), 1, 9, key=new_nan()).revise(new_nan(), 5, key=new_nan())
    script = script.punctuate(3, key=new_nan())
    assert script.watermark_of(new_nan()) == 3
    (events,) = script.history().values()
    assert [event.end for event in events.values()] == [5]
    assert list(Script().insert(new_nan(), 1, 9).retract(new_nan()).history().values()) == [{}]


def test_nan_is_a_key_that_equals_itself_and_lies_above_all_numbers() -> None:
    assert matches(math.nan, math.nan)
    assert matches(KeyRange(5.0), math.nan)
    assert not matches(KeyRange(5.0, 1e300), math.nan)


#             1      8   12
# eu 1  a     [)               complete up to 10
# us 1  b     [)               not yet
# eu 1  c                [)
def test_windows_of_the_keys_that_a_pattern_stands_for_are_complete_up_to_its_punctuation() -> None:
    script = Script().point("a", 1, "a", key=("eu", 1)).point("b", 1, "b", key=("us", 1)).punctuate(10, key=EU)
    output = script.run(NAMES_BY_TEN)
    assert output.keys() == {("eu", 1)}
    assert [row.value for row in output["eu", 1]] == [("a",)]

    closed = script.point("c", 12, "c", key=("eu", 1)).close()
    assert closed.run(NAMES_BY_TEN).keys() == {("eu", 1), ("us", 1)}


def test_the_watermark_of_a_key_is_the_highest_punctuation_that_holds_for_it() -> None:
    script = (
        Script()
        .punctuate(3)
        .punctuate(10, key=("eu", ...))
        .punctuate(8, key=(..., KeyRange(10, 20)))
        .punctuate(20, key=("eu", 5))
    )
    assert script.watermark_of(("eu", 5)) == 20
    assert script.watermark_of(("eu", 15)) == 10
    assert script.watermark_of(("us", 15)) == 8
    assert script.watermark_of(("us", 5)) == 3


def test_the_last_watermark_is_that_of_all_keys_and_the_horizon_the_highest_punctuation_of_any_key() -> None:
    script = Script().punctuate(3).punctuate(10, key=EU).punctuate(20, key=("eu", 5))
    assert script.last_watermark() == 3
    assert script.horizon(tumbling(10)) == 20


def test_a_change_below_the_punctuation_of_its_key_is_illegal_and_one_of_another_key_is_not() -> None:
    script = Script().punctuate(10, key=EU).point("b", 9, key=("us", 1))
    with pytest.raises(StreamError, match="has the sync time 9, below the watermark 10"):
        script.point("a", 9, key=("eu", 1))

    with_late_change = Script(script.steps, allow_illegal=True).point("a", 9, key=("eu", 1))
    _, late_change = with_late_change.changes()
    assert late_change.change.id == "a"
    assert with_late_change.illegal() == (late_change,)


def test_a_change_that_waits_for_another_one_is_refused_when_its_key_is_punctuated() -> None:
    inserted = Script().insert("a", 1, 8, key=("us", 1)).insert("a", 1, 8, key=("eu", 1))
    in_us, _, revision_in_eu = inserted.revise("a", 5, key=("eu", 1)).steps
    waiting = Script((in_us, revision_in_eu))  # without the insertion of the event that is revised
    assert waiting.punctuate(10, key=("us", ...)).history().keys() == {("us", 1)}
    with pytest.raises(StreamError, match="expects"):
        waiting.punctuate(10, key=EU)


def test_the_watermark_of_a_pattern_does_not_go_back() -> None:
    with pytest.raises(StreamError, match=r"the watermark of \('eu', ...\) goes back from 10 to 9"):
        Script().punctuate(10, key=EU).punctuate(9, key=EU)


def test_a_batch_has_the_punctuation_of_keys_and_ends_before_a_change_that_it_forbids() -> None:
    script = Script(allow_illegal=True).punctuate(10, key=EU).point("b", 9, key=("us", 1)).point("a", 9, key=("eu", 1))
    allowed, forbidden = script.changes()
    assert list(script.batches()) == [Batch((allowed,), of_keys=(KeyPunctuation(EU, 10),)), Batch((forbidden,))]


#            1    30
# eu 1  a    [-------   open; the key is closed in the first micro-batch
# us 1  b         [)    comes in the same micro-batch, or in the next one
def test_a_closed_key_has_windows_up_to_the_horizon_of_the_micro_batch_that_closes_it() -> None:
    script = Script().edge("a", 1, "a", key=("eu", 1)).punctuate(INFINITY, key=EU)
    in_the_same_batch = script.point("b", 30, "b", key=("us", 1)).close()
    in_the_next_batch = script.batch().point("b", 30, "b", key=("us", 1)).close()
    assert [row.start for row in in_the_same_batch.run(NAMES_BY_TEN)["eu", 1]] == [0, 10, 20, 30]
    assert [row.start for row in in_the_next_batch.run(NAMES_BY_TEN)["eu", 1]] == [0]


def test_row_windows_of_a_key_that_is_closed_end_with_its_own_rows() -> None:
    script = Script().point("a", 1, "a", key=("eu", 1)).point("b", 40, "b", key=("us", 1))
    query = WindowedQuery(last(3).trigger(elapsed(5)), [Computation(Names())])
    (row,) = script.punctuate(INFINITY, key=EU).run(query)["eu", 1]
    assert (row.start, row.end, row.value) == (1, 5, ("a",))


def test_a_shuffled_stream_has_an_order_that_the_punctuation_of_keys_allows() -> None:
    script = Script().point("b", 15, key=("us", 1))
    for time in range(20):
        key = ("eu", time % 3)
        script = script.point(f"a {time}", time, key=key).punctuate(time, key=key)

    orders = set()
    for seed in range(10):
        shuffled = split(shuffle(script, seed), seed)  # a script refuses an illegal order
        assert shuffled.history() == script.history()
        orders.add(shuffled.steps)
    assert len(orders) > 1


def test_punctuation_of_keys_is_drawn_with_its_pattern() -> None:
    script = Script().point("a", 1, key=("eu", 1)).punctuate(4, key=(..., KeyRange(0, 9))).punctuate(INFINITY, key=EU)
    assert str(script).splitlines() == [
        "                 1",
        "+ ('eu', 1) 'a'  [)      None",
        "punctuation         !    4 of (..., KeyRange(0, 9))",
        "('eu', ...) is closed",
    ]
