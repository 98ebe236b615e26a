"""The fixtures of pytest that make jobs under test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from muntin.errors import QueryError
from muntin_engine.backends.planning.needs_spark import NeedsSparkError
from muntin_engine.needed import required_module
from muntin_engine.testing.streaming.job import ROWS, JobFunction, StreamingJob, of_named_streams
from muntin_engine.testing.streaming.needs_of_spark import need_of_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from muntin_engine.testing.streaming.job_in_process import JobInProcess


class StartsJob(Protocol):
    """The type of the fixture `streaming`."""

    def __call__(
        self, function: JobFunction, schema: str | None = None, *, backend: str | None = None, **schemas: str
    ) -> StreamingJob:
        """Return a job under test.

        Args:
            function: A function of the stream, or of several by their names, that returns the job's query.
            schema: The schema of the only stream, such as `"station string, leaves timestamp, km double"`.
            backend: `"local"` for this process, or `"spark"`. By default this process; a job that uses what only Spark
                has runs on Spark, with a warning that names it.
            schemas: The schema of each stream by its name, where there are several.

        Raises:
            QueryError: A schema cannot be read, or there is none.
            NeedsSparkError: The job uses what only Spark has, and is to run in this process.
        """


@pytest.fixture(scope="session")
def muntin_spark() -> Iterator[SparkSession]:
    """The Spark session of jobs under test, which starts on this machine when the first job needs it.

    A test suite that has a session of its own defines this fixture anew.
    """
    required_module("pyspark", feature="a streaming job on Spark", extra="spark")
    from muntin_engine.backends.spark.session.local import local_session, stop_session

    spark = local_session("muntin tests")
    yield spark
    stop_session(spark)


@pytest.fixture
def streaming(request: pytest.FixtureRequest, tmp_path: Path) -> StartsJob:
    """A function that returns a job under test: `streaming(job, schema)`, or `streaming(job, left=..., right=...)`.

    `job` makes the job's query: it is a function of the stream, or of several by their names. A schema is text such as
    `"station string, leaves timestamp"`. The job runs in this process, in milliseconds; with `backend="spark"` it runs
    on Spark, with the same calls and the same rows. The line `pytest_plugins = ["muntin_engine.testing.streaming"]` in
    `conftest.py` brings the fixture.
    """
    jobs: list[StreamingJob] = []

    def start(
        function: JobFunction, schema: str | None = None, *, backend: str | None = None, **schemas: str
    ) -> StreamingJob:
        """Return a job under test; see `StartsJob`."""
        has_one_stream = schema is not None
        has_named_streams = bool(schemas)
        if has_one_stream == has_named_streams:  # both or neither
            raise QueryError(
                "a job has one stream or several\n"
                "  expected: streaming(job, 'a string'), or streaming(job, left='...', right='...')"
            )
        if backend not in (None, "local", "spark"):
            raise QueryError(
                f"there is no backend {backend!r}\n"
                "  expected: 'local' for this process, or 'spark'; left out, it is this process if that can run the job"
            )
        # A job of one stream is a job of named streams with one of them.
        named_function = function if schema is None else of_named_streams(function)
        schemas_by_name = schemas if schema is None else {ROWS: schema}

        # Only the job itself shows whether this process can run it, so it is tried here first.
        job: StreamingJob | None = None
        if backend != "spark":
            job = _job_in_process(named_function, schemas_by_name, may_need_spark=backend is None)
        if job is None:
            from muntin_engine.testing.streaming.job_on_spark import JobOnSpark

            spark: SparkSession = request.getfixturevalue("muntin_spark")
            job = JobOnSpark(spark, tmp_path / f"job {len(jobs)}", named_function, schemas_by_name)
        jobs.append(job)
        return job

    return start


def _job_in_process(function: JobFunction, schemas: Mapping[str, str], *, may_need_spark: bool) -> JobInProcess | None:
    """Return a job in this process; None, after a warning, if the job needs Spark.

    If its function raises for any other reason, the job is returned all the same, and raises when it starts.

    Args:
        function: The function of the job; it takes its streams by name.
        schemas: The schema of each stream by its name.
        may_need_spark: True to return None if the job needs Spark, False to raise.

    Raises:
        QueryError: A schema cannot be read.
        NeedsSparkError: The job needs Spark, and `may_need_spark` is false.
    """
    from muntin_engine.backends.local.streams.stream_schema import schema_of
    from muntin_engine.testing.streaming.job_in_process import JobInProcess

    try:
        job = JobInProcess(function, {name: schema_of(schema) for name, schema in schemas.items()})
    except NeedsSparkError as error:
        if not may_need_spark:
            raise
        _warn(error.used)
        return None
    try:
        job.make_query()
    except Exception as error:  # the function of a job may raise anything
        used = need_of_spark(error)
        if used is None:
            return job
        if not may_need_spark:
            raise
        _warn(used)
        return None
    return job


def _warn(used: str) -> None:
    """Warn, at the line of the test that starts a job, that the job runs on Spark.

    Args:
        used: The thing that the job uses and only Spark has.
    """
    warnings.warn(
        f"the job uses {used}, which only Spark has, so it runs on Spark\n"
        "  to run it in this process, in milliseconds, write conditions and columns as text in SQL;\n"
        "  to have it on Spark without this warning: streaming(job, schema, backend='spark')",
        stacklevel=4,  # _warn, _job_in_process and start lie between here and the test
    )
