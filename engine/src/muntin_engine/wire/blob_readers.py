"""Read the output of buckets back as typed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, empty_table
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.times import as_times

CHANGE: Final = "__muntin_change"
"""The column in which rows of an `EventReader` name their change."""

SOURCE: Final = "__muntin_source"
"""The column in which rows of an `EventReader` name their bucket."""

_LATEST: Final = 253_402_300_799_999_999
"""The end of the year 9999, which is as far as Python's datetime goes: the watermark of a stream that was closed."""


class BlobReader:
    """Turns blobs into typed rows; a function for `mapInArrow` over the columns `bucket`, `rows` and `data`.

    A row of these columns is a blob of results, or the watermark of a bucket. Here the rows of a blob are its results,
    and a watermark has none; subclasses differ in this.
    """

    def __init__(self, schema: pa.Schema) -> None:
        """Read rows of a schema."""
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob, and the rows that stand for each watermark."""
        for batch in batches:
            for bucket, number, blob in zip(*batch.columns, strict=True):
                rows = self.rows_of(bucket.as_py(), number.as_py(), blob.as_py())
                yield from rows.to_batches()

    def rows_of(self, bucket: int, number: int, blob: bytes | None) -> pa.Table:
        """Return the rows of a blob, or the rows that stand for a watermark.

        Args:
            bucket: The id of the bucket.
            number: The number of rows; or the watermark.
            blob: The rows as an Arrow IPC stream; None for a watermark.
        """
        if blob is None:
            return self._of_watermark(number, bucket).cast(self._schema)
        return self._of_results(from_blob(blob), bucket).cast(self._schema)

    def _of_results(self, results: pa.Table, bucket: int) -> pa.Table:
        """Return the rows to yield for the results of a bucket; by default the results as they are."""
        del bucket
        return results

    def _of_watermark(self, tick: int, bucket: int) -> pa.Table:
        """Return the rows to yield for the watermark of a bucket; by default none."""
        del tick, bucket
        return empty_table(self._schema)


class EventReader(BlobReader):
    """Turns blobs into rows that name their change and their bucket, and watermarks into punctuation."""

    def __init__(self, schema: pa.Schema, lifetime: str) -> None:
        """Read rows of a schema.

        Args:
            schema: The schema of the rows.
            lifetime: The name of the column that holds the lifetime of a result.
        """
        super().__init__(schema)
        self._lifetime = lifetime

    def _of_results(self, results: pa.Table, bucket: int) -> pa.Table:
        """Return results with two more columns: the change that each makes, and their bucket as its source.

        Results that name their changes keep that column, too: the schema has another name for the added one.
        """
        if "new_end" in results.column_names:
            results = _with_open_ends(results)
        if "change" in results.column_names:
            change = results.column("change")
        else:
            change = pa.repeat(arrow_scalar("insert"), results.num_rows)
        source = pa.repeat(arrow_scalar(str(bucket)), results.num_rows)  # each bucket has a watermark of its own
        return pa.table([*results.columns, change, source], names=self._schema.names)

    def _of_watermark(self, tick: int, bucket: int) -> pa.Table:
        """Return an output watermark as a row of punctuation, or as the row that closes the stream.

        There is no row as long as the bucket has no watermark.
        """
        if tick == EARLIEST:
            return empty_table(self._schema)
        is_end = tick == INFINITY
        extent = self._schema.field(self._lifetime).type
        start_tick = None if is_end else tick  # a row that closes the stream needs no time
        start = as_times(arrow_array([start_tick], pa.int64()), extent.field("start").type)
        columns = {
            self._lifetime: pa.StructArray.from_arrays([start, pa.nulls(1, start.type)], fields=list(extent)),
            CHANGE: arrow_array(["close" if is_end else "punctuate"]),
            SOURCE: arrow_array([str(bucket)]),
        }
        for part in self._schema:
            columns.setdefault(part.name, pa.nulls(1, part.type))
        return pa.table(columns).select(self._schema.names)


def _with_open_ends(results: pa.Table) -> pa.Table:
    """Put the time `INFINITY` in the place of a null new end in revisions: such a revision leaves its event open.

    As an input of another query, a revision with a null in this column would be rejected.
    """
    place = results.schema.get_field_index("new_end")
    new_end = results.column("new_end")
    is_open = pc.and_(pc.equal(results.column("change"), arrow_scalar("revise")), new_end.is_null())
    never = as_times(arrow_array([INFINITY], pa.int64()), new_end.type)[0]
    return results.set_column(place, results.schema.field(place), pc.if_else(is_open, never, new_end))


class WatermarkReader(BlobReader):
    """Turns blobs into rows with one more column of times, by which Spark can keep a watermark of its own.

    The column is null in results. One more row has the least watermark of all buckets there, and nulls elsewhere:
    buckets may differ in how far their results are settled.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob, and at last one row for the least watermark."""
        self._watermarks: list[int] = []
        yield from super().__call__(batches)
        least_watermark = min(self._watermarks, default=EARLIEST)
        if least_watermark > EARLIEST:  # until each bucket has a watermark, there is none for all
            yield self._mark(least_watermark)

    def _of_results(self, results: pa.Table, bucket: int) -> pa.Table:
        """Return results with nulls in the column of times."""
        del bucket
        time = self._schema.field(-1).type
        return pa.table([*results.columns, pa.nulls(results.num_rows, time)], names=self._schema.names)

    def _of_watermark(self, tick: int, bucket: int) -> pa.Table:
        """Note the watermark of a bucket; only the least of all gets a row, at the end."""
        del bucket
        self._watermarks.append(tick)
        return empty_table(self._schema)

    def _mark(self, tick: int) -> pa.RecordBatch:
        """Return the row that moves Spark's watermark.

        It lies one tick before the watermark: Spark also drops rows that lie at its own.
        """
        columns = [pa.nulls(1, part.type) for part in self._schema]
        columns[-1] = arrow_array([min(tick, _LATEST) - 1]).cast(self._schema.field(-1).type)
        return pa.record_batch(columns, schema=self._schema)
