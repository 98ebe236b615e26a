"""The shapes of the thesis's measurements, by what is counted rather than timed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.shapes import __main__ as program
from benchmarks.shapes import sweeps
from benchmarks.shapes.array_ways import sliced_arrays, tagged_arrays, unsliced_arrays
from benchmarks.shapes.buffering import WAYS, outcomes, touches
from benchmarks.shapes.rows import NumberedRows
from benchmarks.shapes.slack import TRIALS, Trial, by_punctuation, by_slack, rows_of, true_results
from benchmarks.shapes.slices import THESIS, ratio
from benchmarks.shapes.ways import check_alike, sliced_states
from muntin import hopping

PAGE = Path(__file__).parents[2] / "docs/contributing/slices-and-state.md"


@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize("slide", [1, 7, 10, 30, 40])
def test_all_ways_give_the_same(keys: int, slide: int) -> None:
    rows = NumberedRows(count=200, batch=70, keys=keys)
    found = outcomes(rows, 40, slide)
    check_alike(list(found.values()))
    payloads = {
        (place % keys, place // keys): value
        for place, value in enumerate([value for arrival in rows.arrivals() for value in arrival.payloads.tolist()])
    }
    (key, window), answer = max(found["buffering"].answers.items())
    assert answer == max(payloads.get((key, window * slide + tick), 0.0) for tick in range(40))


@pytest.mark.parametrize("slide", [1, 2, 5, 10, 40])
def test_without_slices_a_row_is_touched_once_per_window_and_with_slices_once(slide: int) -> None:
    touched = {name: outcome.touched for name, outcome in outcomes(NumberedRows(200, 50), 40, slide).items()}
    payloads = {name: of.payloads for name, of in touched.items()}
    assert payloads.pop("buffering") == payloads.pop("WID without slices") == 200 * 40 // slide
    assert payloads == dict.fromkeys(payloads, 200)
    assert len(payloads) == len(WAYS) - 2 == 3
    assert touched["slices, Python states"].merges <= 5 * 200 // slide


@pytest.mark.parametrize("keys", [1, 3])
def test_negative_tuples_touch_a_row_twice_and_others_once_per_window_or_slice(keys: int) -> None:
    panel = touches(NumberedRows(300, 70, keys), 20, (1, 4, 7, 20))
    assert panel.series["negative tuples"] == [2, 2, 2, 2]
    assert panel.series["buffering"] == panel.series["WID without slices"]
    assert (panel.series["buffering"][0], panel.series["buffering"][3]) == (20, 1)


def test_what_windows_share_is_merged_for_each_window_anew_or_in_intervals_of_all_lengths() -> None:
    """Windows that share nothing else agree too: those with gaps, and those that are no multiple of their hop."""
    panel = touches(NumberedRows(600, 70), 40, (1, 4, 30, 40, 70))
    paired, intervals = panel.series["paired windows"], panel.series["base intervals"]
    assert paired[0] == pytest.approx(40, rel=0.05)
    assert paired[3:] == [1, 1]
    assert all(1.9 < work < 2 + 2 * 6 / slide for work, slide in zip(intervals, (1, 4, 30, 40, 70), strict=True))


def test_in_order_rows_wait_for_skewed_sources_and_as_they_come_a_minute_more_is_open() -> None:
    panel = sweeps.over_skew((0, 20, 40), seconds=130, per_second=60)
    in_order, as_they_come = panel.series[sweeps.IN_ORDER], panel.series[sweeps.AS_THEY_COME]
    assert in_order[0] == as_they_come[0]
    assert as_they_come[1] == pytest.approx(as_they_come[2], rel=0.05)
    assert as_they_come[2] < 2.5 * as_they_come[0]
    assert in_order[2] - in_order[1] == pytest.approx(in_order[1] - in_order[0], rel=0.01)
    assert in_order[2] > 2 * as_they_come[2]


@pytest.mark.parametrize("join", [sweeps.join_of_late, sweeps.join_of_band])
def test_in_order_joins_hold_more_and_find_the_same(join: Any) -> None:
    in_order, as_they_come = (join(15, is_sorted=is_sorted, seconds=20) for is_sorted in (True, False))
    assert in_order.pairs == as_they_come.pairs
    assert len(in_order.pairs) > 100
    assert in_order.rows > 1.2 * as_they_come.rows


def test_slices_of_20_rows_five_to_a_window_take_less_than_the_thesis_has() -> None:
    rows, windows = NumberedRows(4000, 500), hopping(100, 20)
    sliced, unsliced = sliced_states(windows, rows).touched, unsliced_arrays(windows, rows).touched
    (bar,) = THESIS.values()
    assert 0.2 < (sliced.payloads + sliced.merges) / unsliced.payloads < bar


def test_a_ratio_is_of_two_ways_that_agree() -> None:
    assert ratio(NumberedRows(400, 200, 10), sliced_arrays, 5, 4, repeats=1) > 0
    with pytest.raises(AssertionError, match="different answers"):
        ratio(NumberedRows(400, 200, 10), lambda windows, _: tagged_arrays(windows, NumberedRows(9, 9)), 5, 4, 1)


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.title)
def test_slack_is_wrong_until_it_is_as_long_as_the_disorder_and_punctuation_never_is(trial: Trial) -> None:
    script = trial.disorder(rows_of(trial.windows, 500))
    truth, punctuated = true_results(trial, script), by_punctuation(trial, script)
    assert trial.error(punctuated.results, truth) < 1e-9
    assert set(punctuated.latencies) == {0}
    consistent, generous = (
        [by_slack(trial, script, slack, is_generous=is_generous) for slack in (0, *trial.slacks[-2:])]
        for is_generous in (False, True)
    )
    errors = [[trial.error(answered.results, truth) for answered in some] for some in (consistent, generous)]
    assert errors[0][0] > errors[1][0] > 0.05
    assert errors[0][-1] == errors[1][-1] == 0
    assert min(consistent[0].latencies) < 0 < max(consistent[-1].latencies)


def test_the_page_shows_every_shape_and_the_command_that_makes_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in program.SHAPES:
        assert f"python -m benchmarks.shapes {name}" in text
        picture = f"pictures/{name}.svg"
        assert f"]({picture})" in text
        assert (PAGE.parent / picture).stat().st_size < 60_000
