"""Ids of every type on Spark: NaN equals itself, and two instants differ that a clock shows alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from muntin import snapshot, tumbling
from muntin_engine import events, module
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import MemorySink

# The hour before 01:00 UTC and the hour after it look the same on a clock in Berlin, where summer time ends then.
# Columns: change, id, at, start, end
ROWS = """
    ('insert', double('NaN'), timestamp'2024-10-27 00:30:00Z', 1, 9),
    ('insert', double('NaN'), timestamp'2024-10-27 01:30:00Z', 1, 9),
    ('insert', double('NaN'), timestamp'2024-10-27 01:30:00Z', 1, 9),
    ('insert', 1.5D, timestamp'2024-10-27 00:30:00Z', 1, 9)
"""


class Id(NamedTuple):
    """How the id of an event is computed from `ROWS`.

    Attributes:
        expression: The expression of SQL, over the columns `id` and `at`.
        refused: The ids of the rows that repeat one.
    """

    expression: str
    refused: list[Any]


IDS = {
    "a float": Id("id", refused=["NaN", "NaN"]),
    "a float and an instant": Id(
        "named_struct('at', at, 'ids', array(id))", refused=[{"at": "2024-10-27T01:30:00+00:00", "ids": ["NaN"]}]
    ),
}


@pytest.mark.cases(1)
@pytest.mark.parametrize("id", IDS.values(), ids=IDS)
@pytest.mark.parametrize("emit", ["final", "eager"])
def test_a_row_with_an_id_that_came_before_is_refused(id: Id, emit: str, spark: SparkSession, tmp_path: Path) -> None:
    with setting(spark, "spark.sql.session.timeZone", "Europe/Berlin"):
        rows = spark.sql(
            f"SELECT change, {id.expression} AS id, start, end FROM VALUES {ROWS} AS t (change, id, at, start, end)"
        )
        rows.coalesce(1).write.parquet(str(tmp_path / "rows"))
        stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows"))
        named = events(stream, id="id", start="start", end="end", change="change")
        for window in (tumbling(10), snapshot()):
            results = MemorySink()
            rejected_rows = MemorySink()
            query = named.window(window, emit=emit).aggregate(n=module("stats.count"))
            query.write(
                checkpoint=tmp_path / f"{window}",
                results=results,
                rejected_rows=rejected_rows,
                available_now=True,
                on_end="close",
            ).awaitTermination()

            assert [row["n"] for row in results.rows] == [4 - len(id.refused)]
            assert [row["reason"] for row in rejected_rows.rows] == ["duplicate id"] * len(id.refused)
            assert [json.loads(row["row"])["id"] for row in rejected_rows.rows] == id.refused
