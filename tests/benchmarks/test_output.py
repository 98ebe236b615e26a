"""Tables, files and the exit status."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.bars import Measure, Times
from benchmarks.outcome import exit_status, failures, missed_bars, write_files
from benchmarks.page import write_page
from benchmarks.question import Question
from benchmarks.report import WorkReport
from benchmarks.results_file import results_data
from benchmarks.runner import compare_output_rows
from benchmarks.systems import all_systems
from benchmarks.tables import bars_table, figures_table
from benchmarks.terminal import make_console, show
from benchmarks.windows import Session
from benchmarks.works import COLUMNAR, SPARK
from tests.benchmarks.build import options_of, report_of, trial_of

WHEN = datetime(2024, 5, 1, 8, tzinfo=UTC)
BAR = Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 2)


def good() -> WorkReport:
    return report_of(trial_of(COLUMNAR, 5, 1, 1), trial_of(SPARK, 6, 3, 3), bars=[BAR])


def behind() -> WorkReport:
    return report_of(trial_of(COLUMNAR, 5, 2, 2), trial_of(SPARK, 6, 3, 3), bars=[BAR])


def broken() -> WorkReport:
    failed = trial_of(COLUMNAR, 5, 1, failure="ValueError: <no>", details="ValueError: <no>\nmore")
    return report_of(failed, trial_of(SPARK, 6, 3), trial_of("bytewax", absence="not installed"), bars=[BAR])


def test_the_table_has_a_row_per_system_and_says_what_is_not_there() -> None:
    table = figures_table(broken())
    assert [row[0] for row in table.rows] == [COLUMNAR, SPARK, "bytewax"]
    remarks = table.columns.index("remarks")
    assert [row[remarks] for row in table.rows] == ["FAILED: ValueError: <no>", "", "not installed"]
    rate = table.columns.index("rows/s")
    assert [row[rate] for row in table.rows] == ["", "222", ""]


def test_notes_stand_below_the_table_once() -> None:
    trials = [trial_of(COLUMNAR, 5, 1, note="said <twice>"), trial_of(COLUMNAR, 5, 1, note="said <twice>")]
    report = report_of(*trials)
    assert figures_table(report).notes == ("muntin columnar: said <twice>",)
    assert "<p>muntin columnar: said &lt;twice&gt;</p>" in write_page([report], None, WHEN)


def test_columns_in_which_nothing_is_are_left_out() -> None:
    assert "remarks" not in figures_table(good()).columns
    assert "warm batch s" in figures_table(good()).columns


def test_the_bars_say_met_behind_or_not_measured() -> None:
    outcomes = [row[2:] for row in bars_table([good(), behind(), broken()]).rows]
    assert outcomes == [("3.00", "met"), ("1.50", "BEHIND"), ("", "not measured")]


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


def test_the_results_are_json_without_paths(tmp_path: Path) -> None:
    data = json.loads(json.dumps(results_data([good(), broken()], options_of(tmp_path), WHEN)))
    assert data["when"] == "2024-05-01T08:00:00+00:00"
    first, second = data["works"]
    assert first["bars"] == [{"bar": str(BAR), "measured": 3.0, "is_met": True}]
    assert first["trials"][0]["medians"]["warm_batch"] == 1.0
    assert first["trials"][0]["runs"][0]["batches"][0]["rows"] == 1000
    assert second["trials"][0]["medians"] is None
    assert second["trials"][2]["absence"] == "not installed"
    assert str(tmp_path) not in json.dumps(data)
    assert str(Path(__file__).parents[2]) not in json.dumps(data)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = write_page([good(), broken()], b"a chart", WHEN)
    assert re.findall(r"https?:|//|url\(|@import|<link|<script|<iframe", page) == []
    assert re.findall(r'(?:src|href)="([^"]{0,15})', page) == ["data:image/png;"]
    assert "&lt;no&gt;" in page
    assert "<no>" not in page
    assert "BEHIND" not in page
    assert "2024-05-01 08:00" in page


def test_all_files_are_written(tmp_path: Path) -> None:
    write_files([good()], options_of(tmp_path), WHEN)
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"results.json", "results.html"}
    assert made <= {"results.json", "results.html", "chart.png"}


def test_the_chart_is_a_picture_also_where_nothing_was_measured() -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.chart import draw_chart

    nothing = report_of(trial_of("bytewax", absence="not installed"))
    for reports in ([good(), broken()], [nothing], []):
        assert draw_chart(reports).startswith(b"\x89PNG")


def test_the_terminal_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    show(make_console(), [good(), broken()])
    shown = capsys.readouterr().out
    for text in ("average, 10,000 keys, tumbling 60 s", "muntin columnar", "met", "not measured", "not installed"):
        assert text in shown
