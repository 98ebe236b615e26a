"""Early emission: results of open windows, put out when a trigger says so."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from muntin.axis import Duration
from muntin.errors import DurationError, PolicyError
from muntin.policies import Refinement, parse_policy
from muntin.triggers.description import to_dict
from muntin.triggers.timer import every as at_every
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowKind


@dataclass(frozen=True, slots=True)
class EarlyEmission:
    """Put out final results, and early ones whenever a trigger fires; made by `early`.

    It stands where an `EmitPolicy` may: `window(..., emit=early(every="1 minute"))`. Results have the columns `timing`
    (`"early"` or `"final"`) and `pane` (how often the window was put out before). A final row comes exactly when it
    would with `emit="final"`. Where late rows correct results, it comes when they no longer can, and only once.

    Attributes:
        trigger: When the result of an open window is put out.
        refinement: What a later result of a window does to the earlier ones.

    Raises:
        PolicyError: The trigger is none, or cannot be stored with a query.
    """

    trigger: Trigger
    refinement: Refinement = Refinement.ACCUMULATE

    def __post_init__(self) -> None:
        to_dict(self.trigger)

    def __str__(self) -> str:
        return f"early({self.trigger}, {self.refinement})"

    def check(self, window: WindowKind, *, is_revised: bool) -> None:
        """Refuse a refinement that could not keep its promise.

        Args:
            window: How the axis is cut.
            is_revised: True if events may be revised, or are samples that end with the next one.

        Raises:
            PolicyError: A window may cease to exist, or a member may change, and nothing would be taken back.
        """
        if self.refinement is not Refinement.RETRACT and window.waits_for_events:
            raise PolicyError(
                f"{window} is cut by events, so a window that was put out early may cease to exist\n"
                f"  refinement={str(self.refinement)!r} would never take it back; use refinement='retract'"
            )
        if self.refinement is Refinement.DISCARD and is_revised:
            raise PolicyError(
                "events that have ids, and samples, may change after they were put out\n"
                "  refinement='discard' would never take them back; use 'accumulate' or 'retract', or leave the id out"
            )

    @property
    def may_retract(self) -> bool:
        """True if something put out may be taken back."""
        return self.refinement is Refinement.RETRACT


def early(
    trigger: Trigger | None = None,
    *,
    every: Duration | None = None,
    refinement: Refinement | str = Refinement.ACCUMULATE,
) -> EarlyEmission:
    """Return the emission of early results.

    Args:
        trigger: When an open window is put out; see `muntin.triggers`.
        every: Instead of a trigger, a period of the clock: short for `muntin.triggers.every(period)`.
        refinement: `"accumulate"`: each result is the whole so far, and nothing is taken back. `"discard"`: each covers
            the members that came since the last. `"retract"`: as accumulate, but the last result is retracted first.

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
    instead: object = trigger  # nothing keeps a caller from giving what the annotation does not allow
    if isinstance(instead, str | int | timedelta):
        with suppress(DurationError):
            at_every(instead)
            raise PolicyError(f"{trigger!r} is not a trigger\n  a period goes by name: early(every={trigger!r})")
    if (trigger is None) == (every is None):
        given = "neither" if trigger is None else "both"
        raise PolicyError(f"early() needs either a trigger or a period, as in early(every='1 minute'); got {given}")
    chosen = trigger if every is None else at_every(every)
    assert chosen is not None
    return EarlyEmission(chosen, parse_policy(Refinement, refinement))
