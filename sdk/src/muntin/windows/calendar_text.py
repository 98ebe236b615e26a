"""Sizes and starts of calendar windows, as one writes them."""

from __future__ import annotations

import re
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from muntin.errors import WindowError

Unit: TypeAlias = Literal["day", "month"]

SIZES: Final[dict[str, tuple[int, Unit]]] = {
    "day": (1, "day"),
    "week": (7, "day"),
    "month": (1, "month"),
    "quarter": (3, "month"),
    "year": (12, "month"),
}
_SIZE: Final = re.compile(r"(?:(\d+)\s+)?([a-z]+?)s?")
_MISSPELT_UNIT: Final = re.compile(r"(\d*)\s*([^\W\d]+)")
"""A number, if there is one, and a word that may be meant for a unit."""

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONDAY: Final = 5
"""The first Monday of 1970, by its date in January."""


class CalendarStart(NamedTuple):
    """The start of any of the windows of a calendar, by the clock of their zone.

    Attributes:
        year: The year.
        month: The month, from 1 on.
        day: The day of the month.
        second: The second of the day.
    """

    year: int
    month: int
    day: int
    second: int


def read_size(size: str) -> tuple[int, Unit]:
    """Return a size of calendar windows as a number of days or of months.

    Raises:
        WindowError: The size has an unknown unit, or is not a number and a unit.

    Example:
        >>> read_size("quarter"), read_size("2 weeks")
        ((3, 'month'), (14, 'day'))
    """
    text = str(size).strip().lower()
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in SIZES:
        suggestion = ""
        # A unit that is only misspelt can be suggested; a number that is no count, as in '1.5 weeks', cannot.
        misspelt_unit = _MISSPELT_UNIT.fullmatch(text)
        if misspelt_unit is not None:
            number, word = misspelt_unit.groups()
            plurals = [f"{unit}s" for unit in SIZES]
            close_words = get_close_matches(word, [*SIZES, *plurals], n=1, cutoff=0.75)
            if close_words:
                corrected = f"{number} {close_words[0]}".strip()
                suggestion = f"  did you mean {corrected!r}?\n"
        raise WindowError(
            f"a calendar has no {size!r}\n{suggestion}"
            f"  expected: {', '.join(map(repr, SIZES))}, or some of them, as in '3 months'; for hours use tumbling"
        )
    length, unit = SIZES[match[2]]
    number_of_units = int(match[1] or 1)
    return number_of_units * length, unit


def spell_size(size: int, unit: str) -> str:
    """Return a number of days or months in the largest unit of which it is a multiple, as `read_size` reads it.

    Example:
        >>> spell_size(12, "month"), spell_size(14, "day"), spell_size(10, "day")
        ('year', '2 weeks', '10 days')
    """
    spelled = ""
    # The largest unit comes last, and wins.
    for name, (length, base_unit) in SIZES.items():
        if base_unit == unit and size % length == 0:
            number = size // length
            spelled = name if number == 1 else f"{number} {name}s"
    return spelled


def read_start(start: str | None, unit: str, size: int, hop: int) -> str:
    """Return the start of calendar windows as a date, with the time if it is not midnight.

    Args:
        start: The start as a query has it: a date, a day of the week, a month, a time of day, or one of these with a
            time; None for the default.
        unit: The unit of the size and the hop, `"day"` or `"month"`.
        size: The size in that unit.
        hop: The hop in that unit.

    Raises:
        WindowError: The start cannot be read, or is a day of the week though the windows are not whole weeks.

    Example:
        >>> read_start("sunday 18:00", "day", 7, 7), read_start(None, "day", 7, 7), read_start("april", "month", 12, 12)
        ('1970-01-04 18:00', '1970-01-05', '1970-04-01')
    """
    # Weeks start on Mondays unless the start says otherwise; 1970-01-01 was a Thursday.
    is_weekly = unit == "day" and not size % 7 and not hop % 7
    date = f"1970-01-{_MONDAY:02}" if is_weekly else "1970-01-01"
    if start is None:
        return date

    # A time of day comes last, and has a colon.
    words = str(start).lower().split()
    has_time = bool(words) and ":" in words[-1]
    time_of_day = words.pop() if has_time else "00:00"

    word = " ".join(words)
    if word in _WEEKDAYS:
        if not is_weekly:
            raise WindowError(
                "{argument} is a day of the week, and these windows are no whole weeks\n"
                "  expected: a size of weeks, or a date such as '2024-04-06'",
                argument="start",
                value=start,
            )
        # The first such day of 1970; any week would do, as windows go on in both directions.
        day = _MONDAY + _WEEKDAYS.index(word)
        if day > 7:
            day -= 7
        date = f"1970-01-{day:02}"
    elif word in _MONTHS:
        date = f"1970-{_MONTHS.index(word) + 1:02}-01"
    elif words or not has_time:
        date = word  # a date, or a text that `start_of` refuses

    # Read the parts as one datetime, and write them in one form: equal windows have equal starts.
    parts = start_of(f"{date} {time_of_day}", repr(start))
    canonical_date = f"{parts.year:04}-{parts.month:02}-{parts.day:02}"
    if parts.second == 0:
        return canonical_date
    time = f"{parts.second // 3600:02}:{parts.second // 60 % 60:02}"
    if parts.second % 60:
        time += f":{parts.second % 60:02}"
    return f"{canonical_date} {time}"


@lru_cache(maxsize=256)
def start_of(text: str, spelled_start: str | None = None) -> CalendarStart:
    """Read the start of calendar windows from a date with a time of day.

    Args:
        text: The date, with or without a time, as `read_start` puts it together: for 'april' it is '1970-04-01 00:00'.
        spelled_start: The start as the query has it, spelled for messages; None if that is the text.

    Raises:
        WindowError: The text is not such a start, or it has a time zone or a part of a second.
    """
    try:
        start = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        start = None
    if start is None or start.tzinfo is not None or start.microsecond:
        raise WindowError(
            f"{text if spelled_start is None else spelled_start} is not a start of calendar windows\n"
            "  expected: a date such as '2024-04-06', a month such as 'april', a time of day such as '06:00', "
            "or for whole weeks a day of the week such as 'sunday'"
        )
    second = start.hour * 3600 + start.minute * 60 + start.second
    return CalendarStart(start.year, start.month, start.day, second)
