"""Policies: the settings of a query writer for times, output and late rows, without a change of the module.

Every policy is an enumeration whose members are also plain text, so `clip="full"` and `clip=ClipPolicy.FULL`
mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, TypeVar

from muntin.axis import Duration, spell_given, ticks
from muntin.errors import PolicyError


class _Policy(StrEnum):
    """An enumeration that is text and explains itself."""

    @classmethod
    def _instead_of(cls, word: str) -> str | None:
        """Return the advice on a word that stands for something else; None for any other word."""
        return None


class ClipPolicy(_Policy):
    """The clipping of members' lifetimes before a time-sensitive module sees them.

    Membership is decided before clipping, so a policy never changes which events a window has.
    """

    NONE = "none"
    """The lifetime as it is. A window then stays open until its members have ended."""
    LEFT = "left"
    """A start before the window becomes the window's start."""
    RIGHT = "right"
    """An end after the window becomes the window's end."""
    FULL = "full"
    """Both."""

    @property
    def clips_left(self) -> bool:
        """True if starts are moved into the window."""
        return self in (ClipPolicy.LEFT, ClipPolicy.FULL)

    @property
    def clips_right(self) -> bool:
        """True if ends are moved into the window."""
        return self in (ClipPolicy.RIGHT, ClipPolicy.FULL)


class TimestampPolicy(_Policy):
    """The lifetime of a window's output."""

    ALIGN = "align"
    """The window's extent, whatever the module says; the only lifetime a time-insensitive module can have."""
    UNCHANGED = "unchanged"
    """The module's lifetime; an output that starts before its window is an error of the module."""
    CLIP = "clip"
    """The module's lifetime, cut to the window; an output that lies wholly outside is dropped."""
    POINT_AT_END = "point_at_end"
    """A point event at the window's end; a window without an end has none."""
    TIME_BOUND = "time_bound"
    """The window's extent, cut where the result changes: the result at a tick is computed from the input up to that
    tick. So no result starts before the event that caused it, and the output watermark equals the input's. It needs
    `emit="eager"`."""

    @property
    def is_set_by_module(self) -> bool:
        """True if the module's own lifetimes count."""
        return self in (TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP)


class EmitPolicy(_Policy):
    """The time at which the result of a window is emitted."""

    FINAL = "final"
    """Once, when no legal change can alter it."""
    SPECULATIVE = "speculative"
    """When the max event time passes the window's end, with retractions whenever it changes after that."""
    EAGER = "eager"
    """As soon as the window has a member, with retractions whenever it changes."""

    @classmethod
    def _instead_of(cls, word: str) -> str | None:
        return _NOT_EMIT_POLICIES.get(word)

    @property
    def may_retract(self) -> bool:
        """True if emitted results may be retracted."""
        return self is not EmitPolicy.FINAL


class JoinKind(_Policy):
    """The output of a temporal join: two streams that meet by key, where their lifetimes overlap."""

    INNER = "inner"
    """Each pair of a left and a right event, over the ticks that both live."""
    LEFT = "left"
    """The pairs, and the parts of left events that no right event of the key covers, with nulls for its columns."""
    ANTI = "anti"
    """The parts of left events that no right event of the key covers."""
    SEMI = "semi"
    """The parts of left events that right events of the key cover, each part once however many cover it."""
    CLIP = "clip"
    """Each left event up to the first right event of the key that starts after it does."""

    @property
    def pairs(self) -> bool:
        """True if the output has columns of the right stream."""
        return self in (JoinKind.INNER, JoinKind.LEFT)


class Refinement(_Policy):
    """The relation of a window's later results to its earlier ones, where there are early results."""

    ACCUMULATE = "accumulate"
    """Each is the whole result so far; nothing is retracted, and the reader keeps the latest."""
    DISCARD = "discard"
    """Each covers the members since the last one, the final one too: the reader adds them up."""
    RETRACT = "retract"
    """Each is the whole result so far, and the last one is retracted first."""


class LatePolicy(_Policy):
    """The treatment of late rows: those that change the axis before the watermark."""

    SIDE = "side"
    """It goes to the side output of late rows, with its lateness."""
    DROP = "drop"
    """It is counted and not kept."""
    ADJUST = "adjust"
    """An insertion that ends after the watermark starts at the watermark instead; any other late row goes to the side
    output, and so does every late point event."""
    CORRECT = "correct"
    """Results are corrected for some time, see `correct`."""


class OutputContract(_Policy):
    """The guarantee of a time-sensitive module about the lifetimes that it returns."""

    UNRESTRICTED = "unrestricted"
    """None: unless the output is cut to its window, it has no watermark before the end of the stream."""
    WINDOW_BASED = "window_based"
    """No output starts before its window."""
    TIME_BOUND = "time_bound"
    """No output caused by a change starts before the change's sync time. The engine ensures it by shortening earlier
    output instead of retracting it, so the watermark of speculative output equals that of the input."""


PolicyT = TypeVar("PolicyT", bound=_Policy)

_NOT_EMIT_POLICIES: Final = {
    "append": "Spark's output mode 'append' is emit='final', the default",
    "update": (
        "Spark's output mode 'update' is, for windows, emit=early(every_count(1))\n"
        "  and emit='eager' where the reader takes retractions"
    ),
    "complete": "Spark's output mode 'complete' is emit='eager', written into a ChangelogTable",
    "early": (
        "early results of windows need a trigger, as in emit=early(every_count(100)),\n"
        "  or a period, emit=early(every='1 minute'), for which the stream has a clock, .with_clock()"
    ),
}
"""Replacements for Spark's output modes; the how-to page 'From Spark's output modes to emit' has them all."""


def parse_policy(kind: type[PolicyT], value: PolicyT | str) -> PolicyT:
    """Return a policy from its text."""
    try:
        return kind(value)
    except ValueError:
        members = ", ".join(repr(str(member)) for member in kind)
        article = "an" if kind.__name__.startswith("E") else "a"
        meant = get_close_matches(str(value).lower(), [str(member) for member in kind], n=1, cutoff=0.7)
        name = getattr(value, "__name__", None)
        instead = kind._instead_of((name or str(value)).lower())
        suggestion = f"\n  did you mean {meant[0]!r}?" if meant else ""
        suggestion = suggestion if instead is None else f"\n  {instead}"
        given = name or repr(value)
        raise PolicyError(f"{given} is not {article} {kind.__name__}; there are {members}{suggestion}") from None


@dataclass(frozen=True, slots=True)
class Lateness:
    """The treatment of late rows; made by `correct`, or from the text of a policy.

    Attributes:
        policy: The policy for late rows.
        allowed: The lateness up to which rows correct results, in ticks behind the watermark.
    """

    policy: LatePolicy = LatePolicy.SIDE
    allowed: int = 0

    def __str__(self) -> str:
        return self.spell(spell_given)

    def spell(self, spell_length: Callable[[int], str]) -> str:
        """Return it as a query writes it; `spell_length` spells a length of the axis."""
        return f"correct({spell_length(self.allowed)})" if self.policy is LatePolicy.CORRECT else str(self.policy)

    @property
    def corrects(self) -> bool:
        """True if late rows may correct emitted results."""
        return self.policy is LatePolicy.CORRECT


def correct(allowed: Duration) -> Lateness:
    """Correct results for rows up to some time late (allowed lateness in Flink and Beam).

    The result of a window is emitted when the watermark passes its end. Each row that is late by at most the allowed
    time corrects it, with a retraction. A row that is later still goes to the side output of late rows.

    Over hopping, tumbling and calendar windows of events without ids lateness is counted from the ends of windows: a
    row corrects all of its windows until the watermark is the allowed time past the end of the first one.

    Args:
        allowed: The allowed lateness.

    Raises:
        PolicyError: It is not above zero.
        DurationError: It cannot be read.

    Example:
        >>> correct("1 hour").allowed
        3600000000
    """
    span = ticks(allowed)
    if not 0 < span <= 2**60:
        raise PolicyError(
            f"late rows correct results for some time, got {allowed!r}\n  for none, use late_policy='side'"
        )
    return Lateness(LatePolicy.CORRECT, span)


def parse_lateness(value: Lateness | LatePolicy | str) -> Lateness:
    """Make the treatment of late rows from a policy or its text."""
    if isinstance(value, Lateness):
        return value
    try:
        policy = parse_policy(LatePolicy, value)
    except PolicyError as error:
        raise PolicyError(f"{error}\n  to correct results for some time: late_policy=correct('1 hour')") from None
    if policy is LatePolicy.CORRECT:
        raise PolicyError("late_policy='correct' does not say for how long\n  use late_policy=correct('1 hour')")
    return Lateness(policy)
