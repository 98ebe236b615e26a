"""A plugin's kinds of windows on Spark, by name: all emissions, revisions, and a restart from the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin import early, installed, window
from muntin.testing import random_stream, shuffle, split
from muntin.triggers import every_count
from muntin_engine import ship
from tests.retail.test_kinds import KINDS
from tests.spark.modules import Count, Lifetimes, Members
from tests.spark.running import read_stream, run_together, write_batches
from tests.spark.scripts import Case, expected, standing, tables

EARLY: Any = early(every_count(2), refinement="retract")
QUERIES: dict[str, tuple[str, Any]] = {
    "final visits": ("retail.visits", "final"),
    "speculative visits": ("retail.visits", "speculative"),
    "eager visits": ("retail.visits", "eager"),
    "early visits": ("retail.visits", EARLY),
    "eager shifts": ("retail.shifts", "eager"),
    "early shifts": ("retail.shifts", EARLY),
    "final starts": ("retail.between_starts", "final"),
}


@pytest.fixture
def cases(_retail: None) -> dict[str, Case]:
    """The queries, whose windows are named as a query writer names them."""
    return {
        name: Case(window(kind, **KINDS[kind]), (Members, Count, Lifetimes), clip="right", emit=emit)
        for name, (kind, emit) in QUERIES.items()
    }


def test_a_plugins_windows_run_by_name_with_all_emissions_and_go_on_after_a_restart(
    spark: SparkSession, tmp_path: Path, cases: dict[str, Case]
) -> None:
    assert ship(spark, "retail") == ["muntin-retail 1.0"]
    script = random_stream(5, events=50, keys=("a", "b", None), closed=True)
    script = split(shuffle(script, 5, early_revisions=True), 10, cuts=0.03)
    batches = tables(script)
    assert len(batches) >= 3
    assert any(table.to_pylist() and "revise" in table["change"].to_pylist() for table in batches)

    def run_so_far() -> dict[str, list[dict[str, Any]]]:
        stream = read_stream(spark, tmp_path / "stream")
        return run_together({name: case.query(stream, buckets=2) for name, case in cases.items()}, tmp_path / "state")

    write_batches(tmp_path / "stream", batches[:2])
    before = run_so_far()
    installed.cache_clear()
    write_batches(tmp_path / "stream", batches)
    after = run_so_far()

    for name, case in cases.items():
        wanted = expected(case, script)
        assert len(wanted) > 5, name
        assert standing(case, before[name] + after[name]) == wanted, name
    assert sum(map(len, before.values())) > 0
    assert {row["timing"] for row in before["early visits"] + after["early visits"]} == {"early", "final"}
    assert "retract" in {row["change"] for row in before["eager visits"] + after["eager visits"]}
