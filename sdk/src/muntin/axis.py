"""The axis all windows are cut from: integer ticks.

Where the axis is time, a tick is a microsecond since 1970-01-01 00:00:00 UTC. Where it is anything else that
grows (a row number, a block height), a tick is one unit of it. The engine computes on ticks alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Final, TypeAlias

from muntin.errors import DurationError

INFINITY: Final = 2**63 - 1
"""The end of an event that has not ended, and the watermark that closes a stream."""

EARLIEST: Final = -(2**63)
"""Before every event: the watermark of a stream that has not said anything yet."""

Instant: TypeAlias = Annotated[int, "muntin.instant"]
"""A point on the axis, in ticks. In a result schema it becomes a timestamp where the axis is time."""

Duration: TypeAlias = int | str | timedelta | Decimal
"""A length on the axis: ticks, a timedelta, text such as `"10 minutes"`, or a decimal where the axis is decimals."""

MOST_PLACES: Final = 18
"""The most decimal places that a length or the times of a query may have."""


class TimeLength(int):
    """A length that was given as time, in microseconds; what a query makes of it depends on its axis."""


class BareLength(int):
    """A length that was given as a bare number of ticks; where the axis is time, a query refuses it."""


class DecimalLength(int):
    """A length that was given as a decimal, in units of its last possible place; a query makes ticks of it."""

    @classmethod
    def of(cls, ticks: int, places: int) -> DecimalLength:
        """Return a length in ticks of an axis whose times have `places` decimal places: a tick is one in the last."""
        return cls(ticks * 10 ** (MOST_PLACES - places))

    def __repr__(self) -> str:
        """Spell the length as a query writes it: a whole number as it is, any other as a `Decimal`."""
        number = decimal_of(int(self), MOST_PLACES)
        if number == int(number):
            return str(int(number))
        without_trailing_zeros = number.normalize(_EXACT)
        return f"Decimal('{without_trailing_zeros:f}')"

    __str__ = __repr__


class ReadLength(int):
    """A length in ticks of the axis of the query that a module is made for."""


class BareClockLength(int):
    """A length by a clock that was given as a bare number; where the axis is time, a query refuses it too."""


_READ_FOR_QUERY: Final[ContextVar[Callable[[int], int] | None]] = ContextVar("lengths_read_by", default=None)
"""The function from a length to ticks of the axis of the query that is being built; None outside one."""

_EXACT: Final = Context(prec=80)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TERM: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)")
_SIGN: Final = re.compile(r"\s*(?:-|minus\s)\s*")
_UNITS: Final[dict[str, int]] = {
    **dict.fromkeys(("microsecond", "microseconds", "us", "µs"), 1),
    **dict.fromkeys(("millisecond", "milliseconds", "ms"), 1_000),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), 1_000_000),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), 60_000_000),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), 3_600_000_000),
    **dict.fromkeys(("day", "days", "d"), 86_400_000_000),
    **dict.fromkeys(("week", "weeks", "w"), 604_800_000_000),
}
"""The units of a length in text, in microseconds."""

_SPELLED: Final = ("day", "hour", "minute", "second", "millisecond", "microsecond")
_DAYS: Final = {"month": 30, "quarter": 91, "year": 365}
"""Units without a fixed length, with the days that an error gives in their place."""

_PLURALS: Final = tuple(f"{unit}s" for unit in ("week", *_SPELLED))


def ticks(duration: Duration) -> int:
    """Return a duration in ticks.

    Text and timedeltas are read as time, so as microseconds; an int is taken as it is. A minus in front of a text
    applies to the whole text, so that an offset may go either way. The result remembers whether it was written as a
    time or as a bare number: a query refuses a bare number where its axis is time, and a time where it is not. While a
    query makes a module, durations in the module's constructor are read as ticks of the axis of that query, or refused
    in the same way.

    Args:
        duration: For example `600`, `timedelta(minutes=10)`, `"10 minutes"`, `"1 hour 30 minutes"` or `"-2 hours"`;
            `Decimal("0.25")` where the times of the query are decimals. Units of text are microsecond, millisecond,
            second, minute, hour, day and week, with their usual abbreviations; a month or a year has no fixed length,
            and windows of months are made by `calendar`.

    Raises:
        DurationError: The text has no number, an unknown unit, or a unit without a fixed length (month, year); a
            decimal is infinite, NaN, or has more than 18 decimal places; or the duration is of another type.

    Example:
        >>> ticks("10 minutes")
        600000000
        >>> ticks(timedelta(milliseconds=2)), ticks(7), ticks("-1 minute 30 seconds")
        (2000, 7, -90000000)
        >>> ticks("0.5 ms"), ticks("1 hour 30 minutes")
        (500, 5400000000)
    """
    length = _length(duration)
    read_for_query = _READ_FOR_QUERY.get()
    # Outside a query a length keeps the class that says how it was written, and a query reads it later. A length that
    # a query has read already is in ticks of its axis.
    if read_for_query is None or isinstance(length, ReadLength):
        return length
    return ReadLength(read_for_query(length))


@contextmanager
def lengths_read_by(read: Callable[[int], int]) -> Iterator[None]:
    """Let `ticks` return ticks of the axis of the query for which a module is being made.

    A module reads its durations in its constructor, before it knows of any query; a query knows what its ticks are.

    Args:
        read: The function from a length, as `ticks` returns it outside a query, to ticks of that axis. It raises an
            error for a length that does not fit the axis.
    """
    # A context variable rather than a global one, as queries may be built in several threads at once.
    token = _READ_FOR_QUERY.set(read)
    try:
        yield
    finally:
        _READ_FOR_QUERY.reset(token)


def _length(duration: Duration) -> int:
    """Return a length in ticks, of a class that says whether it was written as a time, a decimal or a bare number."""
    if isinstance(duration, bool):
        raise DurationError(duration, "it is a bool")
    if isinstance(duration, int):
        # A length that `ticks` returned earlier is an int of such a class already.
        if isinstance(duration, TimeLength | DecimalLength | ReadLength):
            return duration
        return BareLength(duration)
    if isinstance(duration, Decimal):
        return _decimal_length(duration)
    if isinstance(duration, timedelta):
        return TimeLength(duration // _MICROSECOND)
    if isinstance(duration, str):
        return TimeLength(_parse(duration))
    raise DurationError(duration, f"it is a {type(duration).__name__}")


def _decimal_length(number: Decimal) -> DecimalLength:
    """Read a decimal as a length; refuse one that is not finite, or has too many decimal places."""
    scaled = Fraction(number) * 10**MOST_PLACES if number.is_finite() else None
    if scaled is None or scaled.denominator > 1:
        raise DurationError(number, f"it is not a number of at most {MOST_PLACES} decimal places")
    return DecimalLength(int(scaled))


def decimal_of(ticks: int, places: int) -> Decimal:
    """Return ticks of an axis of decimals as the number they stand for.

    Example:
        >>> decimal_of(-125, 2)
        Decimal('-1.25')
    """
    return Decimal(ticks).scaleb(-places, _EXACT)


def clock_ticks(duration: Duration) -> int:
    """Return a duration by the clock in microseconds, whatever the query's axis is.

    Raises:
        DurationError: The duration cannot be read, or is a decimal.
    """
    length = _length(duration)
    if isinstance(length, DecimalLength):
        raise DurationError(duration, "it is a number, and a clock has time")
    if isinstance(length, BareLength):
        return BareClockLength(length)  # a query whose axis is time refuses it
    return int(length)


def _parse(text: str) -> int:
    """Read a length as text, such as `1 hour 30 minutes` or `-5 s`, in microseconds."""
    sign = _SIGN.match(text)
    length = text if sign is None else text[sign.end() :]
    terms = _TERM.findall(length)
    # Only spaces and commas may stand between the terms.
    between_terms = _TERM.sub("", length)
    if not terms or between_terms.strip(" ,\t"):
        raise DurationError(text, "it is not a list of numbers with units")
    total = sum(_term(text, number, unit) for number, unit in terms)
    return total if sign is None else -total


def _term(text: str, number: str, unit: str) -> int:
    """Return the microseconds of one term of a length, such as `30 minutes`.

    Args:
        text: The whole length as it was written, for messages.
        number: The number of the term, with or without a decimal point.
        unit: The unit of the term.
    """
    unit_size = _UNITS.get(unit.lower())
    if unit_size is None:
        raise _unknown_unit(text, number, unit)

    # The part behind the point is computed in whole numbers: as a float, 0.1 seconds would not be exact.
    whole, _, fraction = number.partition(".")
    fraction_scale: int = 10 ** len(fraction)
    microseconds, remainder = divmod(int(fraction or 0) * unit_size, fraction_scale)
    if remainder:
        raise DurationError(text, f"{number} {unit} is not a whole number of microseconds")
    return int(whole) * unit_size + microseconds


def _unknown_unit(text: str, number: str, unit: str) -> DurationError:
    """Return the error for a unit that has no fixed length, such as a month, or that does not exist.

    Args:
        text: The whole length as it was written.
        number: The number before the unit.
        unit: The unit.
    """
    days = _DAYS.get(unit.lower().rstrip("s"))
    if days is not None:
        # A calendar counts whole units. For a number such as 2.5, the advice has one month as an example.
        calendar_size = f"{number} {unit}" if number.isdecimal() else "1 month"
        return DurationError(
            text,
            f"the unit {unit!r} has no fixed length",
            f"windows of whole months or years are calendar('{calendar_size}')\n"
            f"  any other length is in days, such as '{max(1, round(float(number) * days))} days'",
        )
    advice = "units: microseconds (us), milliseconds (ms), seconds (s), minutes (min), hours (h), days (d), weeks (w)"
    plural = _closest_unit(unit)
    if plural is not None:
        known_unit = plural.removesuffix("s") if number == "1" else plural
        unit_after_number = rf"(?<=\d)\s*{re.escape(unit)}\b"
        corrected = re.sub(unit_after_number, f" {known_unit}", text)
        advice = f"did you mean {corrected!r}?\n  {advice}"
    return DurationError(text, f"the unit {unit!r} is unknown", advice)


def _closest_unit(unit: str) -> str | None:
    """Return the plural of the unit that a word most likely stands for; None if none is close."""
    if unit == "m":
        return "minutes"
    # A typing error is seldom in the first letter.
    same_letter = [plural for plural in _PLURALS if plural[0] == unit[0].lower()]
    close = get_close_matches(unit.lower(), same_letter, n=1, cutoff=0.65)
    return close[0] if close else None


def spell_ticks(length: int) -> str:
    """Return a length of time in words that `ticks` reads.

    Example:
        >>> spell_ticks(600_000_000), spell_ticks(5_400_000_001), spell_ticks(0)
        ('10 minutes', '1 hour 30 minutes 1 microsecond', '0 seconds')
    """
    words: list[str] = []
    remainder = abs(length)
    for unit in _SPELLED:
        count, remainder = divmod(remainder, _UNITS[unit])
        if count:
            words.append(f"{count} {unit}s" if count > 1 else f"{count} {unit}")
    sign = "-" if length < 0 else ""
    return sign + (" ".join(words) or "0 seconds")


def spell_as_written(length: int) -> str:
    """Return a length as the query has it: as text where it was written as a time, and as a number elsewhere.

    Example:
        >>> spell_as_written(ticks("-10 minutes")), spell_as_written(ticks(-10))
        ("'-10 minutes'", '-10')
    """
    if isinstance(length, DecimalLength):
        return repr(length)
    return repr(spell_ticks(length)) if isinstance(length, TimeLength) else str(int(length))


def instant(moment: datetime) -> int:
    """Return a datetime as ticks; a naive one is taken as UTC.

    Example:
        >>> instant(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
        1000000
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def offset_ticks(offset: Duration | date, period: int) -> int:
    """Return the offset from tick 0 at which windows of a period start.

    Args:
        offset: A length as `ticks` reads it; or the start of any of the windows: a datetime, where a naive one is in
            UTC, or a date, which stands for its midnight in UTC.
        period: The distance between neighbouring starts, in ticks. A datetime or date is reduced modulo the period, so
            that the starts of two of the windows give the same offset.

    Raises:
        DurationError: The length cannot be read.

    Example:
        >>> offset_ticks(date(2024, 5, 1), ticks("7 days")) == ticks("6 days")
        True
        >>> offset_ticks("15 minutes", ticks("1 hour"))
        900000000
    """
    if not isinstance(offset, date):
        return ticks(offset)
    if not isinstance(offset, datetime):
        offset = datetime(offset.year, offset.month, offset.day, tzinfo=UTC)
    if period <= 0:
        return TimeLength(0)  # there is no remainder by such a period; the windows refuse it, with advice
    return TimeLength(instant(offset) % period)


def moment(instant: int) -> datetime | None:
    """Return ticks as an aware UTC datetime, or None for `INFINITY`.

    Raises:
        OverflowError: The instant lies outside the years 1 to 9999, which Python's datetime covers.

    Example:
        >>> moment(1_000_000).isoformat()
        '1970-01-01T00:00:01+00:00'
    """
    return None if instant == INFINITY else _EPOCH + timedelta(microseconds=instant)


class TickSpan:
    """A stretch `[start, end)` of the axis, in ticks."""

    __slots__ = ()
    start: int
    end: int

    @property
    def duration(self) -> int:
        """Its length in ticks; meaningless while the end is `INFINITY`."""
        return self.end - self.start

    @property
    def starts_at(self) -> datetime | None:
        """The start as a UTC datetime, where ticks are microseconds; None for the global window."""
        return None if self.start == EARLIEST else moment(self.start)

    @property
    def ends_at(self) -> datetime | None:
        """The end as a UTC datetime, where ticks are microseconds; None while it is not known."""
        return moment(self.end)


class Axis(StrEnum):
    """The unit of a query's ticks, which decides how they are printed.

    Example:
        >>> Axis.TIME.spell(1_000_000), Axis.TICKS.spell(1_000_000)
        ('1970-01-01T00:00:01Z', '1000000')
        >>> Axis.TIME.spell_length(90_000_000), Axis.TICKS.spell_length(90)
        ('1 minute 30 seconds', '90 ticks')
    """

    TIME = "time"
    """Microseconds since 1970-01-01 00:00:00 UTC."""
    TICKS = "ticks"
    """Units of anything else that grows."""

    def spell(self, instant: int) -> str:
        """Return an instant in words; one beyond the years of a calendar stays a number."""
        if instant == INFINITY:
            return "infinity"
        try:
            if self is not Axis.TIME:
                return str(instant)
            return (_EPOCH + timedelta(microseconds=instant)).isoformat().replace("+00:00", "Z")
        except OverflowError:
            return str(instant)

    def spell_interval(self, start: int, end: int) -> str:
        """Return a lifetime, or the extent of a window, in words."""
        return f"[{self.spell(start)}, {self.spell(end)})"

    def spell_length(self, length: int) -> str:
        """Return a length in words."""
        return spell_ticks(length) if self is Axis.TIME else f"{length} ticks"

    def round_up(self, length: int) -> int:
        """Return the length, or the next longer one that reads well in advice: whole seconds where the axis is time."""
        if self is not Axis.TIME:
            return length
        second = _UNITS["second"]
        return -(-length // second) * second  # minus twice: `//` rounds down


@dataclass(frozen=True, slots=True)
class DecimalAxis:
    """The words for ticks where the times of a query are decimals.

    Attributes:
        places: The number of decimal places of the times; a tick is one in the last place.

    Example:
        >>> DecimalAxis(2).spell_interval(125, 200), DecimalAxis(2).spell_length(50)
        ('[1.25, 2.00)', '0.50')
    """

    places: int

    def spell(self, instant: int) -> str:
        """Return an instant in words."""
        return "infinity" if instant == INFINITY else f"{decimal_of(instant, self.places):f}"

    def spell_interval(self, start: int, end: int) -> str:
        """Return a lifetime, or the extent of a window, in words."""
        return f"[{self.spell(start)}, {self.spell(end)})"

    def spell_length(self, length: int) -> str:
        """Return a length in words."""
        return f"{decimal_of(length, self.places):f}"


AnyAxis: TypeAlias = Axis | DecimalAxis
"""The axis of a query, which spells its ticks in messages."""
