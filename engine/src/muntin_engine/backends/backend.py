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
        """True if something is an input of the backend, and no session or column."""

    @abstractmethod
    def opened(self, df: Frame, schema: pa.Schema | None = None) -> Frame:
        """Return a DataFrame as it travels with a request, so that its columns need not be described again and again.

        Args:
            df: The DataFrame.
            schema: The columns that its writer declares, which are then all that it has; None to take those that it
                has. Where the columns are known without a call, they are compared at once; otherwise rows fail that
                are of other types.

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
            call: The call that takes it, for errors.

        Raises:
            QueryError: The condition is none, or reads columns that the DataFrame does not have.
        """

    @abstractmethod
    def key_ranges(
        self,
        df: Frame,
        keys: Sequence[ColumnLike],
        key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]],
    ) -> Mapping[str, ColumnLike]:
        """Name the columns that bound keys as `InputRequest.ranges` does: `low0` and `high0` for the first key.

        Args:
            df: The DataFrame.
            keys: The keys.
            key_ranges: By the name of a key, the columns of the least value, and of the first that is too large.

        Raises:
            QueryError: There is no such key or column, or one is not of the type of the key.
        """

    def text_of_column(self, df: Frame, column: Column) -> str | None:
        """Return the SQL that means the same over a DataFrame as a column; None if none is known.

        A backend whose columns are text has no other columns to write.
        """
        del df, column
        return None

    @abstractmethod
    def payload_columns(self, df: Frame, event_columns: Sequence[str]) -> Mapping[str, Column]:
        """Return the columns of events by name, without those that make rows events.

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
        """Compute columns of events, in the rows that have a payload.

        Args:
            df: The DataFrame.
            change: The column that says what a row does; None if each is a new event.
            event_columns: The names of the columns that make rows events.
            call: The call that asks for it, for errors.
            names: The names of columns to keep, besides `event_columns`.
            columns: The columns to compute, by name.
            keeps_others: True to keep all other columns.

        Raises:
            QueryError: A column cannot be computed, or there is none of a name.
        """

    @abstractmethod
    def unite(self, streams: Mapping[str, InputRequest]) -> UnitedStreams:
        """Make one stream of several.

        Raises:
            QueryError: A column is missing, or columns of the streams are of different types.
        """

    @abstractmethod
    def clock(self, df: Frame, every: Duration) -> Frame:
        """Return the readings of the driver's clock as a stream of one column, beside a DataFrame.

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
        """Plan a query: the projection of each of its inputs, and what will be evaluated.

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
            columns: The expressions over the results, by name; None for the columns that the query has.
            condition: The further condition on the results; None without one.

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
            order: The columns that order the rows of one time.

        Raises:
            QueryError: The query has no such output, its results are no events, or there is no such column.
        """

    # The output of a query as DataFrames

    @abstractmethod
    def check_workers(self, workers: int) -> None:
        """Refuse a number of processes that cannot evaluate a query.

        Raises:
            QueryError: The number is not of processes, or the backend has processes of its own.
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
        """Say what a run of a query keeps in memory, for `explain`; empty where the plan says all of it."""
        del query
        return ""

    def picture(self, query: PlannedQuery) -> Picture | None:
        """Draw the rows of a key with their windows, for a notebook; None where that takes more than a moment."""
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
        """Return in words what has changed since a checkpoint; raise unless queries can go on with it.

        Args:
            queries: The queries by name; the name of one that is written alone is empty.
            checkpoint: The checkpoint.

        Raises:
            StateMismatchError: The checkpoint is of other queries.
            StateError: The checkpoint is damaged, closed, or of another version of Muntin.
        """

    # A session: its tables, its failures, its workers

    @abstractmethod
    def table(self, session: Any, table: str | Mapping[str, str], tables: Mapping[str, Frame]) -> Frame:
        """Read a table of a session, or the rows of a query in SQL.

        Args:
            session: The session, whose tables and views may be named; None where there are only `tables`.
            table: The name, or an object with the query as `sql`.
            tables: DataFrames that are read by these names.

        Raises:
            QueryError: There is no such table, or the query is refused.
        """

    @abstractmethod
    def failures_as(self, query_error: Callable[[Exception], QueryError]) -> AbstractContextManager[None]:
        """Raise what the backend raises in a block as errors of ours.

        Args:
            query_error: Returns the error for a query that the backend refused, or that failed on a row.

        Raises:
            QueryError: A query was refused, or failed on a row.
            ModuleError: Python code that a query calls failed.
        """

    @abstractmethod
    def register_functions(self, session: Any, names: Sequence[str | Function[..., Any]]) -> list[str]:
        """Let expressions call functions, and return the names that these have in SQL.

        Args:
            session: The session whose SQL is to know them; None for expressions over tables in this process.
            names: The functions, or the names of installed ones; none for all installed ones.

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
