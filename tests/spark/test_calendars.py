"""Calendar windows against Spark's own date_trunc, which follows the session's time zone."""

from __future__ import annotations

from collections import Counter
from itertools import cycle, islice
from random import Random
from typing import Literal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import calendar
from muntin_engine import events, module
from tests.spark.running import collect_together

ZONES = ("Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Cairo")
EVALUATORS: tuple[Literal["columnar", "sliced", "general"], ...] = ("columnar", "sliced", "general")
UNITS = ("day", "week", "month", "quarter", "year")


@pytest.mark.parametrize("zone", ZONES)
def test_rows_are_grouped_as_date_trunc_groups_them(spark: SparkSession, zone: str) -> None:
    random = Random(zone)
    seconds = [random.randrange(1_230_000_000, 1_420_000_000) for _ in range(400)]  # 2009 to 2014
    rows = spark.createDataFrame([(second,) for second in seconds], "second LONG").select(
        (F.col("second") * 1_000_000).alias("at")
    )
    stream = events(rows, at="at", unit="us", buckets=1)
    place = ZONES.index(zone)
    units, evaluators = islice(cycle(UNITS), place, place + 3), islice(cycle(EVALUATORS), place, None)
    windows = {unit: stream.window(calendar(unit, zone=zone), evaluator=next(evaluators)) for unit in units}
    found = collect_together({unit: windowed.aggregate(n=module("stats.count")) for unit, windowed in windows.items()})
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        truncated = rows.select(
            *(F.unix_micros(F.date_trunc(unit, F.timestamp_micros("at"))).alias(unit) for unit in windows)
        ).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    for unit in windows:
        counted = {row["window"]["start"]: row["n"] for row in found[unit]}
        assert len(counted) > 5
        assert counted == Counter(row[unit] for row in truncated)
