"""An event stream on its way to a plan: what a query reads of it, as a part of the plan and as a projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis
from muntin.errors import QueryError
from muntin.errors.messages import Call, SparkFunction
from muntin_engine.backends.planned_query import ProjectedRows, Projection
from muntin_engine.backends.spark.column_types import arrow_type_of, axis_of, check_no_collation, places_of
from muntin_engine.backends.spark.inputs.input_columns import (
    ReadColumns,
    as_column,
    check_order,
    fields_of,
    orders_by_name,
    read_as,
)
from muntin_engine.backends.spark.inputs.time_marks import Marks, marks_of, with_marks
from muntin_engine.plan import Columns, Input, InputPolicies, NamedColumn
from muntin_engine.plan.inputs import POLICIES
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.request import ROLES
from muntin_engine.wire.event_ids import in_utc

if TYPE_CHECKING:
    from muntin_engine.plan.request import InputRequest


_TEXTS: Final = ("change", "signal", "source")
"""The roles whose columns are read as text."""


@dataclass
class PlannedStream:
    """An event stream with what the query reads of it.

    Attributes:
        request: The stream, as the query writer describes it.
        fields: The columns that it names, by the names under which they travel.
        tested: The conditions on its insertions.
        inputs: The columns that modules read.
    """

    request: InputRequest
    fields: Mapping[str, spark_types.StructField]
    tested: Sequence[spark_types.StructField]
    inputs: ReadColumns

    @classmethod
    def of(cls, request: InputRequest) -> PlannedStream:
        """Look up the columns of a stream of which no module has read anything yet.

        Raises:
            QueryError: A column is missing.
        """
        conditions = {f"where {place}": condition for place, condition in enumerate(request.conditions)}
        readers = dict.fromkeys((f"k{place}" for place, _ in enumerate(request.keys)), "key")
        readers |= {"start": "at"} if request.end is None else {}
        readers |= dict.fromkeys(conditions, "where")
        fields = fields_of(request.df, {**request.named_columns, **conditions}, readers)
        tested = [fields.pop(name) for name in conditions]
        return cls(request, fields, tested, ReadColumns(request.df))

    @cached_property
    def axis(self) -> Axis:
        """The axis of its times."""
        times = [self.fields[name] for name in ("start", "end", "new_end") if name in self.fields]
        axes = {axis_of(part.name, part.dataType) for part in times}
        kinds = {part.dataType.simpleString() for part in times}
        is_mixed = len({places_of(part.dataType) for part in times}) > 1
        if len(axes) > 1 or is_mixed or (len(kinds) > 1 and Axis.TIME in axes):
            named = ", ".join(f"{part.name} {part.dataType.simpleString()}" for part in times)
            raise QueryError(f"the times of a query must be of one type, got {named}")
        return axes.pop()

    @property
    def places(self) -> int | None:
        """The decimal places of its times, if these are decimals."""
        return places_of(self.fields["start"].dataType)

    @property
    def keys(self) -> list[spark_types.StructField]:
        """The columns that it is grouped by."""
        return [self.fields[f"k{place}"] for place, _ in enumerate(self.request.keys)]

    @property
    def spelled_times(self) -> str:
        """The type of its times, and their unit if they have one."""
        unit = "" if self.request.unit is None else f" in {self.request.unit}"
        return f"{self.fields['start'].dataType.simpleString()}{unit}"

    def order(self) -> list[int]:
        """Return the places of the columns that order its rows, as further inputs; the first one decides first.

        Raises:
            PolicyError: A column has no order.
        """
        places: list[int] = []
        for name, column in orders_by_name(self.request.order).items():
            if column is None:
                continue
            (part,) = fields_of(self.request.df, {name: column}, {}).values()
            check_order(part)
            places.append(self.inputs.place(column, part, read_as(part)))
        return places

    def input_plan(self, scale: AxisScale, order: Sequence[int] = ()) -> Input:
        """Return its part of the plan, once all modules have their columns, and its order places among them.

        Raises:
            QueryError: It has integer times, and sources that follow a clock; or lengths that are not like its times.
        """
        request = self.request
        idle = request.progress.idle
        has_timestamps = scale.unit is None and scale.places is None
        if not has_timestamps and idle is not None and idle.lag is not None:
            raise QueryError(
                "a source that is idle follows a clock, and integer or decimal times do not\n"
                "  give {events} timestamps, for example {example}, or leave the lag out",
                events=Call("events"),
                example=SparkFunction("timestamp_millis", "at"),
            )
        self._check_lengths()
        columns = Columns(
            **{name: _named(self.fields[name]) for name in ROLES if name in self.fields},
            keys=tuple(map(_named, self.keys)),
            payload=tuple(map(_named, self.inputs.fields)),
            conditions=tuple(map(_named, self.tested)),
            ranges={name: _named(self.fields[name]) for name in request.ranges},
        )
        policies = InputPolicies(**{name: getattr(request, name) for name in POLICIES})
        return Input(
            columns,
            len(request.heartbeats),
            has_clock=request.clock is not None,
            order=order[0] if order else None,
            then_by=tuple(order[1:]),
            is_chained=bool(request.inner) and not request.rules,
            **vars(scale.resolve(policies)),
        )

    def _check_lengths(self) -> None:
        """Refuse columns of lengths that are not like the times.

        Raises:
            QueryError: One is not.
        """
        lengths = self.request.length_columns
        columns = {length.name: F.col(length.name) for length in lengths}
        for length, part in zip(lengths, fields_of(self.request.df, columns, {}).values(), strict=True):
            if self.axis is Axis.TIME:
                fits = isinstance(part.dataType, spark_types.DayTimeIntervalType)
                wanted = "an interval: F.expr(\"minutes * INTERVAL '1' MINUTE\")"
            elif self.places is not None:
                fits = places_of(part.dataType) == self.places
                wanted = f"of {self.places} places, as the times: cast it"
            else:
                fits = isinstance(part.dataType, spark_types.IntegralType)
                wanted = "of whole numbers, as the times"
            if not fits:
                times = self.fields["start"].dataType.simpleString()
                raise QueryError(
                    f"the length {length.text} is {part.dataType.simpleString()}, and times are {times}\n"
                    f"  expected: a column that is {wanted}"
                )

    def projection(self, scale: AxisScale) -> Projection:
        """Return its columns that the query reads, with the rows of heartbeats and clocks among its own.

        Raises:
            QueryError: A key or an id is of a type that cannot travel.
        """
        request = self.request
        id_type = None
        if "id" in self.fields:
            id_type = in_utc(arrow_type_of(self.fields["id"].dataType))
            check_no_collation(self.fields["id"], "the id")
        key_types = tuple(map(_key_type, self.keys))

        columns, texts = self._projected_columns()
        has_marks = bool(request.heartbeats) or request.clock is not None
        if has_marks:
            columns.setdefault("change", F.lit("insert"))
        source = request.df if request.rows is None else request.df.where(request.rows)
        rows = source.select(*(column.alias(name) for name, column in columns.items()))
        marks: Marks = ()
        if has_marks:
            heartbeats = []
            for beat in request.heartbeats:
                heartbeats.append(replace(beat, delay=scale.resolve(beat.delay, "delay of a heartbeat")))
            marks = marks_of(rows.schema["start"], heartbeats, request.clock, scale)

        projected = ProjectedRows(request.df, columns, texts, request.rows, marks)
        has_changes = "change" in columns
        return Projection(with_marks(rows, marks), key_types, tuple(self.inputs.types), has_changes, projected, id_type)

    def _projected_columns(self) -> tuple[dict[str, Column], dict[str, str]]:
        """Return the columns that a query reads, by their names, and what identifies those that only name a column."""
        named = self.request.named_columns
        columns = {name: as_column(column) for name, column in named.items()}
        for name in _TEXTS:
            if name in columns:
                columns[name] = columns[name].cast("string")
        for length in self.request.length_columns:
            columns[length.name] = F.col(length.name)
        if self.request.conditions:
            columns["kept"] = reduce(and_, self.request.conditions)
        for place, column in enumerate(self.inputs.columns):
            columns[f"i{place}"] = column

        named |= {f"i{place}": name for place, name in self.inputs.names.items()}
        texts: dict[str, str] = {}
        for name, text in named.items():
            if isinstance(text, str):
                texts[name] = f"{text} as text" if name in _TEXTS else text
        return columns, texts


def _named(part: spark_types.StructField) -> NamedColumn:
    return NamedColumn(part.name, part.dataType.simpleString())


def _key_type(part: spark_types.StructField) -> pa.DataType:
    """Return the Arrow type in which a key travels.

    Raises:
        QueryError: Its type cannot be the key of a shuffle, or has a collation.
    """
    if "map<" in part.dataType.simpleString():
        # Spark groups by maps, but gives no hash of one, by which keys are spread over buckets.
        entries = "F.array_sort(F.map_entries(...)) in the place of the map"
        if isinstance(part.dataType, spark_types.MapType):
            entries = f"df.withColumn({part.name!r}, F.array_sort(F.map_entries({part.name!r})))"
        raise QueryError(
            f"the key {part.name} holds a map, and Spark gives no hash of maps, by which keys are spread over buckets\n"
            f"  make a key of its sorted entries, which are equal where maps are: {entries}"
        )
    check_no_collation(part, "the key")
    return arrow_type_of(part.dataType)
