"""The map side: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle. Each task sends every bucket what it has seen of the progress of the
input, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.spark.blobs import to_blob
from muntin_engine.spark.job import Job, open_job

EXCHANGE: Final = pa.schema(
    [
        ("bucket", pa.int32()),
        ("rows", pa.binary()),
        ("punctuation", pa.int64()),
        ("horizon", pa.int64()),
        ("newest", pa.int64()),
    ]
)
"""What crosses the shuffle: blobs of rows, and one row of progress per task and bucket."""

CHANGES: Final = ("insert", "revise", "retract", "punctuate", "close")
_INSERT, _REVISE, _RETRACT, _PUNCTUATE, _CLOSE = range(5)
_UNKNOWN: Final = -1


class Distributor:
    """Sends the rows of one task to their buckets; picklable, and opened on the worker."""

    def __init__(self, job: bytes) -> None:
        self._job = job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of each batch, then the progress of all of them."""
        job = open_job(self._job)
        progress = Progress()
        for batch in batches:
            rows, seen = _read(job, batch)
            progress = progress.advance(seen)
            if rows.num_rows:
                yield _blobs(job, rows)
        yield _progress_rows(job, progress)


def _read(job: Job, batch: pa.RecordBatch) -> tuple[pa.Table, Progress]:
    """Return the rows of a batch with their problems, and the progress it carries."""
    kind = _kinds(batch.column("change"))
    start, end, new_end = (_ticks(batch.column(name)) for name in ("start", "end", "new_end"))
    if job.is_point:
        end = pc.add(start, 1)
    new_end = pc.if_else(pc.equal(kind, _RETRACT), start, new_end)
    problem = _problems(job, batch, kind, start, new_end)
    rows = pa.table(
        {
            "bucket": batch.column("bucket"),
            "problem": problem,
            "change": batch.column("change"),
            "id": batch.column("id"),
            "start": start,
            "end": end,
            "new_end": new_end,
            **{name: batch.column(name) for name in job.columns},
        }
    )
    is_row = pc.or_(pc.less(kind, _PUNCTUATE), pc.is_valid(problem))
    is_good = pc.and_(is_row, pc.is_null(problem))
    progress = _progress_of_rows(job, kind.filter(is_good), start.filter(is_good), end.filter(is_good), new_end.filter(is_good))
    return rows.filter(is_row), progress.advance(_progress_of_marks(kind, start))


def _kinds(change: pa.Array) -> pa.Array:
    """Return the place of each change among `CHANGES`; `_UNKNOWN` for any other text, and for null."""
    places = pc.index_in(change, pa.array(CHANGES))
    return pc.fill_null(places, _UNKNOWN)


def _ticks(times: pa.Array) -> pa.Array:
    """Return times as integer ticks: microseconds since the epoch in UTC for timestamps."""
    if pa.types.is_timestamp(times.type):
        return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())
    return times.cast(pa.int64())


def _problems(job: Job, batch: pa.RecordBatch, kind: pa.Array, start: pa.Array, new_end: pa.Array) -> pa.Array:
    """Return what is wrong with each row, as far as the row itself shows it; null where nothing is."""
    problem = pa.nulls(len(batch), pa.string())
    is_revision = pc.or_(pc.equal(kind, _REVISE), pc.equal(kind, _RETRACT))
    found = [
        (pc.equal(kind, _UNKNOWN), "unknown change"),
        (pc.and_(pc.is_null(start), pc.not_equal(kind, _CLOSE)), "null time"),
        (pc.and_(pc.equal(kind, _REVISE), pc.is_null(new_end)), "null time"),
        (pc.and_(is_revision, pc.is_null(batch.column("id"))), "null id"),
    ]
    if job.query.has_ids:
        found.append((pc.and_(pc.equal(kind, _INSERT), pc.is_null(batch.column("id"))), "null id"))
    for place in job.required:
        found.append((pc.and_(pc.equal(kind, _INSERT), pc.is_null(batch.column(f"i{place}"))), "null input"))
    for is_wrong, reason in found:
        problem = pc.if_else(pc.and_(is_wrong, pc.is_null(problem)), pa.scalar(reason), problem)
    return problem


def _progress_of_rows(job: Job, kind: pa.Array, start: pa.Array, end: pa.Array, new_end: pa.Array) -> Progress:
    inserted = start.filter(pc.equal(kind, _INSERT))
    ends = pa.concat_arrays([end, new_end])
    finite = ends.filter(pc.less(ends, INFINITY))
    newest = _largest(inserted)
    latest = _largest(finite)
    starts_known = EARLIEST if newest == EARLIEST else newest + 1
    ends_known = EARLIEST if latest == EARLIEST else latest + job.reach
    return Progress(EARLIEST, max(starts_known, ends_known), newest)


def _progress_of_marks(kind: pa.Array, start: pa.Array) -> Progress:
    punctuation = _largest(start.filter(pc.equal(kind, _PUNCTUATE)))
    is_closed = pc.any(pc.equal(kind, _CLOSE)).as_py()
    return Progress(INFINITY if is_closed else punctuation, punctuation, EARLIEST)


def _largest(ticks: pa.Array) -> int:
    largest = pc.max(ticks).as_py()
    return EARLIEST if largest is None else int(largest)


def _blobs(job: Job, rows: pa.Table) -> pa.RecordBatch:
    """Return one blob for each bucket that has rows; the rows of a bucket keep their order."""
    bucket = rows.column("bucket").to_numpy()
    order = np.argsort(bucket, kind="stable")
    ordered = rows.drop_columns(["bucket"]).take(pa.array(order))
    places, starts, counts = np.unique(bucket[order], return_index=True, return_counts=True)
    blobs = [to_blob(ordered.slice(start, count)) for start, count in zip(starts, counts, strict=True)]
    return _exchange([job.buckets[place] for place in places], blobs, Progress())


def _progress_rows(job: Job, progress: Progress) -> pa.RecordBatch:
    return _exchange(list(job.buckets), [None] * len(job.buckets), progress)


def _exchange(buckets: list[int], blobs: list[bytes] | list[None], progress: Progress) -> pa.RecordBatch:
    columns = [[tick] * len(buckets) for tick in (progress.punctuation, progress.horizon, progress.newest)]
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip([buckets, blobs, *columns], EXCHANGE, strict=True)],
        schema=EXCHANGE,
    )
