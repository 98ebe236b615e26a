"""A table with the columns that a query writer declares, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.frames.local_frame import ChangedFrame, LocalFrame, kept_columns, opened
from muntin_engine.backends.local.inputs.column_lookup import input_columns
from muntin_engine.backends.planning.declared_columns import check_declared


@dataclass(frozen=True, eq=False)
class DeclaredFrame(ChangedFrame):
    """The declared columns of a table, which has them in the declared types."""

    @classmethod
    def of(cls, frame: LocalFrame, schema: pa.Schema) -> DeclaredFrame:
        """Compare declared columns with those of a table, and return the table with the declared columns only.

        Args:
            frame: The table.
            schema: The declared columns.

        Raises:
            QueryError: The table lacks a column, has it with another type, or has values in it that have no meaning in
                a query.
        """
        declared = input_columns(opened(schema.empty_table()))  # described as the columns of a table without rows
        columns = check_declared(declared, input_columns(frame))
        names = [column.name for column in columns]
        for name in names:
            refusal = frame.refusal(name)
            if refusal is not None:
                raise QueryError(refusal)
        return cls(frame, kept_columns(frame, names), kept_names=frozenset(names))

    @property
    def origin(self) -> Any:
        """The table of the query writer."""
        return self.frame.origin
