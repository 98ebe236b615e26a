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
