"""Late rows, revisions that wait, and keys that are null or equal, in a join."""

from __future__ import annotations

import json
from collections.abc import Hashable

import pytest

from muntin import Event, JoinKind, Lateness, LatePolicy
from muntin.changes import Revision
from muntin.testing import Script
from tests.scenarios.join import Join
from tests.scenarios.stepping import final, steps

ILLEGAL = Script(allow_illegal=True)


def test_a_row_is_late_by_its_own_input_alone() -> None:
    """The left input has come to 0, the right one to 20; of both there is an event at 5."""
    left = ILLEGAL.punctuate(0).batch().insert(1, 5, 30, 1)
    right = ILLEGAL.punctuate(20).batch().insert(1, 5, 30, 2).insert(2, 22, 25, 3)
    run = final(Join(JoinKind.INNER, ("intervals", "intervals")), left, right, evaluator="joining")
    ((stream, reason, late_by, row),) = run.refused
    assert (stream, reason, late_by, json.loads(row)["start"]) == ("late", "late", 15, 5)
    assert run.counts["accepted"] == 2
    assert [row.lifetime for row in run.output] == [(22, 25)]


def test_a_row_waits_no_longer_than_until_the_watermark_has_passed_its_event() -> None:
    """An event ends at 10; a revision of an end at 20, which it does not have, waits until the watermark is at 11."""
    left = ILLEGAL.insert(1, 1, 10, 1).add(Revision(1, Event(1, 20, 1), 25)).punctuate(0).batch()
    join = Join(JoinKind.INNER, ("named", "intervals"))
    runs = steps(join, left.punctuate(10).batch().punctuate(11), Script())
    assert [run.counts["rejected"] + run.counts["late"] for run in runs] == [0, 0, 1]


def test_a_late_insertion_can_start_at_the_watermark() -> None:
    join = Join(JoinKind.INNER, ("intervals", "intervals"), late=Lateness(LatePolicy.ADJUST))
    right = ILLEGAL.insert(1, 2, 40, 2)
    run = final(join, ILLEGAL.punctuate(10).batch().insert(1, 5, 30, 1), right)
    assert [row.lifetime for row in run.output] == [(10, 30)]


@pytest.mark.parametrize("key", [None, "a"])
def test_null_is_a_key_like_any_other(key: Hashable) -> None:
    side = Script().insert(1, 1, 5, 1, key=key).insert(2, 1, 5, 1, key="b").close()
    for name in ("pairing", "joining"):
        output = final(Join(JoinKind.INNER, ("intervals", "intervals")), side, side, evaluator=name).output
        assert sorted(map(str, (row.key for row in output.elements()))) == sorted(map(str, (key, "b")))
