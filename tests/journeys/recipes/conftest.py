"""The recipes run twice: in this process, and nightly on Spark, in the session of all tests."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from muntin_engine.testing.streaming import StartsJob
from muntin_engine.testing.streaming import streaming as any_streaming
from muntin_engine.testing.streaming.job import JobFunction, StreamingJob

__all__ = ["any_streaming"]


@pytest.fixture(scope="session")
def muntin_spark(spark: SparkSession) -> SparkSession:
    """The session of the whole run."""
    return spark


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.nightly)])
def streaming(request: pytest.FixtureRequest, any_streaming: StartsJob) -> StartsJob:
    """A function that returns a job under test, in this process or on Spark."""

    def start(
        function: JobFunction, schema: str | None = None, *, backend: str | None = request.param, **schemas: str
    ) -> StreamingJob:
        return any_streaming(function, schema, backend=backend, **schemas)

    return start
