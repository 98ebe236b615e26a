"""Scenarios over tables in this process and over DataFrames of Spark's: the same values, types and refused rows."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Container, Iterable
from functools import reduce
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from muntin import tumbling
from muntin_engine import events, module
from tests.modules.members import Count
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.hostile import Hostile
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario
from tests.scenarios.table_run import TableRun, as_one_arrival
from tests.scenarios.written_query import tables_of, written

DAILY: Final = (
    *("cutting", "time_bound", "following", "over_rows", "on_grids", "of_sessions", "of_snapshots", "of_members"),
    *("early", "united", "of_inputs", "joined", "joined_eagerly", "passed"),
)
"""A family of each kind of query; the others are variations of these."""

WITH_REJECTED: Final = ("cutting", "over_rows", "united", "joined", "passed")
"""The families of `DAILY` whose rejected rows are compared as well, each in a query of its own."""

CASES: Final = (
    pytest.param(0, DAILY, WITH_REJECTED, id="daily"),
    *(pytest.param(seed, FAMILIES, FAMILIES, id=str(seed), marks=pytest.mark.nightly) for seed in range(9)),
)


@pytest.mark.parametrize(("seed", "families", "with_rejected"), CASES)
def test_a_query_over_tables_gives_what_it_gives_on_spark(
    seed: int, families: Iterable[str], with_rejected: Container[str], spark: SparkSession, tmp_path: Path
) -> None:
    """All queries of a seed are run as one query of Spark: to start one takes a second, to run it takes less."""
    local_tables: dict[str, pa.Table] = {}
    spark_frames: dict[str, DataFrame] = {}
    for family in families:
        scenario = drawn(family, seed)
        if isinstance(scenario, Hostile) or calls_a_test(scenario.query):
            continue
        tables = random_tables(scenario, tmp_path)
        local_query = written(scenario.query, tables)
        spark_query = written(scenario.query, [spark.createDataFrame(table) for table in tables]).named(family)
        local_tables[family] = local_query.results()
        spark_frames[family] = spark_query.results()
        if family in with_rejected:
            local_tables[f"{family}, rejected"] = local_query.rejected_rows()
            spark_frames[f"{family}, rejected"] = spark_query.rejected_rows()

    spark_rows = rows_by_name(spark_frames)
    for name, table in local_tables.items():
        spark_schema = to_arrow_schema(spark_frames[name].schema)
        assert spelled_types(table.schema) == spelled_types(spark_schema), name
        assert counted(table.to_pylist()) == counted(spark_rows[name]), name
    assert any(len(table) for name, table in local_tables.items() if "rejected" in name), "nothing was rejected"


def test_a_computed_key_is_named_as_it_is_written_on_both(spark: SparkSession) -> None:
    rows = pa.table({"at": [1, 2], "x": [1, 2]})
    for frame in (rows, spark.createDataFrame(rows)):
        query = events(frame, at="at", key=["x % 2 = 0", "abs(x)"]).window(tumbling(5)).aggregate(n=module(Count))
        assert [key.name for key in query.plan.keys] == ["x % 2 = 0", "abs(x)"]


def calls_a_test(query: Query | Join) -> bool:
    """True if a module of a plugin calls a function of a test, which workers know by its code and not by its name."""
    return isinstance(query, Query) and any("filtered" in module.name for module in query.modules)


def random_tables(scenario: Scenario, folder: Path) -> list[pa.Table]:
    """Return the streams of a scenario as tables; the first has a row without a time, where keys have one column."""
    run = TableRun(scenario.query, "auto", "Arrow table", folder)
    illegal_rows: list[dict[str, Any]] = []
    if isinstance(scenario.query, Query) and scenario.query.keys == 1:
        illegal_rows.append(run.row("a", 10**6, 0, 1, 1) | {"start": None})
    return tables_of(scenario.query, run.stream_rows(as_one_arrival(scenario.scripts), illegal_rows))


def rows_by_name(frames: dict[str, DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of several DataFrames, computed as one."""
    labelled: list[DataFrame] = []
    for name, df in frames.items():
        row = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
        labelled.append(df.select(F.lit(name).alias("name"), row.alias("row")))
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in frames}
    for name, text in reduce(DataFrame.union, labelled).collect():
        rows[name].append(json.loads(text))
    return rows


def spelled_types(schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the names and types of columns; what the items of lists are called does not matter."""
    return [(field.name, str(field.type).replace("element: ", "item: ")) for field in schema]


def counted(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Count rows by their text, in which floats are as Spark writes them in JSON.

    Spark names a computed column in a way of its own: `(x > 5)` is `x > 5`.
    """
    counts = Counter[str]()
    for row in rows:
        text = json.dumps(comparable(row))
        counts[re.sub(r"\((x [<>] -?5)\)", r"\1", text)] += 1
    return counts


def comparable(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value
