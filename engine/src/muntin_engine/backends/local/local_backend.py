"""The backend of tables in this process: each method of the contract, and what only Spark does so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn

import pyarrow as pa

from muntin.catalog import installed
from muntin.errors import QueryError
from muntin_engine.backends.backend import Backend, EventRows
from muntin_engine.backends.local.cores import check_workers
from muntin_engine.backends.local.database import relation_of
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.frames.local_frame import opened
from muntin_engine.backends.local.inputs.local_inputs import LocalInputs
from muntin_engine.backends.local.refusals import FailedRowError, not_yet, of_stream_under_test
from muntin_engine.backends.local.results.local_changelogs import LocalChangelogs, with_keys
from muntin_engine.backends.local.results.local_results import output_table, selected
from muntin_engine.backends.local.results.results_as_events import ResultEvents, result_event_columns
from muntin_engine.backends.local.runs.memory_in_words import memory_in_words
from muntin_engine.backends.planned_query import PlannedQuery, Projection, Selection
from muntin_engine.backends.planning.query_plan import plan_query
from muntin_engine.backends.planning.read_columns import orders_by_name
from muntin_engine.backends.planning.result_schemas import result_schema
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, RESULTS

if TYPE_CHECKING:
    from muntin import Function
    from muntin.modules.call import ModuleCall
    from muntin.pictures import Picture
    from muntin_engine.backends.write_request import WriteRequest, WrittenOutputs
    from muntin_engine.plan.plan import Plan
    from muntin_engine.plan.request import ColumnLike, WindowRequest
    from muntin_engine.sinks.recordings.recorder import Recorder


_WIDTH: Final = 20
"""The characters to which `truncate=True` cuts a value that `show` prints."""

_NO_WIDTH: Final = 10_000
"""The characters at which even `truncate=False` cuts, as DuckDB has to be told a number."""


class LocalBackend(Backend):
    """Runs queries over tables, in this process and without a JVM."""

    inputs: ClassVar[LocalInputs] = LocalInputs()
    changelogs: ClassVar[LocalChangelogs] = LocalChangelogs()

    def plan(self, request: WindowRequest, calls: Mapping[str, ModuleCall]) -> tuple[tuple[Projection, ...], Plan]:
        """Plan a query: return the projection of each of its inputs, and its plan."""
        return plan_query(self.inputs, request, calls)

    def select_results(
        self, query: PlannedQuery, columns: Mapping[str, str] | None, condition: str | None
    ) -> Selection:
        """Return the selection of a query with other columns, or with one more condition."""
        schema = result_schema(query)
        selection = query.selection
        if columns is not None:
            if not columns:
                raise QueryError("select() needs columns: select('station', start='window.start')")
            for text in columns.values():
                translated(text, schema)  # only for its error: the column is computed when results are read
            selection = replace(selection, columns=dict(columns))
        if condition is not None:
            if not pa.types.is_boolean(translated(condition, schema).type):
                raise QueryError(f"where({condition!r}) is no condition\n  expected: a condition, such as 'n > 2'")
            if selection.condition is not None:
                condition = f"({selection.condition}) AND ({condition})"
            selection = replace(selection, condition=condition)
        return selection

    def output_as_events(
        self, query: PlannedQuery, output: str, order: ColumnLike | tuple[ColumnLike, ...] | None
    ) -> EventRows:
        """Return an output of a query as events of another one."""
        rows = ResultEvents(query, output)
        self.inputs.look_up(rows, orders_by_name(order), {})  # only for its error: the rows must have these columns
        return EventRows(rows, result_event_columns(query.plan, output))

    def check_workers(self, workers: int) -> None:
        """Refuse a value that is no number of processes."""
        check_workers(workers)

    def memory_in_words(self, query: PlannedQuery) -> str:
        """Say what a run of a query keeps in memory."""
        return memory_in_words(query.plan)

    def results(self, query: PlannedQuery, watermark: str | None = None) -> Any:
        """Return the results of a query, as a table of the kind of its first input."""
        self._check_has_end(query, "results()")
        if watermark is not None:
            raise not_yet("a watermark beside results")
        results = selected(output_table(query, RESULTS), query.selection)
        return _like_input(query, with_keys(results, [key.name for key in query.plan.keys]))

    def refused_rows(self, query: PlannedQuery, output: Literal["late_rows", "rejected_rows"]) -> Any:
        """Return the late or the rejected rows of a query."""
        self._check_has_end(query, f"{output}()")
        # A query only counts late rows, so one that keeps them runs in its place.
        running_query = query.with_late_rows() if output == LATE_ROWS else query
        return _like_input(query, output_table(running_query, output, warns=False))

    def evicted_rows(self, query: PlannedQuery) -> Any:
        """Return the second output of a query of a `RowOperator`."""
        self._check_has_end(query, "evicted_rows()")
        return _like_input(query, output_table(query, EVICTED_ROWS, warns=False))

    def show(self, query: PlannedQuery, rows: int, *, truncate: bool | int) -> None:
        """Print the first results of a query in the order of their windows."""
        key_names = [key.name for key in query.plan.keys]
        columns = [f"{quoted(name)} NULLS FIRST" for name in (query.plan.extent_column, *key_names)]
        # Results are ordered before columns are selected, as a selection may leave the window out.
        ordered = relation_of(output_table(query, RESULTS)).order(", ".join(columns)).to_arrow_table()
        first_rows = selected(ordered, query.selection).slice(0, rows)
        column_width = _WIDTH if truncate is True else int(truncate) or _NO_WIDTH  # False, as 0, does not cut
        relation_of(first_rows).show(max_rows=rows, max_width=_NO_WIDTH, max_col_width=column_width)

    def picture(self, query: PlannedQuery) -> Picture | None:
        """Draw the rows of a key of a small table with their windows."""
        from muntin_engine.backends.local.results.drawn_rows import picture_of  # queries run without its imports

        return picture_of(query)

    def record(self, query: PlannedQuery, recorder: Recorder) -> None:
        """Run a query and record it."""
        # Imported here: it imports the writer of recordings, which few queries need.
        from muntin_engine.backends.local.runs.recorded_run import record_run

        self._check_has_end(query, "record()")
        record_run(query, recorder)

    def _check_has_end(self, query: PlannedQuery, call: str) -> None:
        """Refuse to run a query over a stream: only the fixture that feeds the stream does so.

        Raises:
            QueryError: The input is a stream.
        """
        if self.inputs.is_stream(query.source.df):
            raise of_stream_under_test(call)

    def write(self, request: WriteRequest) -> NoReturn:
        """Refuse to write: a streaming query has no end, and a table has one."""
        if self.inputs.is_stream(request.outputs.first_query.source.df):
            raise of_stream_under_test("write()")
        raise QueryError(
            "write() starts a streaming query, and the input is a table in this process: a table has an end\n"
            "  write what results(), late_rows() and rejected_rows() return: pyarrow.parquet.write_table(\n"
            "  query.results(), 'results.parquet') for Arrow data, query.results().to_parquet('results.parquet') for\n"
            "  pandas; for a stream, give events() what spark.readStream returns"
        )

    def close_checkpoint(self, written: WrittenOutputs, checkpoint: str | PathLike[str]) -> None:
        """Refuse checkpoints."""
        del written, checkpoint
        raise not_yet("checkpoints")

    def check_checkpoint(self, queries: Mapping[str, PlannedQuery], checkpoint: str | PathLike[str]) -> list[str]:
        """Refuse checkpoints."""
        del queries, checkpoint
        raise not_yet("checkpoints")

    def table(self, session: Any, table: str | Mapping[str, str], tables: Mapping[str, Any]) -> Any:
        """Return a table by its name, or the rows of a query in SQL over tables."""
        # Imported here: it imports sqlglot, which a query over a table itself does without.
        from muntin_engine.backends.local.plain_sql.queried_rows import QueriedRows, table_named

        del session  # only Spark has one
        if isinstance(table, str):
            return table_named(table, tables)
        return QueriedRows.of(table["sql"], tables)

    @contextmanager
    def failures_as(self, query_error: Callable[[Exception], QueryError]) -> Iterator[None]:
        """Replace the failure of a row in a block by an error about the query in SQL."""
        try:
            yield
        except FailedRowError as error:
            raise query_error(error) from error

    def register_functions(self, session: Any, names: Sequence[str | Function[..., Any]]) -> list[str]:
        """Let expressions over tables call functions, and return the names that these have there."""
        from muntin_engine.backends.local.expressions.plugin_functions import register_function  # it imports sqlglot

        del session  # only Spark has one
        functions: list[Function[..., Any]] = []
        for name in names:
            functions.append(installed().function(name) if isinstance(name, str) else name)
        for function in functions:  # only now: if a name is unknown, no function is registered
            register_function(function)
        return [function.sql_name for function in functions]

    def ship_packages(self, target: Any, packages: Sequence[str | PathLike[str]]) -> list[str]:
        """Refuse to send packages: a query runs in this process, which has them."""
        del target, packages
        raise not_yet("ship(): a query without Spark runs in this process, which has its packages already")


def _like_input(query: PlannedQuery, rows: pa.Table) -> Any:
    """Return rows as a table of the kind of a query's first input."""
    return opened(query.source.rows.df).kind.result(rows)


BACKEND: Final = LocalBackend()
"""The backend that `choosing` takes."""
