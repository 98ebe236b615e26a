"""Rides of bikes, by hour and by day: two queries in a chain, each a table of the pipeline, and a sink."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame

import muntin_stats as stats
from muntin import correct, tumbling
from muntin_engine import events, spark_session

RIDES = "station string, at timestamp, km double"
HOURS = (
    "station string, window struct<start: timestamp, end: timestamp>, change string, event_id bigint, "
    "rides bigint, km double"
)

spark = spark_session()

# Spark defines a stateful query only over tables that exist, so these two are made before the pipeline's first run.
for name, columns in {"rides": RIDES, "hourly": HOURS}.items():
    if not spark.catalog.tableExists(name):
        spark.catalog.createTable(name, schema=spark.createDataFrame([], columns).schema, source="parquet")


@dp.table
def rides() -> DataFrame:
    """Rides as they arrive, a file at a time."""
    return spark.readStream.schema(RIDES).option("maxFilesPerTrigger", 1).json(str(Path("input").absolute()))


@dp.table
def hourly() -> DataFrame:
    """Changes of the hours: rows are inserted, and retracted when a late ride corrects them."""
    arriving = events(
        spark.readStream.table("rides"),
        key="station",
        at="at",
        watermark="10 minutes",
        late_policy=correct("2 hours"),
        schema=RIDES,
    )
    return arriving.window(tumbling("1 hour")).aggregate(rides=stats.count(), km=stats.sum("km")).results()


@dp.table
def daily() -> DataFrame:
    """The rides of each station and day, of the hours as they stand after all corrections."""
    hours = events(
        spark.readStream.table("hourly"),
        key="station",
        id="event_id",
        start="window.start",
        end="window.end",
        change="change",
        watermark="3 hours",
        schema=HOURS,
    )
    return hours.window(tumbling("1 day")).aggregate(rides=stats.sum("rides"), km=stats.sum("km")).results()


dp.create_sink("exported_days", "parquet", {"path": str(Path("exported").absolute())})


@dp.append_flow(target="exported_days")
def export_days() -> DataFrame:
    """Hand the days on to others, as files."""
    return spark.readStream.table("daily")
