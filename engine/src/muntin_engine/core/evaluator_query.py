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
from muntin_engine.core.meter import Meter
from muntin_engine.core.skipping import Accepted, Choosy, Present


def whole_payload(payload: object) -> object:
    """Return the payload as it is."""
    return payload


@dataclass(frozen=True, slots=True)
class Binding:
    """A module of the query with the way from an event's payload to its input, and what measures its calls."""

    module: Module
    select: Callable[[Any], Any] = whole_payload
    meter: Meter = field(default_factory=Meter, compare=False, repr=False)

    @property
    def called(self) -> Any:
        """The object that evaluators call: the module, or a wrapper that skips the payloads that it does not accept."""
        return Choosy(self.module) if isinstance(self.select, Present | Accepted) else self.module


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
        emit: When results are put out.
        contract: What holds for the lifetimes of the output, where the module sets them. `TIME_BOUND` needs
            `emit=EAGER`, as the timestamps of that name do: output that waits for the end of its window cannot start
            at its cause.
        is_edge: True if events are samples that last until the next one of their key.
        has_ids: True if the input names its events, so that it may revise them.
        expressions: How an event's payload gives the values that the trigger of early results reads, by expression.
        late: What becomes of late rows.
        waits_for_watermark: True if a window comes into sight when the watermark passes its end, and not before. It
            needs `emit=SPECULATIVE`.
        axis: What ticks measure; only messages depend on it.
        keeps: Whether the filter of the query lets an event in, by its payload; None if there is no filter.
        waits_for_ends: True if a window's result depends on ends that lie after it and may still move.
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
    waits_for_ends: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        modules = [binding.module for binding in self.bindings]
        waits = waits_for_ends(modules, self.clip, self.timestamps, ends_move=self.ends_move)
        object.__setattr__(self, "waits_for_ends", waits)
        if isinstance(self.emit, EarlyEmission):
            self.emit.check(self.window, is_revised=self.ends_move)
        if self.is_time_bound and self.emit is not EmitPolicy.EAGER:
            raise PolicyError(
                f"a time-bound query puts out results eagerly, not with emit={str(self.emit)!r}\n  use emit='eager'"
            )

    @property
    def is_operator(self) -> bool:
        """True if the query's one module returns rows."""
        return self.bindings[0].module.is_operator

    @property
    def ends_move(self) -> bool:
        """True if the end of an event may change after it came."""
        return self.has_ids or self.is_edge

    @property
    def follows_open_windows(self) -> bool:
        """True if a window counts from its first member on, not only when it is complete or in sight."""
        return self.emit is EmitPolicy.EAGER or isinstance(self.emit, EarlyEmission)

    @property
    def is_time_bound(self) -> bool:
        """True if no output may start before the change that caused it."""
        is_promised = self.contract is OutputContract.TIME_BOUND and self.timestamps.is_set_by_module
        return is_promised or self.is_cut_at_changes

    @property
    def is_cut_at_changes(self) -> bool:
        """True if at each tick of a window stands the result of what the input says up to that tick."""
        return self.timestamps is TimestampPolicy.TIME_BOUND

    @property
    def hides_later_ends(self) -> bool:
        """True if a result may not show ends that lie after its tick, since a legal change may still move them."""
        return self.is_cut_at_changes and self.ends_move and any(one.module.reads_times for one in self.bindings)
