"""Numbers as people read them."""

from __future__ import annotations

from typing import Final

from muntin import INFINITY, moment

_LARGE_SIZES: Final = ("kB", "MB", "GB", "TB")
_SPANS: Final = (("d", 86_400), ("h", 3_600), ("min", 60))


def spell_count(count: float | None) -> str:
    """Spell a number of things; `-` if it is unknown, as in the functions below.

    Example:
        >>> spell_count(1234567), spell_count(None)
        ('1,234,567', '-')
    """
    return "-" if count is None else f"{count:,.0f}"


def spell_bytes(size: float | None) -> str:
    """Spell a size.

    Example:
        >>> spell_bytes(512), spell_bytes(2_400_000)
        ('512 bytes', '2.4 MB')
    """
    if size is None:
        return "-"
    if size < 1000:
        return f"{size:.0f} bytes"
    for unit in _LARGE_SIZES:
        size /= 1000
        if size < 1000 or unit == _LARGE_SIZES[-1]:
            break
    return f"{size:.1f} {unit}"


def spell_seconds(seconds: float | None) -> str:
    """Spell a short time.

    Example:
        >>> spell_seconds(0.0123), spell_seconds(2.5), spell_seconds(7384)
        ('12 ms', '2.50 s', '2 h 3 min')
    """
    if seconds is None:
        return "-"
    if seconds < 0:
        return f"-{spell_seconds(-seconds)}"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 60 else _spell_span(seconds)


def spell_tick(tick: int | None, *, is_time: bool) -> str:
    """Spell a point on the axis.

    Example:
        >>> spell_tick(1_714_550_400_000_000, is_time=True), spell_tick(17, is_time=False)
        ('2024-05-01 08:00:00', '17')
    """
    if tick is None:
        return "-"
    if tick >= INFINITY:
        return "the end"
    return _spell_moment(tick) if is_time else f"{tick:,}"


def spell_ticks(ticks: int | None, *, is_time: bool) -> str:
    """Spell a length on the axis.

    Example:
        >>> spell_ticks(600_000_000, is_time=True), spell_ticks(17, is_time=False)
        ('10 min', '17 ticks')
    """
    if ticks is None:
        return "-"
    return spell_seconds(ticks / 1_000_000) if is_time else f"{spell_count(ticks)} ticks"


def _spell_moment(tick: int) -> str:
    """Spell a point in time, in UTC; as a number if it lies beyond the calendar."""
    try:
        time = moment(tick)
    except OverflowError:  # no year that Python knows
        return f"{tick:,}"
    return f"{tick:,}" if time is None else time.replace(tzinfo=None).isoformat(" ", "seconds")


def _spell_span(seconds: float) -> str:
    """Spell a time of a minute or more in its two largest units, such as `2 h 3 min`."""
    parts: list[tuple[int, str]] = []
    for unit, size in _SPANS:
        count, seconds = divmod(seconds, size)
        if count or parts:  # leading units without any are left out
            parts.append((int(count), unit))
    parts.append((int(seconds), "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)
