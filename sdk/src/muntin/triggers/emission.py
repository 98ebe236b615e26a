"""Early emission: results of open windows, emitted when a trigger fires."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from muntin.axis import Duration
from muntin.errors import DurationError, PolicyError
from muntin.errors.messages import Alternatives, Argument, Call, ErrorMessage, StreamCall
from muntin.policies import Refinement, parse_policy
from muntin.triggers.description import to_dict
from muntin.triggers.elementary import every as at_every
from muntin.triggers.refining import ResultRefinement
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowSpecification
from muntin.windows.specification import WrittenWindows


@dataclass(frozen=True, slots=True)
class EarlyEmission:
    """Emit final results, and early ones whenever a trigger fires; made by `early`.

    It is given in place of an `EmitPolicy`: `window(..., emit=early(every="1 minute"))`. Results have the columns
    `timing` (`"early"` or `"final"`) and `firing` (the number of earlier emissions of the window). A final row is
    emitted exactly when it would be with `emit="final"`, unless the refinement says otherwise. Where late rows correct
    results, the final row is emitted once, when no late row can correct it any more; triggers then see a watermark that
    is behind by the allowed lateness. The general evaluator computes such queries. A checkpoint stores the trigger and
    the refinement with their parameters, and a query with another trigger or refinement needs a new checkpoint.

    Cost: a firing costs as much as closing the window; windows that fire together share the work.

    Attributes:
        trigger: The trigger that emits results of open windows.
        refinement: The relation of a window's later results to its earlier ones.

    Raises:
        PolicyError: The trigger is not a trigger, or it or the refinement cannot be stored with a query.
    """

    trigger: Trigger
    refinement: Refinement | ResultRefinement = Refinement.ACCUMULATE

    def __post_init__(self) -> None:
        # Called for their errors alone: a trigger that a checkpoint cannot hold is refused where a user writes it.
        to_dict(self.trigger)
        if isinstance(self.refinement, ResultRefinement):
            to_dict(self.refinement)

    def __str__(self) -> str:
        return f"early({self.trigger}, {self.refinement})"

    def check_windows(
        self, window: WindowSpecification, *, is_revised: bool, written_window: WrittenWindows | None = None
    ) -> None:
        """Refuse a refinement whose results would be wrong for the windows or events.

        Args:
            window: The windows.
            is_revised: True if events may be revised, or are samples, each of which ends with the next one.
            written_window: The windows as the query has them; None to spell their ticks.

        Raises:
            PolicyError: A window may cease to exist, or a member may change, and the result that was emitted would not
                be retracted; or windows may take the place of others, and the trigger does not merge its states.
        """
        windows = written_window or WrittenWindows(window)
        if self.refinement is not Refinement.RETRACT and window.waits_for_events:
            raise PolicyError(
                "{windows} is cut by events, so a window whose result was emitted early may cease to exist\n"
                "  {argument} would never retract it; use {retract}",
                windows=windows,
                argument="refinement",
                value=str(self.refinement),
                retract=Argument("refinement", "retract"),
            )
        if window.waits_for_events:
            self.check_merging(ErrorMessage("{windows} is cut by events", windows=windows))
        if self.refinement is Refinement.DISCARD and is_revised:
            raise PolicyError(
                "events that have ids, and samples, may change after their results were emitted\n"
                "  {argument} would never retract these; use {right}, or leave the id out",
                argument="refinement",
                value="discard",
                right=Alternatives("refinement", ("accumulate", "retract"), is_named=False),
            )

    def check_merging(self, reason: str) -> None:
        """Refuse a trigger that does not say how its states are merged.

        Args:
            reason: The reason why windows take the place of others, as the beginning of a sentence.

        Raises:
            PolicyError: The trigger, or one that it is composed of, defines no `merge`.
        """
        if self.trigger.can_merge:
            return
        raise PolicyError(
            "{reason}, so a window may take the place of others, and the trigger {trigger} does not say with "
            "which state it goes on there\n"
            "  define merge(self, states, window) in its class: it gets the states of the trigger for these windows, "
            "FINISHED for one that is finished, and returns the state to go on with",
            reason=reason,
            trigger=self.trigger,
        )

    @property
    def may_retract(self) -> bool:
        """True if emitted results may be retracted."""
        return self.refinement is Refinement.RETRACT


def early(
    trigger: Trigger | None = None,
    *,
    every: Duration | None = None,
    refinement: Refinement | ResultRefinement | str = Refinement.ACCUMULATE,
) -> EarlyEmission:
    """Return the emission of early results.

    Args:
        trigger: The trigger that emits results of open windows; see `muntin.triggers`.
        every: Instead of a trigger, a period of the clock: short for `muntin.triggers.every(period)`.
        refinement: `"accumulate"`: each result covers all members so far, and nothing is retracted. `"discard"`: each
            result covers the members since the last one. `"retract"`: as accumulate, but each result retracts the one
            before it. Or an instance of a `ResultRefinement` of your own.

    Raises:
        PolicyError: Neither or both of trigger and period are given, or the refinement's text names none.
        DurationError: The period cannot be read.

    Example:
        >>> from muntin.triggers import after_count, any_of, repeat, when
        >>> print(early(repeat(any_of(after_count(100), when("kind = 'end'"))), refinement="retract"))
        early(repeat(any_of(after_count(100), when("kind = 'end'"))), retract)
        >>> print(early(every="1 minute"))
        early(repeat(after('1 minute', aligned)), accumulate)
    """
    # A likely slip, which the annotation does not allow: early("1 minute").
    period: object = trigger
    if isinstance(period, str | int | timedelta):
        # Text that is no period is refused by `EarlyEmission`, as anything else that is not a trigger.
        with suppress(DurationError):
            at_every(period)
            raise PolicyError(
                "{value!r} is not a trigger\n  a period goes by name: {call}",
                value=trigger,
                call=Call("early", Argument("every", trigger)),
            )
    if (trigger is None) == (every is None):
        raise PolicyError(
            "early() needs either a trigger or a period; got {given}\n"
            "  for example {by_count}, or {by_time} on a stream with a clock, {with_clock}",
            given="neither" if trigger is None else "both",
            by_count=Call("early", Call("every_count", 100)),
            by_time=Call("early", Argument("every", "1 minute")),
            with_clock=StreamCall(Call("with_clock")),
        )
    early_trigger = trigger if every is None else at_every(every)
    assert early_trigger is not None
    if not isinstance(refinement, ResultRefinement):
        refinement = parse_policy(Refinement, refinement)
    return EarlyEmission(early_trigger, refinement)
