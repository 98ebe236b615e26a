"""A plan in the terms of the evaluators: policies, and modules bound to payloads. Made of a plan here alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Self, TypeVar, cast

from muntin import (
    Axis,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    Lateness,
    OutputContract,
    TimestampPolicy,
)
from muntin.axis import AnyAxis
from muntin.modules.stream_operator import MOST_WAKE_UPS
from muntin.windows import WindowKind
from muntin_engine.modules.abilities import waits_for_ends
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.meter import Meter
from muntin_engine.plan.inputs import Input
from muntin_engine.plan.plan import Plan
from muntin_engine.state.key_patterns import MOST_PATTERNS

T = TypeVar("T")


class MakesOnce:
    """A constant description of a query, which keeps the results of functions of it.

    Evaluators derive the same things from a query for every key and for every micro-batch.
    """

    def once(self, make: Callable[[Self], T]) -> T:
        """Return the result of calling a function with this description; the function is called only the first time."""
        # In `__dict__`, as a description is a frozen dataclass.
        results: dict[object, T] = self.__dict__.setdefault("_results_by_function", {})
        if make not in results:
            results[make] = make(self)
        return results[make]


@dataclass(frozen=True)
class EvaluatorQuery(MakesOnce):
    """A query in the terms of the evaluator.

    Attributes:
        window: The kind of windows.
        bindings: One operator, or any number of aggregates.
        clip: The part of lifetimes that time-sensitive modules see.
        timestamps: The lifetime that the output gets.
        emit: The emission of results.
        contract: The guarantee about the lifetimes of the output, as `Plan.contract` says it.
        is_edge: True if events are samples that last until the next one of their key.
        has_ids: True if the input names its events, so that it may revise them.
        expressions: Functions from an event's payload to the values that the trigger of early results reads, by
            expression.
        late: The policy for late rows.
        waits_for_watermark: True if a window is first emitted when the watermark passes its end. It needs
            `emit=SPECULATIVE`.
        axis: The quantity that ticks measure, for messages, and to refuse a length in the place of a time.
        order: The function from an event's payload to its place among the rows of its time; None if the input names no
            order.
        keeps: Returns True for an event's payload if the event meets the query's filter; None without a filter.
        most_held: The number of events that a key may hold; None without a limit.
        fails_when_full: True if the query fails when a key has no room for an event; False if it sheds the event.
        forget_keys_after: The ticks of silence of a key after which the key is forgotten, so that its next event is
            like the first one; None if keys are not forgotten.
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

    @property
    def sides(self) -> tuple[EvaluatorQuery, ...]:
        """The description of the events of each input: for a query of one input, this description itself.

        `JoinQuery` has a property of the same name, which returns the descriptions of both its inputs.
        """
        return (self,)

    @cached_property
    def is_operator(self) -> bool:
        """True if the query's one module returns rows."""
        return bool(self.bindings) and self.bindings[0].module.is_operator

    @cached_property
    def names_events(self) -> bool:
        """True if events are identified by their id and their first start; a sample is identified by its time alone."""
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
        return self.is_cut_at_changes or self.contract is OutputContract.TIME_BOUND

    def place(self, event: Any) -> tuple[Any, ...]:
        """Return the value by which an event is sorted among those of its key: its time, then its order at that time.

        An event whose order is null comes before the others of its time.
        """
        order = None if self.order is None else self.order(event.payload)
        # A shorter tuple sorts before a longer one that begins like it.
        return (event.start,) if order is None else (event.start, order)

    @cached_property
    def waits_for_ends(self) -> bool:
        """True if a window's result depends on ends that lie after it and may still move."""
        modules = [binding.module for binding in self.bindings]
        return waits_for_ends(modules, self.clip, self.timestamps, event_ends_move=self.event_ends_move)

    @cached_property
    def hides_later_ends(self) -> bool:
        """True if the result at a tick must not show the ends of events after that tick, as they may still move."""
        reads_times = any(binding.module.reads_times for binding in self.bindings)
        return self.is_cut_at_changes and self.event_ends_move and reads_times


def evaluator_query(plan: Plan, meters: Sequence[Meter]) -> EvaluatorQuery:
    """Return a plan of one input in the terms of the evaluators.

    Args:
        plan: The plan.
        meters: The meter of the calls of each module.
    """
    input = plan.input
    bindings = []
    for module, meter in zip(plan.modules, meters, strict=True):
        bindings.append(Binding(module.module, module.select, meter, module.output))
    # Where late rows may correct final results, `plan.emission` is speculative. A window is still not emitted before
    # the watermark passes its end.
    waits_for_watermark = input.late.corrects and plan.emit is EmitPolicy.FINAL
    return replace(
        events_query(plan, input),
        bindings=tuple(bindings),
        clip=plan.clip,
        timestamps=plan.timestamps,
        emit=plan.emission,
        contract=plan.contract,
        # What the trigger of early results reads, from the payload of an event.
        expressions={expression: itemgetter(place) for expression, place in plan.expressions.items()},
        waits_for_watermark=waits_for_watermark,
        most_held=input.most_held,
        fails_when_full=input.fails_when_full,
        forget_keys_after=plan.forget_keys_after,
    )


def events_query(plan: Plan, input: Input) -> EvaluatorQuery:
    """Describe the events of one input of a plan in the terms of the evaluators, without modules."""
    # Where the state also holds events that a filter leaves out, a payload has one more place behind its columns. It
    # says whether the event meets the filter.
    place_of_filter = len(input.columns.payload)
    return EvaluatorQuery(
        # Row windows and the placeholder of a join are no `WindowKind`. Their evaluators do not read this attribute.
        window=cast(WindowKind, plan.window),
        bindings=(),
        is_edge=input.has_samples,
        has_ids=input.columns.id is not None,
        late=input.late,
        axis=plan.words.axis,
        order=input.order_of_rows(),
        keeps=itemgetter(place_of_filter) if input.keeps_filtered else None,
    )
