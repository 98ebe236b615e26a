"""Windows that share a start, on Spark, against SQL that lists the windows of each row."""

from __future__ import annotations

from random import Random

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import cumulate, global_windows, landmark
from muntin_engine import events, module
from tests.spark.modules import Count
from tests.spark.running import collect_together


def test_growing_windows_have_the_rows_that_sql_says(spark: SparkSession) -> None:
    random = Random(7)
    rows = spark.createDataFrame([(random.randrange(-50, 200),) for _ in range(300)], "at LONG")
    stream = events(rows, at="at", buckets=1)
    windows = {"cumulate": cumulate(60, 20, 10), "landmark": landmark(30), "global": global_windows()}
    found = collect_together(
        {name: stream.window(window).aggregate(n=module(Count)) for name, window in windows.items()}
    )
    counted = {
        name: {(row["window"]["start"], row["window"]["end"]): row["n"] for row in found[name]} for name in windows
    }
    period = F.floor((F.col("at") - 10) / 60) * 60 + 10
    cumulating = (
        rows.select("at", period.alias("first"), F.explode(F.array(F.lit(20), F.lit(40), F.lit(60))).alias("length"))
        .where("at < first + length")
        .groupBy("first", "length")
        .count()
    )
    latest = max(row["at"] for row in rows.collect())
    ends = spark.range(30, latest + 31, 30).withColumnRenamed("id", "end")
    growing = ends.join(rows.where("at >= 0"), F.col("at") < F.col("end")).groupBy("end").count()
    assert counted["cumulate"] == {(r["first"], r["first"] + r["length"]): r["count"] for r in cumulating.collect()}
    assert counted["landmark"] == {(0, r["end"]): r["count"] for r in growing.collect()}
    assert counted["global"] == {(None, None): 300}
    assert len(counted["cumulate"]) > 9


def test_keys_that_fall_silent_have_the_rows_that_sql_says(spark: SparkSession) -> None:
    random = Random(8)
    given = [(random.choice("abc"), random.randrange(600)) for _ in range(40)]
    rows = spark.createDataFrame(given, "key STRING, at LONG")
    stream = events(rows, key="key", at="at", buckets=2)
    query = stream.window(landmark(30), forget_keys_after=50).aggregate(n=module(Count))
    found = {(row["key"], row["window"]["start"], row["window"]["end"], row["n"]) for row in query.results().collect()}
    rows.createOrReplaceTempView("silent_rows")
    latest = max(at for _, at in given)
    wanted = spark.sql(f"""
        WITH marked AS (
            SELECT key, at, IF(at - LAG(at) OVER (PARTITION BY key ORDER BY at) > 50, 1, 0) AS is_first
            FROM silent_rows
        ), lives AS (SELECT key, at, SUM(is_first) OVER (PARTITION BY key ORDER BY at) AS life FROM marked
        ), spans AS (SELECT key, life, MAX(at) + 51 AS over_at FROM lives GROUP BY key, life
        ), steps AS (
            SELECT key, life, step.tick, LEAST(step.tick, over_at) AS until
            FROM spans, (SELECT id AS tick FROM RANGE(30, {latest + 31}, 30)) AS step
            WHERE step.tick - 30 < over_at
        )
        SELECT steps.key, 0, until, COUNT(*) FROM steps JOIN lives USING (key, life)
        WHERE at < until GROUP BY steps.key, life, steps.tick, until
    """)
    assert found == {tuple(row) for row in wanted.collect()}
    assert len({(key, start, end) for key, start, end, _ in found}) == len(found)
    assert any(end % 30 for _, _, end, _ in found)
