"""From the query writer's words to a plan and the columns that it reads of each input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from muntin import ClipPolicy, EarlyEmission, TimestampPolicy
from muntin.errors import PolicyError, QueryError
from muntin.errors.messages import Call, WrittenExpression
from muntin.query_checks import clip_of, timestamps_of
from muntin.rows import RowWindows
from muntin.schemas import Field, ScalarKind
from muntin.triggers import Trigger
from muntin.triggers.elementary import conditions_of
from muntin.windows.specification import Unwindowed
from muntin_engine.backends.planning.code_in_use import code_in_use
from muntin_engine.backends.planning.input_column import InputColumn
from muntin_engine.backends.planning.planned_join import plan_join
from muntin_engine.backends.planning.planned_stream import PlannedStream
from muntin_engine.backends.planning.read_columns import ReadColumns, check_read
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import ModulePlan, Plan, plan_module
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.module_plan import SOURCE, plan_several, sources_of_inputs
from muntin_engine.plan.planner import checked_plan
from muntin_engine.plan.request import SqlExpression

if TYPE_CHECKING:
    from muntin import Function
    from muntin.modules.call import ModuleCall
    from muntin_engine.backends.planned_query import Projection
    from muntin_engine.backends.planning.column_reader import ColumnReader
    from muntin_engine.plan.request import WindowRequest


def plan_query(
    reader: ColumnReader, request: WindowRequest, calls: Mapping[str, ModuleCall]
) -> tuple[tuple[Projection, ...], Plan]:
    """Plan a query: return the projections of its inputs, and the plan.

    Args:
        reader: The reader of the columns of the inputs' backend.
        request: The events and their windows.
        calls: The modules, by the names of their results.

    Raises:
        QueryError: The times are of different kinds, a column cannot travel, streams and static inputs are mixed, or
            no evaluator can run the query.
        PolicyError: A module or a trigger is not right under the policies, or a column has a type that its use forbids.
        ParameterError: A module's constructor does not take its parameters.
        TypeMismatchError: A module's inputs are not of the types that it reads.
    """
    streams = [PlannedStream.of(reader, stream) for stream in request.streams]
    _check_streams(reader, streams)
    events = request.events
    first_stream = streams[0]
    scale = AxisScale(first_stream.axis, events.unit, first_stream.columns["start"].name, first_stream.decimal_places)

    # Modules, joins and triggers add the columns that they read to their streams, so a stream is projected after them.
    module_plans: list[ModulePlan] = []
    for output, call in calls.items():
        module_plan = replace(_plan_call(streams[call.side], output, call, scale), side=call.side)
        if events.order is not None:  # a module may break ties by the order if there is one
            module_plan = replace(module_plan, module=module_plan.module.with_order())
        module_plans.append(module_plan)
    modules = [module_plan.module for module_plan in module_plans]

    join = None
    if request.join is not None:
        join = plan_join([stream.inputs for stream in streams], request.join)
    expressions = _plan_expressions(first_stream.inputs, request)

    # Columns that order rows of one time travel only where something reads the order. An edge event ends the event
    # before it, so where lifetimes are edges, the order says which of two rows of one time is the later one.
    reads_order = isinstance(request.specification, RowWindows | Unwindowed)
    reads_order = reads_order or any(module.reads_order for module in modules)
    orders: list[list[int]] = []  # of each stream, the places of the ordering columns among its inputs
    for stream in streams:
        is_read = stream.request.lifetimes == "edge" or (reads_order and stream is first_stream)
        orders.append(stream.order() if is_read else [])

    # Where the query names no clip policy or timestamp policy, the modules may bring one. The plan notes which of the
    # two came from modules, for its explanation.
    clip_by_modules = None if request.clip else clip_of(modules)
    timestamps_by_modules = None if request.timestamps else timestamps_of(modules)
    policies_by_modules: set[str] = set()
    if clip_by_modules:
        policies_by_modules.add("clip")
    if timestamps_by_modules:
        policies_by_modules.add("timestamps")
    plan = checked_plan(
        Plan(
            inputs=tuple(stream.input_plan(scale, order) for stream, order in zip(streams, orders, strict=True)),
            axis=first_stream.axis,
            unit=events.unit,
            decimal_places=first_stream.decimal_places,
            window=scale.resolve(request.specification),
            clip=request.clip or clip_by_modules or ClipPolicy.NONE,
            timestamps=request.timestamps or timestamps_by_modules or TimestampPolicy.ALIGN,
            emit=scale.resolve(request.emit),
            written_emit=str(request.emit),
            modules=tuple(module_plans),
            buckets=events.buckets if events.keys else 1,
            expressions=expressions,
            named_windows={name: scale.resolve(window) for name, window in request.named.items()},
            requested_evaluator=request.evaluator,
            forget_keys_after=scale.resolve(request.forget_keys_after, "forget_keys_after"),
            join=join,
            from_modules=frozenset(policies_by_modules),
        ),
        DECLARATIONS,
    )

    # All columns have been added by now, so the streams can be projected.
    projections = tuple(stream.projection(scale) for stream in streams)
    functions: list[Function[..., Any]] = []
    for projection in projections:
        functions += reader.called_functions(projection.df)
    if join is not None and join.on is not None:
        functions.append(join.on.function)
    windows_of_plugins = (window for window in plan.windows if "." in window.name)  # Muntin's own names have no dot
    code = code_in_use(chain(modules, windows_of_plugins), functions)
    return projections, replace(plan, code=code)


def _check_streams(reader: ColumnReader, streams: Sequence[PlannedStream]) -> None:
    """Refuse streams that do not make one query.

    Raises:
        QueryError: Some are static and others are not, or their times are of different kinds.
    """
    if len({reader.is_stream(stream.request.df) for stream in streams}) > 1:
        raise QueryError(
            "the inputs of a query are all streams, or all static DataFrames; got both\n"
            "  a table without times is joined before events(): events(df.join(table, 'station'), ...)\n"
            "  one with times is read as a stream too, with spark.readStream"
        )
    if len({(stream.axis, stream.decimal_places, stream.request.unit) for stream in streams}) > 1:
        spelled_times = ", ".join(f"{stream.request.name} {stream.spelled_times}" for stream in streams)
        raise QueryError(
            "the inputs of a query have times of one kind, and of one unit if they are integers; got {spelled_times}\n"
            "  cast them to timestamp, for example {example}, or give each {events} the same unit",
            spelled_times=spelled_times,
            example=WrittenExpression("timestamp_millis({})", "at"),
            events=Call("events"),
        )


def _plan_call(stream: PlannedStream, output: str, call: ModuleCall, scale: AxisScale) -> ModulePlan:
    """Plan a module, and add the columns that it reads to the inputs of its stream.

    Args:
        stream: The stream whose rows the module reads.
        output: The name of the module's result.
        call: The module, its parameters, and the columns that it reads.
        scale: The meaning of the stream's times.

    Raises:
        QueryError: The stream does not have a column.
        ParameterError: The module's constructor does not take its parameters.
        TypeMismatchError: The module reads a column of another type.
    """
    if call.streams:
        return _plan_streams(stream, output, call, scale)
    inputs = stream.inputs
    input_columns = inputs.look_up(call.inputs, call.cls.name)

    def place_of_input(number: int, read_field: Field) -> int:
        """Carry a column of the module in the type of the field that it reads, and return its place."""
        return inputs.carry(call.inputs[number], input_columns[number], read_field)

    return plan_module(output, call.cls, call.parameters, _fields(input_columns), place_of_input, scale.resolve)


def _plan_streams(stream: PlannedStream, output: str, call: ModuleCall, scale: AxisScale) -> ModulePlan:
    """Plan a module that reads different columns of each stream of a union, and add them to the union's inputs.

    Args:
        stream: The union.
        output: The name of the module's result.
        call: The module, its parameters, and by the name of each of its inputs the stream and its columns.
        scale: The meaning of the union's times.

    Raises:
        QueryError: There is no such stream, or no such column.
        ParameterError: The module's constructor does not take its parameters.
        TypeMismatchError: The module reads a column of another type.
    """
    inputs = stream.inputs
    source_column = stream.request.source
    stream_names = {name: module_input.stream for name, module_input in call.streams.items()}
    sources_by_input = sources_of_inputs(call.cls, stream_names, stream.request.sources)
    assert source_column is not None, "events that have sources have a column of them"
    columns_by_input: dict[str, list[InputColumn]] = {}
    for name, module_input in call.streams.items():
        columns_by_input[name] = inputs.look_up(module_input.columns, f"the input {name} of {call.cls.name}")

    # The column of sources becomes one more input, as text: by it the module knows the stream of a row. It is cast only
    # if it must be: the named column itself is carried once for all modules, and a cast of it once for each module.
    text = InputColumn(SOURCE.name, pa.string(), "string")
    is_text = stream.columns["source"].spelled_type == text.spelled_type
    column_to_carry: Any = source_column
    if not (isinstance(source_column, str) and is_text):
        column_to_carry = stream.reader.as_text(stream.request.df, source_column)
    source_place = inputs.carry(column_to_carry, text, SOURCE)

    def place_of_input(name: str, number: int, read_field: Field) -> int:
        """Carry a column of one of the module's inputs in the type of the field that it reads; return its place."""
        return inputs.carry(call.streams[name].columns[number], columns_by_input[name][number], read_field)

    fields = {name: _fields(input_columns) for name, input_columns in columns_by_input.items()}
    return plan_several(
        output, call.cls, call.parameters, sources_by_input, fields, source_place, place_of_input, scale.resolve
    )


def _plan_expressions(inputs: ReadColumns, request: WindowRequest) -> dict[str, int]:
    """Carry the expressions that row windows or a trigger read as further inputs.

    Returns:
        The places of the expressions among the inputs, by their text; empty if nothing reads expressions.

    Raises:
        PolicyError: An expression is of another type than its use needs.
    """
    reader: RowWindows | Trigger
    if isinstance(request.specification, RowWindows):
        reader = request.specification
        reader_name = str(reader)
    elif isinstance(request.emit, EarlyEmission):
        reader = request.emit.trigger
        reader_name = "the trigger"
    else:
        return {}

    places: dict[str, int] = {}
    for expression in reader.reads:
        column = SqlExpression(expression)
        (input_column,) = inputs.look_up([column], reader_name)
        if isinstance(reader, RowWindows):
            check_read(reader, expression, input_column)
            read_field = input_column.read_as_is()  # a timestamp as ticks, which have differences
        else:
            if expression in conditions_of(reader) and input_column.kind is not ScalarKind.BOOLEAN:
                raise PolicyError(
                    f"when({expression!r}) is of type {input_column.spelled_type}\n"
                    "  expected: a condition, such as 'price > 100'"
                )
            read_field = replace(input_column.field, name=expression)
        places[expression] = inputs.carry(column, input_column, read_field)
    return places


def _fields(input_columns: Sequence[InputColumn]) -> list[Field]:
    return [input_column.field for input_column in input_columns]
