"""The sinks of the queries that one Spark query writes, with the schemas of what they get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Final, NamedTuple

from pyspark.sql import types as spark_types

from muntin_engine.backends.planned_query import PlannedQuery, Selection
from muntin_engine.backends.planning.result_schemas import check_evicts_rows
from muntin_engine.backends.spark.dataframes.result_schemas import evicted_schema, refused_schema, result_schema
from muntin_engine.backends.spark.foreach_batch.batch_progress import progress_schema
from muntin_engine.plan import Plan
from muntin_engine.sinks.sink import Sink
from muntin_engine.sinks.sink_arguments import choose_sinks, spelled_output
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, REJECTED_ROWS, RESULTS

METRICS: Final = "metrics"
"""The output with a row of metrics for each micro-batch."""


def schemas_of(query: PlannedQuery) -> dict[str, spark_types.StructType]:
    """Return the schemas of the outputs of a query."""
    refused_rows = refused_schema(query)
    schemas = {RESULTS: result_schema(query), LATE_ROWS: refused_rows, REJECTED_ROWS: refused_rows}
    if query.plan.evicted:
        schemas[EVICTED_ROWS] = evicted_schema(query)
    schemas[METRICS] = progress_schema(query)
    return schemas


class QuerySinks(NamedTuple):
    """The sinks of a query, and what is needed to write to them.

    On Spark Connect this travels to the server, so it has nothing of the query itself.

    Attributes:
        name: The name of the query among those of one pass; empty if it is the only one.
        sinks: The sinks, by output.
        schemas: The schemas of all outputs.
        selection: The columns and the condition by which the query selects its results.
    """

    name: str
    sinks: Mapping[str, Sink]
    schemas: Mapping[str, spark_types.StructType]
    selection: Selection = Selection()

    def spelled(self, output: str) -> str:
        """Return the argument of `write` that names the sink of an output, as errors show it."""
        return spelled_output(output, self.name)


def plans_of_pass(queries: Sequence[PlannedQuery]) -> tuple[Plan, ...]:
    """Return the plans of the inner queries, whose results queries read; then those of the queries themselves."""
    inner_plans = queries[0].inner_plans  # all queries of a pass read the same inner queries
    return (*inner_plans, *(query.plan for query in queries))


class QueriesWithSinks(NamedTuple):
    """Queries that are written by one Spark query, with the sinks that they write to.

    Attributes:
        queries: The queries, planned so that they have the outputs of their sinks.
        sinks: The sinks of each query, in the same order.
    """

    queries: tuple[PlannedQuery, ...]
    sinks: tuple[QuerySinks, ...]

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the inner queries, whose results these queries read; then those of the queries themselves."""
        return plans_of_pass(self.queries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries; none where there is one query without a name."""
        return tuple(query_sinks.name for query_sinks in self.sinks if query_sinks.name)

    @property
    def sinks_by_spelling(self) -> dict[str, Sink]:
        """The sinks of all queries, by their spelling in errors, such as `results=hours`."""
        sinks: dict[str, Sink] = {}
        for query_sinks in self.sinks:
            for output, sink in query_sinks.sinks.items():
                sinks[f"{query_sinks.spelled(output)}={sink}"] = sink
        return sinks

    @property
    def destinations(self) -> list[str]:
        """The folders, tables and topics that the sinks write to."""
        destinations: list[str] = []
        for sink in self.sinks_by_spelling.values():
            if sink.destination is not None:
                destinations.append(sink.destination)
        return destinations


def with_sinks(
    queries: Mapping[str, PlannedQuery],
    arguments: Mapping[str, Mapping[str, object]],
    checkpoint: str | PathLike[str],
) -> QueriesWithSinks:
    """Give queries the sinks that the arguments of `write` name.

    Args:
        queries: The queries by name; the name of a query that is written alone is empty.
        arguments: By the name of the query and by output, the argument of `write`: a path, an address, a function or a
            sink; None for an output without one.
        checkpoint: The path of the checkpoint.

    Raises:
        QueryError: A query has no sink, or lacks the output of one; a sink cannot take its output, or two sinks would
            write to one destination.
    """
    chosen_sinks = choose_sinks(arguments, checkpoint)
    planned_queries: list[PlannedQuery] = []
    sinks_by_query: list[QuerySinks] = []
    for name, query in queries.items():
        planned_query, query_sinks = _with_outputs(query, QuerySinks(name, chosen_sinks[name], schemas={}))
        planned_queries.append(planned_query)
        sinks_by_query.append(query_sinks)
    return QueriesWithSinks(tuple(planned_queries), tuple(sinks_by_query))


def _with_outputs(query: PlannedQuery, query_sinks: QuerySinks) -> tuple[PlannedQuery, QuerySinks]:
    """Plan a query so that it has the outputs of its sinks, and check that the sinks can take these.

    Args:
        query: The query.
        query_sinks: Its sinks, without schemas and a selection.

    Returns:
        The query as it is planned, and the sinks with the schemas and the selection of its outputs.

    Raises:
        QueryError: The query lacks an output, or a sink cannot take its output.
    """
    # A query drops late rows unless something reads them.
    planned_query = query.with_late_rows() if LATE_ROWS in query_sinks.sinks else query
    if EVICTED_ROWS in query_sinks.sinks:
        check_evicts_rows(planned_query.plan)

    # A sink that updates rows needs the keys of results. Rows of other outputs are never updated, and have no keys.
    schemas = schemas_of(planned_query)
    for output, sink in query_sinks.sinks.items():
        columns = schemas[output].names
        if output == RESULTS:
            sink.keyed_by([key.name for key in planned_query.plan.keys])
            sink.check(planned_query.selection.names(columns))
        else:
            sink.keyed_by(keys=[])
            sink.check(columns)
    return planned_query, query_sinks._replace(schemas=schemas, selection=planned_query.selection)
