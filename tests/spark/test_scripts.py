"""Random streams through Spark, with restarts, against the reference evaluator."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from muntin import count_by_end, count_by_start, hopping, snapshot, tumbling
from muntin.testing import random_stream, shuffle, split
from tests.spark.modules import Count, Echo, Lifetimes, Members, Total
from tests.spark.running import run_together, stream_of
from tests.spark.scripts import Case, expected, standing, tables

CASES = {
    "tumbling": Case(tumbling(10), (Members, Count, Total)),
    "hopping": Case(hopping(13, 4, 1), (Count, Members)),
    "snapshot": Case(snapshot(), (Lifetimes, Count), clip="full"),
    "count": Case(count_by_start(3), (Lifetimes,), clip="right"),
    "operator": Case(tumbling(8, reach=3), (Echo,), timestamps="clip"),
    "speculative": Case(hopping(9, 5), (Total, Members), emit="speculative"),
    "eager snapshot": Case(snapshot(), (Members,), emit="eager"),
    "eager operator": Case(count_by_end(2), (Echo,), timestamps="point_at_end", emit="eager"),
}


def test_streams_through_spark_mean_what_the_reference_says(spark: SparkSession, tmp_path: Path) -> None:
    script = random_stream(3, events=60, keys=("a", "b", None, "c"), closed=True)
    script = split(shuffle(script, 3, early_revisions=True), 3, cuts=0.04)
    batches = tables(script)
    assert len(batches) > 4
    stream = stream_of(spark, tmp_path / "stream", batches)
    found = run_together({name: case.query(stream) for name, case in CASES.items()}, tmp_path / "checkpoint")
    for name, case in CASES.items():
        assert standing(case, found[name]) == expected(case, script), name
