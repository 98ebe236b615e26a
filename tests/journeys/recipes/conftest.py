"""The session of the fixture `streaming` is that of all tests."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from muntin_engine.testing.streaming import streaming

__all__ = ["streaming"]


@pytest.fixture(scope="session")
def muntin_spark(spark: SparkSession) -> SparkSession:
    """The session of the whole run."""
    return spark
