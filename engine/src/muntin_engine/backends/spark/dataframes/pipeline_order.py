"""The place of a query among the flows of a declarative pipeline: after the tables of the pipeline that it reads.

Spark runs a flow after those whose tables it names. It looks for the names in the flow as it was defined; but below a
stateful operator of Python's it has looked tables up by then, and the flow would run beside those that it reads. So the
output of such a query names its tables once more, in rows of which none is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin_engine.backends.spark.inputs.declared_frames import with_columns_if_declared
from muntin_engine.backends.spark.operators.output_columns import OUTPUT
from muntin_engine.backends.spark.private_parts import connect_relation
from muntin_engine.backends.spark.session.declarative_pipelines import is_in_pipeline
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.backends.spark.session.sent_plans import reads_of

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


def ordered_after_input_tables(query: PlannedQuery, blobs: DataFrame) -> DataFrame:
    """Return the output of a query such that a declarative pipeline runs it after the tables that it reads.

    Args:
        query: The query.
        blobs: Its output.
    """
    session = query.source.df.sparkSession
    if not query.plan.choice.keeps_state or not is_in_pipeline() or not is_connect(session):
        return blobs  # without state Spark finds the tables by itself, and outside a pipeline nothing has an order

    # The tables that the query reads, by name; True for a table that it reads as a stream.
    tables: dict[str, bool] = {}
    for source in query.sources:
        for read in reads_of(connect_relation(source.df)):
            if read.HasField("named_table"):
                tables[read.named_table.unparsed_identifier] = read.is_streaming

    # A union with no rows of each table makes the output name the tables.
    blobs_and_tables = blobs
    for name, is_streaming in tables.items():
        table = session.readStream.table(name) if is_streaming else session.read.table(name)
        nulls = [F.lit(None).cast(part.dataType).alias(part.name) for part in OUTPUT]
        no_rows = table.where(F.lit(False)).select(*nulls)
        blobs_and_tables = blobs_and_tables.union(no_rows)
    return with_columns_if_declared(blobs, blobs_and_tables, OUTPUT)
