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
        """Read the rows.

        Args:
            most_rows: The most rows of a batch, where the table is in memory, so that batches cost nothing.

        Raises:
            QueryError: The table cannot be read, or an expression fails on a row.
        """
        table = self._table_in_memory()
        if table is None:
            yield from self._projected_batches()
        else:
            row_bytes = table.nbytes // max(len(table), 1) + 1
            yield from table.to_batches(max_chunksize=min(most_rows, BATCH_BYTES // row_bytes + 1))
        for mark_rows in self.marks:
            yield from mark_rows.batches(most_rows)

    def _table_in_memory(self) -> pa.Table | None:
        """Return the rows as the table itself holds them; None unless each column is one of a table in memory.

        DuckDB would copy all of them, which takes as long as half of a map task.
        """
        if self.condition is not None:
            return None
        name_of_sql = {quoted(name): name for name in self.frame.schema.names}
        names: list[str] = []
        for expression in self.columns.values():
            name = name_of_sql.get(expression.sql)
            if name is None:
                return None
            names.append(name)
        table = self.frame.columns_in_memory(list(dict.fromkeys(names)))
        if table is None:
            return None
        return pa.Table.from_arrays([table.column(name) for name in names], schema=self.schema)

    def _projected_batches(self) -> Iterator[pa.RecordBatch]:
        """Compute the columns of the rows.

        Raises:
            QueryError: The table cannot be read, or an expression fails on a row.
        """
        read_sqls = [expression.sql for expression in self.columns.values()]
        if self.condition is not None:
            read_sqls.append(self.condition)
        columns = ", ".join(f"{expression.sql} AS {quoted(name)}" for name, expression in self.columns.items())
        with failures_of_rows(f"the rows of {self.frame.subject} cannot be read"):
            # The table reads no other columns than those that the expressions name.
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
        """Return parts of the rows, in order, that processes can read side by side; none if there are no such parts."""
        if self.marks:
            return []  # they follow all rows of the table, so no part may have them
        if not all(function.can_travel for function in self.functions):
            return []  # this process reads the rows, and other ones get what it computed
        return [replace(self, frame=part) for part in self.frame.parts()]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow data."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def micro_batch_of(rows: object) -> MicroBatch | None:
    """Return the micro-batch that the rows of an input are of, projected or not; None for tables, which end."""
    frame = rows.frame if isinstance(rows, LocalRows) else opened(rows)
    return frame.micro_batch
