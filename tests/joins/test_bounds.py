"""What a join keeps, and what its output watermark says: OA-Join of Li's thesis (chapter 7, and 8.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muntin import EARLIEST, INFINITY, JoinKind, tumbling
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.joins.bucket import JoinBucket
from muntin_engine.evaluators.joins.key_state import JoinQuery
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec

MINUTE = 6
"""Ticks of ten seconds."""


class Band:
    """Points of two streams that meet if the right one is at most so much later, or so much earlier, than the left."""

    def __init__(self, later: int, earlier: int, kind: JoinKind = JoinKind.INNER) -> None:
        side = EvaluatorQuery(tumbling(1), (), has_ids=False)
        columns = ((0, 0), (1, 0)) if kind.pairs else ((0, 0),)
        query = JoinQuery(kind, (side, side), columns)
        self._lasts = (later + 1, earlier + 1)
        self._bucket = JoinBucket(query, MemoryCells(), Codec(), {"query": "band"})

    def take(self, left: Sequence[int], right: Sequence[int], watermarks: tuple[int, int]) -> BatchResult:
        rows = [
            InputChange(None, at, at + self._lasts[side], (at,), side=side)
            for side, times in enumerate((left, right))
            for at in times
        ]
        return self._bucket.take([(("a",), rows)], [InputReport(Progress(watermark)) for watermark in watermarks])


def pairs(result: BatchResult) -> list[tuple[int, int]]:
    return [change.value for _, changes in result.output for change in changes]


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
        result = band.take([now], [now], (now + 1 - delay, now + 1))
    assert result.held.events == (left_minutes + right_minutes) * MINUTE
    oldest = now + 1 - delay
    met = pairs(band.take([oldest], [], (oldest, now + 1)))
    assert sorted(right for _, right in met) == [*range(oldest - earlier * MINUTE, oldest + later * MINUTE + 1)]


def test_pairs_are_emitted_when_the_later_of_the_two_rows_comes() -> None:
    band = Band(2, 2)
    assert pairs(band.take([10], [], (EARLIEST, EARLIEST))) == []
    assert pairs(band.take([], [8, 12, 7, 13], (EARLIEST, EARLIEST))) == [(10, 8), (10, 12)]


@pytest.mark.parametrize(("kind", "final_at"), [(JoinKind.SEMI, 8), (JoinKind.ANTI, 13)])
def test_parts_are_emitted_when_they_are_known(kind: JoinKind, final_at: int) -> None:
    # left        10 |-----) 13       two ticks more
    # right    8 |----------) 13      for SEMI
    band = Band(2, 4, kind)
    right = [8] if kind is JoinKind.SEMI else []
    assert bool(pairs(band.take([10], right, (0, 8)))) is (final_at <= 8)
    assert bool(pairs(band.take([], [], (0, 12)))) is False
    assert bool(pairs(band.take([], [], (0, 13)))) is (final_at == 13)


@pytest.mark.parametrize("is_eager", [False, True])
def test_events_without_an_end_are_kept_until_they_are_clipped(is_eager: bool) -> None:
    side = EvaluatorQuery(tumbling(1), (), has_ids=False)
    query = JoinQuery(JoinKind.CLIP, (side, side), ((0, 0),), is_eager)
    bucket = JoinBucket(query, MemoryCells(), Codec(), {"query": "clip"})
    held = []
    for now in range(0, 200, 10):
        rows = [InputChange(None, now + 1, INFINITY, (now,)), InputChange(None, now + 4, now + 5, (0,), side=1)]
        result = bucket.take([(("a",), rows)], [InputReport(Progress(now + 6)), InputReport(Progress(now + 6))])
        told = [(change.start, change.new_end or change.end) for _, output in result.output for change in output]
        assert told[-1] == (now + 1, now + 4)
        held.append(result.held.events)
    assert held == [0] * 20


def test_a_pair_of_timestamps_is_complete_before_punctuation_of_one_of_them_says_so() -> None:
    # figure 7-5: a band of two either way; p1, p3 and p5 are of S0, p2 and p4 of S1
    reach = 2
    punctuation = [(1, EARLIEST), (1, 1), (2, 1), (2, 2), (3, 2)]
    band, complete = Band(reach, reach), dict[str, int]()
    first, second = 1, 0  # timestamps of S0 and of S1
    for number, (b0, b1) in enumerate(punctuation, 1):
        output_watermark = band.take([], [], (b0, b1)).watermark
        said = {
            "box": first < b0 and second < b1,  # joint punctuation
            "lifetime": max(first, second) < output_watermark,
            "slab": second < min(b0 - reach, b1) or first < min(b1 - reach, b0),  # individual punctuation
        }
        for name, is_complete in said.items():
            if is_complete:
                complete.setdefault(name, number)
    assert complete == {"box": 3, "lifetime": 4, "slab": 5}
