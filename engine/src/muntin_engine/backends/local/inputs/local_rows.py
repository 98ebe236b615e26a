"""The projected rows of a table in this process, read when a query runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.called_function import CalledFunction
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames.frame_kind import BATCH_BYTES, BATCH_ROWS
from muntin_engine.backends.local.frames.local_frame import LocalFrame, opened
from muntin_engine.backends.local.frames.micro_batch import MicroBatch
from muntin_engine.backends.local.refusals import failures_of_rows


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows of a table, with the columns that a query reads.

    Attributes:
        frame: The table.
        columns: The columns by name, as expressions over those of the table.
        condition: The condition that rows meet, in DuckDB's SQL; None if all are read.
        marks: The rows of other tables that follow them, with the same columns.
        functions: The functions that expressions of the rows and of the table call. They travel with the rows: where
            these are unpickled, DuckDB knows them too.
    """

    frame: LocalFrame
    columns: Mapping[str, DuckdbExpression]
    condition: str | None = None
    marks: tuple[LocalRows, ...] = ()
    functions: tuple[CalledFunction, ...] = ()

    @cached_property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return pa.schema([(name, expression.type) for name, expression in self.columns.items()])

    def batches(self, most_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Read the rows, then those of heartbeats and clocks.

        Args:
            most_rows: The most rows of a batch where the table is in memory: its batches are parts of it, not copies.

        Raises:
            QueryError: The table cannot be read, or an expression fails on a row.
        """
        table = self._table_in_memory()
        if table is None:
            yield from self._projected_batches()
        else:
            # A batch also has about `BATCH_BYTES` at most. Each `+ 1` keeps its quotient above zero: the first one is a
            # divisor, and Arrow refuses batches of no rows.
            row_bytes = table.nbytes // max(len(table), 1) + 1
            yield from table.to_batches(max_chunksize=min(most_rows, BATCH_BYTES // row_bytes + 1))
        for mark_rows in self.marks:
            yield from mark_rows.batches(most_rows)

    def _table_in_memory(self) -> pa.Table | None:
        """Return the rows as a table in memory holds them; None if a column or condition has to be computed.

        Cost: no copy. DuckDB would copy all rows, which takes as long as half of a map task.
        """
        if self.condition is not None:
            return None
        # An expression that is the quoted name of a column is the column as it is.
        name_of_sql = {quoted(name): name for name in self.frame.schema.names}
        names: list[str] = []
        for expression in self.columns.values():
            name = name_of_sql.get(expression.sql)
            if name is None:
                return None
            names.append(name)

        distinct_names = list(dict.fromkeys(names))  # two columns of the query may be the same one of the table
        table = self.frame.columns_in_memory(distinct_names)
        if table is None:
            return None
        return pa.Table.from_arrays([table.column(name) for name in names], schema=self.schema)

    def _projected_batches(self) -> Iterator[pa.RecordBatch]:
        """Compute the columns of the rows with DuckDB, and yield them in batches.

        Raises:
            QueryError: The table cannot be read, or an expression fails on a row.
        """
        read_sqls = [expression.sql for expression in self.columns.values()]
        if self.condition is not None:
            read_sqls.append(self.condition)
        columns = ", ".join(f"{expression.sql} AS {quoted(name)}" for name, expression in self.columns.items())
        with failures_of_rows(f"the rows of {self.frame.subject} cannot be read"):
            # Only the columns that stand in the expressions are read of the table.
            for relation in self.frame.relations(self.frame.names_in(*read_sqls)):
                rows = relation if self.condition is None else relation.filter(self.condition)
                for batch in rows.project(columns).to_arrow_reader(BATCH_ROWS):
                    yield batch.cast(self.schema)

    @property
    def row_count(self) -> int | None:
        """The number of rows; None if it is not known before they are read."""
        if self.condition is not None or self.marks:
            return None
        return self.frame.row_count

    def parts(self) -> list[LocalRows]:
        """Return parts of the rows, in order, that processes can read side by side; empty without such parts."""
        if self.marks:
            return []  # the rows of heartbeats and clocks come after all rows of the table, so they are in no part
        if not all(function.can_travel for function in self.functions):
            return []  # only this process can call the functions, so it reads all rows
        return [replace(self, frame=part) for part in self.frame.parts()]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow data."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def micro_batch_of(rows: object) -> MicroBatch | None:
    """Return the micro-batch of the stream that rows come from; None for tables, which end.

    Args:
        rows: The rows of an input, projected or as the query writer gave them.
    """
    frame = rows.frame if isinstance(rows, LocalRows) else opened(rows)
    return frame.micro_batch
