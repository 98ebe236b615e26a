"""The tables as views of a session of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.backends.local.plain_sql.beside_spark import RIDES, STATIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def views(spark: SparkSession) -> SparkSession:
    spark.createDataFrame(RIDES).createOrReplaceTempView("rides")
    spark.createDataFrame(STATIONS).createOrReplaceTempView("stations")
    return spark
