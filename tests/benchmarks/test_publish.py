"""The figures of a run reach the pages that show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import publish
from benchmarks.cases import WITHOUT_SPARK

WHEN = "2026-12-01T10:00:00+00:00"


def test_first_pages_show_the_figures_of_the_page_with_the_measurements() -> None:
    measurements = publish.MEASUREMENTS.read_text(encoding="utf-8")
    for path, words, figure in publish.sentences(measurements):
        text = path.read_text(encoding="utf-8")
        assert publish.with_figure(text, words, figure) == text


def test_the_page_with_the_measurements_has_rows_in_each_published_table() -> None:
    measurements = publish.MEASUREMENTS.read_text(encoding="utf-8")
    for table in publish.TABLES:
        assert publish.rows_of(measurements, table.corner)


@pytest.fixture
def _copies_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let figures be written into copies of the pages."""
    for name in ("MEASUREMENTS", "README", "WHY_NOT_GROUPBY"):
        page = getattr(publish, name)
        copy = tmp_path / page.name
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(publish, name, copy)


@pytest.mark.usefixtures("_copies_of_pages")
def test_a_run_writes_the_tables_that_it_measured_as_a_whole() -> None:
    rows_per_second = {
        ("hopping-600-10", "muntin columnar"): 300_000.4,
        ("hopping-600-10", "spark window"): 30_000,
        ("tumbling-60", "muntin sliced"): 400_000,
        ("tumbling-60", "transformWithState"): 80_000,
        ("tumbling-60-many-keys", "muntin sliced"): 123_456,
        ("tumbling-60-many-keys", "transformWithState"): 12_345,
    }
    cases: list[dict[str, Any]] = []
    for (case, system), rate in rows_per_second.items():
        medians = {"rows_per_second": rate, "warm_batch": 1e6 / rate}
        cases.append({"name": case, "is_full_size": True, "trials": [{"system": system, "medians": medians}]})
    of_few_rows = {"system": "muntin columnar", "medians": {"rows_per_second": 1, "warm_batch": 1}}
    cases.append({"name": "hopping-600-60", "is_full_size": False, "trials": [of_few_rows]})

    page = publish.MEASUREMENTS.read_text(encoding="utf-8")
    report = publish.publish(publish.Medians({"when": WHEN, "cases": cases}), "quiet")
    new_page = publish.MEASUREMENTS.read_text(encoding="utf-8")

    # The table of floats lacks a case of full size, and stays; that of plain Python has all of its cases.
    assert "left as it is: average of floats; no full run of muntin columnar in hopping-600-60" in report
    assert publish.rows_of(new_page, "average of floats") == publish.rows_of(page, "average of floats")
    assert [line for line in report if not line.startswith("left")] == [
        "written: average in plain Python",
        "added: a row of the table of runs",
    ]
    assert publish.rows_of(new_page, "average in plain Python") == [
        ["10,000 keys, tumbling 60 s", "400,000", "80,000", "5.0 times"],
        ["100,000 keys, tumbling 60 s", "123,000", "12,300", "10.0 times"],
    ]

    *earlier_runs, run = publish.rows_of(new_page, "run")
    assert earlier_runs == publish.rows_of(page, "run")
    assert run == ["1 December 2026, quiet", "10.0 times", "10.0 times", "5.0 times"]
    assert "Muntin is 10 to 20 times as fast" in publish.README.read_text(encoding="utf-8")


@pytest.fixture
def run_without_spark() -> publish.Medians:
    """The medians of a run of all cases without Spark: the figures of a case's second system are twice the first's."""
    cases: list[dict[str, Any]] = []
    for case in WITHOUT_SPARK:
        trials: list[dict[str, Any]] = []
        for place, system in enumerate(case.systems, 1):
            medians = {
                "rows_per_second": place * 1_000_000.0,
                "seconds": place * 10.0,
                "cpu_seconds": place / 10,
                "python_bytes": place * 1e8,
            }
            trials += [{"system": system.name, "medians": medians} for _ in case.questions]
        cases.append({"name": case.name, "is_full_size": True, "trials": trials})
    return publish.Medians({"when": WHEN, "cases": cases})


TABLES_WITHOUT_SPARK = publish.TABLES[-4:]


def test_tables_of_queries_without_spark_have_the_figures_of_their_cases(run_without_spark: publish.Medians) -> None:
    rates, from_start, workers, fifty_million = (table.rows(run_without_spark) for table in TABLES_WITHOUT_SPARK)

    # A cell is empty where a system is not in the case.
    assert rates[0][1:] == ["1,000,000", "", "2,000,000", "3,000,000", ""]
    assert rates[1][1:] == ["1,000,000", "2,000,000", "3,000,000", "4,000,000", "5,000,000"]
    assert rates[4][1:] == ["1,000,000", "3,000,000", "", "4,000,000", "2,000,000"]
    assert [row[1:] for row in rates[6:]] == [["1,000,000", "", "", "", ""]] * 3

    assert from_start[0] == ["1,000 rows", "0.10 s, 100 MB", "0.20 s, 200 MB", "0.30 s, 300 MB"]
    assert workers == [["average, tumbling 60 s", "1,000,000", "2,000,000", "2.0 times"]]
    assert fifty_million == [["one worker", "10 s", "100 MB"], ["two workers", "20 s", "200 MB"]]


@pytest.mark.parametrize("table", TABLES_WITHOUT_SPARK, ids=lambda table: table.corner)
def test_the_rows_of_a_table_can_be_written_into_the_page(
    table: publish.PublishedTable, run_without_spark: publish.Medians
) -> None:
    page = publish.MEASUREMENTS.read_text(encoding="utf-8")
    rows = table.rows(run_without_spark)
    assert publish.rows_of(publish.with_rows(page, table.corner, rows), table.corner) == rows
