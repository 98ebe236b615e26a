"""Many kinds of queries through Spark, with a restart, against the reference; and modules that adapters made."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin import count_by_end, cumulate, global_windows, hopping, landmark, session, snapshot, tumbling
from muntin.testing import Script
from muntin_adapters import from_array_function, from_combine_fn, from_sqlite_aggregate
from muntin_adapters.combinators import (
    all_of,
    catching,
    filtering,
    grouping_by,
    mapping,
    skipping_nulls,
    top_n,
    with_default,
)
from muntin_engine import events, module
from muntin_engine.testing import random_stream, shuffle, split
from muntin_engine.testing.streaming.job_on_spark import setting
from muntin_stats import Sum
from tests.journeys.running import collect_together, read_stream, run_together, stream_of, table_of, write_batches
from tests.journeys.scripts import Case, expected, standing, tables
from tests.modules.columnar import Everything, Statistics
from tests.modules.members import Count, Echo, Lifetimes, Members, Total

COLUMNAR_MODULES = (Everything, Statistics)
CASES = {
    "tumbling": Case(tumbling(10), (Members, Count, Total)),
    "snapshot": Case(snapshot(), (Lifetimes, Count), clip="full"),
    "operator": Case(tumbling(8, reach=3), (Echo,), timestamps="clip"),
    "speculative": Case(hopping(9, 5, 1), (Total, Members), emit="speculative"),
    "eager session": Case(session(2), (Total, Members), emit="eager"),
    "eager operator": Case(count_by_end(2), (Echo,), timestamps="point_at_end", emit="eager"),
    "arrays": Case(hopping(9, 4, 1), (Statistics,), emit="speculative"),
    "snapshots on arrays": Case(snapshot(), (Statistics,)),
    "rows": Case(hopping(9, 4, 1), (Members,), evaluator="grouped", are_points=True),
    "states": Case(session(3), (Sum,), evaluator="sliced", are_points=True),
    "columnar points": Case(hopping(3, 7), COLUMNAR_MODULES, evaluator="columnar", are_points=True),
    "general points": Case(hopping(3, 7), COLUMNAR_MODULES, evaluator="general", are_points=True),
    "cumulating": Case(cumulate(30, 10, 3), (Total,), are_points=True),
    "from a landmark": Case(landmark(15, -30), (Count,), are_points=True),
    "ever": Case(global_windows(), (Members,), are_points=True),
}
"""Queries, by what is particular of them."""

CASES_OVER_A_TABLE = ("tumbling", "snapshot", "operator", "speculative", "rows", "columnar points")


@pytest.fixture(scope="module")
def script() -> Script:
    """A random stream of revised events of several keys, out of order, in three micro-batches, to its end."""
    stream = random_stream(seed=3, events=60, keys=("a", "b", None, "c"), closed=True)
    script = split(shuffle(stream, seed=3, early_revisions=True), seed=17, cuts=0.02)
    assert len(list(script.batches())) == 3
    return script


def test_streams_through_spark_mean_what_the_reference_says(
    spark: SparkSession, tmp_path: Path, script: Script
) -> None:
    batches = tables(script)

    results: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for batch_count in (2, 3):  # the query is stopped after two micro-batches, and goes on
        stream = read_stream(spark, write_batches(tmp_path / "stream", batches[:batch_count]))
        queries = {name: case.query(stream) for name, case in CASES.items()}
        with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "1"):  # a bucket's rows come one by one
            new_results = run_together(queries, tmp_path / "checkpoint")
        for name, rows in new_results.items():
            results[name] += rows

    for name, case in CASES.items():
        assert standing(case, results[name]) == expected(case, script), name


def test_tables_through_spark_mean_what_the_reference_says_of_their_rows_as_a_stream(
    spark: SparkSession, script: Script
) -> None:
    table = spark.createDataFrame(pa.concat_tables(tables(script)))

    results = collect_together({name: CASES[name].query(table) for name in CASES_OVER_A_TABLE})

    for name in CASES_OVER_A_TABLE:
        case = CASES[name]
        assert standing(case, results[name]) == expected(case, script), name
        assert {row.get("change", "insert") for row in results[name]} == {"insert"}, "nothing is retracted"


# Modules that adapters and combinators made run in a stream, with nulls, records and maps.


SCHEMA = pa.schema([("change", pa.string()), ("at", pa.int64()), ("kind", pa.string()), ("value", pa.float64())])
BATCHES: list[list[tuple[Any, ...]]] = [
    [
        # change, at, kind, value
        ("insert", 1, "a", 2.0),
        ("insert", 4, "b", 8.0),
        ("insert", 3, "a", None),
    ],
    [
        ("insert", 7, "b", 4.0),
        ("insert", 12, "a", -1.0),
        ("insert", 14, "c", None),
        ("close", None, None, None),
    ],
]
"""The rows of the windows [0, 10) and [10, 20)."""


class MeanFn:
    """A mean that skips nulls, as a `CombineFn` of Beam: sum and count."""

    def create_accumulator(self) -> Any:
        return [0.0, 0]

    def add_input(self, accumulator: Any, value: float | None) -> Any:
        accumulator[0] += value or 0.0
        accumulator[1] += value is not None
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [sum(part) for part in zip(*accumulators, strict=True)]

    def extract_output(self, accumulator: Any) -> float | None:
        total, count = accumulator
        return total / count if count else None


class Texts:
    """All rows as one text, as an aggregate of `sqlite3`."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def step(self, kind: str, value: float | None) -> None:
        self.texts.append(f"{kind}{value}")

    def finalize(self) -> str:
        self.texts.sort()
        return " ".join(self.texts)


MEAN = from_combine_fn(MeanFn, name="beam.mean", version="1.0.0")
TEXTS = from_sqlite_aggregate(Texts, name="sqlite.texts", version="1.0.0")
PRESENT = from_array_function(
    lambda values: values.count(), name="numpy.count", version="1", input=float | None, result=int
)
# The function travels by value, and so does the module.
MEAN_ABOVE_3 = with_default(skipping_nulls(filtering(MEAN, lambda value: value > 3)), 0.0)
INVERSE = mapping("stats.average", lambda value: 1 / (value - 4), input=float, to=float)
"""It fails for 4."""

MODULES = {
    "sliced": {
        "mean": module(MEAN, "value"),
        "above_3": module(MEAN_ABOVE_3, "value"),
        "groups": module(grouping_by("stats.count"), "kind"),
        "top": module(top_n(grouping_by(skipping_nulls("stats.sum")), 1), "kind", "value"),
        "caught": module(catching(INVERSE), "value"),
    },
    "grouped": {
        "texts": module(TEXTS, "kind", "value"),
        "present": module(PRESENT, "value"),
    },
    "columnar": {"both": module(all_of(mean="stats.average", most="stats.max"), "value")},
}
"""Modules by the name of the evaluator that runs them."""


@pytest.mark.nightly
def test_modules_that_adapters_and_combinators_made_run_in_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    batches = [table_of(SCHEMA, rows) for rows in BATCHES]
    stream = events(stream_of(spark, tmp_path / "in", batches), at="at", change="change", buckets=1)
    windows = stream.window(tumbling(10))
    queries = {evaluator: windows.aggregate(**modules) for evaluator, modules in MODULES.items()}
    for evaluator, query in queries.items():
        assert query.plan.choice.evaluator == evaluator

    results = run_together(queries, tmp_path / "checkpoint")

    assert outputs_in_order(results["sliced"]) == [
        {
            "mean": 14 / 3,
            "above_3": 6.0,
            "groups": {"a": 2, "b": 2},
            "top": [{"group": "b", "result": 12.0}],
            "caught": {"result": None, "error": "add_events: ZeroDivisionError: float division by zero"},
        },
        {
            "mean": -1.0,
            "above_3": 0.0,
            "groups": {"a": 1, "c": 1},
            "top": [{"group": "a", "result": -1.0}],
            "caught": {"result": -0.2, "error": None},
        },
    ]
    assert outputs_in_order(results["grouped"]) == [
        {"texts": "a2.0 aNone b4.0 b8.0", "present": 3},
        {"texts": "a-1.0 cNone", "present": 1},
    ]
    assert [row["both"] for row in outputs_in_order(results["columnar"])] == [
        {"mean": 14 / 3, "most": 8.0},
        {"mean": -1.0, "most": -1.0},
    ]


def outputs_in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the outputs of modules for each window, without the window, in order of the windows."""
    ordered = sorted(rows, key=lambda row: row["window"]["start"])
    return [{name: value for name, value in row.items() if name != "window"} for row in ordered]
