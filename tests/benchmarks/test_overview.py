"""One table of systems and questions, and the chart that is drawn from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.overview import CORNER, main, overview_table, with_table
from benchmarks.results_file import results_data
from benchmarks.works.names import COLUMNAR, SPARK
from docs.pictures.overview import measured
from tests.benchmarks.build import options_of, report_of, trial_of
from tests.benchmarks.test_output import WHEN

SECOND = (("muntin columnar", 2000.4), ("pathway", None), ("flink", 1_234_567.0))


def trial(system: str, rate: float | None) -> dict[str, object]:
    return {"system": system, "medians": None if rate is None else {"rows_per_second": rate}}


RUNS: list[dict[str, Any]] = [
    {"works": [{"name": "tumbling-60", "trials": [trial("muntin columnar", 9.0), trial("spark window", 50.0)]}]},
    {"works": [{"name": "tumbling-60", "trials": [trial(*rate) for rate in SECOND]}, {"name": "join", "trials": []}]},
]
TABLE = """\
| tumbling 60 s | tumbling 60 s, Zipf keys | sessions, gap 20 s | sessions, Zipf keys | hopping 600 s / 10 s |
| --- | ---: | ---: | ---: | ---: | ---: |
| Muntin, built in | 2,000 |  |  |  |  |
| Spark, built in | 50 |  |  |  |  |
| Flink, built in | 1,230,000 |  |  |  |  |
"""


def test_the_table_has_the_last_figure_of_each_system_that_has_one() -> None:
    assert overview_table(RUNS) == f"| {CORNER} {TABLE}"


def test_the_chart_reads_the_table_back() -> None:
    assert measured(overview_table(RUNS)) == {
        "tumbling 60 s": {"Muntin, built in": 2_000, "Spark, built in": 50, "Flink, built in": 1_230_000}
    }


def test_a_page_gets_the_table_in_place_of_its_own(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(f"before\n\n| {CORNER} | old |\n|---|---|\n| a | 1 |\n\nafter\n")
    results.write_text(json.dumps(RUNS[1]))
    main([str(results), "--page", str(page)])
    assert page.read_text() == f"before\n\n{overview_table(RUNS[1:])}\nafter\n"
    with pytest.raises(ValueError, match="the page has no table that begins with"):
        with_table("nothing", TABLE)


def test_results_of_a_run_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(trial_of(COLUMNAR, 5, 1), trial_of(SPARK, 6, 3), trial_of("beam", absence="not installed"))
    (tmp_path / "results.json").write_text(json.dumps(results_data([report], options_of(tmp_path), WHEN)))
    main([str(tmp_path / "results.json")])
    assert capsys.readouterr().out.startswith(f"| {CORNER} | tumbling 60 s |")
