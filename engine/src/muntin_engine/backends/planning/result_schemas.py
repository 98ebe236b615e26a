"""The Arrow schemas of the outputs of a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from muntin.errors import QueryError
from muntin.schemas import Field
from muntin_engine.backends.planning.field_types import result_type, time_type_of
from muntin_engine.wire.side_output import side_output_schema

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan import Plan


class ProjectedColumn(NamedTuple):
    """A column of results that is a column of an input as it is.

    Attributes:
        side: The place of the input.
        name: The name of the column in the projection of the input.
    """

    side: int
    name: str


class CarriedTypes(NamedTuple):
    """The Arrow types in which columns of a query's first input travel.

    Attributes:
        time: The type of times in results.
        keys: The types of the keys.
        inputs: The types of the inputs of modules.
    """

    time: pa.DataType
    keys: Sequence[pa.DataType]
    inputs: Sequence[pa.DataType]

    @classmethod
    def of(cls, query: PlannedQuery) -> CarriedTypes:
        """Return the types of a query."""
        return cls(time_type_of(query.source.times, query.plan), query.source.keys, query.source.inputs)


def result_schema(query: PlannedQuery) -> pa.Schema:
    """Return the schema of all columns of a query's results, also of those that it does not select."""
    return schema_of_results(query.plan, CarriedTypes.of(query))


def schema_of_results(plan: Plan, types: CarriedTypes) -> pa.Schema:
    """Return the schema of the results of a plan."""
    return _schema(plan, types, plan.engine_columns, plan.outputs)


def schema_of_evicted(plan: Plan, types: CarriedTypes) -> pa.Schema:
    """Return the schema of the second output of a plan that has one."""
    return _schema(plan, types, plan.engine_columns_of_evicted, plan.evicted)


def refused_schema(query: PlannedQuery) -> pa.Schema:
    """Return the schema of the late and the rejected rows of a query."""
    time = time_type_of(query.source.times, query.plan)
    return side_output_schema(time, len(query.plan.inputs))


def evicted_schema(query: PlannedQuery) -> pa.Schema:
    """Return the schema of the second output of a query.

    Raises:
        QueryError: The query has no such output.
    """
    check_evicts_rows(query.plan)
    return schema_of_evicted(query.plan, CarriedTypes.of(query))


def check_evicts_rows(plan: Plan) -> None:
    """Refuse a query whose modules give no rows when rows leave, so that it has no second output.

    Raises:
        QueryError: The query has no such output.
    """
    if plan.evicted:
        return
    label = plan.modules[0].label if plan.modules else "this query"
    raise QueryError(
        f"{label} gives nothing when rows leave, so there is no such output\n"
        "  expected: an operator that follows rows, RowOperator[..., Left], whose on_evict returns rows"
    )


def projected_columns(plan: Plan) -> dict[str, ProjectedColumn]:
    """Return the columns of results that are columns of an input as they are, by their names in results.

    In the projection of an input, keys are called `k0`, `k1` and so on, and the columns that modules read `i0`, `i1`.
    """
    columns = {key.name: ProjectedColumn(side=0, name=f"k{place}") for place, key in enumerate(plan.keys)}
    partition_place = _partition_place(plan)
    if partition_place is not None:
        columns["partition"] = ProjectedColumn(side=0, name=f"i{partition_place}")
    if plan.join is not None:
        for joined in plan.join.columns:
            columns[joined.field.name] = ProjectedColumn(joined.side, f"i{joined.place}")
    return columns


def _partition_place(plan: Plan) -> int | None:
    """Return the place, among the inputs, of the column that partitions row windows; None without partitions."""
    if plan.rows is None or plan.rows.partition_by is None:
        return None
    return plan.expressions[plan.rows.partition_by]


def _schema(plan: Plan, types: CarriedTypes, added_names: Iterable[str], outputs: Iterable[Field]) -> pa.Schema:
    """Return the schema of output rows: the keys, then the columns that Muntin adds, then the outputs of modules.

    Args:
        plan: The plan, which has the keys.
        types: The types of times, keys and inputs.
        added_names: The names of the columns that Muntin adds.
        outputs: The fields that modules return.
    """
    time = types.time
    extent = pa.struct([("start", time), ("end", time)])
    added_types: dict[str, pa.DataType] = {
        "window_name": pa.string(),
        "change": pa.string(),
        "event_id": pa.int64(),
        "new_end": time,
        "timing": pa.string(),
        "firing": pa.int64(),
        "ends_window": pa.bool_(),
    }
    partition_place = _partition_place(plan)
    if partition_place is not None:
        added_types["partition"] = types.inputs[partition_place]

    fields: list[tuple[str, pa.DataType]] = []
    for key, key_type in zip(plan.keys, types.keys, strict=True):
        fields.append((key.name, key_type))
    for name in added_names:
        fields.append((name, added_types.get(name, extent)))  # all others are windows and lifetimes: two times
    for output in outputs:
        fields.append((output.name, result_type(output, time)))
    return pa.schema(fields)
