"""A table of queries through Spark, as one of Spark's queries and with a restart, against the reference evaluator.

What windows, modules and policies mean is shown without Spark, in `tests/scenarios`: here each kind goes once through
columns, the shuffle, the state store and back.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from muntin import count_by_end, cumulate, global_windows, hopping, landmark, session, snapshot, tumbling
from muntin_engine.testing import random_stream, shuffle, split
from muntin_stats import Sum
from tests.differential.forms import Everything, Statistics
from tests.spark.modules import Count, Echo, Lifetimes, Members, Total
from tests.spark.running import collect_together, read_stream, run_together, setting, write_batches
from tests.spark.scripts import Case, expected, standing, tables

FORMS = (Everything, Statistics)
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
    "columnar points": Case(hopping(3, 7), FORMS, evaluator="columnar", are_points=True),
    "general points": Case(hopping(3, 7), FORMS, evaluator="general", are_points=True),
    "cumulating": Case(cumulate(30, 10, 3), (Total,), are_points=True),
    "from a landmark": Case(landmark(15, -30), (Count,), are_points=True),
    "ever": Case(global_windows(), (Members,), are_points=True),
}


def test_streams_and_tables_through_spark_mean_what_the_reference_says(spark: SparkSession, tmp_path: Path) -> None:
    script = random_stream(3, events=60, keys=("a", "b", None, "c"), closed=True)
    script = split(shuffle(script, 3, early_revisions=True), 17, cuts=0.02)
    batches = tables(script)
    assert len(batches) == 3
    streamed: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for count in (2, 3):
        stream = read_stream(spark, write_batches(tmp_path / "stream", batches[:count]))
        with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "1"):  # a bucket's rows come one by one
            found = run_together({name: case.query(stream) for name, case in CASES.items()}, tmp_path / "checkpoint")
        for name, rows in found.items():
            streamed[name] += rows
    whole = spark.read.parquet(str(tmp_path / "stream"))
    tables_too = ("tumbling", "snapshot", "operator", "speculative", "rows", "columnar points")
    at_once = collect_together({name: CASES[name].query(whole) for name in tables_too})
    for name, case in CASES.items():
        wanted = expected(case, script)
        assert standing(case, streamed[name]) == wanted, name
        assert name not in at_once or standing(case, at_once[name]) == wanted, name
    assert {row.get("change", "insert") for rows in at_once.values() for row in rows} == {"insert"}
