"""A query whose modules say which rows they are given: it computes what the query does, and why.

Each row carries its number as one column more of the payload. A module behind `traced` notes, with each result, the
numbers of the rows that it made it of. It keeps no state from one window to the next, so each note is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, NamedTuple

import pyarrow as pa

from muntin import Event, IntervalOperator, LatePolicy, Module, RowOperator, StreamOperator, Window
from muntin.modules.row_operator import HANDLERS
from muntin.rows import MemberRow, RowsInWindow
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.modules.calls import CURRENT_CALL
from muntin_engine.modules.skipping import SKIPPED, Accepted, BySource, Choosy, Present
from muntin_engine.plan import Input, ModulePlan, NamedColumn, Plan
from muntin_engine.plan.choice import Choice
from muntin_engine.plan.join_plan import JoinedColumn
from muntin_engine.plan.plan_words import spell_grouping
from muntin_engine.plan.planner import choose
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.wire.task_payload import InputColumns, TaskPayload

NUMBER: Final = "row number"
"""The column of the payload that holds the numbers."""


class Number:
    """The number of a row, as it lies in a payload: one is like any other, as rows that are alike are alike to a query.

    It is a record of one field to the codec of the state.
    """

    __slots__ = ("value",)
    _fields: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number)

    def __lt__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Number()"


class Numbered(NamedTuple):
    """What a module reads of a row, with the number of the row."""

    payload: Any
    number: int


class Note(NamedTuple):
    """A result, and the numbers of the rows that it was made of."""

    result: Any
    numbers: Sequence[int]


@dataclass(slots=True)
class Notes:
    """What modules noted last, by module, key and window.

    Attributes:
        known: The notes.
        fresh: What was noted in this micro-batch.
        skipped: The numbers of the rows that the module which is called next did not accept.
    """

    known: dict[tuple[int, Hashable, Window], list[Note]] = field(default_factory=dict)
    fresh: set[tuple[int, Hashable, Window]] = field(default_factory=set)
    skipped: list[int] = field(default_factory=list)

    def begin(self) -> None:
        """Start a micro-batch: what is noted of a window from now on takes the place of what was."""
        self.fresh = set()

    def add(self, place: int, result: Any, numbers: Sequence[int]) -> None:
        """Note a result of the module at a place, of the key and the window that are computed now.

        A result of no row that the module accepts is that of the rows which it did not.
        """
        assert CURRENT_CALL.window is not None, "a module is called for a window"
        name = place, CURRENT_CALL.key, CURRENT_CALL.window
        skipped, self.skipped = self.skipped, []
        if name not in self.fresh:
            self.fresh.add(name)
            self.known[name] = []
        self.known[name].append(Note(result, numbers or skipped))

    def numbers(self, place: int, key: Hashable, window: Window, result: Any) -> Sequence[int]:
        """Return the rows of a result of a module; of all that it noted of the window, where it does not know it."""
        notes: list[Note] = self.known.get((place, key, window), [])
        for note in reversed(notes):
            if is_same(note.result, result):
                found: Sequence[int] = note.numbers
                return found
        return sorted({number for note in notes for number in note.numbers})


def traced(task: TaskPayload, notes: Notes) -> TaskPayload:
    """Return the task of a query in one bucket, evaluated key by key, whose modules note what they are given.

    Rows have the column `i<n>` of numbers after the others of their payload, and late ones are kept.
    """
    plan = task.plan
    inputs = tuple(map(_numbered, plan.inputs))
    places = [len(given.columns.payload) for given in plan.inputs]
    modules = tuple(_traced(notes, place, module, places[module.side]) for place, module in enumerate(plan.modules))
    join = plan.join
    if join is not None:  # a row of its results says which rows it is made of
        for side in range(1 + join.kind.pairs):
            number = Field(f"{NUMBER} {side}", Scalar(ScalarKind.INTEGER), is_nullable=True)
            join = replace(join, columns=(*join.columns, JoinedColumn(number, side, places[side])))
    chosen = _key_by_key(replace(plan, inputs=inputs, modules=modules, join=join, buckets=1, keeps_late_rows=True))
    columns = (_with_number(given, own) for given, own in zip(plan.inputs, task.columns, strict=True))
    return replace(task, plan=chosen, columns=tuple(columns), is_timed=False)


def _key_by_key(plan: Plan) -> Plan:
    """Return the plan with the most general evaluator that runs it key by key in plain Python."""
    for declaration in reversed(DECLARATIONS):
        if isinstance(KEEPS_STATE.get(declaration.name), KeyedEvaluator):
            choice = choose(plan, declaration)
            if isinstance(choice, Choice):
                return replace(plan, choice=choice)
    raise AssertionError(f"no evaluator runs {spell_grouping(plan)} key by key")


def _numbered(given: Input) -> Input:
    columns = replace(given.columns, payload=(*given.columns.payload, NamedColumn(NUMBER, "bigint")))
    is_dropped = given.late.policy is LatePolicy.DROP
    return replace(
        given, columns=columns, late=replace(given.late, policy=LatePolicy.SIDE) if is_dropped else given.late
    )


def _with_number(given: Input, columns: InputColumns) -> InputColumns:
    """Return the columns with the number after those of the input; that which its filter makes stays the last."""
    own = len(given.columns.payload)
    return replace(columns, payload=(*columns.payload[:own], pa.int64(), *columns.payload[own:]))


def _traced(notes: Notes, place: int, plan: ModulePlan, at: int) -> ModulePlan:
    is_choosy = isinstance(plan.select, Present | Accepted | BySource)
    module = _noting(plan.module, notes, place, is_choosy=is_choosy)
    return replace(plan, module=module, select=_Numbering(plan.select, at, notes), form=None)


@dataclass(frozen=True, slots=True)
class _Numbering:
    """Selects what a module reads of a row, with its number."""

    select: Callable[[tuple[Any, ...]], Any]
    at: int
    notes: Notes

    def __call__(self, row: tuple[Any, ...]) -> Any:
        """Return both; `SKIPPED` where the module does not accept the row."""
        payload = self.select(row)
        if payload is SKIPPED:
            self.notes.skipped.append(row[self.at].value)
            return SKIPPED
        return Numbered(payload, row[self.at].value)


def _noting(module: Any, notes: Notes, place: int, *, is_choosy: bool) -> Module:
    """Return a module of the same kind that notes what the other is given."""
    if isinstance(module, RowOperator):
        methods = _following_rows(module, notes, place)
    elif isinstance(module, StreamOperator):
        methods = _following(module, notes, place)
    else:
        methods = _of_windows(module, notes, place, is_choosy=is_choosy)
    cls: Any = type(type(module).__name__, (type(module),), methods)
    made: Module = cls.__new__(cls)
    for name, value in getattr(module, "__dict__", {}).items():
        object.__setattr__(made, name, value)
    return made


def _of_windows(module: Any, notes: Notes, place: int, *, is_choosy: bool) -> dict[str, Any]:
    called: Any = Choosy(module) if is_choosy else module

    def compute_result(_: Any, seen: Sequence[Any], *window: Window) -> Any:
        if module.is_time_sensitive:
            numbers = [event.payload.number for event in seen]
            given: list[Any] = [Event(event.start, event.end, event.payload.payload) for event in seen]
        else:
            numbers, given = [one.number for one in seen], [one.payload for one in seen]
        if module.is_incremental:
            state = called.create_state(*window)
            result = called.compute_result(called.add_events(state, given, *window) if given else state, *window)
        else:
            result = called.compute_result(given, *window)
        result = list(result) if module.is_operator else result
        notes.add(place, result, sorted(numbers))
        return result

    return {"compute_result": compute_result, "is_incremental": False}


def _following_rows(module: Any, notes: Notes, place: int) -> dict[str, Any]:
    """Return the handlers of a module that follows rows: what they return is made of their row and of the window's."""

    def handler(name: str) -> Callable[..., list[Any]]:
        method = getattr(module, name)

        def call(_: Any, state: Any, *told: Any) -> list[Any]:
            *some, view = told
            shown = [_plain(rows) for rows in some]
            found = list(method(state, *shown, _PlainView(view)) or ())
            if found:
                rows = [
                    row
                    for rows in some
                    for row in (rows if isinstance(rows, Sequence) and not isinstance(rows, MemberRow) else [rows])
                ]
                notes.add(place, found, sorted({row.payload.number for row in (*rows, *view.rows)}))
            return found

        return call

    defined = (name for name in HANDLERS if getattr(type(module), name) is not getattr(RowOperator, name))
    return {name: handler(name) for name in defined}


class _PlainView(RowsInWindow[Any]):
    """A window whose rows are without their numbers."""

    __slots__ = ()

    def __init__(self, view: RowsInWindow[Any]) -> None:
        super().__init__(view._held, view.partition, view.time, view.extent)

    @property
    def rows(self) -> tuple[MemberRow[Any], ...]:
        """The members, the oldest first."""
        return tuple(map(_plain, super().rows))

    @property
    def partitions(self) -> dict[Hashable, tuple[MemberRow[Any], ...]]:
        """The members of each partition."""
        return {name: tuple(map(_plain, rows)) for name, rows in super().partitions.items()}


def _plain(told: Any) -> Any:
    if isinstance(told, MemberRow):
        return told._replace(payload=told.payload.payload)
    return [_plain(row) for row in told]


def _following(module: Any, notes: Notes, place: int) -> dict[str, Any]:
    """Return the methods of a stream operator: what they return is made of all events since its state was made."""
    seen: dict[Hashable, list[int]] = {}

    def create_state(_: Any) -> Any:
        seen[CURRENT_CALL.key] = []
        return module.create_state()

    def noted(rows: Iterable[Any] | None) -> list[Any]:
        found = list(rows or ())
        if found:
            notes.add(place, found, tuple(seen[CURRENT_CALL.key]))
        return found

    def on_event(_: Any, state: Any, given: Numbered, time: int) -> list[Any]:
        seen[CURRENT_CALL.key].append(given.number)
        return noted(getattr(module, begins)(state, given.payload, time))

    def on_end(_: Any, state: Any, given: Numbered, time: int) -> list[Any]:
        return noted(module.on_end(state, given.payload, time))

    def on_time(_: Any, state: Any, time: int) -> list[Any]:
        return noted(module.on_time(state, time))

    begins = "on_start" if isinstance(module, IntervalOperator) else "on_event"
    ends = {"on_end": on_end} if isinstance(module, IntervalOperator) else {}
    return {"create_state": create_state, begins: on_event, "on_time": on_time, **ends}


def is_same(one: Any, other: Any) -> bool:
    """Return True if results are the same: as objects, or as values, of which NaN is one; of rows, if one holds it."""
    try:
        if one is other or freeze(one) == freeze(other):
            return True
    except Exception:  # a result may be of any class, whose comparison may raise anything
        return False
    return isinstance(one, list) and any(is_same(row.payload if isinstance(row, Event) else row, other) for row in one)
