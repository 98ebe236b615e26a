"""A scenario's query over tables in this process: all rows of a stream at once, through the public API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import muntin_engine
from muntin import EARLIEST, INFINITY, LatePolicy
from muntin.testing import Batch, KeyedChange, KeyPunctuation, Script
from muntin_engine.backends.planning.result_schemas import refused_schema
from tests.scenarios.frame_kinds import FRAME_MAKERS, arrow_of
from tests.scenarios.join import Join
from tests.scenarios.passing import Passing
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import ProjectedRow, Run
from tests.scenarios.stepping import NO_MISHAPS
from tests.scenarios.written_query import tables_of, written

StreamRows = Sequence[Sequence[ProjectedRow]]
"""The rows of each stream."""


def as_one_arrival(scripts: Sequence[Script], *, is_closed: bool = True) -> Arrival:
    """Return streams as tables have them: all of each at once.

    Args:
        scripts: The streams.
        is_closed: True to close the streams; otherwise their last watermark before that comes with their rows.
    """
    batches: list[Batch] = []
    for script in scripts:
        changes: list[KeyedChange] = []
        of_keys: list[KeyPunctuation] = []
        punctuation = INFINITY if is_closed else None
        for batch in script.batches():
            changes += batch.changes
            of_keys += batch.of_keys
            if batch.punctuation not in (None, INFINITY):
                punctuation = batch.punctuation if punctuation is None else max(punctuation, batch.punctuation)
        batches.append(Batch(tuple(changes), punctuation, of_keys=tuple(of_keys)))
    return Arrival(tuple(batches))


class TableRun(Run):
    """A query over tables, whose output is read as that of a run."""

    def __init__(self, query: Query | Join, evaluator: str, frame_kind: str, folder: Path) -> None:
        """Plan a query.

        Args:
            query: The query.
            evaluator: The evaluator that the query names, or "auto".
            frame_kind: The kind of its tables.
            folder: A folder for the files of tables.
        """
        super().__init__(query, query.plan(None if evaluator == "auto" else evaluator), NO_MISHAPS)
        self._evaluator = evaluator
        self._frame_kind = frame_kind
        self._folder = folder

    def stream_rows(self, arrival: Arrival, extra_rows: Sequence[ProjectedRow] = ()) -> list[list[ProjectedRow]]:
        """Return the rows of each stream in random order; a table ends without a row that says so."""
        rows_by_stream: list[list[ProjectedRow]] = []
        for rows in super().stream_rows(arrival, extra_rows):
            rows_by_stream.append([row for row in rows if row["change"] != "close"])
        return rows_by_stream

    def process_rows(self, rows_by_stream: StreamRows) -> None:
        """Evaluate the query over tables of these rows.

        Raises:
            AssertionError: The output is wrong for any query, or its types are.
        """
        query = self.written_over(rows_by_stream)
        for change in self._rows_of(query.results(), self._result_schema):
            self.output_changes.append(change)
            row = self._result(change)
            assert change.get("change", "insert") == "insert", f"{change} is no insertion"
            self._apply(change, row, "insert", EARLIEST)
            self.inserted[row] += 1
        if self.task.evicted is not None:
            evicted_rows = self._rows_of(query.evicted_rows(), self.task.evicted)
            self.evicted.update(map(self._result, evicted_rows))
        for refused_row in self._rows_of(query.rejected_rows(), refused_schema(query)):
            self.counts["rejected"] += 1
            self._refuse("rejected", refused_row)
        if self._has_late_rows:
            for refused_row in self._rows_of(query.late_rows(), refused_schema(query)):
                stream = "shed" if refused_row["reason"] == "shed" else "late"
                self.counts[stream] += 1
                self._refuse(stream, refused_row)

    @property
    def _result_schema(self) -> pa.Schema:
        """The schema of results; selected ones have the columns of changes last."""
        fields = list(self.task.results)
        if isinstance(self.query, Passing):
            fields.sort(key=lambda field: field.name in ("change", "event_id", "new_end"))
        return pa.schema(fields)

    @property
    def _has_late_rows(self) -> bool:
        """True if the query has an output of late rows: it does not drop them, and is not evaluated over slices."""
        query = self.query
        late = query.sides[0].late if isinstance(query, Join) else query.late
        has_several_windows = isinstance(getattr(query, "window", None), Mapping)
        is_over_slices = has_several_windows or self._evaluator in ("columnar", "sliced")
        return late.policy is LatePolicy.SIDE and not is_over_slices

    def written_over(self, rows_by_stream: StreamRows) -> muntin_engine.Query:
        """Return the query over tables of rows."""
        make_frame = FRAME_MAKERS[self._frame_kind]
        frames = [make_frame(table, self._folder) for table in tables_of(self.query, rows_by_stream)]
        return written(self.query, frames, self._evaluator)

    @staticmethod
    def _rows_of(frame: Any, schema: pa.Schema) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = arrow_of(frame, schema).to_pylist()
        return rows


class BatchRun(Run):
    """A run of one micro-batch, whose rows are there already: they stand for the changes of its arrival."""

    def __init__(self, query: Query | Join, evaluator: str, rows_by_stream: StreamRows) -> None:
        super().__init__(query, query.plan(None if evaluator == "auto" else evaluator), NO_MISHAPS)
        self._rows_by_stream = rows_by_stream

    def _rows(self, changes: Sequence[KeyedChange], stream: int) -> Iterator[ProjectedRow]:
        """Yield the rows of a stream, whatever changes arrive."""
        yield from self._rows_by_stream[stream]
