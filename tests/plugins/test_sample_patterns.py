"""Patterns over samples: threshold crossings, rises, head and shoulders."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import pytest

from muntin import ClipPolicy, Event, OutputContract, TimestampPolicy, Window, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin_patterns import ConsecutiveRise, Crossing, Formation, HeadAndShoulders, Rise, ThresholdCrossing

WINDOW = Window(0, 20)


def points(*values: float | None, start: int = 0) -> list[Event[float | None]]:
    """Return one sample per tick."""
    return [Event.point(at, value) for at, value in enumerate(values, start)]


def find(module: Any, events: Sequence[Event[float | None]], window: Window = WINDOW) -> list[tuple[int, int, Any]]:
    return [(row.start, row.end, row.payload) for row in module.compute_result(events, window)]


def test_a_crossing_is_a_point_where_the_other_side_is_first_seen() -> None:
    #                *         *
    # 20 ---------------------------
    #             *     *   *        *
    #          0  1  2  3   4  5     6
    assert find(ThresholdCrossing(20.0), points(18.0, 21.0, 19.0, 18.0, 22.0, 17.0)) == [
        (1, 2, Crossing(18.0, 21.0, "up")),
        (2, 3, Crossing(21.0, 19.0, "down")),
        (4, 5, Crossing(18.0, 22.0, "up")),
        (5, 6, Crossing(22.0, 17.0, "down")),
    ]


def test_only_the_direction_asked_for_is_reported() -> None:
    samples = points(18.0, 21.0, 19.0)
    assert find(ThresholdCrossing(20, "up"), samples) == [(1, 2, Crossing(18.0, 21.0, "up"))]
    assert find(ThresholdCrossing(20, "down"), samples) == [(2, 3, Crossing(21.0, 19.0, "down"))]


def test_a_sample_that_equals_the_threshold_is_not_above_it() -> None:
    assert find(ThresholdCrossing(20.0), points(18.0, 20.0, 18.0)) == []
    assert find(ThresholdCrossing(20.0), points(20.0, 21.0)) == [(1, 2, Crossing(20.0, 21.0, "up"))]


@pytest.mark.parametrize("samples", [points(), points(21.0), points(None), points(nan, 21.0), points(21.0, 22.0)])
def test_without_two_samples_on_different_sides_nothing_crosses(samples: list[Event[float | None]]) -> None:
    assert find(ThresholdCrossing(20.0), samples) == []


def test_nulls_and_nan_are_no_samples() -> None:
    assert find(ThresholdCrossing(20.0), points(18.0, None, nan, 21.0)) == [(3, 4, Crossing(18.0, 21.0, "up"))]


def test_samples_that_start_together_stand_in_the_order_of_the_query() -> None:
    #    *          21 and 19 both at 4
    # ----------
    # *  *
    first, high, low = Event.point(1, 18.0), Event.point(4, 21.0), Event(4, 9, 19.0)
    assert find(ThresholdCrossing(20.0), [first, low, high]) == [(4, 5, Crossing(19.0, 21.0, "up"))]
    assert find(ThresholdCrossing(20.0), [first, high, low]) == [
        (4, 5, Crossing(18.0, 21.0, "up")),
        (4, 5, Crossing(21.0, 19.0, "down")),
    ]


def test_a_crossing_between_two_windows_is_reported_in_the_later_one_alone() -> None:
    # 0         10        20
    #           :  *  *   :
    # ------------------------
    #     *  *  :         :
    script = Script().point("a", 4, 1.0).point("b", 7, 2.0).point("c", 13, 8.0).point("d", 16, 9.0).close()
    module = Computation(ThresholdCrossing(5.0))
    query = WindowedQuery(tumbling(10, reach=10), [module], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    assert [(row.window.start, row.start, row.value) for row in script.run(query)[None]] == [
        (10, 13, Crossing(2.0, 8.0, "up"))
    ]


def test_a_rise_lasts_from_its_first_sample_to_its_last() -> None:
    #              *
    #        *   *   *
    #    * *   *         *
    #    0 1 2 3 4 5 6   7
    #        [---------)         1, 2, 3 break at 3 and rise again from there
    samples = points(2.0, 2.0, 4.0, 3.0, 5.0, 6.0, 4.0)
    assert find(ConsecutiveRise(3), samples) == [(3, 6, Rise(3, 3.0, 6.0))]
    assert find(ConsecutiveRise(2), samples) == [(1, 3, Rise(2, 2.0, 4.0)), (3, 6, Rise(3, 3.0, 6.0))]


def test_equal_samples_do_not_rise() -> None:
    assert find(ConsecutiveRise(2), points(1.0, 1.0, 1.0)) == []


def test_samples_that_start_together_do_not_rise() -> None:
    #     *
    #   *
    #   * *      one start: no rise between the two, whichever comes first
    low, high, later = Event.point(1, 1.0), Event.point(1, 2.0), Event.point(3, 3.0)
    assert find(ConsecutiveRise(2), [low, high, later]) == [(1, 4, Rise(2, 2.0, 3.0))]
    assert find(ConsecutiveRise(2), [high, low, later]) == [(1, 4, Rise(2, 1.0, 3.0))]


def test_nulls_do_not_break_a_rise() -> None:
    assert find(ConsecutiveRise(3), points(1.0, None, 2.0, nan, 3.0)) == [(0, 5, Rise(3, 1.0, 3.0))]


def test_a_rise_is_cut_at_the_border_of_the_window() -> None:
    #     0       5       the window
    # * * * * * * * *     the run
    #     [-------)
    events = points(*map(float, range(8)), start=-2)
    assert find(ConsecutiveRise(2), events, Window(0, 5)) == [(0, 5, Rise(5, 2.0, 6.0))]


def test_a_falling_run_and_a_single_sample_are_no_rise() -> None:
    assert find(ConsecutiveRise(2), points(3.0, 2.0, 1.0)) == []
    assert find(ConsecutiveRise(2), points(3.0)) == []


HEAD = (1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0)


def test_a_head_between_two_level_shoulders_is_found() -> None:
    #       *            8
    #   *       *        5
    #     *   *          3, the neckline
    # *           *      1
    # 0 1 2 3 4 5 6
    #   [--------)
    assert find(HeadAndShoulders(), points(*HEAD)) == [(1, 6, Formation(5.0, 8.0, 5.0, 3.0))]


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        (points(1.0, 5.0, 3.0, 5.0, 3.0, 5.0, 1.0), "the head is no higher than the shoulders"),
        (points(1.0, 5.0, 3.0, 4.0, 3.0, 5.0, 1.0), "the head is lower"),
        (points(1.0, 5.0, 3.0, 8.0, 3.0, 6.0, 1.0), "the shoulders are not level"),
        (points(1.0, 5.0, 3.0, 8.0, 2.0, 5.0, 1.0), "the troughs are not level"),
        (points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0), "nothing shows that the right shoulder is a peak"),
        (points(5.0, 3.0, 8.0, 3.0, 5.0, 1.0), "nothing shows that the left shoulder is a peak"),
        (points(1.0, 5.0, 3.0, 8.0, 3.0, 4.0, 3.5, 5.0, 1.0), "a peak lies between head and shoulder"),
        (points(), "there are no samples"),
    ],
)
def test_other_shapes_are_no_head_and_shoulders(samples: list[Event[float | None]], reason: str) -> None:
    assert find(HeadAndShoulders(), samples) == [], reason


@pytest.mark.parametrize(("right", "is_found"), [(101.5, True), (98.5, True), (104.0, False), (97.0, False)])
def test_shoulders_are_level_within_the_tolerance(right: float, is_found: bool) -> None:
    samples = points(1.0, 100.0, 50.0, 120.0, 50.0, right, 1.0)
    assert bool(find(HeadAndShoulders(tolerance=0.03), samples)) is is_found


def test_the_first_of_equal_neighbours_stands_for_all() -> None:
    #         * *
    #   * *         *
    #       *     *
    # *               *
    samples = points(1.0, 5.0, 5.0, 3.0, 8.0, 8.0, None, 3.0, 5.0, 5.0, 1.0)
    assert find(HeadAndShoulders(), samples) == [(1, 9, Formation(5.0, 8.0, 5.0, 3.0))]


def test_two_formations_may_share_peaks() -> None:
    #       *   *
    #   *     *     *      the two heads are level, so each is a head, and neither is a shoulder of the other
    samples = points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0)
    assert [(start, end) for start, end, _ in find(HeadAndShoulders(), samples)] == [(1, 6), (5, 10)]


def test_only_samples_that_start_in_the_window_count() -> None:
    assert find(HeadAndShoulders(), points(*HEAD, start=-1)) == []
    assert find(HeadAndShoulders(), points(*HEAD, start=14), Window(0, 20)) == []


def test_the_neckline_is_the_mean_of_the_troughs() -> None:
    ((_, _, formation),) = find(HeadAndShoulders(tolerance=0.5), points(1.0, 5.0, 3.0, 8.0, 2.0, 5.0, 1.0))
    assert formation.neckline == 2.5


@pytest.mark.parametrize("module", [ThresholdCrossing, ConsecutiveRise, HeadAndShoulders])
def test_starts_must_be_seen_as_they_are(module: Any) -> None:
    assert module.accepted_clips == {ClipPolicy.NONE, ClipPolicy.RIGHT}


def test_what_can_change_before_a_sample_is_not_promised() -> None:
    assert ThresholdCrossing.contract is OutputContract.TIME_BOUND
    assert ConsecutiveRise.contract is HeadAndShoulders.contract is OutputContract.WINDOW_BASED
