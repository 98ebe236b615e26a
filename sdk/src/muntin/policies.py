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

from muntin.axis import Duration, spell_as_written, ticks
from muntin.errors import PolicyError
from muntin.errors.messages import Argument, Call, ErrorMessage, StreamCall


class _Policy(StrEnum):
    """An enumeration that is text and explains itself."""

    @classmethod
    def _instead_of(cls, word: str) -> str | None:
        """Return what to write in place of a word of another system, such as Spark; None if the word is not known."""
        return None


class ClipPolicy(_Policy):
    """The clipping of members' lifetimes before a time-sensitive module sees them: the `clip` of `window`.

    Membership is decided before clipping, so a policy never changes which events a window has. Modules that are not
    time-sensitive see payloads only, and no clip concerns them. A module may list the clips that it accepts; a query
    with another one raises a `PolicyError`.

    Example:
        The minutes of two rides in windows of ten. Only under `full` do they add up to the 14 of all rides:

        >>> from muntin import Aggregate, Event, tumbling
        >>> from muntin.testing import Computation, WindowedQuery, evaluate
        >>> class Minutes(Aggregate[str, int]):
        ...     name, version = "rides.minutes", "1.0.0"
        ...     is_time_sensitive = True
        ...     def compute_result(self, events, window):
        ...         return sum(event.duration for event in events)
        >>> rides = [Event(2, 13, "north"), Event(5, 8, "north")]
        >>> for clip in ClipPolicy:
        ...     query = WindowedQuery(tumbling(10), [Computation(Minutes())], clip)
        ...     print(clip, [row.value[0] for row in evaluate(query, rides)])
        none [14, 11]
        left [14, 3]
        right [11, 11]
        full [11, 3]
    """

    NONE = "none"
    """The lifetime as it is; the default for modules without `needs`. If the module reads ends that may still move, a
    window waits until its members have ended, and a single event that never ends keeps the window open for ever."""
    LEFT = "left"
    """A start before the window becomes the window's start. Windows wait as under `none`."""
    RIGHT = "right"
    """An end after the window becomes the window's end. Windows close at their end, and events that last longer keep no
    state. It is for patterns such as "A followed by B", which need the true start."""
    FULL = "full"
    """Both: every lifetime lies inside the window. A module that computes a share of the window's time needs it."""

    @property
    def clips_left(self) -> bool:
        """True if starts are moved into the window."""
        return self in (ClipPolicy.LEFT, ClipPolicy.FULL)

    @property
    def clips_right(self) -> bool:
        """True if ends are moved into the window."""
        return self in (ClipPolicy.RIGHT, ClipPolicy.FULL)


class TimestampPolicy(_Policy):
    """The lifetime of a window's output: the `timestamps` of `window`.

    Only time-sensitive operators return lifetimes; with other modules `unchanged` and `clip` raise an error. With a
    policy other than `align`, results have a column `lifetime` beside `window`.
    """

    ALIGN = "align"
    """The window's extent, whatever the module says; the default for modules without `needs`."""
    UNCHANGED = "unchanged"
    """The module's lifetime; a row without a lifetime gets the window's. An output that starts before its window is an
    error of the module, a `ModuleContractError`, because the output watermark may already be past it."""
    CLIP = "clip"
    """The module's lifetime, cut to the window; an output that lies wholly outside is dropped."""
    POINT_AT_END = "point_at_end"
    """A point event at the window's end; a window without an end has none."""
    TIME_BOUND = "time_bound"
    """The window's extent, cut where the result changes: the result at each tick is computed from the input up to that
    tick. A member that starts later is left out, and one that ends later is seen without an end, unless its end cannot
    move. So no result starts before the event that caused it, and the output watermark equals the input's.

    It needs `emit="eager"` and takes any module. A change does not retract results before it: a `revise` row shortens a
    result, and the next result continues from there. The live results in the end depend on the events alone, except for
    the point at which two rows with the same value meet. At the last tick of a hopping or tumbling window the result is
    that of the whole window. A count window is known at its last tick, so its result is a point there. The end of a
    snapshot is not known while it lasts, so modules that see their window raise an error there."""

    @property
    def is_set_by_module(self) -> bool:
        """True if the module's own lifetimes count."""
        return self in (TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP)


class EmitPolicy(_Policy):
    """The time at which the result of a window is emitted: the `emit` of `window`.

    Whatever the policy, when the stream has ended the output adds up to the same. For results of open windows that come
    by a trigger, write `early(...)` instead.
    """

    FINAL = "final"
    """Once, when no legal change can alter it; the default. Nothing is ever retracted."""
    SPECULATIVE = "speculative"
    """When the max event time passes the window's end, and again whenever it changes after that. Results that are no
    longer valid are retracted; results have the columns `change` and `event_id`."""
    EAGER = "eager"
    """As soon as the window has a member, and again whenever it changes, with retractions as for `speculative`. It is
    the freshest and the most expensive: every change evaluates every window that it touches."""

    @classmethod
    def _instead_of(cls, word: str) -> str | None:
        """Return what to write in place of an output mode of Spark, or of `early` without its call; None otherwise."""
        return _NOT_EMIT_POLICIES.get(word)

    @property
    def may_retract(self) -> bool:
        """True if emitted results may be retracted."""
        return self is not EmitPolicy.FINAL


class JoinKind(_Policy):
    """The output of a temporal join, whose events meet by key where their lifetimes overlap: the `how` of `join`."""

    INNER = "inner"
    """The default: each pair of a left and a right event, over the ticks that both live."""
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
    """The relation of a window's later results to its earlier ones, where there are early results.

    It is the `refinement` of `early`. Sessions, snapshots, trailing and count windows begin and end where events do:
    the next event may give such a window another extent, join it to another one, or let it cease to exist. A reader of
    `accumulate` would keep the result of an extent that is gone, and one of `discard` would add it up twice, so there
    only `retract` is allowed.
    """

    ACCUMULATE = "accumulate"
    """The default: each result covers all members so far; nothing is retracted, and the reader keeps the latest, as in
    a table that is overwritten by key and window. If events are revised, a window that loses its last member has early
    results and no final one."""
    DISCARD = "discard"
    """Each result, the final one too, covers the members since the last result: the reader adds the results up. If no
    member came since, there is no final row. Not possible where a member may change after it was emitted: for events
    with an id, and samples."""
    RETRACT = "retract"
    """Each result covers all members so far, and retracts the result before it by its `event_id`. The final result
    retracts the last early one, even if both are equal. Rows that were inserted and not retracted are live, at any
    time."""


class LatePolicy(_Policy):
    """The treatment of late rows, which change the axis before the watermark: the `late_policy` of `events`."""

    SIDE = "side"
    """The default: a late row goes to the side output `late_rows()`, which says how late it was."""
    DROP = "drop"
    """A late row is counted and not kept."""
    ADJUST = "adjust"
    """An insertion that ends after the watermark starts at the watermark instead; any other late row goes to the side
    output, and so does every late point event. A later revision of an adjusted event names its true start, as any
    revision does. If the new end of that revision does not lie after the adjusted start, nothing is left of the event,
    and a further revision of it is rejected as one of an unknown event. Samples cannot be adjusted."""
    CORRECT = "correct"
    """A late row corrects results, up to an allowed lateness: see `correct`."""


class OutputContract(_Policy):
    """The guarantee of a time-sensitive module about the lifetimes that it returns: its attribute `contract`.

    It applies where the module sets the lifetimes, with `timestamps="unchanged"` or `"clip"`; other lifetimes follow
    from the `TimestampPolicy`.
    """

    UNRESTRICTED = "unrestricted"
    """None. With `timestamps="unchanged"` the output watermark stays back until the stream closes; with `"clip"` the
    output lies in its windows, and its watermark is that of any other module."""
    WINDOW_BASED = "window_based"
    """The default: no output starts before its window."""
    TIME_BOUND = "time_bound"
    """No output caused by a change starts before the change's sync time. With `emit="eager"` and lifetimes set by the
    module, a result that changes is then not retracted but shortened to the time of the change, by a `revise` row, and
    the output is as complete as the input. Under other policies it counts as window-based."""


PolicyT = TypeVar("PolicyT", bound=_Policy)

_EAGER: Final = Argument("emit", "eager")

_NOT_EMIT_POLICIES: Final = {
    "append": ErrorMessage(
        "Spark's output mode 'append' is {final}, the default",
        final=Argument("emit", "final"),
    ),
    "update": ErrorMessage(
        "Spark's output mode 'update' is, for windows, {early}\n  and {eager} where the reader takes retractions",
        early=Argument("emit", Call("early", Call("every_count", 1))),
        eager=_EAGER,
    ),
    "complete": ErrorMessage(
        "Spark's output mode 'complete' is {eager}, written into a ChangelogTable",
        eager=_EAGER,
    ),
    "early": ErrorMessage(
        "early results of windows need a trigger, as in {by_count},\n"
        "  or a period, {by_time}, for which the stream has a clock, {with_clock}",
        by_count=Argument("emit", Call("early", Call("every_count", 100))),
        by_time=Argument("emit", Call("early", Argument("every", "1 minute"))),
        with_clock=StreamCall(Call("with_clock")),
    ),
}
"""Replacements for Spark's output modes; the how-to page 'From Spark's output modes to emit' has them all."""


def parse_policy(kind: type[PolicyT], value: PolicyT | str) -> PolicyT:
    """Return the policy of a kind from its text.

    Raises:
        PolicyError: The kind has no such policy. The message lists those that it has.
    """
    try:
        return kind(value)
    except ValueError:
        members = ", ".join(repr(str(member)) for member in kind)
        article = "an" if kind.__name__.startswith("E") else "a"

        similar_members = get_close_matches(str(value).lower(), [str(member) for member in kind], n=1, cutoff=0.7)
        # Someone who writes `emit=early` for `emit=early(...)` gives a function: messages name it by its name.
        function_name = getattr(value, "__name__", None)
        instead = kind._instead_of((function_name or str(value)).lower())

        # For a word of another system, such as Spark's output modes, there is better advice than a similar spelling.
        suggestion = ErrorMessage()
        if instead is not None:
            suggestion = ErrorMessage("\n  {instead}", instead=instead)
        elif similar_members:
            suggestion = ErrorMessage(f"\n  did you mean {similar_members[0]!r}?")
        raise PolicyError(
            "{written} is not {article} {kind}; there are {members}{suggestion}",
            value=value,
            written=function_name or repr(value),
            article=article,
            kind=kind.__name__,
            members=members,
            suggestion=suggestion,
        ) from None


@dataclass(frozen=True, slots=True)
class Lateness:
    """The treatment of late rows; made by `correct`, or from the text of a policy.

    Attributes:
        policy: The policy for late rows.
        allowed: The lateness up to which rows correct results, in ticks behind the watermark; 0 if none do.

    Raises:
        PolicyError: The policy corrects results and the lateness is not above zero, or it corrects none and has one.
    """

    policy: LatePolicy = LatePolicy.SIDE
    allowed: int = 0

    def __post_init__(self) -> None:
        # The upper bound is the length of the longest window: a longer lateness could overflow when added to a tick.
        if self.corrects and not 0 < self.allowed <= 2**60:
            raise PolicyError(
                "late rows correct results for some time, got {got}\n  for none, use {side}",
                value=self.allowed,
                got=spell_as_written(self.allowed),
                side=Argument("late_policy", "side"),
            )
        # The text of a policy that corrects nothing has no lateness: a query read from it would have another one.
        if not self.corrects and self.allowed:
            raise PolicyError(
                "the policy {policy} corrects no late rows, got {got} for allowed\n  use {correct}, or leave it out",
                value=self.allowed,
                policy=str(self.policy),
                got=spell_as_written(self.allowed),
                correct=Argument("late_policy", Call("correct", self.allowed)),
            )

    def __str__(self) -> str:
        return self.spell(spell_as_written)

    def spell(self, spell_length: Callable[[int], str]) -> str:
        """Spell the treatment as a query writes it; `spell_length` spells a length of the axis."""
        if self.policy is LatePolicy.CORRECT:
            return f"correct({spell_length(self.allowed)})"
        return str(self.policy)

    @property
    def corrects(self) -> bool:
        """True if late rows may correct emitted results."""
        return self.policy is LatePolicy.CORRECT


def correct(allowed: Duration) -> Lateness:
    """Correct results for rows up to some time late (allowed lateness in Flink and Beam).

    The result of a window is emitted when the watermark passes its end. Each row that is late by at most the allowed
    time corrects it, with a retraction. A row that is later still goes to the side output of late rows.

    Over hopping, tumbling and calendar windows of events without ids lateness is counted from the ends of windows: a
    row corrects all of its windows until the watermark is the allowed time past the end of the first one. Elsewhere
    lateness is counted from the row's own time. Results get the columns `change` and `event_id`. With another `emit`
    than `"final"` results come when that policy says, and windows close later by the allowed time.

    Args:
        allowed: The allowed lateness.

    Raises:
        PolicyError: The allowed lateness is not above zero.
        DurationError: The allowed lateness cannot be read.

    Example:
        >>> correct("1 hour").allowed
        3600000000
    """
    return Lateness(LatePolicy.CORRECT, ticks(allowed))


_CORRECT_HOUR: Final = Argument("late_policy", Call("correct", "1 hour"))


def parse_lateness(value: Lateness | LatePolicy | str) -> Lateness:
    """Make the treatment of late rows from a policy or its text.

    Raises:
        PolicyError: There is no such policy, or it is `correct` without the time for which rows correct results.
    """
    if isinstance(value, Lateness):
        return value
    try:
        policy = parse_policy(LatePolicy, value)
    except PolicyError as error:
        raise PolicyError(
            "{error}\n  to correct results for some time: {correct}",
            value=value,
            error=error.message,
            correct=_CORRECT_HOUR,
        ) from None
    if policy is LatePolicy.CORRECT:
        raise PolicyError(
            "{argument} does not say for how long\n  use {correct}",
            argument="late_policy",
            value="correct",
            correct=_CORRECT_HOUR,
        )
    return Lateness(policy)
