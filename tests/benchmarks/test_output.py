"""Tables, files and the exit status."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bars import Measure, Times
from benchmarks.outcome import exit_status, failures, missed_bars
from benchmarks.question import Question
from benchmarks.report import WorkReport
from benchmarks.runner import compare_output_rows
from benchmarks.systems import all_systems
from benchmarks.windows import Session
from benchmarks.works import COLUMNAR, SPARK
from tests.benchmarks.build import options_of, report_of, trial_of

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
