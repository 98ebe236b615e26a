"""The projected rows of one map task in one micro-batch, as a file of a recording.

A file is Parquet. Its metadata have the task's report on the progress of the input, so that a part of the rows can be
replayed under the progress that all of them made.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from muntin.errors.safe_text import safe_repr
from muntin_engine.plan.columns import NamedColumn
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.batch_rows import CHANGES, CLOCK, CLOSE, PUNCTUATE, PUNCTUATE_KEYS, SIGNAL
from muntin_engine.time.changes import Progress
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar
from muntin_engine.wire.shuffle import PackedReport
from muntin_engine.wire.value_flags import flags

ROWS: Final = "rows"
"""The folder of the rows, in the folder of a recording."""

PASSED_ON: Final = "passed_on"
"""The folder of the results that another query of the same recording reads, beside the folder of the rows."""

NTH: Final = "nth"
"""The column with the place of a row among all rows of its task."""

STOPPED: Final = "stopped.json"
"""The file in a recording that says that it goes no further, and why."""

UNFINISHED: Final = ".part"
"""The end of the name of a file that a task still writes."""

FAILED: Final = ".failed"
"""The end of the name of the mark beside a file that could not be written."""

_REPORT: Final = b"muntin.report"
"""The name under which the metadata of a file have the report of its task."""

_OF_NO_KEY: Final = [CHANGES[kind] for kind in (PUNCTUATE_KEYS, PUNCTUATE, CLOSE, CLOCK, SIGNAL)]
"""The changes of rows that are of no key."""

_LOG: Final = logging.getLogger("muntin.recording")


@dataclass(frozen=True, slots=True)
class TaskReport:
    """The report of a map task to all buckets.

    Attributes:
        inputs: The report on each input; empty where tasks report nothing.
        signals: The names of the signals among the rows.
    """

    inputs: tuple[PackedReport, ...] = ()
    signals: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Write the report as JSON, from which `from_json` makes it again."""
        inputs: list[object] = []
        for report in self.inputs:
            inputs.append([list(report.progress), _base64(report.observations), _base64(report.patterns)])
        return json.dumps({"inputs": inputs, "signals": list(self.signals)})

    @classmethod
    def from_json(cls, text: str | bytes) -> TaskReport:
        """Return the report that `to_json` wrote."""
        data = json.loads(text)
        inputs: list[PackedReport] = []
        for progress, observations, patterns in data["inputs"]:
            inputs.append(PackedReport(Progress(*progress), _bytes(observations), _bytes(patterns)))
        return cls(tuple(inputs), tuple(data["signals"]))


def _base64(data: bytes | None) -> str | None:
    """Return bytes as text; None for None."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    """Return the bytes that `_base64` wrote."""
    return None if text is None else base64.b64decode(text)


@dataclass(frozen=True, slots=True)
class RowRecording:
    """The folder and the keys for which the rows of a query are recorded; it travels to the workers.

    Attributes:
        folder: The folder of the recording, which all workers see.
        run: The number of this start of the query.
        keys: The keys whose rows are recorded, each a tuple; None for all keys. Rows of no key always are.
    """

    folder: str
    run: int
    keys: tuple[tuple[Any, ...], ...] | None = None

    def of_task(self, batch: int, partition: int, kind: str = ROWS) -> RecordedRows | None:
        """Return the file for the rows of a task; None if the recording has stopped.

        Args:
            batch: The number of the micro-batch.
            partition: The number of the task.
            kind: The folder: `ROWS` for the rows that the task reads, `PASSED_ON` for the results that it passes on to
                another query.
        """
        if (Path(self.folder) / STOPPED).exists():
            return None
        return RecordedRows(rows_file(Path(self.folder), batch, self.run, partition, kind), self.keys)


def rows_file(folder: Path, batch: int, run: int, partition: int, kind: str = ROWS) -> Path:
    """Return the path of the file with the rows of a task.

    Args:
        folder: The folder of the recording.
        batch: The number of the micro-batch.
        run: The number of this start of the query.
        partition: The number of the task.
        kind: The folder of such rows in the folder of the recording.
    """
    return folder / kind / f"{batch:08}" / f"{run:04}-{partition:05}.parquet"


class RecordedRows:
    """The file that a task writes its rows to; it is put in its place when it is complete.

    If rows cannot be written, the file ends and the task goes on. A mark beside the file says so, and is found when the
    micro-batch is committed.
    """

    def __init__(self, file: Path, keys: Sequence[tuple[Any, ...]] | None = None) -> None:
        """Take the path of the file, and the keys whose rows are recorded; None to record those of all keys."""
        self._file = file
        self._keys = keys
        self._unfinished = file.with_name(f"{file.stem}-{os.getpid()}-{id(self):x}{UNFINISHED}")
        self._writer: pq.ParquetWriter | None = None
        self._has_failed = False
        self._row_count = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch of projected rows.

        Cost: 35 ns per row of three columns of numbers, and 90 ns if it also has a key of text. On disk the rows take
        between a third and a half of the memory that they take here.
        """
        if self._has_failed:
            return
        try:
            self._write(batch)
        except (OSError, pa.ArrowException) as error:
            self._fail(error)

    def finish(self, reports: Iterable[PackedReport], signals: Iterable[str]) -> None:
        """Put the file in its place, with the report of the task. Without rows there is no file.

        Args:
            reports: The report on each input.
            signals: The names of the signals among the rows.
        """
        if self._has_failed or self._writer is None:
            return
        report = TaskReport(tuple(reports), tuple(sorted(signals)))
        try:
            self._writer.add_key_value_metadata({_REPORT: report.to_json().encode()})
            self._writer.close()
            self._unfinished.replace(self._file)
        except (OSError, pa.ArrowException) as error:
            self._fail(error)

    def _write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of the recorded keys.

        If only some keys are recorded, the column `nth` has the place of each row among all rows of the task.
        """
        if self._keys is not None:
            places = range(self._row_count, self._row_count + len(batch))
            batch = batch.append_column(NTH, arrow_array(places, pa.int32()))
            self._row_count += len(batch)
        if self._writer is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _writer(self._unfinished, batch.schema)
        if self._keys is not None:
            batch = batch.filter(is_of_keys(batch, self._keys))
        self._writer.write_batch(batch)

    def _fail(self, error: Exception) -> None:
        """Stop writing, and put a mark with the error beside the file."""
        self._has_failed = True
        _LOG.warning("rows cannot be recorded, and the query goes on: %s", error)
        try:
            self._file.with_suffix(FAILED).write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        except OSError:  # without a mark, the file itself is found to be missing when the micro-batch is committed
            return


def _writer(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Open a Parquet file for rows, in the encodings that cost least time.

    Statistics, and dictionaries of numbers, would each double the time.
    """
    texts = [part.name for part in schema if pa.types.is_string(part.type)]
    ticks = [part.name for part in schema if pa.types.is_timestamp(part.type) or part.type in (pa.int32(), pa.int64())]
    return pq.ParquetWriter(
        file,
        schema,
        compression="lz4",
        use_dictionary=texts,
        write_statistics=False,
        column_encoding=dict.fromkeys(ticks, "DELTA_BINARY_PACKED"),
    )


def is_of_keys(batch: pa.RecordBatch, keys: Sequence[tuple[Any, ...]]) -> pa.Array:
    """Flag the rows of the given keys, and the rows of no key, such as punctuation of a source."""
    is_recorded = np.zeros(len(batch), np.bool_)
    if "change" in batch.schema.names:
        is_recorded |= flags(pc.is_in(batch.column("change"), arrow_array(_OF_NO_KEY)))
    for key in keys:
        is_of_key = np.ones(len(batch), np.bool_)
        for place, value in enumerate(key):
            column = batch.column(f"k{place}")
            if value is None:
                is_equal = column.is_null()
            elif isinstance(value, float) and isnan(value):  # a key like any other, though it equals nothing
                is_equal = pc.is_nan(column)
            elif pa.types.is_nested(column.type):  # Arrow does not compare arrays and structs
                frozen_key = freeze(arrow_scalar(value, column.type).as_py())
                is_equal = arrow_array([freeze(row_key) == frozen_key for row_key in column.to_pylist()], pa.bool_())
            else:
                is_equal = pc.equal(column, arrow_scalar(value).cast(column.type))
            is_of_key &= flags(is_equal)
        is_recorded |= is_of_key
    return arrow_array(is_recorded)


def is_key(key: tuple[Any, ...], types: Sequence[pa.DataType]) -> bool:
    """Return True if a key has a value for each key column, which can be compared with those of the column.

    Args:
        key: The values of the key.
        types: The Arrow types in which the key columns travel.
    """
    if len(key) != len(types):
        return False
    columns = {f"k{place}": arrow_array([], data_type) for place, data_type in enumerate(types)}
    no_rows = pa.RecordBatch.from_pydict(columns)
    try:
        is_of_keys(no_rows, [key])  # called for its error: rows are compared as those of the query will be
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def no_key_message(key: object, columns: Sequence[NamedColumn]) -> str:
    """Return the message for a value that is no key of a query.

    Args:
        key: The value.
        columns: The key columns of the query.
    """
    refusal = f"{safe_repr(key)} is no key of the query, which has"
    if not columns:
        return f"{refusal} no key columns\n  leave keys= out"
    spelled_columns = ", ".join(f"{column.name} ({column.type})" for column in columns)
    advice = "expected: a value, or a tuple with a value for each key column"
    return f"{refusal} the key columns {spelled_columns}\n  {advice}"


class RecordedPart(NamedTuple):
    """The recorded rows of one task of a micro-batch.

    Attributes:
        partition: The number of the task.
        rows: The projected rows in the order in which they came. The column `nth` has the place of each among all rows
            of the task.
        report: The report of the task on progress.
    """

    partition: int
    rows: pa.Table
    report: TaskReport

    def batches(self) -> list[pa.RecordBatch]:
        """Return the rows as a task gets them: in batches, and without their places."""
        rows = self.rows.drop_columns([NTH]) if NTH in self.rows.column_names else self.rows
        batches: list[pa.RecordBatch] = rows.to_batches()
        return batches


def read_part(file: Path) -> RecordedPart:
    """Read the rows of a task from a file."""
    rows = pq.read_table(file).replace_schema_metadata(None)
    if NTH not in rows.column_names:  # all rows of the task were recorded
        rows = rows.append_column(NTH, arrow_array(range(len(rows)), pa.int32()))
    metadata: Mapping[bytes, bytes] = pq.read_metadata(file).metadata or {}
    report = TaskReport.from_json(metadata[_REPORT]) if _REPORT in metadata else TaskReport()
    _, _, partition_digits = file.stem.partition("-")  # the name is `<run>-<partition>`
    partition = int(partition_digits)
    return RecordedPart(partition, rows, report)


def write_part(file: Path, part: RecordedPart) -> None:
    """Write the rows of a task to a file, as `RecordedRows` does; but an error while they are written is raised."""
    row_file = RecordedRows(file)
    row_file._write(_one_batch(part.rows))
    row_file.finish(part.report.inputs, part.report.signals)


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    """Return a table as one batch."""
    batches: list[pa.RecordBatch] = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)


def count_rows(file: Path) -> int:
    """Return how many rows a file has."""
    count: int = pq.read_metadata(file).num_rows
    return count
