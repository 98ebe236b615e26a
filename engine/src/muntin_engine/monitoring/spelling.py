"""Numbers as people read them."""

from __future__ import annotations

from typing import Final

from muntin import INFINITY, moment

_SIZES: Final = ("bytes", "kB", "MB", "GB", "TB")
_SPANS: Final = (("d", 86_400), ("h", 3_600), ("min", 60))


def spell_count(count: float | None) -> str:
    """Return a number of things.

    Example:
        >>> spell_count(1234567), spell_count(None)
        ('1,234,567', '-')
    """
    return "-" if count is None else f"{count:,.0f}"


def spell_bytes(size: float | None) -> str:
    """Return a size.

    Example:
        >>> spell_bytes(512), spell_bytes(2_400_000)
        ('512 bytes', '2.4 MB')
    """
    if size is None:
        return "-"
    place = 0
    while size >= 1000 and place < len(_SIZES) - 1:
        size, place = size / 1000, place + 1
    return f"{size:.1f} {_SIZES[place]}" if place else f"{size:.0f} {_SIZES[0]}"


def spell_seconds(seconds: float | None) -> str:
    """Return a short time.

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
    """Return a point on the axis.

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
    """Return a length on the axis.

    Example:
        >>> spell_ticks(600_000_000, is_time=True), spell_ticks(17, is_time=False)
        ('10 min', '17 ticks')
    """
    if ticks is None:
        return "-"
    return spell_seconds(ticks / 1_000_000) if is_time else f"{spell_count(ticks)} ticks"


def _spell_moment(tick: int) -> str:
    try:
        at = moment(tick)
    except OverflowError:  # no year that Python knows
        at = None
    return f"{tick:,}" if at is None else at.replace(tzinfo=None).isoformat(" ", "seconds")


def _spell_span(seconds: float) -> str:
    """Return the two largest units of a longer time."""
    parts = []
    for unit, size in _SPANS:
        count, seconds = divmod(seconds, size)
        parts.append((int(count), unit))
    parts.append((int(seconds), "s"))
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)
