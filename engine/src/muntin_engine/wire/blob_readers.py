"""Read the output of buckets back as typed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.times import as_times

CHANGE: Final = "__muntin_change"
"""The column in which rows of an `EventReader` say what they do."""

SOURCE: Final = "__muntin_source"
"""The column in which they say which bucket they are of."""

_LATEST: Final = 253_402_300_799_999_999
"""The end of the year 9999, which is as far as Python's datetime goes: the watermark of a stream that was closed."""


class BlobReader:
    """Turns blobs into typed rows; a function for `mapInArrow` over the columns `bucket`, `rows` and `data`.

    A subclass has other rows for results, or some for the watermarks of buckets.
    """

    def __init__(self, schema: pa.Schema) -> None:
        """Take the schema of the rows."""
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob, and those of each watermark."""
        for batch in batches:
            for bucket, number, blob in zip(*batch.columns, strict=True):
                if blob.is_valid:
                    rows = self._of_results(from_blob(blob.as_py()), bucket.as_py())
                else:
                    rows = self._of_watermark(number.as_py(), bucket.as_py())
                yield from rows.cast(self._schema).to_batches()

    def _of_results(self, results: pa.Table, bucket: int) -> pa.Table:
        del bucket
        return results

    def _of_watermark(self, tick: int, bucket: int) -> pa.Table:
        del tick, bucket
        return self._schema.empty_table()


class EventReader(BlobReader):
    """Turns blobs into rows that say what they do and which bucket they are of, and watermarks into punctuation."""

    def __init__(self, schema: pa.Schema, lifetime: str) -> None:
        """Take the schema of the rows, and the column of it that holds the lifetime of a result."""
        super().__init__(schema)
        self._lifetime = lifetime

    def _of_results(self, results: pa.Table, bucket: int) -> pa.Table:
        is_change = "change" in results.column_names
        if "new_end" in results.column_names:
            results = _with_open_ends(results)
        change = results.column("change") if is_change else pa.repeat(pa.scalar("insert"), results.num_rows)
        source = pa.repeat(pa.scalar(str(bucket)), results.num_rows)
        return pa.table([*results.columns, change, source], names=self._schema.names)

    def _of_watermark(self, tick: int, bucket: int) -> pa.Table:
        if tick == EARLIEST:
            return self._schema.empty_table()
        extent = self._schema.field(self._lifetime).type
        at = as_times(pa.array([None if tick == INFINITY else tick], pa.int64()), extent.field("start").type)
        given = {
            self._lifetime: pa.StructArray.from_arrays([at, pa.nulls(1, at.type)], fields=list(extent)),
            CHANGE: pa.array(["close" if tick == INFINITY else "punctuate"]),
            SOURCE: pa.array([str(bucket)]),
        }
        return pa.table({part.name: given.get(part.name, pa.nulls(1, part.type)) for part in self._schema})


def _with_open_ends(results: pa.Table) -> pa.Table:
    """Return results whose revisions have a new end: one at `INFINITY` where an event has none any more."""
    place, new_end = results.schema.get_field_index("new_end"), results.column("new_end")
    is_open = pc.and_(pc.equal(results.column("change"), "revise"), new_end.is_null())
    never = as_times(pa.array([INFINITY], pa.int64()), new_end.type)[0]
    return results.set_column(place, results.schema.field(place), pc.if_else(is_open, never, new_end))


class WatermarkReader(BlobReader):
    """Turns blobs into rows with a last column of times, which only a watermark has, and watermarks into such a row.

    Of the watermarks that it is given it takes the least: buckets may differ in how far their results are settled.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob, and one row for the watermarks."""
        self._watermarks: list[int] = []
        yield from super().__call__(batches)
        least = min(self._watermarks, default=EARLIEST)
        if least > EARLIEST:
            yield self._mark(least)

    def _of_results(self, results: pa.Table, bucket: int) -> pa.Table:
        del bucket
        time = self._schema.field(-1).type
        return pa.table([*results.columns, pa.nulls(results.num_rows, time)], names=self._schema.names)

    def _of_watermark(self, tick: int, bucket: int) -> pa.Table:
        del bucket
        self._watermarks.append(tick)
        return self._schema.empty_table()

    def _mark(self, tick: int) -> pa.RecordBatch:
        """Return the last time that is no time of a later result: Spark drops what lies at its watermark, too."""
        columns = [pa.nulls(1, part.type) for part in self._schema]
        columns[-1] = pa.array([min(tick, _LATEST) - 1]).cast(self._schema.field(-1).type)
        return pa.record_batch(columns, schema=self._schema)
