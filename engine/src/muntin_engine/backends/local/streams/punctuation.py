"""Rows of punctuation in the place of those of an input, by which a test moves the watermark of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from muntin_engine.backends.local.streams.fed_rows import column_value
from muntin_engine.wire.arrow_arrays import arrow_array

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery, Projection


@dataclass(frozen=True)
class PunctuationRow:
    """One row of punctuation among the projected rows of an input.

    Attributes:
        schema: The columns of the projection, with that of changes.
        at: The watermark, as a value of the column `start`.
    """

    schema: pa.Schema
    at: Any

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the row, as the only one of a batch."""
        values = {"change": "punctuate", "start": self.at}
        columns = [arrow_array([values.get(column.name)], column.type) for column in self.schema]
        yield pa.record_batch(columns, schema=self.schema)


def punctuated(query: PlannedQuery, watermark: object) -> PlannedQuery:
    """Return a query in which each input has one row of punctuation in the place of its rows.

    Args:
        query: The query.
        watermark: The watermark: a text or a datetime where times are timestamps, else a number.

    Raises:
        QueryError: The watermark is not a time of the type that the query has.
    """
    sources: list[Projection] = []
    for source in query.sources:
        schema: pa.Schema = source.df.schema
        if "change" not in schema.names:
            schema = schema.append(pa.field("change", pa.string()))
        start = column_value(watermark, name="at", data_type=schema.field("start").type)
        sources.append(replace(source, df=PunctuationRow(schema, at=start), has_changes=True))
    return replace(query, sources=tuple(sources))
