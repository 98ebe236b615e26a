"""The part of a query that evaluators need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muntin import (
    Axis,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    Lateness,
    Module,
    OutputContract,
    PolicyError,
    TimestampPolicy,
    WindowKind,
)
from muntin_engine.core.calls import Meter
from muntin_engine.core.plain_results import Plain, PlainRow, plain_of
from muntin_engine.core.skipping import Accepted, Choosy, Present


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
        called: The object that evaluators call: the module, or a wrapper of one that does not accept every payload.
        plain: Makes its results plain data; None if they are already.
    """

    module: Module
    select: Callable[[Any], Any] = whole_payload
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)

    called: Any = field(init=False, compare=False, repr=False)
    plain: Plain | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        is_choosy = isinstance(self.select, Present | Accepted)
        object.__setattr__(self, "called", Choosy(self.module) if is_choosy else self.module)
        plain = plain_of(self.module.result_field())
        is_row = plain is not None and self.module.is_operator
        object.__setattr__(self, "plain", PlainRow(plain) if is_row and plain is not None else plain)


def waits_for_ends(
    modules: Iterable[Module], clip: ClipPolicy, timestamps: TimestampPolicy, *, ends_move: bool
) -> bool:
    """Return True if a window's result depends on ends that lie after it and may still move.

    It does not where the result at each tick of a window comes from the input up to that tick.
    """
    sees_later = ends_move and not clip.clips_right and timestamps is not TimestampPolicy.TIME_BOUND
    return sees_later and any(module.reads_times for module in modules)


@dataclass(frozen=True, slots=True)
class EvaluatorQuery:
    """A windowed query in the terms of the evaluator.

    Attributes:
        window: How the axis is cut.
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
        late: What becomes of late rows.
        waits_for_watermark: True if a window becomes visible when the watermark passes its end, and not before. It
            needs `emit=SPECULATIVE`.
        axis: What ticks measure; only messages depend on it.
        keeps: Whether the filter of the query lets an event in, by its payload; None if there is no filter.
        is_operator: True if the query's one module returns rows.
        ends_move: True if the end of an event may change after it came.
        follows_open_windows: True if a window counts from its first member on, not only when it is complete or
            visible.
        is_cut_at_changes: True if the result at each tick of a window comes from the input up to that tick.
        is_time_bound: True if no output may start before the change that caused it.
        waits_for_ends: True if a window's result depends on ends that lie after it and may still move.
        corrects: True if late rows correct results.
        hides_later_ends: True if a result may not show ends that lie after its tick, since a legal change may still
            move them.
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
    axis: Axis = Axis.TICKS
    keeps: Callable[[Any], bool] | None = None
    is_operator: bool = field(init=False, repr=False, compare=False)
    ends_move: bool = field(init=False, repr=False, compare=False)
    follows_open_windows: bool = field(init=False, repr=False, compare=False)
    is_cut_at_changes: bool = field(init=False, repr=False, compare=False)
    is_time_bound: bool = field(init=False, repr=False, compare=False)
    waits_for_ends: bool = field(init=False, repr=False, compare=False)
    corrects: bool = field(init=False, repr=False, compare=False)
    hides_later_ends: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        modules = [binding.module for binding in self.bindings]
        ends_move = self.has_ids or self.is_edge
        is_early = isinstance(self.emit, EarlyEmission)
        is_cut = self.timestamps is TimestampPolicy.TIME_BOUND
        is_kept = self.contract is OutputContract.TIME_BOUND and self.timestamps.is_set_by_module
        derived = {
            "is_operator": bool(modules) and modules[0].is_operator,
            "ends_move": ends_move,
            "follows_open_windows": is_early or self.emit is EmitPolicy.EAGER,
            "is_cut_at_changes": is_cut,
            "corrects": self.late.corrects,
            "is_time_bound": is_cut or is_kept,
            "waits_for_ends": waits_for_ends(modules, self.clip, self.timestamps, ends_move=ends_move),
            "hides_later_ends": is_cut and ends_move and any(module.reads_times for module in modules),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        if isinstance(self.emit, EarlyEmission):
            self.emit.check(self.window, is_revised=self.ends_move)
        if self.is_time_bound and self.emit is not EmitPolicy.EAGER:
            raise PolicyError(
                f"a time-bound query emits results eagerly, not with emit={str(self.emit)!r}\n  use emit='eager'"
            )
