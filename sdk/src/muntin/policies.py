"""Policies: what a query writer may turn without touching the module.

Every policy is an enumeration whose members are also plain text, so `clip="full"` and `clip=ClipPolicy.FULL`
mean the same.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from muntin.errors import PolicyError


class _Policy(StrEnum):
    """An enumeration that is text and explains itself."""


class ClipPolicy(_Policy):
    """How much of a member's lifetime a time-sensitive module sees (SI-37 to SI-41).

    Membership is decided before clipping, so a policy never changes which events a window has.
    """

    NONE = "none"
    """The lifetime as it is. A window then stays open until its members have ended (SI-43)."""
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
    """Which lifetime the output of a window gets (SI-44 to SI-49)."""

    ALIGN = "align"
    """The window's extent, whatever the module says; the only lifetime a time-insensitive module can have."""
    UNCHANGED = "unchanged"
    """What the module says; an output that starts before its window is an error of the module (SI-45)."""
    CLIP = "clip"
    """What the module says, cut to the window; an output wholly outside has nothing left and disappears (SI-46)."""
    POINT_AT_END = "point_at_end"
    """A point event at the window's end (SI-49); a window without an end has none."""
    TIME_BOUND = "time_bound"
    """The window's extent, cut where the result changes: at each tick stands the result of what the input says up to
    that tick. So no result starts before the event that it comes from (SI-48), and output is as complete as input. It
    needs `emit="eager"`."""

    @property
    def is_set_by_module(self) -> bool:
        """True if the module's own lifetimes count."""
        return self in (TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP)


class EmitPolicy(_Policy):
    """When the result of a window is put out (SI-09; B6 item 4)."""

    FINAL = "final"
    """Once, when no legal change can alter it."""
    SPECULATIVE = "speculative"
    """When the max event time passes the window's end, with retractions whenever it changes after that (SI-64)."""
    EAGER = "eager"
    """As soon as the window has a member, with retractions whenever it changes."""

    @property
    def may_retract(self) -> bool:
        """True if something put out may be taken back."""
        return self is not EmitPolicy.FINAL


class Refinement(_Policy):
    """What a later result of a window does to the earlier ones, where there are early results (ON-17, ON-18)."""

    ACCUMULATE = "accumulate"
    """Each is the whole result so far; nothing is taken back, and the reader keeps the latest."""
    DISCARD = "discard"
    """Each covers the members that came since the last one, the final one too: the reader adds them up."""
    RETRACT = "retract"
    """Each is the whole result so far, and the last one is retracted first."""


class LatePolicy(_Policy):
    """What becomes of a row that changes the axis before the watermark (SI-91)."""

    SIDE = "side"
    """It is set aside among the late rows, with how late it was."""
    DROP = "drop"
    """It is counted and not kept."""
    ADJUST = "adjust"
    """An insertion that ends after the watermark starts at the watermark instead; one that does not is set aside,
    and so is every late point event."""
    CORRECT = "correct"
    """Results are corrected for some time, see `correct`."""


class OutputContract(_Policy):
    """What a time-sensitive module promises about the lifetimes it returns (SI-47, SI-48, SI-76)."""

    UNRESTRICTED = "unrestricted"
    """Nothing: unless it is cut to its window, the output never has a watermark before the end of the stream."""
    WINDOW_BASED = "window_based"
    """No output starts before its window."""
    TIME_BOUND = "time_bound"
    """No output caused by a change starts before the change's sync time. The engine keeps it for the module by
    shortening earlier output instead of retracting it (B6 item 5), so speculative output lags its input by nothing."""


PolicyT = TypeVar("PolicyT", bound=_Policy)


def parse_policy(kind: type[PolicyT], value: PolicyT | str) -> PolicyT:
    """Return a policy from its text.

    Raises:
        PolicyError: The text names no member.

    Example:
        >>> parse_policy(ClipPolicy, "full")
        <ClipPolicy.FULL: 'full'>
    """
    try:
        return kind(value)
    except ValueError:
        members = ", ".join(repr(str(member)) for member in kind)
        article = "an" if kind.__name__.startswith("E") else "a"
        meant = get_close_matches(str(value).lower(), [str(member) for member in kind], n=1, cutoff=0.7)
        suggestion = f"\n  did you mean {meant[0]!r}?" if meant else ""
        given = getattr(value, "__name__", None) or repr(value)
        raise PolicyError(f"{given} is not {article} {kind.__name__}; there are {members}{suggestion}") from None
