"""The backend of Spark: each method of the contract, and where in this folder it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn

from pyspark.sql import Column, DataFrame

from muntin.errors import QueryError
from muntin_engine.backends.backend import Backend, EventRows, Inputs, UnitedStreams
from muntin_engine.backends.planned_query import PlannedQuery, Projection, Selection
from muntin_engine.backends.planning.query_plan import plan_query
from muntin_engine.backends.planning.read_columns import keys_of, orders_by_name, ranges_of
from muntin_engine.backends.spark.dataframes import changelogs, outputs
from muntin_engine.backends.spark.delivery.sent_packages import ship_packages
from muntin_engine.backends.spark.failures.failing_block import failures_as
from muntin_engine.backends.spark.foreach_batch.closing import close_checkpoint
from muntin_engine.backends.spark.foreach_batch.kafka_connector import SparkKafkaConnector, has_kafka_connector
from muntin_engine.backends.spark.foreach_batch.write import check_checkpoint, write
from muntin_engine.backends.spark.inputs import column_lookup
from muntin_engine.backends.spark.inputs.clock_source import clock_stream
from muntin_engine.backends.spark.inputs.column_reader import SparkColumnReader
from muntin_engine.backends.spark.inputs.declared_frames import declared
from muntin_engine.backends.spark.inputs.payload_columns import payload_columns, with_payload
from muntin_engine.backends.spark.inputs.sql_tables import table_of
from muntin_engine.backends.spark.inputs.united_streams import unite
from muntin_engine.backends.spark.session.declarative_pipelines import check_outside_pipeline
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.backends.spark.session.sql_functions import register
from muntin_engine.sinks.distributed_rows import Changelogs, KafkaConnector
from muntin_engine.tasks.output_blobs import LATE_ROWS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin import Duration, Function
    from muntin.modules.call import ModuleCall
    from muntin_engine.backends.write_request import WriteRequest, WrittenOutputs
    from muntin_engine.plan.plan import Plan
    from muntin_engine.plan.request import ColumnLike, InputRequest, WindowRequest
    from muntin_engine.sinks.recordings.recorder import Recorder


class SparkInputs(SparkColumnReader, Inputs):
    """Answers for DataFrames of Spark's, classic and of Spark Connect."""

    def takes(self, thing: object) -> bool:
        """True if something has what classic DataFrames and those of Spark Connect have in common."""
        return hasattr(type(thing), "isStreaming")

    @in_session()
    def opened(self, df: DataFrame, schema: pa.Schema | None = None) -> DataFrame:
        """Return a DataFrame as it is; or, if the query writer declares a schema, with these columns alone."""
        return df if schema is None else declared(df, schema)

    def column_names(self, df: DataFrame) -> list[str]:
        """Return the names of the columns of a DataFrame."""
        return df.columns

    @in_session()
    def check_columns(
        self, df: DataFrame, keys: Sequence[ColumnLike], order: ColumnLike | tuple[ColumnLike, ...] | None
    ) -> None:
        """Refuse keys, and columns to order rows by, which a DataFrame does not have.

        Raises:
            QueryError: The DataFrame does not have a column.
        """
        # Both are called for their errors alone.
        keys_of(self, df, keys)
        self.look_up(df, orders_by_name(order), readers={})

    def condition(self, df: DataFrame, condition: ColumnLike, call: str = "where({})") -> ColumnLike:
        """Read a condition on the rows of a DataFrame."""
        return column_lookup.condition_of(df, condition, call)

    @in_session()
    def key_ranges(
        self,
        df: DataFrame,
        keys: Sequence[ColumnLike],
        key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]],
    ) -> Mapping[str, ColumnLike]:
        """Return the columns with the bounds of keys, by their names in the projection, such as `low0`.

        Args:
            df: The DataFrame.
            keys: The key columns.
            key_ranges: The bounds by the name of a key: the column of the least value that the key may have, and the
                column of the first value that is too large; None for no bound.
        """
        return ranges_of(self, df, keys, key_ranges)

    def text_of_column(self, df: DataFrame, column: Column) -> str | None:
        """Return the SQL that means the same over a DataFrame as a column; None if none is known."""
        return column_lookup.text_of_column(df, column)

    def payload_columns(self, df: DataFrame, event_columns: Sequence[str]) -> Mapping[str, Column]:
        """Return the columns of events by name, without those that make rows events."""
        return payload_columns(df, event_columns)

    def with_payload(
        self,
        df: DataFrame,
        change: ColumnLike | None,
        event_columns: Sequence[str],
        call: str,
        names: Sequence[str],
        columns: Mapping[str, ColumnLike],
        *,
        keeps_others: bool,
    ) -> DataFrame:
        """Return a DataFrame with computed columns, which are null in rows without a payload.

        The arguments are those of `payload_columns.with_payload`.
        """
        return with_payload(df, change, event_columns, call, names, columns, keeps_others=keeps_others)

    def unite(self, streams: Mapping[str, InputRequest]) -> UnitedStreams:
        """Make one stream of several, by the names of the streams."""
        return unite(streams)

    def clock(self, df: DataFrame, every: Duration) -> DataFrame:
        """Return the readings of the driver's clock as a stream in the session of a DataFrame."""
        check_outside_pipeline("with_clock()", "a run of the pipeline ends when its input has been read: leave it out")
        return clock_stream(df.sparkSession, every)


class SparkChangelogs(Changelogs):
    """Adds up changelogs in Spark SQL."""

    def fold(self, changelog_rows: DataFrame, key: str | Sequence[str] | None) -> DataFrame:
        """Return the table that a whole changelog adds up to."""
        return changelogs.folded(changelog_rows, key)

    def net_changes(self, batch: DataFrame, key: str | Sequence[str] | None) -> DataFrame:
        """Return the net changes of a micro-batch to a keyed table."""
        return changelogs.netted(batch, key)

    def final_rows(self, results: DataFrame, watermark: int | None, key: str | Sequence[str] | None) -> DataFrame:
        """Return the rows of results that no later micro-batch changes."""
        return changelogs.final_of(results, watermark, key)

    def live_rows(
        self, changelog_rows: DataFrame, key: str | Sequence[str] | None, table: DataFrame | None = None
    ) -> DataFrame:
        """Apply changes to a table of live rows."""
        return changelogs.live_rows(changelog_rows, key, table)

    def settled_rows(self, table: DataFrame, watermark: int | None, *, is_revisable: bool) -> DataFrame:
        """Return the live rows that nothing changes any more."""
        return changelogs.settled(table, watermark, is_revisable=is_revisable)


class SparkBackend(Backend):
    """Runs queries as DataFrames and streaming queries of Spark."""

    inputs: ClassVar[SparkInputs] = SparkInputs()
    changelogs = SparkChangelogs()

    @in_session()
    def plan(self, request: WindowRequest, calls: Mapping[str, ModuleCall]) -> tuple[tuple[Projection, ...], Plan]:
        """Plan a query: the projection of each of its inputs, and what will be evaluated."""
        return plan_query(self.inputs, request, calls)

    def select_results(
        self, query: PlannedQuery, columns: Mapping[str, str] | None, condition: str | None
    ) -> Selection:
        """Return the selection of a query with other columns, or with one more condition."""
        return outputs.select_results(query, columns, condition)

    def output_as_events(
        self, query: PlannedQuery, output: str, order: ColumnLike | tuple[ColumnLike, ...] | None
    ) -> EventRows:
        """Return an output of a query as events of another one, in one query of Spark's."""
        return outputs.output_as_events(query, output, order)

    def check_workers(self, workers: int) -> None:
        """Refuse the argument `workers`: Spark spreads a query over the cores of its executors.

        Raises:
            QueryError: Always.
        """
        raise QueryError(
            "{argument} is for tables in this process; the input is a DataFrame of Spark's, whose executors run it\n"
            "  leave it out: the master of the session says how many cores there are, such as local[4], and\n"
            "  events(..., buckets=...) and spark.sql.shuffle.partitions say over how many tasks keys are spread",
            argument="workers",
            value=workers,
        )

    def results(self, query: PlannedQuery, watermark: str | None = None) -> DataFrame:
        """Return the results of a query."""
        return outputs.results(query, watermark)

    def refused_rows(self, query: PlannedQuery, output: Literal["late_rows", "rejected_rows"]) -> DataFrame:
        """Return the late or the rejected rows of a query.

        Raises:
            QueryError: Late rows of a stream are read in a declarative pipeline, where they would be another run.
        """
        if output == LATE_ROWS and query.source.df.isStreaming:
            check_outside_pipeline(
                "late_rows()",
                "a table of late rows is another run of the query, with a watermark of its own, so that a row may be\n"
                "  late in one and not in the other; have late rows correct results, late_policy=correct('1 hour'),\n"
                "  or count at the watermark, late_policy='adjust'",
            )
        return outputs.refused_rows(query, output)

    def evicted_rows(self, query: PlannedQuery) -> DataFrame:
        """Return the second output of a query of a `RowOperator`."""
        return outputs.evicted_rows(query)

    def show(self, query: PlannedQuery, rows: int, *, truncate: bool | int) -> None:
        """Print the first results of a query in the order of their windows."""
        outputs.show(query, rows, truncate=truncate)

    def record(self, query: PlannedQuery, recorder: Recorder) -> NoReturn:
        """Refuse to run a query only to record it: this is for tables in this process.

        Raises:
            QueryError: Always; for a stream it says how to record it while it runs.
        """
        del recorder
        if query.source.df.isStreaming:
            raise QueryError(
                "record() runs a query over a table, and the input is a stream\n"
                "  record it while it runs: query.write(checkpoint='checkpoint', results='results', record='recording')"
            )
        raise QueryError(
            "record() runs a query in this process, and the input is a DataFrame of Spark's\n"
            "  give events() its rows: events(df.toArrow(), ...)"
        )

    def write(self, request: WriteRequest) -> StreamingQuery:
        """Start a streaming query that writes to sinks."""
        check_outside_pipeline("write()", "return query.results() from a function under @dp.table or @dp.append_flow")
        return write(request)

    def close_checkpoint(self, written: WrittenOutputs, checkpoint: str | PathLike[str]) -> None:
        """Write the last windows of a checkpoint."""
        check_outside_pipeline("close_checkpoint()", "have a row with change='close' end the stream")
        close_checkpoint(written, checkpoint)

    def check_checkpoint(self, queries: Mapping[str, PlannedQuery], checkpoint: str | PathLike[str]) -> list[str]:
        """Return a sentence for each change of queries since a checkpoint; raise unless they can go on with it."""
        return check_checkpoint(queries, checkpoint)

    def kafka_connector(self, batch: DataFrame) -> KafkaConnector | None:
        """Return Spark's own connector, if the session of a micro-batch has it."""
        return SparkKafkaConnector() if has_kafka_connector(batch) else None

    def table(self, session: Any, table: str | Mapping[str, str], tables: Mapping[str, DataFrame]) -> DataFrame:
        """Read a table or a view of the session, or the rows of a query in Spark's SQL."""
        return table_of(session, table, tables)

    def failures_as(self, query_error: Callable[[Exception], QueryError]) -> AbstractContextManager[None]:
        """Raise errors of Spark in a block as errors of Muntin; see `failing_block.failures_as`."""
        return failures_as(query_error)

    def register_functions(self, session: Any, names: Sequence[str | Function[..., Any]]) -> list[str]:
        """Register functions with Spark SQL, and return their names there."""
        return register(session, names)

    def ship_packages(self, target: Any, packages: Sequence[str | PathLike[str]]) -> list[str]:
        """Send packages to the workers of a session."""
        return ship_packages(target, packages)


BACKEND: Final = SparkBackend()
"""The backend that `choosing` takes."""
