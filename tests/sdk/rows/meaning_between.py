"""The meaning of windows between rows as regular expressions over a row of letters, one for each row.

`o` opens, `c` closes, `b` does both and `n` neither. The windows of a partition are the matches of an expression, from
left to right; the rows that no match takes belong to no window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from muntin import INFINITY, Window
from muntin.rows import Row, RowsBetween
from tests.sdk.rows.tracing import Computed


def computed_between(windows: RowsBetween, rows: Sequence[Row], tick: int, *, is_over: bool = False) -> list[Computed]:
    """Return the windows that are computed of rows and of time up to a tick, or up to the end of the stream."""
    computed = []
    names = {row.values[0] if windows.partitions else 0 for row in rows}
    for name in names:
        partition_rows = [row for row in rows if not windows.partitions or row.values[0] == name]
        for window, numbers in _windows_of_partition(windows, partition_rows, tick, is_over):
            computed.append(Computed(window, name, numbers))
    return computed


def _windows_of_partition(
    windows: RowsBetween, rows: Sequence[Row], tick: int, is_over: bool
) -> Iterator[tuple[Window, tuple[int, ...]]]:
    """Yield the windows of a partition, each with the numbers of its rows.

    Rows are read as letters, and windows are found by regular expressions over them.
    """
    letters = "".join(_letter(windows, row) for row in rows)
    closed, broken = _expressions(windows)
    length = INFINITY if windows.within is None else windows.within.length
    place = 0
    while (first := re.compile("[ob]").search(letters, place)) is not None:
        start = rows[first.start()].time
        most = sum(row.time < start + length for row in rows)
        match = closed.match(letters, first.start(), most)
        is_closed = match is not None
        match = match or broken.match(letters, first.start(), most)
        assert match is not None
        place = match.end()
        after = rows[place].time if place < len(rows) else tick
        newest = rows[place - 1].time
        if is_closed or place < most:
            end = newest + 1 if is_closed and windows.closes and windows.closing_row else max(after, newest + 1)
        elif tick >= start + length:
            end = start + length
        elif is_over:
            end = tick
        else:
            return
        if is_closed or not windows.closed_only:
            yield Window(start, end), tuple(row.number for row in rows[first.start() : place])


def _letter(windows: RowsBetween, row: Row) -> str:
    """Return "o" for a row that opens a window, "c" for one that closes it, "b" for both, "n" for neither."""
    values = list(row.values[1:] if windows.partitions else row.values)
    opens = values.pop(0) if windows.opens else True
    closes = values.pop(0) if windows.closes else False
    if opens and closes:
        return "b"
    if opens:
        return "o"
    return "c" if closes else "n"


def _expressions(windows: RowsBetween) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the expression of closed windows, and that of open ones: up to the row that ends them, or to the end."""
    if windows.closes is None:
        return re.compile("on*(?=o)"), re.compile("on*$")
    inner, end = ("n", "(?=o|$)") if windows.reopens else ("[on]", "$")
    if windows.closing_row:
        return re.compile(f"b|o{inner}*[cb]"), re.compile(f"o{inner}*{end}")
    return re.compile(f"[ob]{inner}*(?=[cb])"), re.compile(f"[ob]{inner}*{end}")
