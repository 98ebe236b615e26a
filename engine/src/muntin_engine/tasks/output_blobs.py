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
"""The streams of the blobs of each output: rows that are shed are counted apart, and come with the late ones."""


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a task's output. Its rows become bytes where they leave the process, and not before.

    Attributes:
        stream: `results`, `late`, `shed`, `rejected` or `evicted`; or the name of a metric.
        rows: The number of its rows; or the value of the metric.
        table: The rows; None for a value alone.
        totals: All metrics of the task, by name; None for what is one stream.
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
        """The rows as an Arrow IPC stream; None for a value alone."""
        return None if self.table is None else to_blob(self.table)

    def copied(self) -> OutputBlob:
        """Return it with rows in memory of their own."""
        return self if self.table is None else replace(self, table=from_blob(to_blob(self.table)))

    def columns(self) -> dict[str, Any]:
        """Return the values of the columns of `OUTPUT` that it has."""
        return {"stream": self.stream, "rows": self.rows, "data": self.data, "totals": self.totals}

    def __reduce__(self) -> tuple[Any, ...]:
        # A table may be a slice of a larger one, all of which would be pickled.
        return _unpickled, (self.stream, self.rows, self.data, self.totals)


def _unpickled(stream: str, rows: int, data: bytes | None, totals: Mapping[str, int] | None) -> OutputBlob:
    """Return the blob that was pickled."""
    return OutputBlob(stream, rows, None if data is None else from_blob(data), totals)


def side_output_blobs(
    task: TaskPayload, bad_rows: Sequence[SideOutputRow], rejections: Iterable[tuple[Key, Rejection]], late: int
) -> Iterator[OutputBlob]:
    """Yield the rejected, the late and the shed rows of a bucket, and the numbers of late and shed ones dropped.

    Args:
        task: The query.
        bad_rows: The rows with a problem of their own.
        rejections: The rows that the evaluator rejected, by key.
        late: The number of further late rows, which were only counted.
    """
    drops_late = [plan_input.late.policy is LatePolicy.DROP for plan_input in task.plan.inputs]
    dropped = Counter({LATE: late})
    rows_by_stream: dict[str, list[SideOutputRow]] = {LATE: [], SHED: [], REJECTED: list(bad_rows)}
    for key, rejection in rejections:
        stream = _stream_of(rejection)
        # Shed rows, for which their key had no room, go where late ones go: the late policy decides on them too.
        if stream != REJECTED and drops_late[rejection.change.side]:
            dropped[stream] += 1
        else:
            rows_by_stream[stream].append(side_output_row(task, key, rejection))

    for stream, count in dropped.items():
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
    """Yield the blobs with rows and the watermarks of a task's output, and then one with all its metrics.

    So Spark gets one row of a task for all metrics, however many there are.
    """
    totals = Counter[str]()
    for blob in blobs:
        totals[blob.stream] += blob.rows
        if blob.table is not None or blob.stream in (WATERMARK, OUTPUT_WATERMARK):
            yield blob
    yield OutputBlob(TOTALS, 0, totals=dict(totals))
