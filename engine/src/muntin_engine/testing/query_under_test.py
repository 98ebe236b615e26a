"""A query of a script, as the planner reads it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Final

from muntin import Axis, EarlyEmission, EmitPolicy, Module, OutputContract
from muntin.changes import Insertion, Punctuation, Revision
from muntin.columnar.payloads import observed
from muntin.errors import ModuleContractError, MuntinError, PolicyError, QueryError, StreamError
from muntin.rows import RowWindows
from muntin.schemas import Field, Variable, variables_in
from muntin.testing import Batch, Computation, KeyedChange, KeyPunctuation, Script, WindowedQuery
from muntin.testing.fitting import misfit
from muntin.testing.row_reference import field_value
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.modules.abilities import waits_for_ends
from muntin_engine.plan import Columns, Input, ModulePlan, NamedColumn, Plan, check_trigger
from muntin_engine.plan.planner import checked_plan
from muntin_engine.state.codec import Codec

_TICKS: Final = "bigint"


@dataclass(frozen=True)
class QueryUnderTest:
    """A script, a query of it, and the emission of its results.

    Attributes:
        script: The stream; its own micro-batches do not count.
        query: The query, with modules that nothing has used yet.
        emit: The emission of results.

    Raises:
        StreamError: The script has illegal steps, or punctuation of some keys alone.
        QueryError: The engine refuses the query.
        ModuleDefinitionError: A module's class is not complete.
    """

    script: Script
    query: WindowedQuery
    emit: EmitPolicy | EarlyEmission

    def __post_init__(self) -> None:
        for computation in self.query.computations:
            type(computation.module).check_definition()

        # Steps whose output depends on the engine are refused.
        if self.script.illegal():
            raise StreamError(
                "a script with illegal steps has no output that must come\n  to do: leave them out",
                illegal=self.script.illegal(),
            )
        key_punctuation = [step for step in self.script.steps if isinstance(step, KeyPunctuation)]
        if key_punctuation:
            raise StreamError(
                "the script punctuates some keys alone, which counts in script.run() and not here: "
                f"{key_punctuation[0]}\n"
                "  to do: leave it out, or punctuate all keys"
            )
        # Triggers that wait for what a script does not have are refused, too.
        if isinstance(self.emit, EarlyEmission) and self.emit.trigger.reads:
            reads = ", ".join(map(repr, self.emit.trigger.reads))
            raise PolicyError(
                f"{self.emit.trigger} reads {reads}, and a script has no columns\n"
                "  use a trigger that does not, such as every_count(2)"
            )
        if isinstance(self.emit, EarlyEmission) and self.emit.trigger.reads_clock:
            raise PolicyError(
                f"{self.emit.trigger} waits for a clock, and a script has none\n"
                "  use a trigger that does not, such as every_count(2)"
            )
        # If no evaluator can run the query, planning it raises why. The reason is the same for each of them: what is
        # wrong with the query itself is checked before what an evaluator cannot do.
        evaluator = self.evaluators[0] if self.evaluators else DECLARATIONS[0].name
        check_trigger(self.plan(evaluator))

    @cached_property
    def evaluators(self) -> tuple[str, ...]:
        """The names of the evaluators that can run it, the most general first."""
        names = []
        for declaration in reversed(DECLARATIONS):  # the cheapest is declared first
            takes_changes = declaration.takes_revisions or not self._is_revised
            if takes_changes and self._can_run(declaration.name):
                names.append(declaration.name)
        return tuple(names)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The steps of the script, each in a micro-batch of its own."""
        batches: list[Batch] = []
        for step in self.script.steps:
            if isinstance(step, KeyedChange):
                batches.append(Batch((step,)))
            elif isinstance(step, Punctuation):
                batches.append(Batch((), step.time))
        return tuple(batches)

    @cached_property
    def keys(self) -> Mapping[Hashable, int]:
        """The keys of the script, numbered."""
        distinct_keys = dict.fromkeys(step.key for step in self.script.changes())
        return {key: place for place, key in enumerate(distinct_keys)}

    @cached_property
    def ids(self) -> Mapping[Hashable, int]:
        """The ids of its events, numbered."""
        distinct_ids = dict.fromkeys(step.change.id for step in self.script.changes())
        return {id: place for place, id in enumerate(distinct_ids)}

    @cached_property
    def codec(self) -> Codec:
        """The codec of the state. It knows the records of the modules, and those in the payloads."""
        records: set[type] = set()
        for step in self.script.changes():
            records.update(type(record) for record in _records_in(step.change.event.payload))
        return Codec.of([computation.module for computation in self.query.computations], records)

    @cached_property
    def inputs(self) -> tuple[Field, ...]:
        """The input field of each module, with type variables bound by the payloads."""
        return tuple(map(_input_field, self.query.computations, self._payloads))

    @property
    def reference_query(self) -> WindowedQuery:
        """The query for the reference evaluator, with modules that nothing has used yet."""
        pairs = zip(self._fresh_modules(), self.query.computations, strict=True)
        computations = [replace(computation, module=module) for module, computation in pairs]
        return replace(self.query, computations=computations, event_ends_move=self.has_ids)

    @cached_property
    def has_ids(self) -> bool:
        """True if events have ids, by which they may be revised.

        Events of a query with early results have ids only if the script revises some of them.
        """
        return self._is_revised or not isinstance(self.emit, EarlyEmission)

    @cached_property
    def has_only_points(self) -> bool:
        """True if all events last one tick, and no revision gives one another end.

        In a query that follows events in order, events that last one tick may still be retracted.
        """
        changes = [step.change for step in self.script.changes()]
        ends_stay = all(map(_keeps_its_end, changes)) if self.is_ordered else not self._is_revised
        return ends_stay and all(change.event.end == change.event.start + 1 for change in changes)

    @property
    def row_windows(self) -> RowWindows | None:
        """The windows, if they follow rows; None for any others."""
        return self.query.window if isinstance(self.query.window, RowWindows) else None

    @property
    def is_ordered(self) -> bool:
        """True if the query follows rows or events in order."""
        return isinstance(self.query.window, RowWindows | Unwindowed)

    @property
    def has_order(self) -> bool:
        """True if rows are sorted: by time, then by the order of the query, and last by the order of their ids."""
        return self.is_ordered or any(computation.module.reads_order for computation in self.query.computations)

    def plan(self, evaluator: str) -> Plan:
        """Return the plan of the query, as a new process has it: with modules that nothing has used yet.

        Raises:
            QueryError: The evaluator cannot run the query.
        """
        declaration = next(declaration for declaration in DECLARATIONS if declaration.name == evaluator)
        has_ids = self.has_ids and declaration.takes_revisions  # ids are of use only where events may be revised
        if declaration.lifts:
            # An evaluator that lifts rows takes ids only where they matter: for revisions, and where results wait for
            # ends, as ends may move once there are ids.
            has_ids = self._is_revised or (self.has_ids and self._waits_for_ends)

        # The payload has a column for the input of each module, then the order and the columns that row windows read.
        reads = () if self.row_windows is None else self.row_windows.reads
        input_count = len(self.inputs)
        payload_names = [f"input {place}" for place in range(input_count)]
        if self.has_order:
            payload_names += ["order", *reads]
        columns = Columns(
            start=NamedColumn("start", _TICKS),
            end=None if self.has_only_points else NamedColumn("end", _TICKS),
            id=NamedColumn("id", _TICKS) if has_ids else None,
            change=NamedColumn("change", "string"),
            keys=(NamedColumn("key", _TICKS),),
            payload=tuple(NamedColumn(name, "") for name in payload_names),  # without a type, as nothing is projected
        )
        plan = Plan(
            inputs=(Input(columns, order=input_count if self.has_order else None),),
            axis=Axis.TICKS,
            window=self.query.window,
            clip=self.query.clip,
            timestamps=self.query.timestamps,
            emit=self.emit,
            modules=tuple(map(self._plan_module, range(input_count), self._fresh_modules())),
            expressions={name: place for place, name in enumerate(payload_names) if name in reads},
            requested_evaluator=evaluator,
            forget_keys_after=self.query.forget_keys_after,
        )
        return checked_plan(plan, DECLARATIONS)

    def without_time_bound_contracts(self) -> QueryUnderTest | None:
        """Return the query with window-based modules in the place of time-bound ones: these promise less.

        None if no module promises to be time-bound, or if the engine refuses the query without this promise.
        """
        computations = list(self.query.computations)
        for place, computation in enumerate(computations):
            if computation.module.contract is OutputContract.TIME_BOUND:
                module: Any = deepcopy(computation.module)
                module.contract = OutputContract.WINDOW_BASED
                computations[place] = replace(computation, module=module)
        if computations == list(self.query.computations):
            return None
        try:
            return replace(self, query=replace(self.query, computations=computations))
        except MuntinError:
            return None

    def values(self, payload: Any) -> tuple[Any, ...]:
        """Return the input of each module from a payload; None where the module does not accept it."""
        values: list[Any] = []
        for computation in self.query.computations:
            values.append(computation.select(payload) if computation.accepts(payload) else None)
        return tuple(values)

    def read_by_windows(self, change: Insertion[Any] | Revision[Any]) -> tuple[Any, ...]:
        """Return the order of a row, and the fields that row windows read; empty where rows have no order."""
        if not self.has_order:
            return ()
        reads = () if self.row_windows is None else self.row_windows.reads
        fields_read = [field_value(change.event.payload, name) for name in reads]
        return (self._order_numbers[_event_name(change)], *fields_read)

    @cached_property
    def _order_numbers(self) -> Mapping[tuple[Hashable, str], int]:
        """The number by which each event is ordered among the events of its time."""
        sort_keys: dict[tuple[Hashable, str], Any] = {}
        for step in self.script.changes():
            order = None if self.query.order is None else self.query.order(step.change.event.payload)
            # Rows without an order come first, as an empty list is less than any other.
            sort_keys[_event_name(step.change)] = ([] if order is None else [order], self.ids[step.change.id])
        in_order = sorted(sort_keys, key=lambda name: sort_keys[name])
        return {name: place for place, name in enumerate(in_order)}

    @cached_property
    def _waits_for_ends(self) -> bool:
        """True if a result may wait for the ends of events, where ends may move."""
        modules = [computation.module for computation in self.query.computations]
        return waits_for_ends(modules, self.query.clip, self.query.timestamps, event_ends_move=True)

    @cached_property
    def _is_revised(self) -> bool:
        """True if the script revises or retracts an event."""
        return not all(isinstance(step.change, Insertion) for step in self.script.changes())

    @cached_property
    def _payloads(self) -> list[list[Any]]:
        """The inputs of each module from all changes; None where the module does not accept the payload."""
        columns: list[list[Any]] = [[] for _ in self.query.computations]
        for step in self.script.changes():
            for column, value in zip(columns, self.values(step.change.event.payload), strict=True):
                column.append(value)
        return columns

    def _fresh_modules(self) -> list[Module]:
        """Return copies of the modules, as a process gets them that unpickles a query."""
        try:
            return deepcopy([computation.module for computation in self.query.computations])
        except Exception as error:
            raise ModuleContractError(
                f"a module cannot be copied: {type(error).__name__}: {error}\n"
                "  modules travel to the workers in pickled form\n"
                "  keep open files, connections and locks out of their attributes; open them at first use"
            ) from error

    def _can_run(self, evaluator: str) -> bool:
        """True if an evaluator can run the query."""
        try:
            self.plan(evaluator)
        except QueryError:
            return False
        return True

    def _plan_module(self, place: int, module: Module) -> ModulePlan:
        """Return the plan of a module that reads one column of the payload."""
        input_field = self.inputs[place]
        # The form on arrays needs columns of one type, which all payloads fit.
        form = None
        if hasattr(module, "columnar_form") and not variables_in(input_field):
            fits = not any(misfit(input_field, payload) for payload in self._payloads[place])
            form = module.columnar_form(input_field) if fits else None
        return ModulePlan(
            output=f"result {place}",
            module=module,
            parameters={},
            columns=(place,),
            reads=(input_field,),
            select=itemgetter(place),
            result=Field("result", Variable("")),  # of any type, since no column holds the output
            form=form,
            bound_reads=(input_field,),
        )


def _event_name(change: Insertion[Any] | Revision[Any]) -> tuple[Hashable, str]:
    """Return the id and the payload of an event, which revisions do not change; the payload as text can be hashed."""
    return change.id, repr(change.event.payload)


def _keeps_its_end(change: Insertion[Any] | Revision[Any]) -> bool:
    """Return True if a change inserts an event, or retracts it."""
    return isinstance(change, Insertion) or change.new_end == change.event.start


def _input_field(computation: Computation, payloads: list[object]) -> Field:
    """Return the input field of a module, with type variables bound by payloads."""
    return observed(computation.module.input_field(), payloads)


def _records_in(value: object) -> Iterator[object]:
    """Yield the dataclasses and named tuples that a value is made of."""
    is_named_tuple = isinstance(value, tuple) and hasattr(value, "_fields")
    if is_dataclass(value) or is_named_tuple:
        yield value
    parts: list[object] = []
    if is_dataclass(value):
        parts = [getattr(value, part.name) for part in fields(value)]
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple):
        parts = list(value)
    for part in parts:
        yield from _records_in(part)
