"""Test a streaming job with Spark in pytest: feed it micro-batches, move its watermark, compare its rows.

A test suite takes the fixtures by a line in its `conftest.py`:

```python
pytest_plugins = ["muntin_engine.testing.streaming"]
```
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import LatePolicy
from muntin.errors import QueryError
from muntin_engine.api.query import Query
from muntin_engine.backends.planned_query import Projection
from muntin_engine.backends.spark.inputs.time_marks import with_marks
from muntin_engine.backends.spark.session.local import local_session, stop_session
from muntin_engine.backends.spark.session.worker_settings import CACHE
from muntin_engine.recording.row_differences import row_differences

Row: TypeAlias = dict[str, Any]
"""A row of an output: timestamps are text in UTC, and `start` and `end` stand for the window."""

_ROWS: Final = "rows"
"""The name of the only stream of a job."""

_OUTPUTS: Final = ("results", "rejected_rows", "late_rows")

_MARKS: Final = "watermark"


class StreamingJob:
    """A streaming job under test; the fixture `streaming` makes it.

    Each micro-batch starts the job anew from its checkpoint, and workers keep no state in memory in between. So a job
    that remembers something outside of its state fails here as it would after a restart in production.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        build: Callable[..., Query],
        schemas: Mapping[str, str],
    ) -> None:
        """Prepare a job that has not started.

        Args:
            spark: The session that it runs in.
            folder: An empty folder, for its input and its checkpoint.
            build: A function of the streams that returns the query.
            schemas: The schema of each stream by its name.
        """
        self._spark = spark
        self._folder = folder
        self._build = build
        self._schemas = {name: _schema_of(spark, schema) for name, schema in schemas.items()}
        self._batches: dict[str, dict[int, list[Row]]] = {output: {} for output in _OUTPUTS}
        self._steps = 0
        for name in (*schemas, _MARKS):
            self._source(name).mkdir(parents=True)

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the job."""
        return self._folder / "checkpoint"

    @property
    def results(self) -> list[Row]:
        """All results so far, in the order of their micro-batches."""
        return self._rows("results")

    @property
    def rejected_rows(self) -> list[Row]:
        """All rejected rows so far, with their reasons."""
        return self._rows("rejected_rows")

    @property
    def late_rows(self) -> list[Row]:
        """All late rows so far; none if the job drops them."""
        return self._rows("late_rows")

    def feed(self, *rows: Mapping[str, Any] | Sequence[Any], **streams: Iterable[Any]) -> list[Row]:
        """Run a micro-batch over rows, and return its results.

        Args:
            rows: The rows of the only stream: tuples in the order of its columns, or dicts, whose missing columns are
                null. A timestamp is a text such as `"2024-05-01T08:00:00Z"`, or a datetime.
            streams: The rows of each stream by its name, where there are several.

        Raises:
            QueryError: A stream or column is unknown.
        """
        rows_by_stream = {**streams, _ROWS: rows} if rows or not streams else streams
        lines_by_stream: dict[str, list[str]] = {}
        for stream, stream_rows in rows_by_stream.items():
            if stream not in self._schemas:
                expected = ", ".join(f"{name}=[...]" for name in self._schemas)
                raise QueryError(f"the job has no stream {stream!r}\n  expected: feed({expected})")
            lines_by_stream[stream] = [self._line(stream, row) for row in stream_rows]
        self._steps += 1
        for stream, lines in lines_by_stream.items():
            self._deliver(stream, lines)
        return self._run()

    def advance(self, to: Any) -> list[Row]:
        """Advance the watermark to a time, and return the results of the micro-batch.

        Args:
            to: The new watermark: a text or a datetime where times are timestamps, else a number.

        Raises:
            QueryError: The job reads another query's results, whose watermark is not an input.
        """
        if self._query().inner:
            raise QueryError(
                "advance() moves the watermark of events, and this job reads the results of another query\n"
                "  feed a row that is far enough ahead, or close() the stream"
            )
        self._steps += 1
        self._deliver(_MARKS, [json.dumps({"at": _json_of(to)})])
        return self._run()

    def close(self) -> list[Row]:
        """End the stream, and return the results of the windows that were open; the job cannot go on after it."""
        query = self._query()
        earlier = len(self.results)
        query.close_checkpoint(self.checkpoint, **self._sinks(query))
        return self.results[earlier:]

    def restart(self, build: Callable[..., Query]) -> None:
        """Go on with another version of the job, as after a deployment.

        Args:
            build: A function of the streams that returns its query.

        Raises:
            StateMismatchError: The new version cannot continue from the checkpoint.
        """
        self._build = _of_one(build) if _ROWS in self._schemas else build
        self._query().check(self.checkpoint)

    def _run(self) -> list[Row]:
        earlier = len(self.results)
        with setting(self._spark, CACHE, "0"):
            query = self._query()
            running = query.write(checkpoint=self.checkpoint, available_now=True, **self._sinks(query))
            running.awaitTermination()
        return self.results[earlier:]

    def _query(self) -> Query:
        query = self._build(**{name: self._read(name, schema) for name, schema in self._schemas.items()})
        if query.inner:
            return query
        return replace(query, sources=tuple(map(self._with_marks, query.sources)))

    def _with_marks(self, source: Projection) -> Projection:
        """Return an input with rows of punctuation among its events."""
        df = source.df if source.has_changes else source.df.withColumn("change", F.lit("insert"))
        marks = self._read(_MARKS, spark_types.StructType().add("at", df.schema["start"].dataType))
        columns = {"change": F.lit("punctuate"), "start": F.col("at")}
        return replace(source, df=with_marks(df, [(marks, columns)]), has_changes=True)

    def _read(self, name: str, schema: spark_types.StructType) -> DataFrame:
        reader = self._spark.readStream.schema(schema).option("mode", "FAILFAST").option("maxFilesPerTrigger", 1)
        return reader.json(str(self._source(name)))

    def _source(self, name: str) -> Path:
        return self._folder / "input" / name

    def _line(self, name: str, row: Mapping[str, Any] | Sequence[Any]) -> str:
        """Return a row as a line of JSON."""
        columns = self._schemas[name].names
        values = row if isinstance(row, Mapping) else dict(zip(columns, row, strict=False))
        if not set(values) <= set(columns) or len(row) > len(columns):
            raise QueryError(f"the row {row!r} does not fit the columns {', '.join(columns)}")
        return json.dumps({column: _json_of(value) for column, value in values.items()})

    def _deliver(self, name: str, lines: Iterable[str]) -> None:
        """Write a file beside its place and move it there, so that Spark never reads half of it."""
        file = self._folder / "input" / f"{name}.json"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        os.utime(file, (self._steps, self._steps))
        file.replace(self._source(name) / f"{self._steps:06}.json")

    def _sinks(self, query: Query) -> dict[str, Any]:
        """Return a sink for each output, which keeps its rows by micro-batch: one that comes again replaces them."""

        def sink_of(output: str) -> Callable[[DataFrame, int], None]:
            def keep_rows(batch: DataFrame, batch_id: int) -> None:
                self._batches[output][batch_id] = [_plain(row) for row in batch.toArrow().to_pylist()]

            return keep_rows

        sinks = {output: sink_of(output) for output in _OUTPUTS}
        drops_late_rows = all(plan_input.late.policy is LatePolicy.DROP for plan_input in query.plan.inputs)
        if drops_late_rows:
            del sinks["late_rows"]
        return sinks

    def _rows(self, output: str) -> list[Row]:
        rows: list[Row] = []
        for _, batch_rows in sorted(self._batches[output].items()):
            rows += batch_rows
        return rows


class StartsJob(Protocol):
    """The type of the fixture `streaming`."""

    def __call__(self, build: Callable[..., Query], schema: str | None = None, **schemas: str) -> StreamingJob:
        """Return a job under test.

        Args:
            build: A function of the stream, or of several by their names, that returns the job's query.
            schema: The schema of the only stream, such as `"station string, leaves timestamp, km double"`.
            schemas: The schema of each stream by its name, where there are several.
        """


@pytest.fixture(scope="session")
def muntin_spark() -> Iterator[SparkSession]:
    """The session of all tests, on this machine. A test suite with a session of its own defines this fixture anew."""
    spark = local_session("muntin tests")
    yield spark
    stop_session(spark)


@pytest.fixture
def streaming(muntin_spark: SparkSession, tmp_path: Path) -> StartsJob:
    """A function that returns a job under test: `streaming(build, schema)`, or `streaming(build, left=..., right=...)`.

    `build` makes the job's query: it is a function of the stream, or of several by their names. A schema is text such
    as `"station string, leaves timestamp"`. The line `pytest_plugins = ["muntin_engine.testing.streaming"]` in
    `conftest.py` brings the fixture.
    """
    jobs: list[StreamingJob] = []

    def start(build: Callable[..., Query], schema: str | None = None, **schemas: str) -> StreamingJob:
        if (schema is None) == (not schemas):
            raise QueryError(
                "a job has one stream or several\n"
                "  expected: streaming(job, 'a string'), or streaming(job, left='...', right='...')"
            )
        build_by_name = build if schema is None else _of_one(build)
        folder = tmp_path / f"job {len(jobs)}"
        job = StreamingJob(muntin_spark, folder, build_by_name, schemas or {_ROWS: str(schema)})
        jobs.append(job)
        return job

    return start


def assert_rows(rows: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> None:
    """Assert that rows are the expected ones, in any order and as far as these name columns.

    Args:
        rows: The rows, such as `job.results`.
        expected: Dicts with the columns that matter; a value may be `pytest.approx(...)`.

    Raises:
        AssertionError: Rows are missing, or there are others; it lists both.
    """
    differences = row_differences(rows, expected)
    if differences:
        raise AssertionError("\n".join(["the rows differ", *differences]))


def _of_one(build: Callable[..., Query]) -> Callable[..., Query]:
    """Return a job of one stream as a job of streams by name."""
    return lambda **streams: build(streams[_ROWS])


def _schema_of(spark: SparkSession, schema: str) -> spark_types.StructType:
    return spark.createDataFrame([], schema).schema


def _json_of(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _plain(row: Mapping[str, Any]) -> Row:
    """Return a row with `start` and `end` for its window, or for its lifetime if it has no window."""
    extent = next((name for name in ("window", "lifetime") if isinstance(row.get(name), Mapping)), None)
    has_such_columns = bool({"start", "end"} & set(row))
    plain: Row = {}
    for name, value in row.items():
        if name == extent and not has_such_columns:
            plain.update(_text_of(value))
        else:
            plain[name] = _text_of(value)
    return plain


def _text_of(value: Any) -> Any:
    """Return a value with its timestamps as text in UTC."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.isoformat()
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {name: _text_of(part) for name, part in value.items()}
    return [_text_of(part) for part in value] if isinstance(value, list) else value


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Change a setting of a session for a while."""
    previous = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if previous is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, previous)
