"""The output of a query as events of another one, where both run in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from muntin_engine.backends.local.frames.local_frame import LocalFrame, opened
from muntin_engine.backends.local.inputs.column_lookup import StructColumn
from muntin_engine.backends.local.inputs.local_rows import micro_batch_of
from muntin_engine.backends.local.results.local_results import evaluated_blobs
from muntin_engine.backends.planning import output_events
from muntin_engine.backends.planning.query_task import task_of
from muntin_engine.backends.planning.result_schemas import evicted_schema, result_schema
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.tasks.output_blobs import RESULTS
from muntin_engine.wire.arrow_arrays import empty_table
from muntin_engine.wire.blob_readers import CHANGE, SOURCE, EventReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import duckdb

    from muntin_engine.backends.local.expressions.called_function import CalledFunction
    from muntin_engine.backends.local.frames.frame_kind import FrameKind
    from muntin_engine.backends.local.frames.micro_batch import BucketOutput, MicroBatch
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan import Plan


class ResultEvents(LocalFrame):
    """The rows of an output, and rows of punctuation among them, which say how far each bucket is settled.

    Results are fewer than rows, so they are computed as a whole before the next query reads them.
    """

    def __init__(self, query: PlannedQuery, output: str) -> None:
        """Take an output of a query.

        Args:
            query: The query.
            output: `results` or `evicted_rows`.

        Raises:
            QueryError: The query has no such output, or it cannot be events.
        """
        self._query = query
        self._output = output
        self._micro_batch = micro_batch_of(query.source.df)
        output_events.check_output_events(query, is_stream=self._micro_batch is not None)
        columns = result_schema(query) if output == RESULTS else evicted_schema(query)
        self._schema = pa.schema([*columns, (CHANGE, pa.string()), (SOURCE, pa.string())])

    @property
    def kind(self) -> FrameKind:
        """The kind of the first input of the query."""
        return opened(self._query.source.rows.df).kind

    @property
    def schema(self) -> pa.Schema:
        """The columns of the output, and those that say what a row does and which bucket it is of."""
        return self._schema

    @property
    def micro_batch(self) -> MicroBatch | None:
        """The micro-batch that the query reads."""
        return self._micro_batch

    @property
    def runs_queries(self) -> bool:
        """True, as the query runs while its results are read."""
        return True

    def refusal(self, name: str) -> None:
        """Return None: the types of results have a meaning."""

    def called_functions(self) -> tuple[CalledFunction, ...]:
        """Return the functions that the inputs of the query call."""
        functions: list[CalledFunction] = []
        for source in self._query.sources:
            functions += source.df.functions
        return tuple(functions)

    def is_hidden(self, name: str) -> bool:
        """False: expressions can read all columns."""
        del name
        return False

    def relations(self, names: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """Run the query, and yield the rows as one relation."""
        yield from opened(self._events()).relations(names)

    def _events(self) -> pa.Table:
        """Return the events in the output of the query.

        A query over tables runs now. A query over a stream has run earlier in this micro-batch.
        """
        if self._micro_batch is not None:
            return self._events_of(self._micro_batch.passed_on[self._query.inner_id])
        task = task_of(self._query, WorkerSettings(), is_static=True)
        return self._events_of(evaluated_blobs(self._query, task, warns=True))

    def _events_of(self, blobs: Iterable[BucketOutput]) -> pa.Table:
        """Read the events in blobs of the query's output, with rows of punctuation for the progress of its buckets."""
        streams = output_events.event_streams(self._output)
        reader = EventReader(self._schema, output_events.lifetime_column(self._query.plan, self._output))
        tables = [empty_table(self._schema)]
        for bucket, blob in blobs:
            if blob.stream in streams:
                tables.append(reader.rows_of(bucket, blob.rows, blob.data))
        return pa.concat_tables(tables)


def result_event_columns(plan: Plan, output: str) -> dict[str, Any]:
    """Return the columns of `ResultEvents` that make events, by the attributes of `InputRequest`."""
    columns = output_events.event_columns(plan, output)
    id_names = output_events.identifying_columns(plan)
    if id_names:
        columns["id"] = StructColumn(id_names)
    return columns
