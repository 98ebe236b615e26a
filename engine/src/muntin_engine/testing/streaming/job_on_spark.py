"""A job under test on Spark: its streams are folders of files, and each micro-batch starts it from its checkpoint."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin_engine.api.query import Query
from muntin_engine.backends.planned_query import Projection
from muntin_engine.backends.spark.inputs.time_marks import with_marks
from muntin_engine.backends.spark.session.worker_settings import CACHE
from muntin_engine.tasks.output_blobs import LATE_ROWS
from muntin_engine.testing.streaming.job import OUTPUTS, JobFunction, StreamingJob, check_advances, has_late_rows
from muntin_engine.testing.streaming.plain_rows import Row, plain_row

_MARKS: Final = "watermark"
"""The folder of the stream whose rows move the watermark."""

_UNITS: Final = ("DAY", "HOUR", "MINUTE", "SECOND")
"""The units of intervals, by the numbers that Spark's types have for them."""

_SECONDS_IN_UNIT: Final = (86_400, 3_600, 60, 1)
"""The seconds in each unit."""


class JobOnSpark(StreamingJob):
    """A job on Spark. Workers keep no state in memory between micro-batches."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        function: JobFunction,
        schemas: Mapping[str, str],
    ) -> None:
        """Prepare a job that has not started.

        Args:
            spark: The session that it runs in.
            folder: An empty folder, for its input and its checkpoint.
            function: The function of the job; it takes its streams by name.
            schemas: The schema of each stream by its name, as Spark's DDL text.
        """
        self._schemas = {name: _schema_of(spark, schema) for name, schema in schemas.items()}
        super().__init__(function, {name: schema.names for name, schema in self._schemas.items()})
        self._spark = spark
        self._folder = folder
        self._steps = 0  # the number of micro-batches so far, by which their files are named
        for name in (*schemas, _MARKS):
            self._source(name).mkdir(parents=True)

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the job."""
        return self._folder / "checkpoint"

    def _process(self, rows: Mapping[str, list[Row]]) -> None:
        """Run a micro-batch over rows of streams."""
        # All values are written as JSON before the first file is delivered: if a value cannot be written, no file is.
        lines_by_stream: dict[str, list[str]] = {}
        for stream, stream_rows in rows.items():
            schema = self._schemas[stream]
            lines_by_stream[stream] = [json.dumps(json_of(row, schema)) for row in stream_rows]
        self._steps += 1
        for stream, lines in lines_by_stream.items():
            self._deliver(stream, lines)
        self._run()

    def _advance(self, to: Any) -> None:
        """Run a micro-batch whose only row is punctuation: it moves the watermark to a time."""
        check_advances(self._marked_query())
        self._steps += 1
        self._deliver(_MARKS, [json.dumps({"at": json_of(to)})])
        self._run()

    def _close(self) -> None:
        """Run the last micro-batch, which closes the stream."""
        query = self._marked_query()
        query.close_checkpoint(self.checkpoint, **self._sinks(query))

    def _check(self) -> None:
        """Check that the job can continue from its checkpoint."""
        self._marked_query().check(self.checkpoint)

    def _run(self) -> None:
        """Run the job over all files that it has not read; workers keep no state in memory, as after a restart."""
        with setting(self._spark, CACHE, "0"):
            query = self._marked_query()
            running = query.write(checkpoint=self.checkpoint, available_now=True, **self._sinks(query))
            running.awaitTermination()

    def _marked_query(self) -> Query:
        """Start the job: make its query, with rows of punctuation among the events of its streams."""
        query = self._query({name: self._read(name, schema) for name, schema in self._schemas.items()})
        if query.inner:
            return query  # the watermark of another query's results is not an input
        return replace(query, sources=tuple(map(self._with_marks, query.sources)))

    def _with_marks(self, source: Projection) -> Projection:
        """Return an input with rows of punctuation among its events."""
        projected: Any = source.df
        df: DataFrame = projected if source.has_changes else projected.withColumn("change", F.lit("insert"))
        marks = self._read(_MARKS, spark_types.StructType().add("at", df.schema["start"].dataType))
        columns = {"change": F.lit("punctuate"), "start": F.col("at")}
        return replace(source, df=with_marks(df, [(marks, columns)]), has_changes=True)

    def _read(self, name: str, schema: spark_types.StructType) -> DataFrame:
        """Return a stream of the rows in the files of an input, one file to a micro-batch."""
        reader = self._spark.readStream.schema(schema).option("mode", "FAILFAST").option("maxFilesPerTrigger", 1)
        return reader.json(str(self._source(name)))

    def _source(self, name: str) -> Path:
        """Return the folder of an input's files."""
        return self._folder / "input" / name

    def _deliver(self, name: str, lines: Iterable[str]) -> None:
        """Add a file with lines to an input: written elsewhere, then moved, so that Spark never reads half of it."""
        file = self._folder / "input" / f"{name}.json"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        os.utime(file, (self._steps, self._steps))  # Spark reads files in the order of their times
        file.replace(self._source(name) / f"{self._steps:06}.json")

    def _sinks(self, query: Query) -> dict[str, Any]:
        """Return a sink for each output, which keeps rows by micro-batch: a repeated micro-batch replaces its rows."""

        def sink_of(output: str) -> Callable[[DataFrame, int], None]:
            """Return the sink of an output."""

            def keep_rows(batch: DataFrame, batch_id: int) -> None:
                """Keep the rows of a micro-batch as a test compares them."""
                self._rows_by_batch[output][batch_id] = [plain_row(row) for row in batch.toArrow().to_pylist()]

            return keep_rows

        sinks = {output: sink_of(output) for output in OUTPUTS}
        if not has_late_rows(query):
            del sinks[LATE_ROWS]
        return sinks


def _schema_of(spark: SparkSession, schema: str) -> spark_types.StructType:
    """Return the schema that a text of Spark's DDL stands for."""
    return spark.createDataFrame([], schema).schema


def json_of(value: Any, data_type: spark_types.DataType | None = None) -> Any:
    """Return a value in the form in which Spark reads it from JSON.

    Args:
        value: The value.
        data_type: The type of its column, or of the part of a column that it is; None if it is not known.
    """
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _interval_text(value, data_type)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {name: json_of(part, _type_of_part(data_type, name)) for name, part in value.items()}
    if isinstance(value, list | tuple):
        element_type = data_type.elementType if isinstance(data_type, spark_types.ArrayType) else None
        return [json_of(part, element_type) for part in value]
    return value


def _type_of_part(data_type: spark_types.DataType | None, name: str) -> spark_types.DataType | None:
    """Return the type of the field of a struct, or of the values of a map; None if the type has no such part."""
    if isinstance(data_type, spark_types.MapType):
        return data_type.valueType
    if isinstance(data_type, spark_types.StructType) and name in data_type.names:
        return data_type[name].dataType
    return None


def _interval_text(length: timedelta, data_type: spark_types.DataType | None) -> str:
    """Return a length of time as an interval in Spark's SQL, in the units of its column.

    Spark reads no other units. A length that these do not hold is written with seconds, so that Spark refuses it.

    Args:
        length: The length.
        data_type: The type of the column; None, or another type than an interval, if it is not known.
    """
    if not isinstance(data_type, spark_types.DayTimeIntervalType):
        data_type = spark_types.DayTimeIntervalType()  # from days to seconds
    first_unit = data_type.startField
    last_unit = data_type.endField
    seconds, microseconds = divmod(abs(length) // timedelta(microseconds=1), 1_000_000)
    if microseconds or seconds % _SECONDS_IN_UNIT[last_unit]:
        last_unit = spark_types.DayTimeIntervalType.SECOND

    # The first number may be of any size; each further one is what is left of the unit before it, in two digits.
    numbers: list[str] = []
    for unit in range(first_unit, last_unit + 1):
        count, seconds = divmod(seconds, _SECONDS_IN_UNIT[unit])
        numbers.append(f"{count:02}" if numbers else f"{count}")
    text = ":".join(numbers)
    if first_unit == spark_types.DayTimeIntervalType.DAY:
        text = text.replace(":", " ", 1)  # as in 1 02:03:04
    if last_unit == spark_types.DayTimeIntervalType.SECOND:
        text += f".{microseconds:06}"
    sign = "-" if length < timedelta() else ""
    units = _UNITS[first_unit] if first_unit == last_unit else f"{_UNITS[first_unit]} TO {_UNITS[last_unit]}"
    return f"INTERVAL '{sign}{text}' {units}"


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Give a setting of a session another value within the block."""
    previous = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if previous is None:  # it was not set
            spark.conf.unset(name)
        else:
            spark.conf.set(name, previous)
