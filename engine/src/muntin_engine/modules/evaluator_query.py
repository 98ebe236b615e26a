"""The part of a query that evaluators need: its policies, and its modules with what makes their results plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeVar

from muntin import (
    Axis,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    Lateness,
    Module,
    OutputContract,
    RowOperator,
    StreamOperator,
    TimestampPolicy,
)
from muntin.axis import AnyAxis
from muntin.errors import PolicyError
from muntin.modules.stream_operator import MOST_WAKE_UPS
from muntin.rows import RowWindows
from muntin.windows import WindowKind
from muntin_engine.modules.calls import Meter
from muntin_engine.modules.plain_results import Plain, PlainRow, plain_of
from muntin_engine.modules.skipping import Accepted, BySource, Choosy, Present
from muntin_engine.state.key_patterns import MOST_PATTERNS

T = TypeVar("T")


def whole_payload(payload: object) -> object:
    """Return the payload as it is."""
    return payload


@dataclass(frozen=True, slots=True)
class Binding:
    """A module of the query with the way from an event's payload to its input, and what measures its calls.

    Attributes:
        module: The module.
        select: Makes the module's input of an event's payload.
        meter: Measures its calls.
        name: The name of its result, for triggers that read it.
        called: The object that evaluators call: the module, or a wrapper of one that does not accept every payload.
        plain: Makes its results plain data; None if they are already.
    """

    module: Module
    select: Callable[[Any], Any] = whole_payload
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)
    name: str = ""

    called: Any = field(init=False, compare=False, repr=False)
    plain: Plain | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # one that follows rows or events is told of those that it accepts, so nothing needs to be counted
        follows = isinstance(self.module, RowOperator | StreamOperator)
        is_choosy = isinstance(self.select, Present | Accepted | BySource) and not follows
        object.__setattr__(self, "called", Choosy(self.module) if is_choosy else self.module)
        plain = plain_of(self.module.result_field())
        is_row = plain is not None and self.module.is_operator
        object.__setattr__(self, "plain", PlainRow(plain) if is_row and plain is not None else plain)


def waits_for_ends(
    modules: Iterable[Module], clip: ClipPolicy, timestamps: TimestampPolicy, *, event_ends_move: bool
) -> bool:
    """Return True if a window's result depends on ends that lie after it and may still move.

    It does not where the result at each tick of a window comes from the input up to that tick.
    """
    sees_later = event_ends_move and not clip.clips_right and timestamps is not TimestampPolicy.TIME_BOUND
    return sees_later and any(module.reads_times for module in modules)


def may_slide(module: Module, *, only_grows: bool = False) -> bool:
    """Return True if a module's state may go on from a window to the next one, as events come and go.

    Where windows only grow, none goes.
    """
    follows = module.is_incremental and not module.is_time_sensitive and not module.reads_order
    return follows and (only_grows or hasattr(module, "remove_events"))


def states_replace_rows(windows: RowWindows, modules: Iterable[Module]) -> bool:
    """Return True if states of modules take the place of rows in windows that follow rows."""
    follow = all(module.is_incremental and not module.is_time_sensitive for module in modules)
    return windows.leaves_at_once and follow


class MakesOnce:
    """A constant description of a query, which keeps what functions make of it."""

    def once(self, make: Callable[[Self], T]) -> T:
        """Return the result of a function of this, which is called the first time only."""
        made: dict[object, T] = self.__dict__.setdefault("_made", {})
        if make not in made:
            made[make] = make(self)
        return made[make]


@dataclass(frozen=True)
class EvaluatorQuery(MakesOnce):
    """A windowed query in the terms of the evaluator.

    Attributes:
        window: The kind of windows.
        bindings: One operator, or any number of aggregates.
        clip: What time-sensitive modules see of their events.
        timestamps: Which lifetime the output gets.
        emit: The emission of results.
        contract: What holds for the lifetimes of the output, where the module sets them. `TIME_BOUND` needs
            `emit=EAGER`, as the timestamps of that name do: output that waits for the end of its window cannot start
            at its cause.
        is_edge: True if events are samples that last until the next one of their key.
        has_ids: True if the input names its events, so that it may revise them.
        expressions: How an event's payload gives the values that the trigger of early results reads, by expression.
        late: The policy for late rows.
        waits_for_watermark: True if a window is first emitted when the watermark passes its end. It needs
            `emit=SPECULATIVE`.
        axis: What ticks measure; only messages depend on it, and what is refused as a length in the place of a time.
        order: How an event's payload gives its place among the rows of its time; None if the input names none.
        keeps: Whether the filter of the query lets an event in, by its payload; None if there is no filter.
        most_held: How many events a key may hold before new ones are shed; None if none are.
        fails_when_full: True if the query fails instead.
        forget_keys_after: For how long a key may be silent before its next event begins a new life, in ticks; None if
            a key is not forgotten.
        most_wake_ups: The most wake-ups that an operator may have of a key in a micro-batch, besides one per event.
        most_patterns: The most patterns of keys that are complete beyond the watermark.
    """

    window: WindowKind
    bindings: tuple[Binding, ...]
    clip: ClipPolicy = ClipPolicy.NONE
    timestamps: TimestampPolicy = TimestampPolicy.ALIGN
    emit: EmitPolicy | EarlyEmission = EmitPolicy.FINAL
    contract: OutputContract = OutputContract.WINDOW_BASED
    is_edge: bool = False
    has_ids: bool = True
    expressions: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    late: Lateness = Lateness()  # noqa: RUF009  # it is frozen
    waits_for_watermark: bool = False
    axis: AnyAxis = Axis.TICKS
    order: Callable[[Any], Any] | None = None
    keeps: Callable[[Any], bool] | None = None
    most_held: int | None = None
    fails_when_full: bool = False
    forget_keys_after: int | None = None
    most_wake_ups: int = MOST_WAKE_UPS
    most_patterns: int = MOST_PATTERNS

    def __post_init__(self) -> None:
        if isinstance(self.emit, EarlyEmission):
            self.emit.check(self.window, is_revised=self.event_ends_move)
        if self.is_time_bound and self.emit is not EmitPolicy.EAGER:
            raise PolicyError(
                f"a time-bound query emits results eagerly, not with emit={str(self.emit)!r}\n  use emit='eager'"
            )

    @property
    def sides(self) -> tuple[EvaluatorQuery, ...]:
        """The form of each input's events; a query of one input states it itself."""
        return (self,)

    @cached_property
    def is_operator(self) -> bool:
        """True if the query's one module returns rows."""
        return bool(self.bindings) and self.bindings[0].module.is_operator

    @cached_property
    def names_events(self) -> bool:
        """True if an event is known by the id and the start that it was inserted with; a sample is by its time."""
        return self.has_ids and not self.is_edge

    @cached_property
    def event_ends_move(self) -> bool:
        """True if the end of an event may change after it came."""
        return self.has_ids or self.is_edge

    @cached_property
    def follows_open_windows(self) -> bool:
        """True if a window counts from its first member on, not only when it is complete or visible."""
        return isinstance(self.emit, EarlyEmission) or self.emit is EmitPolicy.EAGER

    @cached_property
    def is_cut_at_changes(self) -> bool:
        """True if the result at each tick of a window comes from the input up to that tick."""
        return self.timestamps is TimestampPolicy.TIME_BOUND

    @cached_property
    def is_time_bound(self) -> bool:
        """True if no output may start before the change that caused it."""
        is_kept = self.contract is OutputContract.TIME_BOUND and self.timestamps.is_set_by_module
        return self.is_cut_at_changes or is_kept

    def place(self, event: Any) -> tuple[Any, ...]:
        """Return the sort key of an event among those of its key: its time, and its order at that time, null first."""
        order = None if self.order is None else self.order(event.payload)
        return (event.start,) if order is None else (event.start, order)

    @cached_property
    def waits_for_ends(self) -> bool:
        """True if a window's result depends on ends that lie after it and may still move."""
        modules = [binding.module for binding in self.bindings]
        return waits_for_ends(modules, self.clip, self.timestamps, event_ends_move=self.event_ends_move)

    @cached_property
    def corrects(self) -> bool:
        """True if late rows correct results."""
        return self.late.corrects

    @cached_property
    def hides_later_ends(self) -> bool:
        """True if a result may not show ends that lie after its tick, since a legal change may still move them."""
        reads_times = any(binding.module.reads_times for binding in self.bindings)
        return self.is_cut_at_changes and self.event_ends_move and reads_times
