"""The backend of tables in this process: each method of the contract, and what only Spark does so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn

import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.backend import Backend, EventRows, Inputs, UnitedStreams
from muntin_engine.backends.local.column_reader import LocalColumnReader, SqlColumn
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions import translated
from muntin_engine.backends.local.frames import kind_of, table_like
from muntin_engine.backends.local.local_frame import layout_of, relation_of
from muntin_engine.backends.local.local_results import output_table, selected
from muntin_engine.backends.local.local_rows import micro_batch_of
from muntin_engine.backends.local.refusals import not_yet, of_stream_under_test
from muntin_engine.backends.local.results_as_events import ResultEvents, result_event_columns
from muntin_engine.backends.planned_query import PlannedQuery, Projection, Selection
from muntin_engine.backends.planning.query_plan import plan_query
from muntin_engine.backends.planning.read_columns import check_condition, keys_of, orders_by_name, ranges_of
from muntin_engine.backends.planning.result_schemas import result_schema
from muntin_engine.sinks.distributed_rows import Changelogs
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, RESULTS

if TYPE_CHECKING:
    from muntin import Duration, Function
    from muntin.modules.call import ModuleCall
    from muntin_engine.backends.write_request import WriteRequest, WrittenOutputs
    from muntin_engine.plan.plan import Plan
    from muntin_engine.plan.request import InputRequest, WindowRequest


_WIDTH: Final = 20
"""The characters of a value that `show` prints, unless it is told otherwise."""

_NO_WIDTH: Final = 10_000


class LocalInputs(LocalColumnReader, Inputs):
    """Answers for data frames, Arrow data and files."""

    def takes(self, thing: object) -> bool:
        """True if something is a table of a kind that is read in this process."""
        return kind_of(thing) is not None

    def column_names(self, df: Any) -> list[str]:
        """Return the names of the columns of a table."""
        return list(layout_of(df).schema.names)

    def check_columns(self, df: Any, keys: Sequence[Any], order: Any) -> None:
        """Refuse keys, and columns that order rows, which a table does not have."""
        layout_of(df)  # also where there are none, so that what cannot be read is refused
        keys_of(self, df, keys)
        self.look_up(df, orders_by_name(order), {})

    def condition(self, df: Any, condition: Any, call: str = "where({})") -> Any:
        """Read a condition on the rows of a table, which is text."""
        if not isinstance(condition, str | SqlColumn):
            raise QueryError(f"{call.format('')} takes a condition as text in SQL, such as 'km > 2', got {condition!s}")
        column = SqlColumn(condition) if isinstance(condition, str) else condition
        reader = call.partition("(")[0]
        check_condition(self.look_up(df, {reader: column}, {})[reader], call)
        return column

    def key_ranges(self, df: Any, keys: Sequence[Any], key_ranges: Mapping[str, tuple[Any, Any]]) -> Mapping[str, Any]:
        """Name the columns that bound keys."""
        return ranges_of(self, df, keys, key_ranges)

    def text_of_column(self, df: Any, column: Any) -> str | None:
        """Return the text of a column."""
        del df
        return str(column)

    def payload_columns(self, df: Any, event_columns: Sequence[str]) -> Mapping[str, Any]:
        """Return the columns of events by name, without those that make rows events."""
        return {name: name for name in self.column_names(df) if name not in event_columns}

    def with_payload(  # each is another part of the call
        self,
        df: Any,
        change: Any,
        event_columns: Sequence[str],
        call: str,
        names: Sequence[str],
        columns: Mapping[str, Any],
        *,
        keeps_others: bool,
    ) -> NoReturn:
        """Refuse computed columns."""
        del df, change, event_columns, names, columns, keeps_others
        raise not_yet(f"{call}, which computes columns of events")

    def unite(self, streams: Mapping[str, InputRequest]) -> UnitedStreams:
        """Refuse unions."""
        del streams
        raise not_yet("union()")

    def clock(self, df: Any, every: Duration) -> NoReturn:
        """Refuse clocks."""
        del df, every
        raise not_yet("a clock")


class LocalChangelogs(Changelogs):
    """Refuses to add up changelogs."""

    def fold(self, changelog: Any, key: Any) -> NoReturn:
        """Refuse it."""
        del changelog, key
        raise not_yet("fold()")

    def net_changes(self, batch: Any, key: Any) -> NoReturn:
        """Refuse it."""
        del batch, key
        raise not_yet("net_changes()")

    def final_rows(self, results: Any, watermark: int | None, key: Any) -> NoReturn:
        """Refuse it."""
        del results, watermark, key
        raise not_yet("final_rows()")

    def live_rows(self, changelog: Any, key: Any, table: Any = None) -> NoReturn:
        """Refuse it."""
        del changelog, key, table
        raise not_yet("a table of live rows")

    def settled_rows(self, table: Any, watermark: int | None, *, is_revisable: bool) -> NoReturn:
        """Refuse it."""
        del table, watermark, is_revisable
        raise not_yet("a table of settled rows")


class LocalBackend(Backend):
    """Runs queries over tables, in this process and without a JVM."""

    inputs: ClassVar[LocalInputs] = LocalInputs()
    changelogs = LocalChangelogs()

    def plan(self, request: WindowRequest, calls: Mapping[str, ModuleCall]) -> tuple[tuple[Projection, ...], Plan]:
        """Plan a query: the projection of each of its inputs, and what will be evaluated."""
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
                translated(text, schema)
            selection = replace(selection, columns=dict(columns))
        if condition is not None:
            if not pa.types.is_boolean(translated(condition, schema).type):
                raise QueryError(f"where({condition!r}) is no condition\n  expected: a condition, such as 'n > 2'")
            both = condition if selection.condition is None else f"({selection.condition}) AND ({condition})"
            selection = replace(selection, condition=both)
        return selection

    def output_as_events(self, query: PlannedQuery, output: str, order: Any) -> EventRows:
        """Return an output of a query as events of another one."""
        rows = ResultEvents(query, output, micro_batch_of(query.source.df))
        self.inputs.look_up(rows, orders_by_name(order), {})
        return EventRows(rows, result_event_columns(query.plan, output))

    def results(self, query: PlannedQuery, watermark: str | None = None) -> Any:
        """Return the results of a query, as a table of the kind of its first input."""
        self._check_end(query, "results()")
        if watermark is not None:
            raise not_yet("a watermark beside results")
        return _like_input(query, selected(output_table(query, RESULTS), query.selection))

    def refused_rows(self, query: PlannedQuery, output: Literal["late_rows", "rejected_rows"]) -> Any:
        """Return the late or the rejected rows of a query."""
        self._check_end(query, f"{output}()")
        running = query.with_late_rows() if output == LATE_ROWS else query
        return _like_input(query, output_table(running, output, warns=False))

    def evicted_rows(self, query: PlannedQuery) -> Any:
        """Return the second output of a query of a `RowOperator`."""
        self._check_end(query, "evicted_rows()")
        return _like_input(query, output_table(query, EVICTED_ROWS, warns=False))

    def show(self, query: PlannedQuery, rows: int, *, truncate: bool | int) -> None:
        """Print the first results of a query in the order of their windows."""
        extent = "window" if query.plan.is_windowed else query.plan.lifetime_column
        columns = [f"{quoted(name)} NULLS FIRST" for name in (extent, *(key.name for key in query.plan.keys))]
        # Results are put in order before columns are selected, as these may leave the window out.
        ordered = relation_of(output_table(query, RESULTS)).order(", ".join(columns)).to_arrow_table()
        first_rows = selected(ordered, query.selection).slice(0, rows)
        widest = _WIDTH if truncate is True else int(truncate) or _NO_WIDTH
        relation_of(first_rows).show(max_rows=rows, max_width=_NO_WIDTH, max_col_width=widest)

    def _check_end(self, query: PlannedQuery, call: str) -> None:
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

    def table(self, session: Any, table: str | Mapping[str, str], tables: Mapping[str, Any]) -> NoReturn:
        """Refuse tables of sessions."""
        del session, table, tables
        raise not_yet("sql()")

    def failures_as(self, query_error: Callable[[Exception], QueryError]) -> AbstractContextManager[None]:
        """Refuse what only SQL needs."""
        del query_error
        raise not_yet("sql()")

    def register_functions(self, session: Any, names: Sequence[str | Function[..., Any]]) -> list[str]:
        """Refuse functions in SQL."""
        del session, names
        raise not_yet("functions of plugins in SQL")

    def ship_packages(self, target: Any, packages: Sequence[str | PathLike[str]]) -> list[str]:
        """Refuse to send packages: a query runs in this process, which has them."""
        del target, packages
        raise not_yet("ship(): a query without Spark runs in this process, which has its packages already")


def _like_input(query: PlannedQuery, rows: pa.Table) -> Any:
    """Return rows as a table of the kind of a query's first input."""
    return table_like(query.source.rows.df, rows)


BACKEND: Final = LocalBackend()
"""The backend that `choosing` takes."""
