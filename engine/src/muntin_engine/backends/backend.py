"""The contract of a backend: what takes the inputs of one kind, and runs queries over them.

There is one backend for each kind of input, which `choosing` knows by its type. It has three parts:

- `Inputs` answers what a query writer's calls ask of a DataFrame and of its columns, before there is a query;
- `Backend` plans a query over its inputs, runs it, and writes its output;
- `DistributedRows`, of `sinks`, is what sinks ask of it: it adds up results that may be retracted.

`api` calls these and nothing else of a backend. One that plans with `planning` fulfils its `ColumnReader` as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from muntin_engine.sinks.distributed_rows import DistributedRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin import Duration, Function
    from muntin.errors import QueryError
    from muntin.modules.call import ModuleCall
    from muntin.pictures import Picture
    from muntin_engine.backends.planned_query import PlannedQuery, Projection, Selection
    from muntin_engine.backends.write_request import WriteRequest, WrittenOutputs
    from muntin_engine.plan.plan import Plan
    from muntin_engine.plan.request import ColumnLike, Frame, Heartbeat, InputRequest, WindowRequest
    from muntin_engine.sinks.recordings.recorder import Recorder
    from muntin_engine.time.source_rules import SourceRules


@dataclass(frozen=True)
class EventRows:
    """Rows that are events: those of a union, or the output of a query.

    Attributes:
        df: The rows.
        columns: The columns that make them events, by the attributes of `InputRequest`.
    """

    df: Frame
    columns: Mapping[str, Any]


@dataclass(frozen=True)
class UnitedStreams:
    """Several streams as one.

    Attributes:
        rows: The rows of all.
        rules: The progress policy and the lifetimes of each of their sources.
        heartbeats: The heartbeats of all, each of the sources of its stream.
    """

    rows: EventRows
    rules: tuple[SourceRules, ...]
    heartbeats: tuple[Heartbeat, ...]


class Inputs(ABC):
    """Answers what the calls of a query writer ask of a DataFrame, and of columns of it."""

    @abstractmethod
    def takes(self, thing: object) -> bool:
        """True if an object is an input of the backend, and not a session or a column."""

    @abstractmethod
    def opened(self, df: Frame, schema: pa.Schema | None = None) -> Frame:
        """Return a DataFrame together with its columns, so that a query describes them only once.

        Args:
            df: The DataFrame.
            schema: The columns that the query writer declares; the query then sees no others. None to use the columns
                of the DataFrame. Where the backend knows the columns without a call to a server, the two are compared
                at once. Elsewhere the query fails on rows that are of other types.

        Raises:
            QueryError: The DataFrame cannot be read, or does not have the declared columns.
        """

    @abstractmethod
    def is_stream(self, df: Frame) -> bool:
        """True if a DataFrame goes on without an end."""

    @abstractmethod
    def column_names(self, df: Frame) -> list[str]:
        """Return the names of the columns of a DataFrame."""

    @abstractmethod
    def check_columns(
        self, df: Frame, keys: Sequence[ColumnLike], order: ColumnLike | tuple[ColumnLike, ...] | None
    ) -> None:
        """Refuse keys, and columns that order rows, which a DataFrame does not have.

        Raises:
            QueryError: The DataFrame does not have one of them.
        """

    @abstractmethod
    def condition(self, df: Frame, condition: ColumnLike, call: str = "where({})") -> ColumnLike:
        """Read a condition on the rows of a DataFrame.

        Args:
            df: The DataFrame.
            condition: The condition, as text or as a column.
            call: The call that takes the condition, for errors, with braces in the place of its text.

        Raises:
            QueryError: The value is not true or false, or the condition reads columns that the DataFrame does not have.
        """

    @abstractmethod
    def key_ranges(
        self,
        df: Frame,
        keys: Sequence[ColumnLike],
        key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]],
    ) -> Mapping[str, ColumnLike]:
        """Return the columns that bound keys, by the names of `InputRequest.ranges`: `low0` and `high0` for key 0.

        Args:
            df: The DataFrame.
            keys: The keys.
            key_ranges: By the name of a key, two columns: the least value of its range, and the first value above the
                range. None in place of a column leaves that side open.

        Raises:
            QueryError: There is no such key or column, or a column is not of the type of its key.
        """

    def text_of_column(self, df: Frame, column: Column) -> str | None:
        """Return a column as an expression of SQL over a DataFrame; None if it cannot be written as one.

        Only a backend with column objects overrides this: elsewhere columns are text already.
        """
        del df, column
        return None

    @abstractmethod
    def payload_columns(self, df: Frame, event_columns: Sequence[str]) -> Mapping[str, Column]:
        """Return the payload columns of events by name: all but the columns that make rows events.

        Args:
            df: The DataFrame.
            event_columns: The names of the columns that make rows events.
        """

    @abstractmethod
    def with_payload(
        self,
        df: Frame,
        change: ColumnLike | None,
        event_columns: Sequence[str],
        call: str,
        names: Sequence[str],
        columns: Mapping[str, ColumnLike],
        *,
        keeps_others: bool,
    ) -> Frame:
        """Return a DataFrame with columns computed of the payload of its events; other rows have nulls in them.

        Args:
            df: The DataFrame.
            change: The column that says whether a row is an insertion, which has a payload, or another change; None if
                each row is a new event.
            event_columns: The names of the columns that make rows events. They stay as they are.
            call: The call of the query writer, for errors.
            names: The names of the payload columns that stay.
            columns: The columns to compute, by name.
            keeps_others: True to keep all other payload columns, too.

        Raises:
            QueryError: A column cannot be computed, or `names` has a name that the DataFrame does not have.
        """

    @abstractmethod
    def unite(self, streams: Mapping[str, InputRequest]) -> UnitedStreams:
        """Make one stream of several.

        Raises:
            QueryError: A column is missing, or columns of the streams are of different types.
        """

    @abstractmethod
    def clock(self, df: Frame, every: Duration) -> Frame:
        """Return the readings of the driver's clock as a stream of one column.

        Args:
            df: The DataFrame of the events, in whose session the stream is made.
            every: The period between two readings.

        Raises:
            PolicyError: The period is not above zero, or a number without a unit.
            DurationError: The period cannot be read.
        """


class Backend(DistributedRows):
    """Plans queries over inputs of one kind, runs them and writes their output.

    Attributes:
        inputs: The part that knows DataFrames and columns.
    """

    inputs: ClassVar[Inputs]

    # A query, before it runs

    @abstractmethod
    def plan(self, request: WindowRequest, calls: Mapping[str, ModuleCall]) -> tuple[tuple[Projection, ...], Plan]:
        """Plan a query: return the projection of each of its inputs, and its plan.

        Args:
            request: The events and their windows.
            calls: The modules, by the names of their results.

        Raises:
            QueryError: The inputs do not fit together or to what reads them.
            PolicyError: A module is not right under the policies.
            ParameterError: A module's constructor does not take its parameters.
            TypeMismatchError: A module's inputs are not of the types that it reads.
        """

    @abstractmethod
    def select_results(
        self, query: PlannedQuery, columns: Mapping[str, str] | None, condition: str | None
    ) -> Selection:
        """Return the selection of a query with other columns, or with one more condition.

        Args:
            query: The query.
            columns: By name, the expressions over the results that replace the query's columns; None to leave these
                as they are.
            condition: A condition that results have to meet besides those of the query; None to add none.

        Raises:
            QueryError: A column or the condition cannot be computed.
        """

    @abstractmethod
    def output_as_events(
        self, query: PlannedQuery, output: str, order: ColumnLike | tuple[ColumnLike, ...] | None
    ) -> EventRows:
        """Return an output of a query as events of another one.

        Args:
            query: The query.
            output: The output: `results` or `evicted_rows`.
            order: The column, or several, by which rows of one time are ordered; None to leave them unordered.

        Raises:
            QueryError: The query has no such output, its results cannot be events, or the output lacks a column.
        """

    # The output of a query as DataFrames

    @abstractmethod
    def check_workers(self, workers: int) -> None:
        """Refuse a number of processes that cannot evaluate a query.

        Raises:
            QueryError: The number is below one or not whole, or the backend has processes of its own.
        """

    @abstractmethod
    def results(self, query: PlannedQuery, watermark: str | None = None) -> Frame:
        """Return the results of a query; see `Query.results`.

        Raises:
            QueryError: The query cannot run, or its results cannot have a watermark.
            SetupError: The session or its workers lack something that the query needs.
        """

    @abstractmethod
    def refused_rows(self, query: PlannedQuery, output: Literal["late_rows", "rejected_rows"]) -> Frame:
        """Return the late or the rejected rows of a query.

        Raises:
            QueryError: The query drops them.
        """

    @abstractmethod
    def evicted_rows(self, query: PlannedQuery) -> Frame:
        """Return the second output of a query of a `RowOperator`.

        Raises:
            QueryError: The query has none.
        """

    @abstractmethod
    def show(self, query: PlannedQuery, rows: int, *, truncate: bool | int) -> None:
        """Print the first results of a query in the order of their windows."""

    def memory_in_words(self, query: PlannedQuery) -> str:
        """Say what a run of a query keeps in memory, for `explain`; empty if `explain` says so by the plan already."""
        del query
        return ""

    def picture(self, query: PlannedQuery) -> Picture | None:
        """Draw the rows of one key with their windows, for a notebook; None where drawing would take long."""
        del query
        return None

    @abstractmethod
    def record(self, query: PlannedQuery, recorder: Recorder) -> None:
        """Run a query over tables and record it; see `Query.record` for its errors."""

    # The output of a query in sinks

    @abstractmethod
    def write(self, request: WriteRequest) -> StreamingQuery:
        """Start a streaming query that writes to sinks; see `Query.write` for its errors."""

    @abstractmethod
    def close_checkpoint(self, written: WrittenOutputs, checkpoint: str | PathLike[str]) -> None:
        """Write the last windows of a checkpoint; see `Query.close_checkpoint` for its errors."""

    @abstractmethod
    def check_checkpoint(self, queries: Mapping[str, PlannedQuery], checkpoint: str | PathLike[str]) -> list[str]:
        """Check that queries can continue from a checkpoint, and return a line for each difference that is allowed.

        Args:
            queries: The queries by name; a query that is written alone has an empty name.
            checkpoint: The checkpoint.

        Raises:
            StateMismatchError: The checkpoint is of other queries.
            StateError: The checkpoint is damaged, closed, or of another version of Muntin.
        """

    # A session: its tables, its failures, its workers

    @abstractmethod
    def table(self, session: Any, table: str | Mapping[str, str], tables: Mapping[str, Frame]) -> Frame:
        """Return a table of a session, or the rows of a query in SQL, as a DataFrame.

        Args:
            session: The session, whose tables and views may be named; None where there are only `tables`.
            table: The name of the table, or a mapping with the text of the query under `sql`.
            tables: DataFrames by the names under which `table` may read them.

        Raises:
            QueryError: There is no such table, or the query is refused.
        """

    @abstractmethod
    def failures_as(self, query_error: Callable[[Exception], QueryError]) -> AbstractContextManager[None]:
        """Replace errors of the backend in a block by errors of Muntin.

        Args:
            query_error: Gets an error of the backend about a query that it refused, or that failed on a row, and
                returns the error to raise in its place.

        Raises:
            QueryError: A query was refused, or failed on a row.
            ModuleError: Python code that a query calls failed.
        """

    @abstractmethod
    def register_functions(self, session: Any, names: Sequence[str | Function[..., Any]]) -> list[str]:
        """Let expressions call functions of plugins, and return the names of these functions in SQL.

        Args:
            session: The session in whose SQL they can be called; None for expressions over tables in this process.
            names: The functions, or the names of installed ones; empty for all installed functions.

        Raises:
            UnknownModuleError: No installed plugin offers a name.
        """

    @abstractmethod
    def ship_packages(self, target: Any, packages: Sequence[str | PathLike[str]]) -> list[str]:
        """Send packages to the workers of a session; see `muntin_engine.ship`.

        Args:
            target: The session, or a DataFrame that has one.
            packages: The names of distributions, or the paths of wheels.

        Raises:
            NotShippableError: A package cannot be sent.
        """
