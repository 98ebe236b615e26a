"""Progress policies: the rules that advance the watermark of an input, as plain data.

An input is complete up to its *watermark*: no later row changes the axis before it, and one exactly at it may still
come. Punctuation advances the watermark under every policy. A policy adds the watermark that the times of other rows
imply (Li's thesis, chapter 8), and the rule for sources without rows. Each of several sources has a watermark of its
own; that of the input is their minimum. A policy of one's own is a subclass of `ProgressPolicy`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from muntin.axis import Duration, TimeLength, clock_ticks, spell_ticks, ticks
from muntin.errors import PolicyError
from muntin.errors.messages import Argument, Call

__all__ = [
    "BoundedDelay",
    "BoundedDisorder",
    "Idle",
    "Periodic",
    "ProgressPolicy",
    "Punctuated",
    "SourceProgress",
    "bounded_delay",
    "bounded_disorder",
    "ordered",
    "punctuate_every",
    "punctuated",
]

MOST_ROWS: Final = 10_000
"""The greatest disorder in rows that can be declared: that many starts are kept per source, and sent by every task."""

_LONGEST: Final = 2**60

PolicyT = TypeVar("PolicyT", bound="ProgressPolicy")


def _spell_length(length: int) -> str:
    """Return a length in words where a policy was written with a time, and as a number of ticks elsewhere."""
    return spell_ticks(length) if isinstance(length, TimeLength) else f"{length} ticks"


@dataclass(frozen=True, slots=True)
class Idle:
    """The rule for idle sources; made by `ProgressPolicy.with_idle`, whose arguments are the fields, in ticks."""

    after: int
    lag: int | None = None

    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the rule; `spell` turns a number of ticks into words."""
        treatment = "is left out"
        if self.lag is not None:
            treatment = f"is taken to be {spell(self.lag)} behind the clock"
        return f"a source that is silent for {spell(self.after)} {treatment}"


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """The part of an input, or of one of its sources, that has come by the end of a micro-batch.

    Attributes:
        newest: The largest start of a row.
        rows: The number of rows; only insertions count.
        latest: The largest starts, the largest first: as many as the policy's `starts_kept`, or all if fewer rows came.
        rows_before: The number of rows before this micro-batch.
        clock: The last reading of the clock that the input brings, in microseconds; None if there is none.
        last_heard: The reading of `clock` after the last micro-batch with rows of the source, or the first reading if
            no rows came since; None if there is no reading.
    """

    newest: int
    rows: int
    latest: tuple[int, ...] = ()
    rows_before: int = 0
    clock: int | None = None
    last_heard: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPolicy(ABC):
    """The rule that advances the watermark of an input.

    Subclass it for a rule of your own: a frozen dataclass whose fields are numbers and text; a field that is a length
    is made by `ticks("10 minutes")`. The engine calls `watermark` for each source after each micro-batch, beginning
    with the first micro-batch that has rows of the source. The watermark of the source is the largest answer so far, so
    it never goes back.

    The policy runs in every task of the stateful operator, and runs again after a failure. All these calls must close
    the same windows, so an answer depends on the fields and the argument alone. The argument has what a policy may need
    to know of the past, and the engine keeps it in the checkpoint. A query can resume from a checkpoint with other
    values of the fields, but not with another class or another `starts_kept`.

    Laws (checked by `muntin.testing.ProgressPolicyLaws`): 1. *Definition.* The policy is a frozen dataclass that can be
    pickled, and describes itself in words. 2. *Answers.* Answers are whole numbers or None, also while few rows have
    come. 3. *Cuts.* Answers do not depend on where micro-batches end. 4. *No memory.* Answers depend on the argument
    alone: not on a clock of the policy's own, or on randomness.

    Cost: a call per source and bucket in each micro-batch; every task sends `starts_kept` numbers per source.

    Source: Li's thesis, chapter 8; the clocks of Bytewax.

    Attributes:
        idle: The rule for sources without rows; None to wait for them.
        by_key: True if a row may punctuate its own key alone (group-wise punctuation in Li's thesis, chapter 2).

    Example:
        A delay that a row from the far future does not move beyond the clock:

        >>> @dataclass(frozen=True)
        ... class Guarded(ProgressPolicy):
        ...     delay: int
        ...     def watermark(self, progress):
        ...         newest = progress.newest if progress.clock is None else min(progress.newest, progress.clock)
        ...         return newest - self.delay
        ...     def describe(self, spell):
        ...         return f"{spell(self.delay)} behind the newest start, or behind the clock"
        >>> Guarded(ticks("1 second")).watermark(SourceProgress(newest=9_000_000, rows=1, clock=5_000_000))
        4000000
    """

    idle: Idle | None = None
    by_key: bool = False

    @property
    def starts_kept(self) -> int:
        """The number of the largest starts of a source that `watermark` reads as `latest`; 0 by default."""
        return 0

    @abstractmethod
    def watermark(self, progress: SourceProgress) -> int | None:
        """Return the tick before which no later row of a source starts; None if that cannot be said yet.

        Args:
            progress: The rows of the source up to the end of a micro-batch, and the clock.
        """

    @abstractmethod
    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the watermark that rows imply; `spell` turns a number of ticks into words."""

    def __str__(self) -> str:
        return self.describe(_spell_length)

    def with_idle(self: PolicyT, after: Duration, *, lag: Duration | None = None) -> PolicyT:
        """Return the policy with a rule for sources that send no rows.

        Time passes by the clock of the input, which comes as rows with a reading of a clock. Without a reading no
        source is ever idle.

        Args:
            after: The silence after which a source is idle.
            lag: The distance behind the clock up to which an idle source is taken to be complete. With None, an idle
                source is left out of the minimum over the sources until it sends a row again; if all sources are idle,
                the one that has come furthest counts.

        Raises:
            PolicyError: The time to wait is not above zero, or the lag is negative.
            DurationError: The time to wait or the lag cannot be read.

        Example:
            >>> bounded_delay("10 minutes").with_idle("1 minute", lag="15 minutes").idle
            Idle(after=60000000, lag=900000000)
        """
        silence = clock_ticks(after)
        if silence <= 0:
            raise PolicyError(
                "a source is idle after some time, got {argument}\n  give a time above zero",
                argument="after",
                value=after,
            )
        lag_ticks = None if lag is None else _span("lag", lag, clock_ticks)
        return replace(self, idle=Idle(silence, lag_ticks))

    def with_key_punctuation(self: PolicyT) -> PolicyT:
        """Return the policy for an input whose rows may punctuate their own key alone, or many keys at once.

        Such a row closes the windows of its key, and later rows of the key that change the axis before it are late.
        """
        return replace(self, by_key=True)


@dataclass(frozen=True, slots=True)
class Punctuated(ProgressPolicy):
    """Rows of punctuation alone say how complete the input is; made by `punctuated`."""

    def watermark(self, progress: SourceProgress) -> None:
        """Return None: rows imply nothing."""

    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the rule in words."""
        return "punctuation rows"


@dataclass(frozen=True, slots=True)
class BoundedDelay(ProgressPolicy):
    """No row starts further behind the newest start than a delay, in ticks; made by `bounded_delay` and `ordered`."""

    delay: int

    def watermark(self, progress: SourceProgress) -> int:
        """Return the newest start less the delay."""
        return progress.newest - self.delay

    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the rule; `spell` turns a number of ticks into words."""
        return f"{spell(self.delay)} behind the newest start"


@dataclass(frozen=True, slots=True)
class BoundedDisorder(ProgressPolicy):
    """No row has more than some number of rows before it that start later; made by `bounded_disorder`."""

    rows: int

    @property
    def starts_kept(self) -> int:
        """One start more than the greatest disorder: the smallest of them is the watermark."""
        return self.rows + 1

    def watermark(self, progress: SourceProgress) -> int | None:
        """Return the `(rows + 1)`-th largest start; None while fewer rows have come."""
        if len(progress.latest) <= self.rows:
            return None
        # A later row that starts before this start would have `rows + 1` earlier rows that start later: one too many.
        return progress.latest[self.rows]

    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the rule in words."""
        return f"at most {self.rows} rows that start later come before a row"


@dataclass(frozen=True, slots=True)
class Periodic(ProgressPolicy):
    """A bounded delay whose watermark moves in steps; made by `punctuate_every`, whose arguments are the fields."""

    delay: int
    rows: int | None = None
    span: int | None = None

    def watermark(self, progress: SourceProgress) -> int | None:
        """Return the newest start less the delay, in steps of a span or of rows; None if no step is passed."""
        bound = progress.newest - self.delay
        if self.span is not None:
            # Steps of a span end at its multiples: the watermark is the last multiple up to the bound.
            return bound // self.span * self.span
        if not self.rows:
            return None  # there are no steps
        # A step of rows is passed in the micro-batch in which their number reaches a multiple of the step.
        has_passed_a_step = progress.rows // self.rows > progress.rows_before // self.rows
        return bound if has_passed_a_step else None

    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the rule; `spell` turns a number of ticks into words."""
        step = f"{self.rows} rows" if self.span is None else spell(self.span)
        return f"{spell(self.delay)} behind the newest start, every {step}"


def punctuated() -> Punctuated:
    """Return the policy of an input whose rows alone say how complete it is.

    Example:
        >>> print(punctuated())
        punctuation rows
    """
    return Punctuated()


def bounded_delay(delay: Duration) -> BoundedDelay:
    """Return the policy of an input that is complete up to some time before the newest start seen.

    The bound is strict: a row that starts exactly at the newest start less the delay is not late. (Spark's watermark of
    the same delay takes that one row for late.)

    Raises:
        PolicyError: The delay is negative.
        DurationError: The delay cannot be read.

    Example:
        >>> bounded_delay("10 minutes").delay
        600000000
    """
    return BoundedDelay(_span("delay", delay))


def ordered() -> BoundedDelay:
    """Return the policy of an input in which no row starts before an earlier one.

    It is a bounded delay of nothing. Rows of one micro-batch may come in any order.

    Example:
        >>> ordered() == bounded_delay(0)
        True
    """
    return BoundedDelay(0)


def bounded_disorder(rows: int) -> BoundedDisorder:
    """Return the policy of an input in which a bounded number of rows that start later come before any row.

    The input is complete up to the `(rows + 1)`-th largest start `s` so far, where rows with equal starts count one by
    one. *No row before `s` may come:* it would have at least `rows + 1` rows before it that start later. *A row at `s`
    may still come:* at most `rows` rows before it start later. So no larger bound is right. The bound depends on which
    rows came, not on their order.

    Args:
        rows: The number of rows, 0 to `MOST_ROWS`; 0 is the same as `ordered`.

    Raises:
        PolicyError: The number is not in that range.

    Example:
        >>> bounded_disorder(100).rows
        100
    """
    if type(rows) is not int or not 0 <= rows <= MOST_ROWS:
        raise PolicyError(
            f"a disorder of {rows!r} rows cannot be bounded; expected a whole number from 0 to {MOST_ROWS}\n"
            "  for more disorder give a time: bounded_delay('10 minutes')"
        )
    return BoundedDisorder(rows)


def punctuate_every(*, rows: int | None = None, span: Duration | None = None, delay: Duration = 0) -> Periodic:
    """Return a bounded delay whose watermark moves in steps.

    Args:
        rows: The number of rows in a step: the watermark moves when the number of rows so far passes a multiple of it.
        span: The length of a step: the watermark is the largest multiple of it that is not above the newest start less
            the delay.
        delay: The distance behind the newest start at which the input is taken to be complete.

    Raises:
        PolicyError: Not exactly one of `rows` and `span` is given, it is not above zero, or the delay is negative.
        DurationError: The span or the delay cannot be read.

    Example:
        >>> print(punctuate_every(rows=1000, delay=5))
        5 ticks behind the newest start, every 1000 rows
    """
    step = rows if span is None else ticks(span)
    gives_exactly_one = (rows is None) != (span is None)
    if not gives_exactly_one or not isinstance(step, int) or isinstance(step, bool) or step <= 0:
        raise PolicyError(
            "progress moves by rows or by a span, above zero; got {rows} and {span}\n"
            "  for example {by_rows} or {by_span}",
            rows=Argument("rows", rows),
            span=Argument("span", span),
            by_rows=Call("punctuate_every", Argument("rows", 1000)),
            by_span=Call("punctuate_every", Argument("span", "1 minute")),
        )
    delay_ticks = _span("delay", delay)
    if rows is not None:
        return Periodic(delay_ticks, rows=rows)
    return Periodic(delay_ticks, span=step)


def identity_of(policy: ProgressPolicy) -> dict[str, Any]:
    """Return the part of a policy that the state of a query depends on, as plain data.

    Delays and lags are not part of it: a query may be started again with other ones, which then count from there on.
    """
    # A checkpoint has as many starts as the policy kept: a policy that reads more of them would miss some.
    starts_kept = {"starts": policy.starts_kept} if policy.starts_kept else {}
    return {"kind": type(policy).__name__, **starts_kept, "by_key": policy.by_key}


def _span(name: str, value: Duration, read: Callable[[Duration], int] = ticks) -> int:
    """Read a length that may be zero.

    Args:
        name: The name of the length in a message.
        value: The length as it was written.
        read: The function that makes ticks of it, `ticks` or `clock_ticks`.

    Raises:
        PolicyError: The length is negative or too long.
    """
    span = read(value)
    if not 0 <= span <= _LONGEST:
        raise PolicyError(
            "a {name} is at least 0 and at most {longest} ticks, got {value!r}",
            value=value,
            name=name,
            longest=_LONGEST,
        )
    return span
