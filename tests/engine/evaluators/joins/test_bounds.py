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
    """A band join: points of two streams meet if the right one is at most so much later or earlier than the left one.

    It is a join of intervals, which meet if they overlap: left events go on for `later` ticks after their start, and
    right ones for `earlier` ticks.
    """

    def __init__(self, later: int, earlier: int, kind: JoinKind = JoinKind.INNER) -> None:
        self._left_length = later + 1
        self._right_length = earlier + 1
        join = Join(kind, ("intervals", "intervals"))
        self.run = Run(join, join.plan("joining", buckets=1), NO_MISHAPS)

    def process(
        self,
        *,
        left: Sequence[int] = (),
        right: Sequence[int] = (),
        left_watermark: int = EARLIEST,
        right_watermark: int = EARLIEST,
    ) -> list[tuple[int, ...]]:
        """Process a micro-batch, and return the payloads of the rows that it emits: the times of events that met.

        Args:
            left: The times of the left events.
            right: The times of the right events.
            left_watermark: The watermark of the left input.
            right_watermark: The watermark of the right input.
        """
        left_batch = Batch(_events(left, self._left_length), left_watermark)
        right_batch = Batch(_events(right, self._right_length), right_watermark)
        self.run.process(Arrival((left_batch, right_batch)))
        return sorted(row.values for row in self.run.inserted)


def _events(times: Sequence[int], length: int) -> tuple[KeyedChange, ...]:
    """Return insertions of events of a length, whose payloads are their times."""
    return tuple(KeyedChange("a", Insertion(None, Event(time, time + length, time))) for time in times)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    # in minutes: the band, and for how long rows of each side are held
    ("later", "earlier", "left_held", "right_held"),
    [
        (2, 0, 2, 5),  # an answer within two minutes of its question
        (2, 2, 2, 7),  # two minutes either way: a right row waits for a left one that is later, and delayed
        (0, 2, 0, 7),
    ],
)
def test_the_state_of_a_band_join_is_what_may_still_meet_and_no_more(
    later: int, earlier: int, left_held: int, right_held: int
) -> None:
    # left rows may come five minutes late, right rows come in order: no sort buffer, and nothing kept for one
    delay = 5 * MINUTE
    band = Band(later * MINUTE, earlier * MINUTE)
    for now in range(20 * MINUTE):
        band.process(left=[now], right=[now], left_watermark=now + 1 - delay, right_watermark=now + 1)
    assert band.run.last["events_held"] == (left_held + right_held) * MINUTE

    # The most delayed left row that is not late still meets all right rows of its band.
    oldest = now + 1 - delay
    pairs = band.process(left=[oldest], left_watermark=oldest, right_watermark=now + 1)
    assert [right for _, right in pairs] == [*range(oldest - earlier * MINUTE, oldest + later * MINUTE + 1)]


def test_a_pair_is_emitted_when_the_second_of_its_rows_comes_without_any_watermark() -> None:
    band = Band(later=2, earlier=2)
    assert band.process(left=[10]) == []
    assert band.process(right=[8, 12, 7, 13]) == [(10, 8), (10, 12)]


def test_a_semi_join_emits_a_row_when_a_row_comes_that_it_meets() -> None:
    # left        10 |-----| 13      right events may start up to two ticks later
    # right   8 |----------| 13
    band = Band(later=2, earlier=4, kind=JoinKind.SEMI)
    assert band.process(left=[10], right=[8], left_watermark=0, right_watermark=8) != []
    assert band.process(left_watermark=0, right_watermark=12) == []
    assert band.process(left_watermark=0, right_watermark=13) == []


def test_an_anti_join_emits_a_row_when_the_other_watermark_has_passed_its_end() -> None:
    # left        10 |-----| 13      right events may start up to two ticks later
    band = Band(later=2, earlier=4, kind=JoinKind.ANTI)
    assert band.process(left=[10], left_watermark=0, right_watermark=8) == []
    assert band.process(left_watermark=0, right_watermark=12) == []
    assert band.process(left_watermark=0, right_watermark=13) != []


@pytest.mark.parametrize("is_eager", [False, True])
def test_events_without_an_end_are_held_until_they_are_clipped(is_eager: bool) -> None:
    # each batch     now+1 |----- ...      clipped by the right event, and then no longer held
    #                now+4    |-|
    join = Join(JoinKind.CLIP, ("intervals", "intervals"), is_eager)
    left = Script()
    right = Script()
    for now in range(0, 200, 10):
        left = left.insert(now, start=now + 1, end=INFINITY, payload=now).punctuate(now + 6).batch()
        right = right.insert(now, start=now + 4, end=now + 5, payload=0).punctuate(now + 6).batch()
    for batch_number, run in enumerate(steps(join, left, right), 1):
        assert run.output.total() == batch_number
        assert run.last["events_held"] == 0


def test_the_output_watermark_says_that_a_pair_is_complete_after_joint_and_before_individual_punctuation() -> None:
    # Figure 7-5 of the thesis: a band of two ticks either way, and a pair of timestamps of streams S0 and S1.
    reach = 2
    time_of_s0 = 1
    time_of_s1 = 0
    band = Band(reach, reach)
    # The watermarks of S0 and S1 after each punctuation: p1, p3 and p5 are of S0, p2 and p4 of S1.
    watermarks = [(1, EARLIEST), (1, 1), (2, 1), (2, 2), (3, 2)]

    complete_since: dict[str, int] = {}
    for number, (s0, s1) in enumerate(watermarks, 1):
        band.process(left_watermark=s0, right_watermark=s1)
        output_watermark = min(band.run.output_watermarks.values())
        completeness = {
            "joint punctuation": time_of_s0 < s0 and time_of_s1 < s1,  # a box
            "output watermark": max(time_of_s0, time_of_s1) < output_watermark,
            "individual punctuation": time_of_s1 < min(s0 - reach, s1) or time_of_s0 < min(s1 - reach, s0),  # a slab
        }
        for name, is_complete in completeness.items():
            if is_complete:
                complete_since.setdefault(name, number)
    assert complete_since == {"joint punctuation": 3, "output watermark": 4, "individual punctuation": 5}


def test_a_join_of_pairs_on_arrays_forgets_events_that_ended_and_its_state_does_not_grow() -> None:
    join = Join(JoinKind.INNER, ("intervals", "intervals"))
    side = Script()
    for tick in range(100):
        side = side.insert(tick, start=tick, end=tick + 10, payload=tick, key="a")
        if tick > 0:
            side = side.punctuate(tick - 5)
        side = side.batch()

    events_held: list[int] = []
    state_bytes: list[int] = []
    for run in steps(join, side, side, evaluator="pairing"):
        events_held.append(run.last["events_held"])
        state_bytes.append(run.last["state_bytes"])
    assert events_held[-1] == 2 * 15, "those that end after the watermark, which is five ticks behind"
    assert max(state_bytes[50:]) < 2 * max(state_bytes[20:50]) < 60_000


# Late rows, and revisions that wait, in a join.


ILLEGAL = Script(allow_illegal=True)


def test_a_row_is_late_by_the_watermark_of_its_own_input_alone() -> None:
    left = ILLEGAL.punctuate(0).batch().insert(1, start=5, end=30, payload=1)
    right = ILLEGAL.punctuate(20).batch().insert(1, start=5, end=30, payload=2).insert(2, start=22, end=25, payload=3)
    run = final(Join(JoinKind.INNER, ("intervals", "intervals")), left, right, evaluator="joining")

    ((stream, reason, late_by, row),) = run.refused
    assert stream == "late"
    assert reason == "late"
    assert json.loads(row)["start"] == 5
    assert late_by == 15, "the row of the right input, by its watermark of 20"
    assert run.counts["accepted"] == 2
    assert [row.lifetime for row in run.output] == [(22, 25)]


def test_a_revision_that_does_not_fit_its_event_waits_until_the_watermark_has_passed_the_end_of_the_event() -> None:
    revision_of_another_end = Revision(1, Event(1, end=20, payload=1), new_end=25)
    left = ILLEGAL.insert(1, start=1, end=10, payload=1).add(revision_of_another_end).punctuate(0)
    left = left.batch().punctuate(10).batch().punctuate(11)
    join = Join(JoinKind.INNER, ("named", "intervals"))
    refused_rows = [run.counts["rejected"] + run.counts["late"] for run in steps(join, left, Script())]
    assert refused_rows == [0, 0, 1]


def test_a_late_insertion_starts_at_the_watermark_where_late_rows_are_adjusted() -> None:
    join = Join(JoinKind.INNER, ("intervals", "intervals"), late=Lateness(LatePolicy.ADJUST))
    late_left = ILLEGAL.punctuate(10).batch().insert(1, start=5, end=30, payload=1)
    right = ILLEGAL.insert(1, start=2, end=40, payload=2)
    run = final(join, late_left, right)
    assert [row.lifetime for row in run.output] == [(10, 30)]
