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
    # the kind of windows, and the policy of emission
    "eager visits": ("retail.visits", "eager"),
    "early visits": ("retail.visits", EARLY),
    "eager shifts": ("retail.shifts", "eager"),
    "final starts": ("retail.between_starts", "final"),
}


def _script() -> Script:
    """Return a stream of three micro-batches in which an event joins two visits, and is taken back in the last one.

    Ids and payloads are equal, so that results show which events they have.
    """
    # time             0         10        20
    # a, batch 0       [1-)      [2)
    # a, batch 1           [-4--)               joins 1 and 2, up to the retraction in batch 2
    two_visits = (
        Script()
        .insert(1, start=0, end=3, payload=1, key="a")
        .insert(2, start=10, end=12, payload=2, key="a")
        .insert(3, start=5, end=6, payload=3, key="b")
    )
    joined = (
        two_visits.batch()
        .insert(4, start=4, end=9, payload=4, key="a")
        .insert(5, start=30, end=INFINITY, payload=5, key="a")
        .point(6, at=40, payload=6, key="b")
    )
    parted = (
        joined.batch()
        .retract(4, key="a")
        .revise(5, new_end=33, key="a")
        .point(7, at=42, payload=7, key="b")
        .punctuate(25)
        .point(8, at=50, payload=8, key="a")
        .insert(9, start=52, end=60, payload=9, key="a")
        .point(10, at=61, payload=1, key="b")
    )
    return parted.close()


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

    def run_to_the_end_of_the_files() -> dict[str, list[dict[str, Any]]]:
        """Return the rows that each query adds, by its name."""
        stream = read_stream(spark, tmp_path / "stream")
        queries = {name: case.query(stream, buckets=1) for name, case in cases.items()}
        return run_together(queries, tmp_path / "state")

    write_batches(tmp_path / "stream", batches[:2])
    first_rows = run_to_the_end_of_the_files()
    installed.cache_clear()  # the second run finds the plugin anew
    write_batches(tmp_path / "stream", batches)
    second_rows = run_to_the_end_of_the_files()
    rows = {name: first_rows[name] + second_rows[name] for name in cases}

    for name, case in cases.items():
        expected_rows = expected(case, script)
        assert len(expected_rows) > 3, name
        assert standing(case, rows[name]) == expected_rows, name
    assert any(first_rows.values())
    assert {row["timing"] for row in rows["early visits"]} == {"early", "final"}
    assert "retract" in {row["change"] for row in rows["eager visits"]}
