"""A task whose modules note which rows each of their results was computed from.

Each row carries its number in one more column of the payload. A module of a traced task notes, with each result, the
numbers of the rows that it was computed from. It keeps no state from one window to the next, so a note has all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, NamedTuple

import pyarrow as pa

from muntin import Event, IntervalOperator, LatePolicy, Module, RowOperator, StreamOperator, Window
from muntin.modules.row_operator import HANDLERS
from muntin.rows import MemberRow, RowsInWindow
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.modules.skipping import SKIPPED, Accepted, BySource, CountingModule, Present
from muntin_engine.plan import Input, ModulePlan, NamedColumn, Plan
from muntin_engine.plan.join_plan import JoinedColumn
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import Key
from muntin_engine.wire.task_payload import InputColumns, TaskPayload

NUMBER: Final = "row number"
"""The column of the payload that holds the numbers of rows."""


class Number:
    """A row number smuggled through the payload; all row numbers compare equal, so that results are unchanged.

    The codec of the state stores it as a record of one field.
    """

    __slots__ = ("value",)
    _fields: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: int) -> None:
        """Take the number."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        """All numbers are equal, so that rows which differ only in their numbers are equal."""
        return isinstance(other, Number)

    def __lt__(self, other: object) -> bool:
        """No number is less than another, so that numbers do not change the order of rows."""
        return False

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Number()"


class NumberedPayload(NamedTuple):
    """The payload that a module reads of a row, with the number of the row."""

    payload: Any
    number: int


class Note(NamedTuple):
    """A result, and the numbers of the rows that it was computed from."""

    result: Any
    numbers: Sequence[int]


@dataclass(slots=True)
class Notes:
    """The last results of modules with the rows that they were computed from, by module, key and window.

    Attributes:
        notes: The notes by the place of the module, the frozen key and the window.
        renewed: The places, frozen keys and windows that have notes of this micro-batch.
        skipped: The numbers of the rows that were not accepted by the module that is called next.
    """

    notes: dict[tuple[int, Hashable, Window], list[Note]] = field(default_factory=dict)
    renewed: set[tuple[int, Hashable, Window]] = field(default_factory=set)
    skipped: list[int] = field(default_factory=list)

    def begin_batch(self) -> None:
        """Begin a micro-batch: if a window is computed again, its notes replace those of earlier micro-batches."""
        self.renewed = set()

    def add(self, place: int, result: Any, numbers: Sequence[int]) -> None:
        """Note a result of a module, for the key and the window of the current call.

        If the module accepted none of the rows, the result is ascribed to the rows that it did not accept.

        Args:
            place: The place of the module among the modules of the query.
            result: The result.
            numbers: The numbers of the rows that the result was computed from.
        """
        assert CURRENT_CALL.window is not None, "a module is called for a window"
        name = (place, freeze(CURRENT_CALL.key), CURRENT_CALL.window)
        # The first note of a window in this micro-batch replaces those of earlier ones; further calls add to it.
        if name not in self.renewed:
            self.renewed.add(name)
            self.notes[name] = []
        self.notes[name].append(Note(result, numbers or self.skipped))
        self.skipped = []

    def numbers(self, place: int, key: Key, window: Window, result: Any) -> Sequence[int]:
        """Return the numbers of the rows that a result was computed from.

        If no note has the result, they are those of all results of the window.

        Args:
            place: The place of the module among the modules of the query.
            key: The key of the result.
            window: The window of the result.
            result: The result.
        """
        notes: list[Note] = self.notes.get((place, freeze(key), window), [])
        for note in reversed(notes):
            if is_same_result(note.result, result):
                numbers: Sequence[int] = note.numbers
                return numbers
        all_numbers: set[int] = set()
        for note in notes:
            all_numbers.update(note.numbers)
        return sorted(all_numbers)


def traced(task: TaskPayload, notes: Notes) -> TaskPayload:
    """Return the task of a query whose modules note the rows that they read.

    Rows get one more column `i<n>`, with their numbers, behind the others of their payload. The query has one bucket,
    and keeps late rows.

    Args:
        task: The task of the query.
        notes: The object that collects the notes.
    """
    plan = task.plan
    # For each input, the place of the number in a payload: behind the columns that the query has there.
    places_of_numbers = [len(plan_input.columns.payload) for plan_input in plan.inputs]
    modules: list[ModulePlan] = []
    for place, module in enumerate(plan.modules):
        modules.append(_noting_plan(module, notes, place, places_of_numbers[module.side]))
    columns: list[InputColumns] = []
    for plan_input, input_columns in zip(plan.inputs, task.columns, strict=True):
        columns.append(_with_number_type(plan_input, input_columns))
    traced_plan = replace(
        plan,
        inputs=tuple(map(_with_number_column, plan.inputs)),
        modules=tuple(modules),
        buckets=1,
        keeps_late_rows=True,
    )
    traced_plan = _with_joined_numbers(traced_plan, places_of_numbers)
    # The time that modules take is not measured: noting the rows takes most of it.
    return replace(task, plan=traced_plan, columns=tuple(columns), is_timed=False)


def _with_joined_numbers(plan: Plan, places_of_numbers: Sequence[int]) -> Plan:
    """Add columns with the numbers of the joined rows to the results of a join; another query stays as it is.

    Args:
        plan: The plan of the query.
        places_of_numbers: The place of the number in the payload of each input.
    """
    join = plan.join
    if join is None:
        return plan
    columns = list(join.columns)
    # Only a join that emits pairs has a right row in its results; others have a left one alone.
    sides = (0, 1) if join.kind.pairs else (0,)
    for side in sides:
        number = Field(f"{NUMBER} {side}", Scalar(ScalarKind.INTEGER), is_nullable=True)
        columns.append(JoinedColumn(number, side, places_of_numbers[side]))
    return replace(plan, join=replace(join, columns=tuple(columns)))


def _with_number_column(plan_input: Input) -> Input:
    """Return the plan of an input with the numbers of rows as the last column of its payload; it emits late rows."""
    columns = replace(plan_input.columns, payload=(*plan_input.columns.payload, NamedColumn(NUMBER, "bigint")))
    # A query that drops late rows only counts them. A story has the fate of each row, so here they are emitted.
    late = plan_input.late
    if late.policy is LatePolicy.DROP:
        late = replace(late, policy=LatePolicy.SIDE)
    return replace(plan_input, columns=columns, late=late)


def _with_number_type(plan_input: Input, columns: InputColumns) -> InputColumns:
    """Insert the type of numbers after those of the payload; the mark of filtered events, if any, stays the last."""
    place = len(plan_input.columns.payload)
    return replace(columns, payload=(*columns.payload[:place], pa.int64(), *columns.payload[place:]))


def _noting_plan(plan: ModulePlan, notes: Notes, place: int, number_place: int) -> ModulePlan:
    """Return the plan of a module that notes the rows of its results.

    Args:
        plan: The plan of the module.
        notes: The object that collects the notes.
        place: The place of the module among the modules of the query.
        number_place: The place of the number in a payload.
    """
    skips_rows = isinstance(plan.select, Present | Accepted | BySource)  # these may select nothing from a row
    module = _noting_module(plan.module, notes, place, skips_rows=skips_rows)
    select = _NumberedSelect(plan.select, number_place, notes)
    return replace(plan, module=module, select=select, form=None)  # a columnar form would not call the module


@dataclass(frozen=True, slots=True)
class _NumberedSelect:
    """Selects from a row the values that a module reads, and adds the number of the row.

    Attributes:
        select: The function that selects the values that the module reads.
        number_place: The place of the number in a payload.
        notes: The object that collects the numbers of rows that the module does not accept.
    """

    select: Callable[[tuple[Any, ...]], Any]
    number_place: int
    notes: Notes

    def __call__(self, row: tuple[Any, ...]) -> Any:
        """Return the values that the module reads, with the row's number; `SKIPPED` if it does not accept the row."""
        payload = self.select(row)
        number = row[self.number_place].value  # a `Number` holds it
        if payload is SKIPPED:
            self.notes.skipped.append(number)
            return SKIPPED
        return NumberedPayload(payload, number)


def _noting_module(module: Any, notes: Notes, place: int, *, skips_rows: bool) -> Module:
    """Return a copy of a module that notes the rows of its results.

    The class of the copy is derived from that of the module, so that evaluators take both for the same kind of module.

    Args:
        module: The module.
        notes: The object that collects the notes.
        place: The place of the module among the modules of the query.
        skips_rows: True if the module does not accept all rows.
    """
    if isinstance(module, RowOperator):
        methods = _handlers_of_rows(module, notes, place)
    elif isinstance(module, StreamOperator):
        methods = _NotingStreamOperator(module, notes, place).methods()
    else:
        methods = _methods_of_windows(module, notes, place, skips_rows=skips_rows)

    # The constructor is not called again: it may count its calls, or take parameters that the module does not keep. The
    # class may be a frozen dataclass, which refuses to have attributes set: `object` sets them.
    noting_class: Any = type(type(module).__name__, (type(module),), methods)
    noting_module: Module = noting_class.__new__(noting_class)
    for name, value in getattr(module, "__dict__", {}).items():
        object.__setattr__(noting_module, name, value)
    return noting_module


def _methods_of_windows(module: Any, notes: Notes, place: int, *, skips_rows: bool) -> dict[str, Any]:
    """Return the methods by which an aggregate or operator of windows computes each result from all its rows.

    The class that gets these methods is not incremental, whatever the module is. So evaluators keep the rows of a
    window in the place of a state, and a note has all rows of a result.

    Args:
        module: The module.
        notes: The object that collects the notes.
        place: The place of the module among the modules of the query.
        skips_rows: True if the module does not accept all rows.
    """
    # The wrapper returns the `empty_result` of a module that accepts no member of a window.
    called: Any = CountingModule(module) if skips_rows else module

    def compute_result(_: Any, members: Sequence[Any], *window: Window) -> Any:
        """Compute the result of a window from its members, and note it with their numbers.

        Time-sensitive modules get the window too.
        """
        # The payloads travel with the numbers of their rows: the notes get the numbers, the module the payloads.
        payloads: list[Any]
        if module.is_time_sensitive:
            numbers = [event.payload.number for event in members]
            payloads = [Event(event.start, event.end, event.payload.payload) for event in members]
        else:
            numbers = [member.number for member in members]
            payloads = [member.payload for member in members]

        # An incremental module still builds a state, here from all rows at once.
        if module.is_incremental:
            state = called.create_state(*window)
            if payloads:
                state = called.add_events(state, payloads, *window)
            result = called.compute_result(state, *window)
        else:
            result = called.compute_result(payloads, *window)
        if module.is_operator:
            result = list(result)  # an operator may be a generator, which can be read once
        notes.add(place, result, sorted(numbers))
        return result

    return {"compute_result": compute_result, "is_incremental": False}


def _handlers_of_rows(module: Any, notes: Notes, place: int) -> dict[str, Any]:
    """Return handlers for a row operator that note its results.

    A result is ascribed to the rows that the handler gets, and to all rows of the window.

    Args:
        module: The row operator.
        notes: The object that collects the notes.
        place: The place of the module among the modules of the query.
    """

    def noting_handler(name: str) -> Callable[..., list[Any]]:
        """Return a handler that calls the handler of the module with the same name, and notes its results."""
        handler = getattr(module, name)

        def call(_: Any, state: Any, *arguments: Any) -> list[Any]:
            """Call the handler of the module with rows that do not have their numbers, and note the result."""
            *row_arguments, view = arguments  # each handler takes the window's rows last
            plain_arguments = [_without_numbers(argument) for argument in row_arguments]
            result = list(handler(state, *plain_arguments, _PlainView(view)) or ())
            if result:
                rows = [*_rows_in(row_arguments), *view.rows]  # these still have their numbers
                notes.add(place, result, sorted({row.payload.number for row in rows}))
            return result

        return call

    handlers: dict[str, Any] = {}
    for name in HANDLERS:
        is_defined = getattr(type(module), name) is not getattr(RowOperator, name)
        if is_defined:
            handlers[name] = noting_handler(name)
    return handlers


def _rows_in(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of the arguments of a handler, each of which is a row or a sequence of rows."""
    for argument in arguments:
        # A row is a named tuple, which is a sequence too.
        if isinstance(argument, Sequence) and not isinstance(argument, MemberRow):
            yield from argument
        else:
            yield argument


class _PlainView(RowsInWindow[Any]):
    """A view of a window as a module expects it: its rows do not have their numbers."""

    __slots__ = ()

    def __init__(self, view: RowsInWindow[Any]) -> None:
        """Take a view whose rows have their numbers."""
        super().__init__(view._members, view.partition, view.time, view.extent)

    @property
    def rows(self) -> tuple[MemberRow[Any], ...]:
        """The members, the oldest first."""
        return tuple(map(_without_numbers, super().rows))

    @property
    def partitions(self) -> dict[Hashable, tuple[MemberRow[Any], ...]]:
        """The members of each partition."""
        partitions: dict[Hashable, tuple[MemberRow[Any], ...]] = {}
        for name, rows in super().partitions.items():
            partitions[name] = tuple(map(_without_numbers, rows))
        return partitions


def _without_numbers(argument: Any) -> Any:
    """Return a row, or a list of rows, as a module reads them: with payloads that have no number."""
    if isinstance(argument, MemberRow):
        return argument._replace(payload=argument.payload.payload)
    return [_without_numbers(row) for row in argument]


class _NotingStreamOperator:
    """Calls a stream operator, and notes its results.

    A result is ascribed to all events of the key since the state of the key was created.
    """

    def __init__(self, module: Any, notes: Notes, place: int) -> None:
        """Take the operator.

        Args:
            module: The operator.
            notes: The object that collects the notes.
            place: The place of the operator among the modules of the query.
        """
        self._module = module
        self._notes = notes
        self._place = place
        self._numbers_of_key: dict[Hashable, list[int]] = {}
        self._is_of_intervals = isinstance(module, IntervalOperator)
        self._on_event = module.on_start if self._is_of_intervals else module.on_event

    def methods(self) -> dict[str, Any]:
        """Return the methods for a class that is derived from that of the operator."""
        methods: dict[str, Any] = {
            "create_state": lambda _: self.create_state(),
            "on_time": lambda _, state, time: self.on_time(state, time),
        }
        # Arguments are passed by position, as methods of the operator may name them differently.
        if self._is_of_intervals:
            methods["on_start"] = lambda _, state, event, time: self.on_event(state, event, time)
            methods["on_end"] = lambda _, state, event, time: self.on_end(state, event, time)
        else:
            methods["on_event"] = lambda _, state, event, time: self.on_event(state, event, time)
        return methods

    def create_state(self) -> Any:
        """Create the state of the current key, and forget the key's earlier events."""
        self._numbers_of_key[freeze(CURRENT_CALL.key)] = []
        return self._module.create_state()

    def on_event(self, state: Any, event: NumberedPayload, time: int) -> list[Any]:
        """Remember the number of an event, and call the operator for it, or for its start."""
        self._numbers_of_key[freeze(CURRENT_CALL.key)].append(event.number)
        return self._noted(self._on_event(state, event.payload, time))

    def on_end(self, state: Any, event: NumberedPayload, time: int) -> list[Any]:
        """Call the operator for the end of an event."""
        return self._noted(self._module.on_end(state, event.payload, time))

    def on_time(self, state: Any, time: int) -> list[Any]:
        """Call the operator for a time that it asked to be called at."""
        return self._noted(self._module.on_time(state, time))

    def _noted(self, rows: Iterable[Any] | None) -> list[Any]:
        """Return the rows that a call of the operator returned, after noting them with all events of the key so far."""
        result = list(rows or ())
        if result:
            self._notes.add(self._place, result, tuple(self._numbers_of_key[freeze(CURRENT_CALL.key)]))
        return result


def is_same_result(result: Any, other: Any) -> bool:
    """Say whether a noted result is a given one: the same object, an equal one, or a list of rows that has it.

    NaN equals NaN.

    Args:
        result: The noted result, which is a list if a call returned several rows.
        other: The given result.
    """
    try:
        if result is other or freeze(result) == freeze(other):
            return True
    except Exception:  # a result may be of any class, whose comparison may raise anything
        return False
    if not isinstance(result, list):
        return False
    payloads = [row.payload if isinstance(row, Event) else row for row in result]
    return any(is_same_result(payload, other) for payload in payloads)
