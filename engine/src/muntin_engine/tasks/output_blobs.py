"""The output of a task as blobs: the rows of its streams, and the values of its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from muntin import LatePolicy
from muntin_engine.time.changes import Key, Rejection
from muntin_engine.wire.blobs import from_blob, to_blob
from muntin_engine.wire.side_output import SideOutputRow, side_output_row, side_output_table
from muntin_engine.wire.task_payload import TaskPayload

RESULTS: Final = "results"
LATE: Final = "late"
SHED: Final = "shed"
REJECTED: Final = "rejected"
EVICTED: Final = "evicted"
ACCEPTED: Final = "accepted"
WATERMARK: Final = "watermark"
OUTPUT_WATERMARK: Final = "output_watermark"
TOTALS: Final = "totals"

LATE_ROWS: Final = "late_rows"
REJECTED_ROWS: Final = "rejected_rows"
EVICTED_ROWS: Final = "evicted_rows"

STREAMS: Final[Mapping[str, tuple[str, ...]]] = {
    RESULTS: (RESULTS,),
    LATE_ROWS: (LATE, SHED),
    REJECTED_ROWS: (REJECTED,),
    EVICTED_ROWS: (EVICTED,),
}
"""The streams of the blobs of each output: shed rows are counted apart, and are in the output of late rows."""


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a task's output: rows of a stream, the value of a metric, or all metrics at once.

    Rows become bytes where they leave the process, and not before.

    Attributes:
        stream: `results`, `late`, `shed`, `rejected` or `evicted`; the name of a metric; or `totals`.
        rows: The number of rows; or the value of the metric.
        table: The rows; None for a metric.
        totals: All metrics of the task by name, in the blob of `totals`; None in others.
    """

    stream: str
    rows: int
    table: pa.Table | None = None
    totals: Mapping[str, int] | None = None

    @classmethod
    def of_table(cls, stream: str, table: pa.Table) -> OutputBlob:
        """Wrap the rows of a table."""
        return cls(stream, table.num_rows, table)

    @property
    def data(self) -> bytes | None:
        """The rows as an Arrow IPC stream; None for a metric."""
        return None if self.table is None else to_blob(self.table)

    def copied(self) -> OutputBlob:
        """Return a copy whose rows do not lie in the memory that they were read from, which may change."""
        if self.table is None:
            return self
        return replace(self, table=from_blob(to_blob(self.table)))

    def columns(self) -> dict[str, Any]:
        """Return the columns in which Spark gets the blob, with their values."""
        return {"stream": self.stream, "rows": self.rows, "data": self.data, "totals": self.totals}

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling the table itself would write more: it may be a slice of a larger one, which is pickled whole.
        return _unpickled, (self.stream, self.rows, self.data, self.totals)


def _unpickled(stream: str, rows: int, data: bytes | None, totals: Mapping[str, int] | None) -> OutputBlob:
    """Return the blob that was pickled, from its fields and its rows as bytes."""
    table = None if data is None else from_blob(data)
    return OutputBlob(stream, rows, table, totals)


def side_output_blobs(
    task: TaskPayload, bad_rows: Sequence[SideOutputRow], rejections: Iterable[tuple[Key, Rejection]], late_count: int
) -> Iterator[OutputBlob]:
    """Yield the numbers of late and shed rows that are dropped, and then the late, shed and rejected rows of a bucket.

    A row is shed if its key has as many rows as it may have, and so has no room for it.

    Args:
        task: The query.
        bad_rows: The rows with a problem of their own.
        rejections: The rows that the evaluator rejected, by key.
        late_count: The number of further late rows, which were only counted.
    """
    drops_late = [plan_input.late.policy is LatePolicy.DROP for plan_input in task.plan.inputs]
    dropped_rows = Counter({LATE: late_count})
    rows_by_stream: dict[str, list[SideOutputRow]] = {LATE: [], SHED: [], REJECTED: list(bad_rows)}
    for key, rejection in rejections:
        stream = _stream_of(rejection)
        # The late policy decides on late rows, and on shed ones too, for which their key had no room.
        if stream != REJECTED and drops_late[rejection.change.side]:
            dropped_rows[stream] += 1
        else:
            rows_by_stream[stream].append(side_output_row(task, key, rejection))

    for stream, count in dropped_rows.items():
        if count:
            yield OutputBlob(stream, count)
    for stream, rows in rows_by_stream.items():
        if rows:
            yield OutputBlob.of_table(stream, side_output_table(task, rows))


def _stream_of(rejection: Rejection) -> str:
    """Return the stream of a row that an evaluator rejected."""
    if rejection.is_late:
        return LATE
    if rejection.is_shed:
        return SHED
    return REJECTED


def with_totals(blobs: Iterable[OutputBlob]) -> Iterator[OutputBlob]:
    """Yield the blobs that have rows or a watermark as they are, and at last one blob with all metrics of the task.

    So Spark gets one row for all metrics of a task, however many there are.
    """
    totals = Counter[str]()
    for blob in blobs:
        totals[blob.stream] += blob.rows
        if blob.table is not None or blob.stream in (WATERMARK, OUTPUT_WATERMARK):
            yield blob
    yield OutputBlob(TOTALS, 0, totals=dict(totals))
