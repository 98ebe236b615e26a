"""The exchange between the map tasks and the buckets of a query in this process.

    map tasks -> batches of blobs, each for a bucket -> Exchange -> what arrives at a bucket

Blobs stay the bytes that a map task wrote. They wait by bucket, in memory up to a number of bytes and otherwise in a
temporary file, and are freed when their bucket takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa

from muntin_engine.backends.local.runs.spilled_blobs import SpilledBlob, SpillFolder, write_blobs
from muntin_engine.wire.shuffle import SIDE, BucketArrivals, RowCounts, collect
from muntin_engine.wire.task_payload import TaskPayload

MOST_BYTES_IN_MEMORY: Final = 96 * 2**20
"""The most bytes of blobs that wait in memory; once there are more, all blobs in memory are written to a file."""

Report: TypeAlias = Mapping[str, Any]
"""The report of a map task on an input, as a row of `EXCHANGE`."""


class ExchangedBlob(NamedTuple):
    """A blob on its way to a bucket.

    Attributes:
        side: The place of its input.
        oldest: The least start of the events in partial states; None if the blob has rows as they are.
        data: The bytes, or where they lie.
    """

    side: int
    oldest: int | None
    data: bytes | SpilledBlob


@dataclass(slots=True)
class BucketInput:
    """The part of a micro-batch that waits for a bucket. It can go to another process, which reads files itself.

    Attributes:
        blobs: The blobs, in the order in which map tasks sent them.
        reports: The reports of the map tasks.
    """

    blobs: list[ExchangedBlob]
    reports: list[Report]

    def arrivals(self, inputs: int) -> BucketArrivals:
        """Read the blobs of the bucket, and return them by kind and input, with the progress from the reports.

        Args:
            inputs: The number of inputs of the query.
        """
        arrivals = collect(self.reports, inputs)
        for blob in self.blobs:
            data = blob.data.read() if isinstance(blob.data, SpilledBlob) else blob.data
            if blob.oldest is None:  # rows, which show their starts themselves
                arrivals.rows[blob.side].append(data)
                continue
            # Partial states no longer show the starts of their events, so the blob has the least of these starts.
            arrivals.evaluator_blobs.append(data)
            report = arrivals.reports[blob.side]
            report.oldest = min(report.oldest, blob.oldest)
        return arrivals


@dataclass
class SentBlobs:
    """The blobs that map tasks sent, by bucket, and the reports that they sent to all buckets.

    Attributes:
        blobs: By the id of a bucket, its blobs in the order in which they arrived.
        reports: The reports. The first one of a task has its durations and counts of rows, which one bucket gets.
        bytes_in_memory: The number of bytes of the blobs that lie in memory.
    """

    blobs: dict[int, list[ExchangedBlob]] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    bytes_in_memory: int = 0

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> SentBlobs:
        """Collect the blobs and reports in the batches of `EXCHANGE` that a map task yields."""
        sent = cls()
        for batch in batches:
            sent.add_batch(batch)
        return sent

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add a batch of `EXCHANGE`: either a report to all buckets, or a blob in each row, with its bucket."""
        if is_report(batch):
            # A report has a row for each bucket. They differ only in totals of the map task, which the first row has.
            self.reports.append(batch.slice(0, 1).to_pylist()[0])
            return

        buckets = batch.column("bucket").to_pylist()
        sides = [0] * len(buckets)
        if SIDE in batch.schema.names:  # a query with one input does without the column
            sides = batch.column(SIDE).to_pylist()
        oldest_starts = batch.column("oldest").to_pylist()
        # The blobs of a batch are all partial states, or all rows.
        has_states = batch.column("evaluator_blobs").null_count < len(batch)
        blobs = batch.column("evaluator_blobs" if has_states else "rows")
        for place, bucket in enumerate(buckets):
            data = blobs[place].as_py()
            self.bytes_in_memory += len(data)
            self.blobs.setdefault(bucket, []).append(ExchangedBlob(sides[place], oldest_starts[place], data))

    def add(self, sent: SentBlobs) -> None:
        """Add the blobs and reports that further map tasks sent, behind all others."""
        for bucket, blobs in sent.blobs.items():
            self.blobs.setdefault(bucket, []).extend(blobs)
        self.reports += sent.reports
        self.bytes_in_memory += sent.bytes_in_memory

    def spill(self, folder: Path) -> None:
        """Write all blobs that lie in memory to a new file of a folder, and keep only their places in the file."""
        # The file has the blobs in the order in which the loop below goes through them: bucket by bucket.
        spilled_blobs = iter(write_blobs(folder, self._data_in_memory()))
        for blobs in self.blobs.values():
            for place, blob in enumerate(blobs):
                if not isinstance(blob.data, SpilledBlob):
                    blobs[place] = blob._replace(data=next(spilled_blobs))
        self.bytes_in_memory = 0

    def _data_in_memory(self) -> Iterator[bytes]:
        """Yield the bytes of the blobs that lie in memory, bucket by bucket."""
        for blobs in self.blobs.values():
            for blob in blobs:
                if isinstance(blob.data, bytes):
                    yield blob.data


class Exchange:
    """What map tasks send to the buckets of a query in one micro-batch."""

    def __init__(self, task: TaskPayload, folder: SpillFolder) -> None:
        """Begin without blobs.

        Args:
            task: The query.
            folder: The folder of the files to which blobs are written when they are many.
        """
        self._task = task
        self._folder = folder
        self._sent = SentBlobs()

    @property
    def row_counts(self) -> RowCounts:
        """The counts of rows that no bucket gets, over all map tasks."""
        total = RowCounts()
        for report in self._sent.reports:
            if report["row_counts"] is not None:
                total += RowCounts.from_list(report["row_counts"])
        return total

    def add_batches(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take the batches that a map task yields."""
        for batch in batches:
            self._sent.add_batch(batch)
            self._spill_if_large()

    def add(self, sent: SentBlobs) -> None:
        """Take the blobs and reports that map tasks in another process sent."""
        self._sent.add(sent)
        self._spill_if_large()

    def _spill_if_large(self) -> None:
        """Write the blobs to a file if more of their bytes lie in memory than are allowed to."""
        if self._sent.bytes_in_memory > MOST_BYTES_IN_MEMORY:
            self._sent.spill(self._folder.path)

    def buckets(self) -> list[int]:
        """Return the buckets that get blobs or a report; a report goes to all."""
        if self._sent.reports:
            return list(self._task.buckets)
        return [bucket for bucket in self._task.buckets if bucket in self._sent.blobs]

    def pop_input(self, bucket: int) -> BucketInput:
        """Return the blobs and reports for a bucket, and drop the blobs: they are freed after the bucket has run."""
        blobs = self._sent.blobs.pop(bucket, [])
        reports = self._sent.reports
        if bucket != self._task.buckets[0]:
            # Durations and counts of rows are totals of a map task. Only the first bucket gets them: they count once.
            reports = [{**report, "durations": None, "row_counts": None} for report in reports]
        return BucketInput(blobs, list(reports))


def is_report(batch: pa.RecordBatch) -> bool:
    """True if a batch of `EXCHANGE` is the report of a map task, which has neither rows nor partial states."""
    if not len(batch):  # the partial states of rows of which none was good
        return False
    return all(batch.column(name).null_count == len(batch) for name in ("rows", "evaluator_blobs"))
