"""Ids of every type on Spark: NaN equals itself, and two instants differ that a clock shows alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin import snapshot, tumbling
from muntin_engine import events, module

# the hour before 02:00 UTC is shown twice in Berlin: at half past two in summer time, and again in winter time
ROWS = """
    ('insert', double('NaN'), timestamp'2024-10-27 00:30:00Z', 1, 9),
    ('insert', double('NaN'), timestamp'2024-10-27 01:30:00Z', 1, 9),
    ('insert', double('NaN'), timestamp'2024-10-27 01:30:00Z', 1, 9),
    ('insert', 1.5D, timestamp'2024-10-27 00:30:00Z', 1, 9)
"""


@pytest.mark.cases(1)
@pytest.mark.parametrize(("id", "distinct"), [("id", 2), ("named_struct('at', at, 'ids', array(id))", 3)])
@pytest.mark.parametrize("emit", ["final", "eager"])
def test_an_id_counts_once(id: str, distinct: int, emit: str, spark: SparkSession, tmp_path: Path) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        rows = spark.sql(f"SELECT change, {id} AS id, start, end FROM VALUES {ROWS} AS t (change, id, at, start, end)")
        rows.coalesce(1).write.parquet(str(tmp_path / "rows"))
        stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows"))
        rows_found: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        named = events(stream, id="id", start="start", end="end", change="change")
        for window in (tumbling(10), snapshot()):
            rows_found.clear()
            refused.clear()
            query = named.window(window, emit=emit).aggregate(n=module("stats.count"))
            query.write(
                checkpoint=tmp_path / f"{window}",
                results=lambda df, number: rows_found.extend(row.asDict(recursive=True) for row in df.collect()),
                rejected_rows=lambda df, number: refused.extend(row.asDict() for row in df.collect()),
                available_now=True,
                on_end="close",
            ).awaitTermination()
            assert [row["n"] for row in rows_found] == [distinct]
            assert [row["reason"] for row in refused] == ["duplicate id"] * (4 - distinct)
            ids = [json.loads(row["row"])["id"] for row in refused]
            assert ids == [{"at": "2024-10-27T01:30:00+00:00", "ids": ["NaN"]}] if distinct == 3 else ["NaN"] * 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
