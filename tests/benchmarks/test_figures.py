"""Figures of runs: medians, bars and verdicts, the exit status, and the works as declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.bars import AtMost, Growth, Measure, NoLater, Rate, Times
from benchmarks.measurement import Batch, Run, summarize
from benchmarks.outcome import exit_status, failures, missed_bars
from benchmarks.question import Question
from benchmarks.report import WorkReport
from benchmarks.runner import compare_output_rows
from benchmarks.slices import slices_kept
from benchmarks.streaming import _batch
from benchmarks.systems import all_systems
from benchmarks.tables import bars_table
from benchmarks.windows import Hopping, Session
from benchmarks.works import COLUMNAR, FULL_ROWS, SPARK, WORKS
from tests.benchmarks.build import QUESTION, options_of, report_of, run_of, summary_of, trial_of

FAST = summary_of(4, 1, 1)
SLOW = summary_of(9, 3, 3)


@pytest.mark.parametrize(("at_least", "is_met"), [(2.5, True), (2.6, False)])
def test_end_to_end_compares_rates(at_least: float, is_met: bool) -> None:
    bar = Times("a", "b", Measure.END_TO_END, at_least)
    verdict = bar.judge({("a", QUESTION): FAST, ("b", QUESTION): SLOW})
    assert verdict.measured == pytest.approx(2.5)
    assert verdict.is_met is is_met


def test_warm_batches_are_compared_by_their_seconds() -> None:
    verdict = Times("a", "b", Measure.WARM_BATCH, 3).judge({("a", QUESTION): FAST, ("b", QUESTION): SLOW})
    assert (verdict.bar, verdict.measured, verdict.is_met) == ("a >= 3 x b per warm batch", 3, True)


def test_a_bar_without_figures_is_neither_met_nor_missed() -> None:
    for bar in (Times("a", "b", Measure.END_TO_END, 1), Growth("a", Measure.WARM_BATCH, 2), Rate("b", 5)):
        verdict = bar.judge({("a", QUESTION): FAST})
        assert (verdict.measured, verdict.is_met) == (None, None)
    assert (
        Times("a", "b", Measure.WARM_BATCH, 1).judge({("a", QUESTION): summary_of(4), ("b", QUESTION): SLOW}).is_met
        is None
    )


@pytest.mark.parametrize(("last", "is_met"), [(1.4, True), (1.6, False)])
def test_growth_is_the_worst_window_over_the_first(last: float, is_met: bool) -> None:
    questions = [Question("average", Hopping(600, hop)) for hop in (600, 60, 1)]
    times = (1.0, 0.5, last)
    figures = {("a", question): summary_of(5, time) for question, time in zip(questions, times, strict=True)}
    verdict = Growth("a", Measure.WARM_BATCH, 1.5).judge(figures)
    assert (verdict.measured, verdict.is_met) == (last, is_met)


def test_state_written_is_counted_per_slice_that_outlives_the_batch() -> None:
    short, long = Question("average", Hopping(10, 10)), Question("average", Hopping(6000, 10))
    assert Measure.WRITTEN.of(short, FAST) == 25
    assert Measure.WRITTEN.of(long, FAST) == 0.5


def test_a_rate_is_rows_per_second() -> None:
    verdict = Rate("a", 500).judge({("a", QUESTION): FAST})
    assert (verdict.bar, verdict.measured, verdict.is_met) == ("a >= 500 rows/s", 500, True)


def test_processor_time_is_compared_by_rows() -> None:
    busy, idle = summary_of(4, 1, 1, cpu_seconds=6.0), summary_of(9, 3, cpu_seconds=2.0)
    verdict = Times("a", "b", Measure.PROCESSOR, 1).judge({("a", QUESTION): idle, ("b", QUESTION): busy})
    assert (verdict.measured, verdict.is_met) == (2, True)
    assert Times("a", "b", Measure.PROCESSOR, 1).judge({("a", QUESTION): FAST, ("b", QUESTION): busy}).is_met is None


def test_the_first_batch_and_the_one_without_rows_are_not_warm() -> None:
    run = Run(20.0, (Batch(10, 9.0), Batch(10, 2.0), Batch(10, 4.0), Batch(0, 5.0)))
    assert [batch.seconds for batch in run.warm] == [2.0, 4.0]
    summary = summarize([run])
    assert (summary.first_batch, summary.warm_batch) == (9.0, 3.0)


def test_a_summary_holds_medians_over_runs() -> None:
    summary = summarize([run_of(2, 1, 1), run_of(4, 2, 2), run_of(90, 50, 50)])
    assert (summary.runs, summary.rows, summary.seconds) == (3, 3000, 8)
    assert summary.rows_per_second == 3000 / 8
    assert (summary.first_batch, summary.warm_batch) == (4, 2)
    assert (summary.output_rows, summary.state_bytes, summary.written_bytes) == (30, 100, 50)
    assert (summary.jvm_bytes, summary.python_bytes) == (2_000_000, 1_000_000)


def test_a_run_that_was_stopped_marks_its_summary() -> None:
    summary = summarize([run_of(1, 1), Run(300.0, (), is_cut=True)])
    assert summary.is_cut
    assert summary.rows_per_second == 500


def test_a_progress_report_becomes_a_batch() -> None:
    operator = {"memoryUsedBytes": 70, "customMetrics": {"rocksdbSstFileSize": 30, "rocksdbTotalBytesWritten": 40}}
    progress = {
        "numInputRows": 5,
        "durationMs": {"triggerExecution": 1500},
        "sink": {"numOutputRows": 3},
        "stateOperators": [operator],
    }
    assert _batch(progress, 1) == Batch(5, 1.5, 3, 100, 40)
    assert _batch(progress | {"numInputRows": 10}, 2).rows == 5, "each row was read twice"
    assert _batch(progress | {"sink": {"numOutputRows": -1}}, 1).output_rows is None


def test_slices_whose_windows_are_complete_are_not_kept() -> None:
    """A file covers 1000 s and its newest row lies at its end, so it is complete until 10 s and a bit before."""
    assert slices_kept(Question("average", Hopping(10, 10))) == 2
    assert slices_kept(Question("average", Hopping(60, 10))) == 7
    assert slices_kept(Question("average", Hopping(600, 10))) == 61
    assert slices_kept(Question("average", Hopping(6000, 10))) == 100
    assert slices_kept(Question("average", Hopping(6000, 1))) == 1000


BAR = Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 2)


def good() -> WorkReport:
    return report_of(trial_of(COLUMNAR, 5, 1, 1), trial_of(SPARK, 6, 3, 3), bars=[BAR])


def behind() -> WorkReport:
    return report_of(trial_of(COLUMNAR, 5, 2, 2), trial_of(SPARK, 6, 3, 3), bars=[BAR])


def broken() -> WorkReport:
    failed = trial_of(COLUMNAR, 5, 1, failure="ValueError: <no>", details="ValueError: <no>\nmore")
    return report_of(failed, trial_of(SPARK, 6, 3), trial_of("bytewax", absence="not installed"), bars=[BAR])


def test_a_missed_bar_is_a_failure_only_if_asked_to_be_strict(tmp_path: Path) -> None:
    assert exit_status([good()], options_of(tmp_path, is_strict=True)) == 0
    assert exit_status([behind()], options_of(tmp_path)) == 0
    assert exit_status([behind()], options_of(tmp_path, is_strict=True)) == 1
    assert exit_status([broken()], options_of(tmp_path)) == 1
    assert missed_bars([good(), behind()]) == [
        "average, 10,000 keys, tumbling 60 s: muntin columnar >= 2 x spark window per warm batch, measured 1.50"
    ]
    assert failures([broken()]) == ["some-work, muntin columnar: ValueError: <no>\nmore"]


def test_bars_for_the_full_size_are_not_judged_on_a_tenth_of_it(tmp_path: Path) -> None:
    earlier = NoLater(COLUMNAR, SPARK)
    quick = replace(behind(), rows=FULL_ROWS // 10)
    quick = replace(quick, work=replace(quick.work, bars=(BAR, earlier)))
    assert [(verdict.measured, verdict.is_met) for verdict in quick.verdicts] == [(1.5, None), (0, True)]
    assert missed_bars([quick]) == []
    assert exit_status([quick], options_of(tmp_path, is_strict=True)) == 0
    assert [row[1:] for row in bars_table([quick]).rows] == [
        ("muntin columnar >= 2 x spark window per warm batch", "1.50", "not judged"),
        (str(earlier), "0.00", "met"),
    ]
    assert [row[-1] for row in bars_table([behind()]).rows] == ["BEHIND"]


def test_a_system_that_puts_out_another_number_of_rows_is_wrong() -> None:
    report = report_of(trial_of(COLUMNAR, 5, 1), trial_of(SPARK, 6, 3, 3), trial_of("muntin sliced", 6, 3))
    systems = all_systems({})
    compare_output_rows(report.trials, systems)
    assert [trial.failure for trial in report.trials] == [None, None, None]  # Spark read more
    object.__setattr__(report.trials[2].runs[0].batches[1], "output_rows", 11)
    compare_output_rows(report.trials, systems)
    assert report.trials[2].failure == "emitted 21 rows where muntin columnar emitted 20"


def test_systems_may_differ_about_sessions_that_end_at_the_watermark() -> None:
    trials = [trial_of(system, 5, 1, question=Question("average", Session(20))) for system in (COLUMNAR, SPARK)]
    object.__setattr__(trials[1].runs[0].batches[1], "output_rows", 11)
    compare_output_rows(trials, all_systems({}))
    assert [trial.failure for trial in trials] == [None, None]


def test_every_system_of_a_work_exists_and_every_system_takes_part_in_one() -> None:
    named = {system for work in WORKS for system in work.systems}
    assert named == set(all_systems({}))


def test_names_of_works_differ() -> None:
    assert len({work.name for work in WORKS}) == len(WORKS) > 5


def test_bars_quick_runs_and_file_counts_are_about_systems_of_the_work() -> None:
    for work in WORKS:
        subjects = {bar.subject for bar in work.bars if isinstance(bar, Times | Growth | Rate | NoLater | AtMost)}
        against = {bar.against for bar in work.bars if isinstance(bar, Times | NoLater)}
        assert subjects | against | {*work.quick, *work.files} <= {*work.systems}
        assert all(bar.subject in work.quick for bar in work.bars[:1] if work.quick and isinstance(bar, Times))


def test_fewer_rows_have_fewer_keys_and_the_title_says_so() -> None:
    work = WORKS[0]
    assert work.data(1_000_000).keys == 10_000
    assert work.data(100_000).keys == 1_000
    assert work.title(100_000) == "average, 1,000 keys, hopping 600 s / 10 s"


def test_a_work_has_files_of_its_own_size_and_number() -> None:
    work = next(work for work in WORKS if work.name == "one-row")
    assert (work.data(1_000_000).rows, work.data(1_000).rows, work.data(1_000).files) == (1, 1, 16)
    assert work.files_of("spark window") == 16
    half = next(work for work in WORKS if work.name == "hopping-revised")
    assert half.data(100_000).rows == 50_000
