"""What a join keeps and refuses, and what its output watermark says: OA-Join of Li's thesis (chapter 7, and 8.2)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from muntin import EARLIEST, INFINITY, Event, JoinKind, Lateness, LatePolicy
from muntin.changes import Insertion, Revision
from muntin.testing import Batch, KeyedChange, Script
from tests.scenarios.join import Join
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Run
from tests.scenarios.stepping import NO_MISHAPS, final, steps

MINUTE = 6
"""Ticks of ten seconds."""


class Band:
    """Points of two streams that meet if the right one is at most so much later, or so much earlier, than the left."""

    def __init__(self, later: int, earlier: int, kind: JoinKind = JoinKind.INNER) -> None:
        self._lengths = (later + 1, earlier + 1)
        join = Join(kind, ("intervals", "intervals"))
        self.run = Run(join, join.plan("joining", buckets=1), NO_MISHAPS)

    def process(self, left: Sequence[int], right: Sequence[int], watermarks: tuple[int, int]) -> list[tuple[int, ...]]:
        """Process a micro-batch, and return the payloads of the rows that it emits: the times of events that met."""
        left_length, right_length = self._lengths
        left_watermark, right_watermark = watermarks
        left_batch = Batch(_events(left, left_length), left_watermark)
        right_batch = Batch(_events(right, right_length), right_watermark)
        self.run.process(Arrival((left_batch, right_batch)))
        return sorted(row.values for row in self.run.inserted)


def _events(times: Sequence[int], length: int) -> tuple[KeyedChange, ...]:
    """Return insertions of events of a length, whose payloads are their times."""
    return tuple(KeyedChange("a", Insertion(None, Event(time, time + length, time))) for time in times)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("later", "earlier", "left_minutes", "right_minutes"),
    [
        (2, 0, 2, 5),  # an answer within two minutes of its question
        (2, 2, 2, 7),  # two minutes either way: a right row waits for a left one that is later, and delayed
        (0, 2, 0, 7),
    ],
)
def test_the_state_of_a_band_join_is_what_may_still_meet_and_no_more(
    later: int, earlier: int, left_minutes: int, right_minutes: int
) -> None:
    # left rows may come five minutes late, right rows come in order: no sort buffer, and nothing kept for one
    delay = 5 * MINUTE
    band = Band(later * MINUTE, earlier * MINUTE)
    for now in range(20 * MINUTE):
        band.process([now], [now], (now + 1 - delay, now + 1))
    assert band.run.last["events_held"] == (left_minutes + right_minutes) * MINUTE
    oldest = now + 1 - delay
    pairs = band.process([oldest], [], (oldest, now + 1))
    assert [right for _, right in pairs] == [*range(oldest - earlier * MINUTE, oldest + later * MINUTE + 1)]


def test_pairs_are_emitted_when_the_later_of_the_two_rows_comes() -> None:
    band = Band(2, 2)
    assert band.process([10], [], (EARLIEST, EARLIEST)) == []
    assert band.process([], [8, 12, 7, 13], (EARLIEST, EARLIEST)) == [(10, 8), (10, 12)]


@pytest.mark.parametrize(("kind", "final_at"), [(JoinKind.SEMI, 8), (JoinKind.ANTI, 13)])
def test_parts_are_emitted_when_they_are_known(kind: JoinKind, final_at: int) -> None:
    # left        10 |-----) 13       two ticks more
    # right    8 |----------) 13      for SEMI
    band = Band(2, 4, kind)
    right = [8] if kind is JoinKind.SEMI else []
    assert bool(band.process([10], right, (0, 8))) is (final_at <= 8)
    assert bool(band.process([], [], (0, 12))) is False
    assert bool(band.process([], [], (0, 13))) is (final_at == 13)


@pytest.mark.parametrize("is_eager", [False, True])
def test_events_without_an_end_are_kept_until_they_are_clipped(is_eager: bool) -> None:
    join = Join(JoinKind.CLIP, ("intervals", "intervals"), is_eager)
    left = Script()
    right = Script()
    for now in range(0, 200, 10):
        left = left.insert(now, now + 1, INFINITY, now).punctuate(now + 6).batch()
        right = right.insert(now, now + 4, now + 5, 0).punctuate(now + 6).batch()
    for clipped, run in enumerate(steps(join, left, right), 1):
        assert run.output.total() == clipped
        assert run.last["events_held"] == 0


def test_a_pair_of_timestamps_is_complete_before_punctuation_of_one_of_them_says_so() -> None:
    # figure 7-5: a band of two either way; p1, p3 and p5 are of S0, p2 and p4 of S1
    reach = 2
    punctuation = [(1, EARLIEST), (1, 1), (2, 1), (2, 2), (3, 2)]
    band = Band(reach, reach)
    complete = dict[str, int]()
    first = 1  # a timestamp of S0
    second = 0  # a timestamp of S1
    for number, (b0, b1) in enumerate(punctuation, 1):
        band.process([], [], (b0, b1))
        completeness = {
            "box": first < b0 and second < b1,  # joint punctuation
            "lifetime": max(first, second) < min(band.run.output_watermarks.values()),
            "slab": second < min(b0 - reach, b1) or first < min(b1 - reach, b0),  # individual punctuation
        }
        for name, is_complete in completeness.items():
            if is_complete:
                complete.setdefault(name, number)
    assert complete == {"box": 3, "lifetime": 4, "slab": 5}


def test_a_batch_of_pairs_writes_its_own_rows_and_dead_entries_go() -> None:
    join = Join(JoinKind.INNER, ("intervals", "intervals"))
    side = Script()
    for at in range(100):
        side = side.insert(at, at, at + 10, at, key="a")
        side = (side.punctuate(at - 5) if at else side).batch()
    runs = steps(join, side, side, evaluator="pairing")
    held = [(run.last["events_held"], run.last["state_bytes"]) for run in runs]
    assert held[-1][0] == 2 * 15, "those that end after the watermark, which is five ticks behind"
    sizes = [size for _, size in held]
    assert max(sizes[50:]) < 2 * max(sizes[20:50]) < 60_000


# Late rows, revisions that wait, and keys that are null or equal, in a join.


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
