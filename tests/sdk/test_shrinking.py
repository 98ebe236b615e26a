"""A stream that fails is made as small as it gets."""

from __future__ import annotations

from muntin import INFINITY, Event
from muntin.testing import Script, shuffle, smallest_failing


def ends_at_9(script: Script) -> bool:
    return any(event.end == 9 for table in script.history().values() for event in table.values())


def test_a_life_is_bridged_where_revisions_are_left_out() -> None:
    life = Script().insert("e", 1, 4).revise("e", INFINITY).revise("e", 7).revise("e", 9)
    for seed in range(5):
        small = smallest_failing(shuffle(life, seed, early_revisions=True), ends_at_9)
        assert len(small.changes()) == 2
        assert small.history() == {None: {("e", 1): Event(1, 9, None)}}


def test_events_of_one_id_are_left_out_one_by_one() -> None:
    stream = Script().insert("e", 1, 4).insert("e", 2, 9).insert("e", 3, 5)
    assert smallest_failing(stream, ends_at_9).history() == {None: {("e", 2): Event(2, 9, None)}}
