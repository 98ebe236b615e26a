"""Window extents as chapter 5 of *Window Queries over Data Streams* defines them: which rows a window has.

Each function returns, by where the extent ends, the rows of each window that has any. The axis starts at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from examples.thesis.packets import Packet

Axis = Callable[[Packet], int]
"""Where a packet lies: at its time, or at its place among rows."""

Extents = dict[int, list[Packet]]
"""The rows of each window, by the end of its extent."""


def by_time(packet: Packet) -> int:
    """The axis of times."""
    return packet.at


def sliding(rows: Sequence[Packet], length: int, slide: int, axis: Axis = by_time) -> Extents:
    """RANGE and SLIDE on one attribute (equation 5.2): window w covers the length before (w + 1) slides."""
    last = max(map(axis, rows))
    ends = [(w + 1) * slide for w in range((last + length) // slide + 1)]
    extents: Extents = {}
    for end in ends:
        extents[end] = [row for row in rows if end - length <= axis(row) < end]
    return _not_empty(extents)


def partitioned(rows: Sequence[Packet], length: int, slide: int) -> dict[Hashable, Extents]:
    """RANGE and SLIDE in rows of each source (equation 5.5)."""
    extents_by_source: dict[Hashable, Extents] = {}
    for source in {row.source for row in rows}:
        source_rows = [row for row in rows if row.source == source]
        extents_by_source[source] = sliding(source_rows, length, slide, lambda row: row.rank)
    return extents_by_source


def landmark(rows: Sequence[Packet], slide: int) -> Extents:
    """RANGE ALL (equation 5.8): all rows before (w + 1) slides, up to the first window that has all."""
    last = max(row.at for row in rows)
    ends = range(slide, last // slide * slide + slide + 1, slide)
    extents: Extents = {}
    for end in ends:
        extents[end] = [row for row in rows if row.at < end]
    return extents


def slide_by_row(rows: Sequence[Packet], length: int, every: int = 1) -> Extents:
    """RANGE in time, SLIDE in rows in the order of their times (equations 5.11 and 5.17), by the row at the end.

    The thesis leaves open with which row the count begins; here the first one has a window, as with `count_by_start`.
    """
    ranked = sorted(rows, key=by_time)[::every]
    return _ending_at([row.at for row in ranked], rows, length)


def slide_by_arrival(rows: Sequence[Packet], length: int, every: int) -> Extents:
    """RANGE in time, SLIDE in rows in the order of arrival (section 5.1.5), by the row at the end.

    The ids of windows are the times of every n-th row that arrives. An extent is a matter of times alone: it has rows
    that arrive later, and not those that came before and lie after it.
    """
    ends = [row.at for row in rows if row.row % every == every - 1]
    return _ending_at(ends, rows, length)


def _ending_at(ends: Sequence[int], rows: Sequence[Packet], length: int) -> Extents:
    """Return the extents of a length in time that end with these times."""
    extents: Extents = {}
    for end in ends:
        extents[end] = [row for row in rows if end - length < row.at <= end]
    return extents


def _not_empty(extents: Extents) -> Extents:
    """Return the extents that have rows."""
    return {end: rows for end, rows in extents.items() if rows}
