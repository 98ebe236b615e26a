"""The DataFrames of a query: project, distribute, evaluate in buckets, type.

    input -> mapInArrow (rows to buckets, no shuffle) -> groupBy(bucket).transformWithState -> mapInArrow (typed rows)

A static input takes the same way with a grouped map instead of the stateful operator, and is closed after its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import QueryError, TimestampPolicy
from muntin.schemas import Field, Scalar, ScalarKind, Struct
from muntin_engine.core.cells import MemoryCells
from muntin_engine.core.query import Binding, WindowedQuery
from muntin_engine.plan import Plan
from muntin_engine.spark.blobs import from_blob
from muntin_engine.spark.bucket_task import LATE, REJECTED, RESULTS, run_bucket
from muntin_engine.spark.distribute import EXCHANGE, Distributor
from muntin_engine.spark.job import Job, open_job, pack_job
from muntin_engine.spark.output import REFUSED
from muntin_engine.spark.preconditions import check_session
from muntin_engine.spark.spread import bucket_ids
from muntin_engine.spark.stateful import OUTPUT, BucketProcessor, collect
from muntin_engine.spark.types import arrow_schema_of, spark_type_of

if TYPE_CHECKING:
    from muntin_engine.query import Query

_EXCHANGE: Final = "bucket int, rows binary, punctuation bigint, horizon bigint, newest bigint"


def results(query: Query) -> DataFrame:
    """Return the results of a query."""
    schema = result_schema(query)
    blobs = _counted(query, _evaluate(query, schema))
    return _decode(blobs.where(F.col("stream") == RESULTS), schema)


def refused(query: Query, stream: Literal["late", "rejected"]) -> DataFrame:
    """Return the late or the rejected rows of a query."""
    blobs = _counted(query, _evaluate(query, result_schema(query)))
    schema = spark_types.StructType([spark_types.StructField(name, spark_types.StringType()) for name in REFUSED.names])
    return _decode(blobs.where(F.col("stream") == stream), schema)


def result_schema(query: Query) -> spark_types.StructType:
    """Return the schema of a query's results."""
    plan, source = query.plan, query.source.schema
    time = source["start"].dataType if plan.axis == "time" else spark_types.LongType()
    extent = spark_types.StructType([spark_types.StructField("start", time), spark_types.StructField("end", time)])
    fields = [spark_types.StructField(key, source[f"k{place}"].dataType) for place, key in enumerate(plan.keys)]
    fields.append(spark_types.StructField("window", extent))
    if plan.timestamps is not TimestampPolicy.ALIGN:
        fields.append(spark_types.StructField("lifetime", extent))
    if plan.emit.may_retract:
        fields.append(spark_types.StructField("change", spark_types.StringType()))
        fields.append(spark_types.StructField("event_id", spark_types.LongType()))
    outputs = [spark_types.StructField(output.name, spark_type_of(output, time)) for output in outputs_of(plan)]
    _check_distinct([*fields, *outputs])
    return spark_types.StructType([*fields, *outputs])


def outputs_of(plan: Plan) -> tuple[Field, ...]:
    """Return the result columns of the modules: one per aggregate, or the fields of the operator's row."""
    if not plan.is_operator:
        return tuple(Field(module.output, module.result.type, is_nullable=True) for module in plan.modules)
    row = plan.modules[0].result
    return row.type.fields if isinstance(row.type, Struct) else (Field("value", row.type, is_nullable=True),)


def _check_distinct(fields: list[spark_types.StructField]) -> None:
    names = [part.name for part in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryError(f"the result would have two columns named {twice!r}; rename the key, or select before windowing")


def _evaluate(query: Query, schema: spark_types.StructType) -> DataFrame:
    source, plan = query.source, query.plan
    if source.isStreaming:
        check_session(source.sparkSession)
        _check_progress(plan, source)
    job = pack_job(_job(query, schema))
    exchanged = source.mapInArrow(Distributor(job), _EXCHANGE)
    grouped = exchanged.groupBy("bucket")
    if source.isStreaming:
        return grouped.transformWithState(BucketProcessor(job), OUTPUT, "Append", "None")
    return grouped.applyInArrow(static_bucket(job), OUTPUT)


def _check_progress(plan: Plan, source: DataFrame) -> None:
    if plan.delay is None and not query_has_changes(source):
        raise QueryError(
            "this stream never says how complete it is, so no window would ever be final\n"
            "  give events() a delay, such as delay='10 minutes', or a change column with punctuation rows"
        )


def query_has_changes(source: DataFrame) -> bool:
    """True if the input has a column that can hold punctuation, not just the word for an insertion."""
    return source.schema["change"].nullable


def _counted(query: Query, blobs: DataFrame) -> DataFrame:
    """Have Spark report the counts of each micro-batch among the observed metrics of a streaming query."""
    if not query.source.isStreaming:
        return blobs
    counts = [
        F.sum(F.when(F.col("stream") == stream, F.col("rows")).otherwise(0)).alias(name)
        for stream, name in (("progress", "accepted"), (LATE, LATE), (REJECTED, REJECTED), (RESULTS, RESULTS))
    ]
    return blobs.observe(query.counters, *counts)


def _decode(blobs: DataFrame, schema: spark_types.StructType) -> DataFrame:
    return blobs.select("data").mapInArrow(BlobReader(arrow_schema_of(schema)), schema)


class BlobReader:
    """Turns blobs into typed rows."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob."""
        for batch in batches:
            for blob in batch.column(0):
                yield from from_blob(blob.as_py()).cast(self._schema).to_batches()


def static_bucket(job: bytes) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return what evaluates one bucket of a static input, whole. Spark wants a function with annotations."""

    def evaluate(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        blobs, progress = collect(table.to_pylist())
        output = list(run_bucket(open_job(job), MemoryCells(), blobs, progress))
        schema = arrow_schema_of(OUTPUT)
        return pa.table([pa.array([getattr(blob, part.name) for blob in output], part.type) for part in schema], schema=schema)

    return evaluate


def _job(query: Query, schema: spark_types.StructType) -> Job:
    plan = query.plan
    results = arrow_schema_of(schema)
    return Job(
        query=_evaluated(plan),
        identity=plan.identity(),
        names=_names(plan),
        keys=len(plan.keys),
        inputs=len(plan.inputs),
        required=tuple(sorted({place for module in plan.modules for place in module.binding.required})),
        instants=_instants(plan),
        delay=plan.delay,
        reach=plan.reach,
        is_point=plan.lifetimes == "point",
        is_static=not query.source.isStreaming,
        buckets=bucket_ids(plan.buckets),
        results=results,
        outputs=outputs_of(plan),
        time_type=results.field("window").type.field("start").type,
    )


def _evaluated(plan: Plan) -> WindowedQuery:
    return WindowedQuery(
        window=plan.window,
        bindings=tuple(Binding(module.module, module.binding) for module in plan.modules),
        clip=plan.clip,
        timestamps=plan.timestamps,
        emit=plan.emit,
        is_edge=plan.lifetimes == "edge",
        has_ids=plan.has_ids,
    )


def _instants(plan: Plan) -> tuple[int, ...]:
    kinds = {place: kind for module in plan.modules for place, kind in _kinds(module.binding.columns, module.binding.as_kind)}
    return tuple(sorted(place for place, kind in kinds.items() if kind is ScalarKind.INSTANT))


def _kinds(columns: tuple[int, ...], as_kind: Any) -> list[tuple[int, ScalarKind]]:
    return [(place, as_kind[place]) for place in columns if place in as_kind]


def _names(plan: Plan) -> dict[str, str]:
    names = {f"k{place}": key for place, key in enumerate(plan.keys)}
    names |= {f"i{place}": name for place, name in enumerate(plan.inputs)}
    return names | {name: name for name in ("change", "id", "start", "end", "new_end")}
