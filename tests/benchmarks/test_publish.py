"""The figures of a run reach the pages that show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import publish
from benchmarks.cases import WITHOUT_SPARK


def test_first_pages_show_the_figures_of_the_page_with_the_measurements() -> None:
    measurements = publish.MEASUREMENTS.read_text(encoding="utf-8")
    for path, words, figure in publish.sentences(measurements):
        text = path.read_text(encoding="utf-8")
        assert publish.with_figure(text, words, figure) == text
    for table in publish.TABLES:
        assert publish.rows_of(measurements, table.corner)


def test_a_run_writes_the_tables_that_it_measured_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEASUREMENTS", "README", "WHY_NOT_GROUPBY"):
        page = getattr(publish, name)
        copy = tmp_path / page.name
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(publish, name, copy)
    before = publish.MEASUREMENTS.read_text(encoding="utf-8")

    rates = {
        ("hopping-600-10", "muntin columnar"): 300_000.4,
        ("hopping-600-10", "spark window"): 30_000,
        ("tumbling-60", "muntin sliced"): 400_000,
        ("tumbling-60", "transformWithState"): 80_000,
        ("tumbling-60-many-keys", "muntin sliced"): 123_456,
        ("tumbling-60-many-keys", "transformWithState"): 12_345,
    }
    cases = []
    for (case, system), rate in rates.items():
        medians = {"rows_per_second": rate, "warm_batch": 1e6 / rate}
        cases.append({"name": case, "is_full_size": True, "trials": [{"system": system, "medians": medians}]})
    of_few_rows = {"system": "muntin columnar", "medians": {"rows_per_second": 1, "warm_batch": 1}}
    cases.append({"name": "hopping-600-60", "is_full_size": False, "trials": [of_few_rows]})
    report = publish.publish(publish.Medians({"when": "2026-12-01T10:00:00+00:00", "cases": cases}), "quiet")

    after = publish.MEASUREMENTS.read_text(encoding="utf-8")
    assert "left as it is: average of floats; no full run of muntin columnar in hopping-600-60" in report
    assert [line for line in report if not line.startswith("left")] == [
        "written: average in plain Python",
        "added: a row of the table of runs",
    ]
    assert publish.rows_of(after, "average in plain Python") == [
        ["10,000 keys, tumbling 60 s", "400,000", "80,000", "5.0 times"],
        ["100,000 keys, tumbling 60 s", "123,000", "12,300", "10.0 times"],
    ]
    *earlier, added = publish.rows_of(after, "run")
    assert earlier == publish.rows_of(before, "run")
    assert added == ["1 December 2026, quiet", "10.0 times", "10.0 times", "5.0 times"]
    assert publish.rows_of(after, "average of floats") == publish.rows_of(before, "average of floats")
    assert "Muntin is 10 to 20 times as fast" in publish.README.read_text(encoding="utf-8")


def test_tables_of_queries_without_spark_have_the_figures_of_their_cases() -> None:
    cases = []
    for case in WITHOUT_SPARK:
        trials = []
        for place, system in enumerate(case.systems, 1):
            medians = {
                "rows_per_second": place * 1_000_000.0,
                "seconds": place * 10.0,
                "cpu_seconds": place / 10,
                "python_bytes": place * 1e8,
            }
            for _ in case.questions:
                trials.append({"system": system.name, "medians": medians})
        cases.append({"name": case.name, "is_full_size": True, "trials": trials})
    medians_of_run = publish.Medians({"when": "2026-12-01T10:00:00+00:00", "cases": cases})

    page = publish.MEASUREMENTS.read_text(encoding="utf-8")
    rows_by_corner = {}
    for table in publish.TABLES[-4:]:
        rows = table.rows(medians_of_run)
        rows_by_corner[table.corner] = rows
        assert publish.rows_of(publish.with_rows(page, table.corner, rows), table.corner) == rows
    rates, from_start, workers, fifty_million = rows_by_corner.values()
    assert rates[0][1:] == ["1,000,000", "", "2,000,000", "3,000,000", ""]
    assert rates[1][1:] == ["1,000,000", "2,000,000", "3,000,000", "4,000,000", "5,000,000"]
    assert rates[4][1:] == ["1,000,000", "3,000,000", "", "4,000,000", "2,000,000"]
    assert [row[1:] for row in rates[6:]] == [["1,000,000", "", "", "", ""]] * 3
    assert from_start[0] == ["1,000 rows", "0.10 s, 100 MB", "0.20 s, 200 MB", "0.30 s, 300 MB"]
    assert workers == [["average, tumbling 60 s", "1,000,000", "2,000,000", "2.0 times"]]
    assert fifty_million == [["one worker", "10 s", "100 MB"], ["two workers", "20 s", "200 MB"]]
