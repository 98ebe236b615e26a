"""The benchmarks run small: systems give the right answers, and figures reach the results file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from benchmarks import __main__ as program
from benchmarks.cases import CASES
from benchmarks.check import check_answers
from benchmarks.data import USUAL_PACE, Data, Files, Pace, write_data
from benchmarks.questions.band import Band
from benchmarks.questions.calendar_days import CalendarDays
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.nexmark import Nexmark
from benchmarks.questions.question import ANSWERS, Question
from benchmarks.questions.snapshots import Snapshot
from benchmarks.questions.views import Views
from benchmarks.runner import Runner
from benchmarks.systems.in_process import IN_PROCESS, BucketSystem
from benchmarks.systems.muntin import REVISED, TABLE, TABLE_KINDS
from benchmarks.systems.muntin_joins import MUNTIN_JOINS
from benchmarks.systems.spark import StreamSystem, TableSystem
from benchmarks.systems.spark_sql import SPARK_SQL, SPARK_WINDOW
from benchmarks.systems.state_by_hand import KeyRows, OpenWindows
from muntin_stats import Average

IN_ONE_PROCESS = ("general-in-process", "open-window")
"""Cases that need no Spark."""


def test_a_small_run_checks_measures_and_writes_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "end_session", lambda: None)  # the session of this process is that of other tests
    names = [f"--only={name}" for name in IN_ONE_PROCESS]
    assert program.main(["--rows", "2_000", "--repeats", "1", "--folder", str(tmp_path), *names]) == 0
    assert "general in process, open window" in capsys.readouterr().out

    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert tuple(case["name"] for case in results["cases"]) == IN_ONE_PROCESS
    for case in results["cases"]:
        for trial in case["trials"]:
            assert trial["windows_checked"] >= 20
            assert trial["medians"]["rows_per_second"] > 0
        for floor in case["floors"]:
            assert floor["is_met"] is None, "so few rows say nothing of it"


def test_a_system_that_is_wrong_has_failed(tmp_path: Path) -> None:
    class OffByOne(BucketSystem):
        def answer(self, question: Question, files: Files) -> pa.Table:
            answers = super().answer(question, files)
            value = pa.array(answers["value"].to_numpy() + 1)
            return answers.set_column(2, ANSWERS.field("value"), value)

    case = next(case for case in CASES if case.name == "session-20")
    runner = Runner(tmp_path, rows=1_000, repeats=1, limit=60, say=lambda _: None)
    results = runner.run(case, [IN_PROCESS, OffByOne("wrong", Average)])
    right, wrong = results.trials
    assert right.summary is not None
    assert wrong.summary is None
    assert "wrong answers for session 20 s" in str(wrong.failure)
    assert results.failures == [f"session-20, wrong: {wrong.failure}"]


ON_SPARK: tuple[tuple[StreamSystem | TableSystem, Question], ...] = (
    (MUNTIN_JOINS, Views(10)),
    (MUNTIN_JOINS, Nexmark(5)),
    (SPARK_SQL, Band(20)),
    (SPARK_WINDOW, CalendarDays("Europe/Berlin")),
    (REVISED, Snapshot(is_revised=True)),
    (TABLE, Hopping(60, 60)),
    *((system, Hopping(60, 60)) for system in TABLE_KINDS),
)


@pytest.mark.cases(2)
@pytest.mark.parametrize(("system", "question"), ON_SPARK, ids=lambda value: getattr(value, "name", str(value)))
def test_a_system_on_spark_is_right_about_a_table(
    system: StreamSystem | TableSystem, question: Question, spark: SparkSession, tmp_path: Path
) -> None:
    pace = Pace(span=86_400) if isinstance(question, CalendarDays) else USUAL_PACE
    files = write_data(Data(20, 2_000, 2, pace=pace), tmp_path)
    rows = spark.read.parquet(*map(str, files.paths))
    answers = system.results(rows, question, files.delay).toArrow().cast(ANSWERS)
    assert check_answers(system.name, question, files, answers) >= 20


def test_the_open_windows_of_a_key_by_hand_close_with_their_averages_and_drop_late_rows() -> None:
    windows = OpenWindows(60, {}, {})
    # key, start of the window in seconds, value
    windows.add([(1, 0, 5.0), (1, 0, 7.0), (1, 60, 3.0)], watermark=0)
    assert windows.due == 60_000
    assert list(windows.emit(60_000)) == [(0, 6.0)]

    windows.add([(1, 0, 9.0)], watermark=60_000)  # which is late
    assert windows.packed() == ([60], [1], [3.0])  # starts, counts and sums


def test_the_last_rows_of_a_key_by_hand_are_averaged_at_every_second_row_in_the_order_of_time() -> None:
    rows = KeyRows(LastRows(3, 2), 0, [], [])
    # key, time in milliseconds, value
    rows.add([(1, 3_000, 3.0), (1, 1_000, 1.0), (1, 2_000, 2.0), (1, 4_000, 4.0)], watermark=0)
    assert rows.due == 2
    assert list(rows.emit(3)) == [(2_000, 1.5)]
    assert list(rows.emit(6)) == [(4_000, 3.0)]  # of the last three rows: 2, 3 and 4
    assert rows.packed() == (4, [2.0, 3.0, 4.0], [], [])
