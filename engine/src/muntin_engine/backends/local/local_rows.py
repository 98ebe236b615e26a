"""The projected rows of a table in this process, read when a query runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.computed_rows import ComputedRows, MicroBatch
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.local_frame import open_frame

_BATCH_ROWS: Final = 100_000
"""The number of rows that are in memory at once, besides what the table itself holds."""


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows of a table, with the columns that a query reads.

    Attributes:
        frame: The table.
        columns: By name, the columns in DuckDB's SQL.
        schema: Their names and types.
        condition: The condition that rows meet, in DuckDB's SQL; None if all are read.
    """

    frame: Any
    columns: Mapping[str, str]
    schema: pa.Schema
    condition: str | None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Raises:
            QueryError: The table cannot be read, or an expression fails on a row.
        """
        relation = open_frame(self.frame).relation
        if self.condition is not None:
            relation = relation.filter(self.condition)
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.columns.items())
        try:
            for batch in relation.project(columns).to_arrow_reader(_BATCH_ROWS):
                yield batch.cast(self.schema)
        except (duckdb.Error, OSError) as error:
            raise QueryError("the rows of the input cannot be read: {reason}", reason=str(error)) from error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow data."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def micro_batch_of(input: object) -> MicroBatch | None:
    """Return the micro-batch that an input of a query is of, projected or not; None for a table, which ends."""
    frame = input.frame if isinstance(input, LocalRows) else input
    return frame.micro_batch if isinstance(frame, ComputedRows) else None
