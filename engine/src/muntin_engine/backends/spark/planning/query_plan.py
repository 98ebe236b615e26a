"""From the query writer's words to a plan and the columns it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from operator import and_
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis, ClipPolicy, EarlyEmission, TimestampPolicy
from muntin.errors import PolicyError, QueryError
from muntin.messages import Call, SparkFunction
from muntin.query_checks import clip_of, timestamps_of
from muntin.rows import RowWindows
from muntin.schemas import Field
from muntin.triggers import Trigger
from muntin.triggers.elementary import conditions_of
from muntin.windows.specification import Unwindowed
from muntin_engine.backends.planned_query import ProjectedRows, Projection
from muntin_engine.backends.spark.column_types import (
    arrow_type_of,
    axis_of,
    check_no_collation,
    field_of,
    passed_on,
    places_of,
)
from muntin_engine.backends.spark.inputs.input_columns import (
    ReadColumns,
    as_column,
    check_order,
    check_read,
    fields_of,
    orders_by_name,
    read_as,
)
from muntin_engine.backends.spark.inputs.time_marks import marks_of, with_marks
from muntin_engine.backends.spark.planning.code_in_use import code_in_use
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Columns, Input, InputPolicies, ModulePlan, NamedColumn, Plan, plan_module
from muntin_engine.plan.inputs import POLICIES
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan, PairCondition, plan_condition
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.module_plan import SOURCE, plan_several, sources_of_inputs
from muntin_engine.plan.planner import checked_plan
from muntin_engine.plan.request import ROLES
from muntin_engine.wire.event_ids import in_utc

if TYPE_CHECKING:
    from muntin.modules.call import ModuleCall
    from muntin_engine.plan.request import (
        InputRequest,
        JoinCondition,
        JoinRequest,
        WindowRequest,
    )


_TEXTS: Final = ("change", "signal", "source")
"""The roles whose columns are read as text."""


@dataclass
class _Stream:
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
    def of(cls, request: InputRequest) -> _Stream:
        """Return a stream of which no module has read anything yet."""
        conditions = {f"where {place}": condition for place, condition in enumerate(request.conditions)}
        readers = dict.fromkeys((f"k{place}" for place, _ in enumerate(request.keys)), "key")
        readers |= {"start": "at"} if request.end is None else {}
        readers |= dict.fromkeys(conditions, "where")
        found = fields_of(request.df, {**request.named_columns, **conditions}, readers)
        tested = [found.pop(name) for name in conditions]
        return cls(request, found, tested, ReadColumns(request.df))

    @cached_property
    def axis(self) -> Axis:
        """The axis of its times."""
        return _axis([self.fields[name] for name in ("start", "end", "new_end") if name in self.fields])

    @property
    def places(self) -> int | None:
        """The decimal places of its times, if these are decimals."""
        return places_of(self.fields["start"].dataType)

    @property
    def keys(self) -> list[spark_types.StructField]:
        """The columns that it is grouped by."""
        return [self.fields[f"k{place}"] for place, _ in enumerate(self.request.keys)]

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

    def planned(self, scale: AxisScale, order: Sequence[int] = ()) -> Input:
        """Return its part of the plan, once all modules have their columns, and its order places among them.

        Raises:
            QueryError: It has integer times, and sources that follow a clock.
        """
        request, idle = self.request, self.request.progress.idle
        if (scale.unit is not None or scale.places is not None) and idle is not None and idle.lag is not None:
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
        return Input(
            columns,
            len(request.heartbeats),
            has_clock=request.clock is not None,
            order=order[0] if order else None,
            then_by=tuple(order[1:]),
            is_chained=bool(request.inner) and not request.rules,
            **vars(scale.resolve(InputPolicies(**{name: getattr(request, name) for name in POLICIES}))),
        )

    def _check_lengths(self) -> None:
        """Refuse columns of lengths that are not like the times.

        Raises:
            QueryError: One is not.
        """
        request, start = self.request, self.fields["start"].dataType
        read = {length.name: F.col(length.name) for length in request.length_columns}
        for length, part in zip(request.length_columns, fields_of(request.df, read, {}).values(), strict=True):
            kind = part.dataType
            if self.axis is Axis.TIME:
                fits, wanted = (
                    isinstance(kind, spark_types.DayTimeIntervalType),
                    "an interval: F.expr(\"minutes * INTERVAL '1' MINUTE\")",
                )
            elif self.places is not None:
                fits, wanted = places_of(kind) == self.places, f"of {self.places} places, as the times: cast it"
            else:
                fits, wanted = isinstance(kind, spark_types.IntegralType), "of whole numbers, as the times"
            if not fits:
                raise QueryError(
                    f"the length {length.text} is {kind.simpleString()}, and times are {start.simpleString()}\n"
                    f"  expected: a column that is {wanted}"
                )

    def projected(self, scale: AxisScale) -> Projection:
        """Return its columns that the query reads."""
        request = self.request
        id_type = None
        if "id" in self.fields:
            id_type = in_utc(arrow_type_of(self.fields["id"].dataType))
            check_no_collation(self.fields["id"], "the id")
        types = tuple(map(_key_type, self.keys))
        heartbeats = [
            replace(beat, delay=scale.resolve(beat.delay, "delay of a heartbeat")) for beat in request.heartbeats
        ]
        columns, named = _projected_columns(request, self.inputs)
        has_marks = bool(heartbeats) or request.clock is not None
        if has_marks:
            columns.setdefault("change", F.lit("insert"))
        source = request.df if request.rows is None else request.df.where(request.rows)
        plain = source.select(*(column.alias(name) for name, column in columns.items()))
        marks = marks_of(plain.schema["start"], heartbeats, request.clock, scale) if has_marks else ()
        made = ProjectedRows(request.df, columns, named, request.rows, marks)
        rows = with_marks(plain, marks)
        return Projection(rows, types, tuple(self.inputs.types), "change" in columns, made, id_type)


@in_session()
def plan_query(request: WindowRequest, calls: Mapping[str, ModuleCall]) -> tuple[tuple[Projection, ...], Plan]:
    """Return the projected inputs of a query, and its plan.

    Raises:
        QueryError: The times are of different kinds, a column cannot travel, streams and static inputs are mixed, or
            what the planner raises.
    """
    events, streams = request.events, [_Stream.of(stream) for stream in request.streams]
    if len({stream.request.df.isStreaming for stream in streams}) > 1:
        raise QueryError(
            "the inputs of a query are all streams, or all static DataFrames; got both\n"
            "  a table without times is joined before events(): events(df.join(table, 'station'), ...)\n"
            "  one with times is read as a stream too, with spark.readStream"
        )
    if len({(stream.axis, stream.places, stream.request.unit) for stream in streams}) > 1:
        named = ", ".join(f"{stream.request.name} {_spelled_times(stream)}" for stream in streams)
        raise QueryError(
            "the inputs of a query have times of one kind, and of one unit if they are integers; got {named}\n"
            "  cast them to timestamp, for example {example}, or give each {events} the same unit",
            named=named,
            example=SparkFunction("timestamp_millis", "at"),
            events=Call("events"),
        )
    first, windows = streams[0], request.specification
    scale = AxisScale(first.axis, events.unit, first.fields["start"].name, first.places)

    planned = [
        replace(_plan_call(streams[call.side], output, call, scale), side=call.side) for output, call in calls.items()
    ]
    if events.order is not None:
        planned = [replace(module, module=module.module.with_order()) for module in planned]
    modules = [module.module for module in planned]
    join = None if request.join is None else plan_join([stream.inputs for stream in streams], request.join)

    expressions: dict[str, int] = {}
    if isinstance(windows, RowWindows):
        expressions = _plan_expressions(first.inputs, windows)
    elif isinstance(request.emit, EarlyEmission):
        expressions = _plan_expressions(first.inputs, request.emit.trigger)
    is_ordered = isinstance(windows, RowWindows | Unwindowed) or any(module.reads_order for module in modules)
    orders = [
        stream.order() if stream.request.lifetimes == "edge" or (is_ordered and stream is first) else []
        for stream in streams
    ]

    clip = None if request.clip else clip_of(modules)
    timestamps = None if request.timestamps else timestamps_of(modules)
    plan = checked_plan(
        Plan(
            inputs=tuple(stream.planned(scale, order) for stream, order in zip(streams, orders, strict=True)),
            axis=first.axis,
            unit=events.unit,
            places=first.places,
            window=scale.resolve(windows),
            clip=request.clip or clip or ClipPolicy.NONE,
            timestamps=request.timestamps or timestamps or TimestampPolicy.ALIGN,
            emit=scale.resolve(request.emit),
            written_emit=str(request.emit),
            modules=tuple(planned),
            buckets=events.buckets if events.keys else 1,
            expressions=expressions,
            named_windows={name: scale.resolve(window) for name, window in request.named.items()},
            wanted=request.evaluator,
            forget_keys_after=scale.resolve(request.forget_keys_after, "forget_keys_after"),
            join=join,
            from_modules=frozenset(["clip"] * bool(clip) + ["timestamps"] * bool(timestamps)),
        ),
        DECLARATIONS,
    )

    projections = tuple(stream.projected(scale) for stream in streams)
    called = [] if join is None or join.on is None else [join.on.function]
    own = (window for window in plan.windows if "." in window.name)  # others are Muntin's
    code = code_in_use(chain(modules, own), (projection.df for projection in projections), called)
    return projections, replace(plan, code=code)


def _plan_call(stream: _Stream, output: str, call: ModuleCall, scale: AxisScale) -> ModulePlan:
    if call.streams:
        return _plan_streams(stream, output, call, scale)
    inputs = stream.inputs
    parts = inputs.parts(call.inputs, call.cls.name)

    def place(number: int, wanted: Field) -> int:
        return inputs.place(call.inputs[number], parts[number], wanted)

    return plan_module(output, call.cls, call.parameters, _fields(parts), place, scale.resolve)


def _plan_streams(stream: _Stream, output: str, call: ModuleCall, scale: AxisScale) -> ModulePlan:
    """Return a module whose inputs are streams of a union.

    Raises:
        QueryError: There is no such stream, or no such column.
        TypeMismatchError: A column is not what the module reads.
    """
    inputs, source = stream.inputs, stream.request.source
    named = {name: given.stream for name, given in call.streams.items()}
    sources = sources_of_inputs(call.cls, named, stream.request.sources)
    assert source is not None, "events that have sources have a column of them"
    parts = {
        name: inputs.parts(given.columns, f"the input {name} of {call.cls.name}")
        for name, given in call.streams.items()
    }
    is_text = isinstance(source, str) and stream.fields["source"].dataType == spark_types.StringType()
    of_source = inputs.place(
        source if is_text else as_column(source).cast("string"),
        spark_types.StructField(SOURCE.name, spark_types.StringType()),
        SOURCE,
    )

    def place(name: str, number: int, wanted: Field) -> int:
        return inputs.place(call.streams[name].columns[number], parts[name][number], wanted)

    given = {name: _fields(some) for name, some in parts.items()}
    return plan_several(output, call.cls, call.parameters, sources, given, of_source, place, scale.resolve)


def _plan_expressions(inputs: ReadColumns, reader: RowWindows | Trigger) -> dict[str, int]:
    """Return the places of what row windows or a trigger read, as further inputs.

    Raises:
        PolicyError: A column is not of a type that can be read so.
    """
    places: dict[str, int] = {}
    for expression in reader.reads:
        column = F.expr(expression)
        named = str(reader) if isinstance(reader, RowWindows) else "the trigger"
        (part,) = fields_of(inputs.df, {expression: column}, {expression: named}).values()
        wanted = field_of(expression, part.dataType)
        if isinstance(reader, RowWindows):
            check_read(reader, expression, part.dataType)
            wanted = read_as(part)
        elif expression in conditions_of(reader) and not isinstance(part.dataType, spark_types.BooleanType):
            raise PolicyError(
                f"when({expression!r}) is of type {part.dataType.simpleString()}\n"
                "  expected: a condition, such as 'price > 100'"
            )
        places[expression] = inputs.place(column, part, wanted)
    return places


def _spelled_times(stream: _Stream) -> str:
    unit = "" if stream.request.unit is None else f" in {stream.request.unit}"
    return f"{stream.fields['start'].dataType.simpleString()}{unit}"


def _fields(parts: Sequence[spark_types.StructField]) -> list[Field]:
    return [field_of(part.name, part.dataType) for part in parts]


def _named(part: spark_types.StructField) -> NamedColumn:
    return NamedColumn(part.name, part.dataType.simpleString())


def _axis(times: Sequence[spark_types.StructField]) -> Axis:
    axes = {axis_of(part.name, part.dataType) for part in times}
    kinds = {part.dataType.simpleString() for part in times}
    is_mixed = len({places_of(part.dataType) for part in times}) > 1
    if len(axes) > 1 or is_mixed or (len(kinds) > 1 and Axis.TIME in axes):
        named = ", ".join(f"{part.name} {part.dataType.simpleString()}" for part in times)
        raise QueryError(f"the times of a query must be of one type, got {named}")
    return axes.pop()


def _key_type(part: spark_types.StructField) -> pa.DataType:
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


def _projected_columns(events: InputRequest, inputs: ReadColumns) -> tuple[dict[str, Column], dict[str, str]]:
    """Return the columns that a query reads, by their names, and what identifies those that only name a column."""
    given = events.named_columns
    columns = {name: as_column(column) for name, column in given.items()}
    columns |= {name: columns[name].cast("string") for name in _TEXTS if name in columns}
    columns |= {length.name: F.col(length.name) for length in events.length_columns}
    if events.conditions:
        columns["kept"] = reduce(and_, events.conditions)
    columns |= {f"i{place}": column for place, column in enumerate(inputs.columns)}
    given |= {f"i{place}": name for place, name in inputs.names.items()}
    texts = {name: column for name, column in given.items() if isinstance(column, str)}
    return columns, {name: f"{text} as text" if name in _TEXTS else text for name, text in texts.items()}


def plan_join(inputs: Sequence[ReadColumns], join: JoinRequest) -> JoinPlan:
    """Return a join, whose columns are further inputs of its two sides.

    Raises:
        QueryError: An input does not have a column.
        ParameterError, TypeMismatchError: A condition does not fit; see `_plan_condition`.
    """
    columns: list[JoinedColumn] = []
    for side, (given, named) in enumerate(zip(inputs, join.columns, strict=True)):
        parts = fields_of(given.df, named, dict.fromkeys(named, "join()"))
        for name, part in parts.items():
            column = passed_on(name, part.dataType)
            columns.append(JoinedColumn(column, side, given.place(named[name], part, column)))
    return JoinPlan(join.kind, tuple(columns), None if join.on is None else _plan_condition(inputs, join.on))


def _plan_condition(inputs: Sequence[ReadColumns], on: JoinCondition) -> PairCondition:
    """Return the condition of a join, whose columns are further inputs of its two sides.

    Raises:
        QueryError: An input does not have a column.
        ParameterError: The function does not take its parameters.
        TypeMismatchError: A column is not what it reads.
    """
    read = [(side, column) for side, columns in enumerate((on.left, on.right)) for column in columns]
    parts = [inputs[side].parts([column], on.function.name)[0] for side, column in read]

    def place(number: int, wanted: Field) -> tuple[int, int]:
        side, column = read[number]
        return side, inputs[side].place(column, parts[number], wanted)

    names = [f"{('left', 'right')[side]}.{part.name}" for (side, _), part in zip(read, parts, strict=True)]
    return plan_condition(
        on.function, on.parameters, [field_of(part.name, part.dataType) for part in parts], place, names
    )
