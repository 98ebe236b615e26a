"""Relations of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, ClassVar, Final

import duckdb
import pyarrow as pa

from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.frames.frame_kind import (
    BATCH_ROWS,
    FrameColumns,
    FrameKind,
    columns_of_relation,
)
from muntin_engine.backends.local.refusals import failures_of_rows


class DuckdbRelation(FrameKind):
    """A relation of DuckDB, which its own connection computes."""

    word: ClassVar[str] = "DuckDB column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a relation."""
        return isinstance(frame, duckdb.DuckDBPyRelation)

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe the columns of a relation, which cannot change."""
        del connection
        return columns_of_relation(frame, self.word, may_change=False)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of a relation of the user's connection as a relation of ours."""
        # The rows pass as Arrow data: expressions over the relation itself would be computed in the zone of its
        # connection, which may not be UTC.
        columns = ", ".join(map(quoted, names))
        return connection.from_arrow(frame.project(columns).to_arrow_reader(BATCH_ROWS))

    def result(self, rows: pa.Table) -> Any:
        """Return a relation of the default connection.

        Raises:
            QueryError: The connection is busy with a query of the user's, or has an open result.
        """
        with _DEFAULT_CONNECTION, failures_of_rows("the results cannot become a relation of DuckDB"):
            return duckdb.from_arrow(rows)


_DEFAULT_CONNECTION: Final = Lock()
"""Held while a result becomes a relation: the default connection refuses a second call instead of waiting."""
