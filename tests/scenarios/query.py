"""A query as its writer states it, for the planner on one side and for the reference on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

from muntin import (
    EARLIEST,
    INFINITY,
    Axis,
    ClipPolicy,
    ColumnarAggregate,
    EarlyEmission,
    EmitPolicy,
    Lateness,
    Module,
    OutputContract,
    RowOperator,
    TimestampPolicy,
)
from muntin.progress import ProgressPolicy, Punctuated
from muntin.rows import RowWindows
from muntin.schemas import Field, Variable, describe
from muntin.testing import Computation, WindowedQuery
from muntin.windows import CalendarWindows, WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Columns, Input, ModulePlan, NamedColumn, Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.input_binding import bind_inputs
from muntin_engine.plan.module_plan import plan_several
from muntin_engine.plan.planner import checked_plan
from muntin_engine.time.lifetimes import LifetimeChange, PointsAtEnd
from muntin_engine.time.source_rules import SourceRules
from muntin_engine.wire.event_ids import in_utc
from muntin_engine.wire.task_payload import InputColumns, TaskPayload
from tests.engine.plan.plans import plans_by_evaluator
from tests.modules.several_inputs import as_input, is_of_both
from tests.modules.state_shapes import columnar_schema_version, schema_version
from tests.scenarios.columns import PAYLOAD, RESULT, STREAMS, columns_of, id_of, schema_of
from tests.scenarios.lifetimes import length_of
from tests.scenarios.remembered import remembered

Lifetimes = Literal["points", "intervals", "named", "retracted", "samples"]
"""Points and intervals that nothing can refer to; events with ids, which are revised, and points with ids, which may be
retracted; samples until the next one."""


class ProjectedColumn(NamedTuple):
    """A column of the projection.

    Attributes:
        name: Name that the column has for the engine: `k0` is the first key, `i0` the first column of payloads.
        field: Name of its values in a row of a scenario.
        type: Type of its values.
    """

    name: str
    field: str
    type: pa.DataType


@dataclass(frozen=True)
class Query:
    """A query over one stream of events whose payload is a nullable integer.

    Attributes:
        window: Windows; several specifications by name; or `Unwindowed()`.
        modules: A single operator, or any number of aggregates, which read the payload.
        clip: Clipping policy.
        timestamps: Timestamping policy.
        emit: Emission of results.
        lifetimes: Kind of events.
        is_filtered: True if `where("is_kept")` leaves out events.
        has_order: True if `order="order"` orders the rows of one time, by their payloads.
        forget_keys_after: Time without events after which a key is forgotten.
        progress: Policy that advances the watermark of the input, or of each stream of it.
        late: Policy for late rows.
        most_held: Greatest number of events that a key may hold.
        changes: Changes of the lifetimes of all events.
        sources: Changes of the lifetimes of the events of each stream, where streams are united.
        ids: Type of ids.
        keys: Number of columns of a key: with two, punctuation may be of a part of them.
        oracles: Modules whose results are those that the modules must give.
        wants_late_rows: True if late rows go to a side output.
    """

    window: WindowSpecification | Mapping[str, WindowSpecification]
    modules: tuple[Module, ...]
    clip: ClipPolicy = ClipPolicy.NONE
    timestamps: TimestampPolicy = TimestampPolicy.ALIGN
    emit: EmitPolicy | EarlyEmission = EmitPolicy.FINAL
    lifetimes: Lifetimes = "named"
    is_filtered: bool = False
    has_order: bool = False
    forget_keys_after: int | None = None
    progress: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    late: Lateness = Lateness()  # noqa: RUF009
    most_held: int | None = None
    changes: tuple[LifetimeChange, ...] = ()
    sources: tuple[tuple[LifetimeChange, ...], ...] = ()
    ids: pa.DataType = pa.int64()  # noqa: RUF009
    keys: int = 1
    oracles: tuple[Module, ...] = ()
    wants_late_rows: bool = False

    def __str__(self) -> str:
        """Return the query in a line, without options that have their defaults."""
        modules = ", ".join(module.name for module in self.modules)
        windows = ", ".join(f"{name} {window}".strip() for name, window in self.named.items())
        policies = f"clip {self.clip}, timestamps {self.timestamps}, emit {self.emit}"
        parts = [f"{modules} over {windows} of {self.lifetimes}", policies]
        for flag in ("is_filtered", "has_order"):
            if getattr(self, flag):
                parts.append(flag)
        for option, default in _DEFAULTS.items():
            value = getattr(self, option)
            if value != default:
                parts.append(f"{option}={value}")
        return ", ".join(parts)

    @property
    def named(self) -> Mapping[str, WindowSpecification]:
        """The specifications by name; the name of a single one is empty."""
        return self.window if isinstance(self.window, Mapping) else {"": self.window}

    @property
    def first(self) -> WindowSpecification:
        """The first specification."""
        return next(iter(self.named.values()))

    @property
    def is_operator(self) -> bool:
        """True if its single module returns rows."""
        return self.modules[0].is_operator

    @property
    def longest(self) -> int:
        """A length that none of its windows has, if they lie on a grid or a calendar."""
        has_calendar = any(isinstance(window, CalendarWindows) for window in self.named.values())
        return 10**9 if has_calendar else 200  # ticks of a calendar are seconds

    @property
    def rows(self) -> RowWindows | None:
        """The windows, if they follow rows."""
        return self.first if isinstance(self.first, RowWindows) else None

    @property
    def places(self) -> Sequence[tuple[int, str]]:
        """The place of each stream: its side, which is 0 for all, and its name in the union that the input may be."""
        names = self._source_names or ("a",)
        return [(0, name) for name in names]

    @property
    def reads_streams(self) -> bool:
        """True if its modules read several streams of a union."""
        return any(module.input_fields() for module in self.modules)

    @property
    def is_windowed(self) -> bool:
        """True if it has windows."""
        return not isinstance(self.first, Unwindowed)

    @cached_property
    def has_second_output(self) -> bool:
        """True if rows that leave give results."""
        return isinstance(self.modules[0], RowOperator) and self.modules[0].evicted_field() is not None

    @property
    def keeps(self) -> Callable[[Any], bool]:
        """The filter of payloads, true for those of events that the query reads."""
        return PAYLOAD["is_kept"].value_of if self.is_filtered else _everything

    @property
    def has_ids(self) -> bool:
        """True if events may be revised."""
        return self.lifetimes in ("named", "retracted")

    @cached_property
    def contract(self) -> OutputContract:
        """What its module guarantees about the lifetimes of its results."""
        return self.plan().contract

    @property
    def is_time_bound(self) -> bool:
        """True if results start where they become known."""
        return self.contract is OutputContract.TIME_BOUND

    @property
    def ends_move(self) -> bool:
        """True if the end of an event may become another one."""
        return self.has_ids or self.lifetimes == "samples"

    def punctuation_time(self, watermark: int) -> int:
        """Return the time of punctuation that makes a watermark: ahead of it by the allowed lateness."""
        if watermark in (EARLIEST, INFINITY):
            return watermark
        return watermark + self.late.allowed

    @property
    def has_clock(self) -> bool:
        """True if it reads a clock."""
        return isinstance(self.emit, EarlyEmission)

    @property
    def repeats_points(self) -> bool:
        """True if a row may retract an event and insert another one."""
        return any(isinstance(change, PointsAtEnd) for change in chain(self.changes, *self.sources))

    @property
    def signals(self) -> frozenset[str]:
        """The signals that its trigger waits for."""
        return self.emit.trigger.signals if isinstance(self.emit, EarlyEmission) else frozenset()

    @cached_property
    def evaluators(self) -> Mapping[str, Plan]:
        """The plans of all evaluators that can run it, by the evaluator's name; the planner says which can."""
        return plans_by_evaluator(self.plan)

    def reference_query(self, window: WindowSpecification) -> WindowedQuery:
        """Return the query over one of its windows, as the reference reads it."""
        # The payload of an event is its number in the script; where windows follow rows, it is the columns of the row.
        read_payload: Callable[[Any], Any] = _unchanged
        if self.rows:
            read_payload = itemgetter("x")
        elif self.reads_streams:
            read_payload = as_input
        order: Callable[[Any], Any] | None = None
        if self.has_order:
            order = itemgetter("order") if self.rows else _in_order

        sees_whole_windows = not isinstance(window, RowWindows | Unwindowed)
        computations: list[Computation] = []
        for module in self.oracles or self.modules:
            accepts = is_of_both if self.reads_streams else _accepts(module, of_rows=self.rows is not None)
            called_module = remembered(module) if sees_whole_windows else module
            computations.append(Computation(called_module, read_payload, accepts))
        return WindowedQuery(
            window,
            computations,
            self.clip,
            self.timestamps,
            self.keeps,
            event_ends_move=self.ends_move,
            forget_keys_after=self.forget_keys_after,
            order=order,
        )

    def at_version(self, number: int) -> Query:
        """Replace the modules by those of schema version 1, 2 or 3, whose states have different shapes."""
        modules: list[Any] = []
        for module in self.modules:
            version = columnar_schema_version if isinstance(module, ColumnarAggregate) else schema_version
            modules.append(version(module, number))  # type: ignore[arg-type]
        return replace(self, modules=tuple(modules))

    def plan(self, evaluator: str | None = None, buckets: int = 3) -> Plan:
        """Return the plan for an evaluator, by default for the planner's choice; raise if it cannot run the query."""
        return checked_plan(replace(self.unchecked, buckets=buckets, requested_evaluator=evaluator), DECLARATIONS)

    @cached_property
    def unchecked(self) -> Plan:
        """The plan before an evaluator is chosen."""
        return Plan(
            inputs=(self.input,),
            axis=Axis.TICKS,
            window=self.first,
            clip=self.clip,
            timestamps=self.timestamps,
            emit=self.emit,
            modules=tuple(self._plan_module(place) for place in range(len(self.modules))),
            expressions={name: place for place, name in enumerate(self.payload) if name not in ("x", "order")},
            named_windows=self.window if isinstance(self.window, Mapping) else {},
            keeps_late_rows=self.wants_late_rows,
            forget_keys_after=self.forget_keys_after,
        )

    @property
    def input(self) -> Input:
        """The input in the plan."""
        rules: list[SourceRules] = []
        for name, changes in zip(self._source_names, self.sources, strict=True):
            rules.append(SourceRules(name, self.progress, changes, event_ends_move=self.has_ids))
        return Input(
            self._columns,
            progress=Punctuated() if self.sources else self.progress,
            sources=self._source_names,
            late=self.late,
            is_edge=self.lifetimes == "samples",
            order=self._order,
            most_held=self.most_held,
            lifetime_changes=self.changes,
            rules=tuple(rules),
        )

    def task(self, plan: Plan) -> TaskPayload:
        """Return the task that travels to the workers."""
        payload_types = list(self._types)
        if plan.input.keeps_filtered:
            payload_types.append(pa.bool_())
        id_type = in_utc(self.ids) if self.has_ids else None
        evicted_schema: pa.Schema | None = None
        if plan.evicted:
            evicted_schema = schema_of(self._keys, plan.engine_columns_of_evicted, plan.evicted)
        return TaskPayload(
            plan=plan.for_workers(),
            identity=plan_identity(plan),
            keys=self._keys,
            columns=(InputColumns(tuple(payload_types), has_changes=True, id=id_type),),
            results=schema_of(self._keys, plan.engine_columns, plan.outputs),
            evicted=evicted_schema,
        )

    def projected(self, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        """Return rows under the names and types that the backend's projection gives to their columns.

        Args:
            rows: Rows with their keys, changes, times and payloads.
        """
        payload_names = self.payload
        if self.is_filtered:
            payload_names = (*payload_names, "is_kept")
        full_rows: list[dict[str, Any]] = []
        for row in rows:
            payload = row["payload"]
            full_row = {**row, "id": id_of(row.get("id"), self.ids)}
            full_row |= columns_of(payload, payload_names)
            full_row |= self._lengths(payload)
            full_rows.append(full_row)

        columns: dict[str, pa.Array] = {}
        for column in self._projection:
            columns[column.name] = pa.array([row.get(column.field) for row in full_rows], column.type)
        return pa.record_batch(columns)

    @cached_property
    def _projection(self) -> list[ProjectedColumn]:
        """The columns of the projection."""
        columns = [ProjectedColumn("change", "change", pa.string()), ProjectedColumn("start", "start", pa.int64())]
        for place, data_type in enumerate(self._keys):
            columns.append(ProjectedColumn(f"k{place}", f"key{place or ''}", data_type))
        for name in self._columns.ranges:
            key_type = self._keys[int(name[-1])]
            columns.append(ProjectedColumn(name, name, key_type))
        for length in self.input.length_columns:
            columns.append(ProjectedColumn(length.name, length.name, pa.int64()))
        if self.signals:
            columns.append(ProjectedColumn("signal", "signal", pa.string()))
        if self.sources:
            columns.append(ProjectedColumn("source", "source", pa.string()))
        if self.has_ids:
            columns.append(ProjectedColumn("id", "id", self.ids))
            columns.append(ProjectedColumn("new_end", "new_end", pa.int64()))
        if self.lifetimes in ("intervals", "named"):
            columns.append(ProjectedColumn("end", "end", pa.int64()))
        if self.is_filtered:
            columns.append(ProjectedColumn("kept", "is_kept", PAYLOAD["is_kept"].type))
        for place, name in enumerate(self.payload):
            columns.append(ProjectedColumn(f"i{place}", name, PAYLOAD[name].type))
        return columns

    @cached_property
    def payload(self) -> tuple[str, ...]:
        """The names of the columns that its modules, windows and triggers read."""
        names = ["x"]
        if self._order is not None:
            names.append("order")
        if self.rows:
            names += self.rows.reads
        if isinstance(self.emit, EarlyEmission):
            names += self.emit.trigger.reads
        if self.reads_streams:
            names += ["stream", "left", "right"]
        return tuple(names)

    def _lengths(self, payload: Any) -> dict[str, Any]:
        """Return the lengths in a row, by which lifetimes change."""
        lengths: dict[str, Any] = {}
        for column in self.input.length_columns:
            lengths[column.name] = None if payload is None else length_of(column, payload)
        return lengths

    @property
    def _keys(self) -> tuple[pa.DataType, ...]:
        return (pa.string(), pa.int64())[: self.keys]

    @property
    def _source_names(self) -> tuple[str, ...]:
        return tuple("abc"[: len(self.sources)])

    @property
    def _order(self) -> int | None:
        """The place of the order among the columns of payloads."""
        return 1 if self.has_order else None

    @property
    def _types(self) -> list[pa.DataType]:
        return [PAYLOAD[name].type for name in self.payload]

    @property
    def _columns(self) -> Columns:
        """The columns of the input that have a role."""
        has_end = self.lifetimes in ("intervals", "named")
        return Columns(
            start=_named("start"),
            end=_named("end") if has_end else None,
            id=NamedColumn("id", str(self.ids)) if self.has_ids else None,
            new_end=_named("new_end") if self.has_ids else None,
            change=NamedColumn("change", "string"),
            keys=(NamedColumn("key", "string"), NamedColumn("key1", "bigint"))[: self.keys],
            ranges={name: _named(name) for name in ("low0", "high0", "low1", "high1") if self.keys > 1},
            signal=NamedColumn("signal", "string") if self.signals else None,
            source=NamedColumn("source", "string") if self.sources else None,
            payload=tuple(map(_named, self.payload)),
            conditions=(NamedColumn("is_kept", "boolean"),) if self.is_filtered else (),
        )

    def _plan_module(self, place: int) -> ModulePlan:
        """Return the plan of a module, by its place among the modules."""
        module = self.modules[place]
        output = RESULT if place == 0 else f"m{place}"
        if module.is_operator:
            output = ""  # it has columns of its own
        return self._plan_of_streams(module, output) if self.reads_streams else _plan_of_payload(module, output)

    def _plan_of_streams(self, module: Module, output: str) -> ModulePlan:
        """Return the plan of a module that reads the first stream of the union as its left one, the second as right."""
        place_of = self.payload.index
        sources = {"left": STREAMS[:1], "right": STREAMS[1:2]}
        columns = {name: [describe(int, name)] for name in sources}
        return plan_several(
            output,
            type(module),
            parameters={},
            sources=sources,
            columns=columns,
            source_place=place_of("stream"),
            place_of=lambda name, *_: place_of(name),
        )


def _plan_of_payload(module: Module, output: str) -> ModulePlan:
    """Return the plan of a module that reads the payload, a nullable integer; a type variable becomes that."""
    payload = describe(int | None, "x")
    bound = bind_inputs(type(module), [payload])
    bound_fields: list[Field] = []
    for field in bound.reads:
        is_variable = isinstance(field.type, Variable)
        bound_fields.append(Field(field.name, payload.type, field.is_nullable) if is_variable else field)
    form = module.columnar_form(bound_fields[0]) if hasattr(module, "columnar_form") else None
    return ModulePlan(
        output=output,
        module=module,
        parameters={},
        columns=(0,),
        reads=bound.reads,
        select=bound.selector((0,)),
        result=bound.result,
        form=form,
        bound_reads=tuple(bound_fields),
        evicted=bound.evicted,
    )


_DEFAULTS: Final[Mapping[str, object]] = {
    "forget_keys_after": None,
    "most_held": None,
    "changes": (),
    "sources": (),
    "late": Lateness(),
    "progress": Punctuated(),
}
"""Options of a query that are spelled only if they differ from these."""


def _accepts(module: Module, *, of_rows: bool) -> Callable[[Any], bool]:
    """Return the condition on payloads that a module reads: all, or those that are not null."""
    if module.input_field().is_nullable:
        return _everything
    return _has_x if of_rows else _present


def _unchanged(payload: Any) -> Any:
    return payload


def _everything(_payload: object) -> bool:
    return True


def _present(payload: object) -> bool:
    return payload is not None


def _has_x(payload: Any) -> bool:
    return payload["x"] is not None


def _in_order(payload: Any) -> Any:
    """Return a list that sorts as the payload does, null first."""
    return [] if payload is None else [payload]


def _named(name: str) -> NamedColumn:
    return NamedColumn(name, "bigint")
