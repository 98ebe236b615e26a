"""Random streams through Spark, with restarts, against the reference evaluator."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from muntin import count_by_end, hopping, session, snapshot, tumbling
from muntin.testing import random_stream, shuffle, split
from tests.spark.modules import Count, Echo, Lifetimes, Members, Total
from tests.spark.running import collect_together, run_together, setting, stream_of
from tests.spark.scripts import Case, expected, standing, tables

CASES = {
    "tumbling": Case(tumbling(10), (Members, Count, Total)),
    "snapshot": Case(snapshot(), (Lifetimes, Count), clip="full"),
    "operator": Case(tumbling(8, reach=3), (Echo,), timestamps="clip"),
    "speculative": Case(hopping(9, 5, 1), (Total, Members), emit="speculative"),
    "eager session": Case(session(2), (Total, Members), emit="eager"),
    "eager operator": Case(count_by_end(2), (Echo,), timestamps="point_at_end", emit="eager"),
}


def test_streams_and_tables_through_spark_mean_what_the_reference_says(spark: SparkSession, tmp_path: Path) -> None:
    script = random_stream(3, events=60, keys=("a", "b", None, "c"), closed=True)
    script = split(shuffle(script, 3, early_revisions=True), 17, cuts=0.02)
    batches = tables(script)
    assert len(batches) == 3
    stream = stream_of(spark, tmp_path / "stream", batches)
    whole = spark.read.parquet(str(tmp_path / "stream"))
    with setting(
        spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "1"
    ):  # the rows of a bucket come piece by piece
        streamed = run_together({name: case.query(stream) for name, case in CASES.items()}, tmp_path / "checkpoint")
    at_once = collect_together({name: case.query(whole) for name, case in CASES.items() if case.emit != "eager"})
    for name, case in CASES.items():
        wanted = expected(case, script)
        assert standing(case, streamed[name]) == wanted, name
        assert name not in at_once or standing(case, at_once[name]) == wanted, name
    assert {row.get("change", "insert") for rows in at_once.values() for row in rows} == {"insert"}
