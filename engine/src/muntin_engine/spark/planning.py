"""From the query writer's words to a plan and the columns it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import QueryError
from muntin.schemas import Field, ScalarKind
from muntin_engine.inputs import bind_inputs
from muntin_engine.plan import ModulePlan, Plan, plan_module
from muntin_engine.spark.types import axis_of, field_of

if TYPE_CHECKING:
    from muntin_engine.query import ColumnLike, EventStream, ModuleCall, WindowedStream

_FLOATING = (spark_types.FloatType, spark_types.DoubleType)


@dataclass
class _Inputs:
    """The columns that modules read; a column named twice is carried once."""

    df: DataFrame
    columns: list[Column] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    _places: dict[tuple[str, ScalarKind | None], int] = field(default_factory=dict)

    def place(self, column: ColumnLike, name: str, kind: ScalarKind | None) -> int:
        """Return the place of a column, converted to a kind."""
        if isinstance(column, str) and (column, kind) in self._places:
            return self._places[column, kind]
        self._places[name, kind] = len(self.columns)
        self.columns.append(_converted(_as_column(column), kind))
        self.names.append(name)
        return len(self.columns) - 1


def plan_query(stream: WindowedStream, calls: Mapping[str, ModuleCall]) -> tuple[DataFrame, Plan]:
    """Return the projected input of a query, and its plan.

    The projection has the columns `bucket`, `change`, `id`, `start`, `end`, `new_end`, then the keys `k0`, `k1`, ...
    and the inputs `i0`, `i1`, ...

    Raises:
        QueryError: The times are of different kinds, or result columns share a name; and what `plan_module` raises.
    """
    events = stream.events
    inputs = _Inputs(events.df)
    modules = tuple(_plan_call(inputs, output, call) for output, call in calls.items())
    keys = events.df.select(*[_as_column(key) for key in events.keys]).schema.fields
    plan = Plan(
        keys=tuple(key.name for key in keys),
        inputs=tuple(inputs.names),
        axis=_axis(events),
        window=stream.specification,
        clip=stream.clip,
        timestamps=stream.timestamps,
        emit=stream.emit,
        modules=modules,
        lifetimes="edge" if events.is_edge else "point" if events.end is None else "interval",
        has_ids=events.id is not None,
        delay=events.delay,
        buckets=events.buckets,
    )
    return _project(events, plan, keys, inputs.columns), plan


def _plan_call(inputs: _Inputs, output: str, call: ModuleCall) -> ModulePlan:
    schema = inputs.df.select(*[_as_column(column) for column in call.inputs]).schema if call.inputs else ()
    fields = [field_of(part.name, part.dataType) for part in schema]
    binding, _ = bind_inputs(call.cls, range(len(fields)), fields)
    places = [
        inputs.place(column, given.name, binding.as_kind.get(place))
        for place, (column, given) in enumerate(zip(call.inputs, fields, strict=True))
    ]
    return plan_module(output, call.cls, call.parameters, places, fields)


def _axis(events: EventStream) -> Literal["time", "ticks"]:
    columns = [column for column in (events.start, events.end, events.new_end) if column is not None]
    fields = events.df.select(*[_as_column(column) for column in columns]).schema.fields
    axes = {axis_of(part.name, part.dataType) for part in fields}
    kinds = {part.dataType.simpleString() for part in fields}
    if len(axes) > 1 or len(kinds) > 1 and "time" in axes:
        named = ", ".join(f"{part.name} {part.dataType.simpleString()}" for part in fields)
        raise QueryError(f"the times of a query must be of one type, got {named}")
    return axes.pop()


def _project(
    events: EventStream, plan: Plan, keys: Sequence[spark_types.StructField], inputs: Sequence[Column]
) -> DataFrame:
    grouped = [_normal(_as_column(key), part.dataType) for key, part in zip(events.keys, keys, strict=True)]
    bucket = F.pmod(F.xxhash64(*grouped), F.lit(plan.buckets)) if grouped else F.lit(0)
    start = _as_column(events.start) if events.start is not None else F.lit(None)
    nothing = F.lit(None).cast(events.df.select(start).schema[0].dataType)
    return events.df.select(
        bucket.cast("int").alias("bucket"),
        (F.lit("insert") if events.change is None else _as_column(events.change).cast("string")).alias("change"),
        (F.lit(None).cast("string") if events.id is None else _as_column(events.id)).alias("id"),
        start.alias("start"),
        (nothing if events.end is None else _as_column(events.end)).alias("end"),
        (nothing if events.new_end is None else _as_column(events.new_end)).alias("new_end"),
        *(key.alias(f"k{place}") for place, key in enumerate(grouped)),
        *(column.alias(f"i{place}") for place, column in enumerate(inputs)),
    )


def _normal(column: Column, data_type: spark_types.DataType) -> Column:
    """Return a key column in which equal keys are identical: one NaN, and no negative zero."""
    if not isinstance(data_type, _FLOATING):
        return column
    return F.when(F.isnan(column), F.lit(float("nan"))).otherwise(column + F.lit(0.0)).cast(data_type)


def _converted(column: Column, kind: ScalarKind | None) -> Column:
    return column.cast("double") if kind is ScalarKind.FLOAT else column


def _as_column(column: Any) -> Column:
    return F.col(column) if isinstance(column, str) else column
