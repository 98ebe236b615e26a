"""A plugin's kinds of windows on Spark, by name: all emissions, revisions, and a restart from the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin import INFINITY, early, window
from muntin.catalog import installed
from muntin.testing import Script
from muntin.triggers import every_count
from muntin_engine import ship
from tests.examples.test_retail import KINDS
from tests.journeys.running import read_stream, run_together, write_batches
from tests.journeys.scripts import Case, expected, standing, tables
from tests.modules.members import Count, Members

pytestmark = pytest.mark.nightly

EARLY: Any = early(every_count(2), refinement="retract")
QUERIES: dict[str, tuple[str, Any]] = {
    "eager visits": ("retail.visits", "eager"),
    "early visits": ("retail.visits", EARLY),
    "eager shifts": ("retail.shifts", "eager"),
    "final starts": ("retail.between_starts", "final"),
}


def _script() -> Script:
    """Return a stream in which a late event joins two visits, and is taken back again after the restart."""
    first = Script().insert(1, 0, 3, 1, key="a").insert(2, 10, 12, 2, key="a").insert(3, 5, 6, 3, key="b")
    joined = first.batch().insert(4, 4, 9, 4, key="a").insert(5, 30, INFINITY, 5, key="a").point(6, 40, 6, key="b")
    parted = joined.batch().retract(4, key="a").revise(5, 33, key="a").point(7, 42, 7, key="b").punctuate(25)
    longer = parted.point(8, 50, 8, key="a").insert(9, 52, 60, 9, key="a").point(10, 61, 1, key="b")
    return longer.close()


@pytest.fixture
def cases(retail: None) -> dict[str, Case]:
    """The queries, whose windows are named as a query writer names them."""
    windows: dict[str, Any] = {kind: window(kind, **parameters) for kind, parameters in KINDS.items()}
    return {name: Case(windows[kind], (Members, Count), emit=emit) for name, (kind, emit) in QUERIES.items()}


def test_a_plugins_windows_run_by_name_with_all_emissions_and_go_on_after_a_restart(
    spark: SparkSession, tmp_path: Path, cases: dict[str, Case]
) -> None:
    assert ship(spark, "retail") == ["muntin-retail 1.0"]
    script = _script()
    batches = tables(script)
    assert len(batches) == 3

    def run_so_far() -> dict[str, list[dict[str, Any]]]:
        stream = read_stream(spark, tmp_path / "stream")
        return run_together({name: case.query(stream, buckets=1) for name, case in cases.items()}, tmp_path / "state")

    write_batches(tmp_path / "stream", batches[:2])
    before = run_so_far()
    installed.cache_clear()
    write_batches(tmp_path / "stream", batches)
    after = run_so_far()

    for name, case in cases.items():
        expected_rows = expected(case, script)
        assert len(expected_rows) > 3, name
        assert standing(case, before[name] + after[name]) == expected_rows, name
    assert sum(map(len, before.values())) > 0
    assert {row["timing"] for row in before["early visits"] + after["early visits"]} == {"early", "final"}
    assert "retract" in {row["change"] for row in before["eager visits"] + after["eager visits"]}
