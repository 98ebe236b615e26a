"""Which rows are admitted, adjusted, shed or refused, and what is said of them; the well-known cases of Flink and Beam.

Each case is a query and its micro-batches. What a micro-batch expects is a change of the output if it begins with `+`
or `-`; otherwise it is how the message of a refused row begins. A row is an id, a start, an end and a payload, which is
0 if nothing is said; a revision is an id, a start, the expected end and the new end. Without another module the result
is the payloads of the window, sorted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from muntin import (
    INFINITY,
    EmitPolicy,
    Lateness,
    LatePolicy,
    correct,
    early,
    hopping,
    session,
    tumbling,
)
from muntin.triggers import each, past_part
from muntin_engine.errors import StateError
from tests.scenarios.feed import Feed, Step, Total, at, query, revision, row
from tests.scenarios.inputs import BY_KEY
from tests.scenarios.query import Query
from tests.scenarios.trigger_definition import GiveUp

ADJUSTED = query(late=Lateness(LatePolicy.ADJUST))
CORRECTED = query(tumbling(10), Total(), emit=EmitPolicy.SPECULATIVE, late=correct(5), lifetimes="points")
POINTS = query(tumbling(10), Total(), lifetimes="points")
SAMPLES = query(lifetimes="samples")
LATE = "event time"
UNKNOWN = "no event"
REPLACED = "another sample at 2 holds"

CASES: Final[dict[str, tuple[Query, list[Step]]]] = {
    "a lifetime without a tick": (
        query(),
        [
            Step([row(1, 5, 5), row(1, 5, 4), row(1, 5, 9)], expects=["its end does not lie after its start"] * 2),
            Step([revision(1, 5, 9, 4)], expects=["event 1 starts at 5 and cannot end at 4"]),
        ],
    ),
    "an end that is moved, and the start as an end": (
        query(),
        [
            Step([row(1, 0), row(2, 0, 20)]),
            Step([revision(1, 0, INFINITY, 5), revision(2, 0, 20, 0)]),
            Step(watermark=20, expects=["+[0,10) (0,)"]),
        ],
    ),
    "what changes the axis behind the watermark": (
        query(),
        [
            Step([row(1, 0, 8), row(2, 0, 3)], watermark=5),
            Step([row(3, 4, 9)], expects=["event time 4 is 1 ticks behind the watermark 5"]),
            Step([revision(1, 0, 8, 4)], expects=["event time 4 is 1 ticks behind"]),
            Step([revision(2, 0, 3, 9)], expects=["event time 3 is 2 ticks behind"]),
            Step([revision(1, 0, 8, 5), row(4, 5, 9)], watermark=10, expects=["+[0,10) (0, 0, 0)"]),
            Step(watermark=INFINITY),
            Step([row(5, 40, 50)], expects=["event time 40 arrived after the end of the stream"]),
        ],
    ),
    "rows wait for the one that they follow, while it may come": (
        query(),
        [
            Step([revision(1, 4, 20, 9), revision(2, 6, 9, 7)]),
            Step([row(1, 4, 20)], watermark=6),
            Step(watermark=7, expects=["no event 2 that started at 6 is alive"]),
            Step([revision(3, 4, 20, 9)], expects=[UNKNOWN]),
            Step([revision(4, 70, 80, 75)], watermark=INFINITY, expects=[UNKNOWN, "+[0,10) (0,)"]),
        ],
    ),
    "another end is expected": (
        query(tumbling(100)),
        [
            Step([row(1, 0, 10), revision(1, 0, 20, 25)], watermark=10),
            Step(watermark=11, expects=["it expects event 1 to end at 20, but the event ends at 10"]),
        ],
    ),
    "a second insertion waits for a retraction": (
        query(),
        [
            Step([row(1, 0, 20), row(1, 0, 9), row(2, 3, 4), row(2, 3, 4)]),
            Step([revision(1, 0, 20, 0)], watermark=4, expects=["an event 2 is alive, [3, 4)"]),
            Step(watermark=20, expects=["+[0,10) (0, 0)"]),
        ],
    ),
    "a revision that is left over does not hit the next event of the id": (
        query(),
        [
            Step([revision(1, 1, None, 9)]),
            Step([row(1, 7, 30)], watermark=7, expects=[UNKNOWN]),
            Step(watermark=30, expects=["+[0,10) (0,)", "+[10,20) (0,)", "+[20,30) (0,)"]),
        ],
    ),
    "an event without an id cannot be revised": (
        query(lifetimes="intervals"),
        [Step([row(None, 0, 5), row(None, 0, 5)], watermark=10, expects=["+[0,10) (0, 0)"])],
    ),
    "late insertions are adjusted if they end behind the watermark": (
        ADJUSTED,
        [
            Step(watermark=20),
            Step([row(1, 0, 29, 7), row(2, 4, 20), row(3, 5, 6)], expects=["event time 4 is 16", "event time 5 is 15"]),
            Step(watermark=30, expects=["+[20,30) (7,)"]),
            Step(watermark=INFINITY),
            Step([row(4, 0)], expects=[LATE]),
        ],
    ),
    "an adjusted event is revised by its true start": (
        ADJUSTED,
        [
            Step(watermark=20),
            Step([row(1, 0, 50, 1), row(2, 0, 50, 2), row(3, 0, 50, 4)]),
            Step([revision(1, 0, 50, 25, 1), revision(2, 0, 50, 0, 2), revision(3, 0, 50, 3, 4)]),
            Step([revision(4, 0, 20, 24)], expects=[UNKNOWN]),
            Step(watermark=INFINITY, expects=["+[20,30) (1,)"]),
        ],
    ),
    "samples at one time": (
        SAMPLES,
        [
            Step([row(1, 2, None, 7), row(1, 2, None, 9), row(1, 5, None, 0)], expects=[REPLACED]),
            Step([row(1, 2, None, 10)], watermark=5, expects=[REPLACED]),
            Step([row(1, 4)], expects=[LATE]),
            Step(watermark=10, expects=["+[0,10) (0, 10)"]),  # as text, 9 comes after 10
            Step(watermark=20, expects=["+[10,20) (0,)"]),  # the last one holds until another is heard
        ],
    ),
    # Flink
    "within the allowed lateness a window is put out again, which closes at its end and the allowance": (
        CORRECTED,
        [
            Step([at(1), at(2)], watermark=10, expects=["+[0,10) 2"]),
            Step([at(3)], expects=["-[0,10) 2", "+[0,10) 3"]),
            Step([at(4), at(5)], watermark=14, expects=["-[0,10) 3", "+[0,10) 5"]),
            Step([at(9)], watermark=15, expects=["-[0,10) 5", "+[0,10) 6"]),
            Step([at(2)], expects=["event time 2 is 13 ticks behind the watermark 15"]),
        ],
    ),
    "a late row makes the first result of a window": (
        CORRECTED,
        [Step(watermark=12), Step([at(9)], expects=["+[0,10) 1"])],
    ),
    "late for one of its windows": (
        replace(POINTS, window=hopping(10, 5)),
        [Step([at(1)], watermark=10, expects=["+[-5,5) 1", "+[0,10) 1"]), Step([at(7)], expects=["event time 7 is 3"])],
    ),
    "allowed lateness counts from the end of the window": (
        replace(CORRECTED, window=tumbling(60), late=correct(120)),
        [
            Step([at(485), at(555)], watermark=654, expects=["+[480,540) 1", "+[540,600) 1"]),
            Step([at(500)], watermark=660, expects=["-[480,540) 1", "+[480,540) 2"]),
            Step([at(501)], expects=[LATE]),
        ],
    ),
    "with ids it counts from the row": (
        replace(CORRECTED, window=tumbling(60), late=correct(120), lifetimes="named"),
        [
            Step([row(1, 485, 486, 1)], watermark=620, expects=["+[480,540) 1"]),
            Step([row(2, 499, 500, 1)], expects=["event time 499 is 1"]),
        ],
    ),
    "and off the grid": (
        replace(CORRECTED, window=session(60), late=correct(120)),
        [Step([at(485)], watermark=620, expects=["+[485,545) 1"]), Step([at(499)], expects=["event time 499 is 1"])],
    ),
    # Beam
    "the watermark is exclusive, and rows that come with it are on time": (
        POINTS,
        [
            Step([at(3), at(9)], watermark=10, expects=["+[0,10) 2"]),
            Step([at(9), at(10)], expects=["event time 9 is 1"]),
        ],
    ),
    "late rows that are dropped are counted all the same": (
        replace(POINTS, late=Lateness(LatePolicy.DROP)),
        [Step(watermark=10), Step([at(3)])],
    ),
    # A key that holds so many events
    "those that start earliest have room": (
        query(most_held=3),
        [
            Step(
                [row(0, 5, 9, 0), row(1, 5, 9, 1), row(2, 5, 9, 2), row(3, 2, 9, 3), row(4, 8, 9, 4)],
                expects=["its key has no room: 0 held, 5 new in"] * 2,
            ),
            Step(watermark=10, expects=["+[0,10) (0, 1, 3)"]),
        ],
    ),
    "rows that cannot be taken need no room": (
        query(most_held=2),
        [
            Step([row(1, 12, 15)], watermark=11),
            Step([row(2, 3, 20), row(3, 14, 14), row(4, 13, 19), row(5, 16, 17)], expects=[LATE, "its end", "its key"]),
        ],
    ),
    "an adjusted row is a new event, and retractions make room in the next batch": (
        replace(ADJUSTED, most_held=1),
        [
            Step(watermark=8),
            Step([row(1, 3, 20), row(2, 9, 12)], expects=["its key has no room"]),
            Step([revision(1, 3, 20, 3), row(2, 9, 12)], expects=["its key has no room"]),
            Step([row(2, 9, 12)], watermark=10, expects=["+[0,10) (0,)"]),
        ],
    ),
    "of an event that was shed there is nothing to revise": (
        query(most_held=1),
        [
            Step([row(1, 1, 5), row(2, 2, 9), revision(2, 2, 9, 7)], watermark=2, expects=["its key"]),
            Step(watermark=3, expects=[UNKNOWN]),
        ],
    ),
    "a sample that is shed ends no other": (
        replace(SAMPLES, most_held=2),
        [
            Step([row(1, 1, None, 1), row(1, 4, None, 2), row(1, 6, None, 3)], expects=["its key"]),
            Step(watermark=20, expects=["+[0,10) (1, 2)", "+[10,20) (2,)"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_taken_or_refused_with_a_reason(name: str) -> None:
    admitting_query, steps = CASES[name]
    feed = Feed(admitting_query, "general")
    for step in steps:
        result = feed.step(step)
        texts = sorted([*result.messages, *result.changes])
        assert len(texts) == len(step.expects), f"after {step.rows}: {texts}"
        for text, beginning in zip(texts, sorted(step.expects), strict=True):
            assert text.startswith(beginning), f"after {step.rows}: {texts}"


def test_a_full_key_fails_the_batch_if_that_is_asked_for_and_nothing_is_lost() -> None:
    limited = query(tumbling(10), lifetimes="intervals", most_held=2)
    feed = Feed(limited, "general")
    plan_input = replace(feed.plan.inputs[0], fails_when_full=True)
    feed.task = replace(feed.task, plan=replace(feed.task.plan, inputs=(plan_input,)))
    feed.batch(row(None, start=1, end=2, value=1), row(None, start=2, end=3, value=1))
    cells_before = dict(feed.cells.cells)
    with pytest.raises(StateError, match=r"'k'.* has no room: 2 held, 1 new in .*, most_held=2, when_full='fail'"):
        feed.batch(row(None, start=3, end=4, value=1))
    assert feed.cells.cells == cells_before

    feed_with_room = Feed(replace(limited, most_held=3), "general", feed.cells)
    feed_with_room.batch(row(None, start=3, end=4, value=1))
    assert feed_with_room.batch(watermark=10).changes == ["+[0,10) (1, 1, 1)"]


# Watermarks of single keys


def test_a_trigger_that_waits_for_less_than_its_key_has_reached_is_asked_in_the_next_batch() -> None:
    """The first trigger ends without firing at 3, the second fires at 5; the input is at 1, and the key at 7."""
    emit = early(each(GiveUp(3), past_part(0.5)))
    feed = Feed(query(tumbling(10), emit=emit, lifetimes="points", progress=BY_KEY), "general")
    assert feed.batch(at(1, value=4), of_keys={"k": 7}).changes == []
    assert feed.batch().changes == ["+[0,10) early 0 (4,)"]
