"""The meaning of windows between rows as regular expressions over a row of letters, one for each row.

`o` opens, `c` closes, `b` does both and `n` neither. The windows of a partition are the matches of an expression, from
left to right; the rows that no match takes belong to no window.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from muntin import INFINITY, Window
from muntin.rows import Row, RowsBetween
from tests.sdk.rows.tracing import Computed


def computed_between(windows: RowsBetween, rows: Sequence[Row], tick: int, *, is_over: bool = False) -> list[Computed]:
    """Return the windows that are computed of rows and of time up to a tick, in any order.

    If the stream is over at the tick, windows that are open then end with it.
    """
    rows_by_partition: dict[Hashable, list[Row]] = {}
    for row in rows:
        partition = row.values[0] if windows.partitions else 0
        rows_by_partition.setdefault(partition, []).append(row)

    computed = []
    for partition, partition_rows in rows_by_partition.items():
        for window, numbers in _windows_of_partition(windows, partition_rows, tick, is_over):
            computed.append(Computed(window, partition, numbers))
    return computed


def _windows_of_partition(
    windows: RowsBetween, rows: Sequence[Row], tick: int, is_over: bool
) -> Iterator[tuple[Window, tuple[int, ...]]]:
    """Yield the windows of a partition, each with the numbers of its rows.

    Rows are read as letters, and windows are found by regular expressions over them.
    """
    letters = "".join(_letter(windows, row) for row in rows)
    closed_expression, open_expression = _expressions(windows)
    length = INFINITY if windows.within is None else windows.within.length
    place = 0  # of the first row that no window before has taken
    while (opening := re.compile("[ob]").search(letters, place)) is not None:
        first = opening.start()
        start = rows[first].time
        in_time = sum(row.time < start + length for row in rows)  # rows come in order: so many may be in the window
        match = closed_expression.match(letters, first, in_time)
        is_closed = match is not None
        match = match or open_expression.match(letters, first, in_time)
        assert match is not None
        place = match.end()

        # The first tick after the window.
        newest_time = rows[place - 1].time
        next_time = rows[place].time if place < len(rows) else tick
        if is_closed and windows.closes and windows.closing_row:
            end = newest_time + 1
        elif is_closed or place < in_time:  # by the row that follows
            end = max(next_time, newest_time + 1)
        elif tick >= start + length:
            end = start + length
        elif is_over:
            end = tick
        else:
            return  # still open

        if is_closed or not windows.closed_only:
            yield Window(start, end), tuple(row.number for row in rows[first:place])


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
    """Return the expression of windows that a row closes, and that of windows which none closes.

    The latter go up to the row that opens the next window, if such a row ends them, or to the last row.
    """
    if windows.closes is None:
        return re.compile("on*(?=o)"), re.compile("on*$")
    if windows.reopens:
        inner = "n"
        end = "(?=o|$)"
    else:
        inner = "[on]"  # a row that opens, within an open window, is a member as others are
        end = "$"
    if windows.closing_row:
        return re.compile(f"b|o{inner}*[cb]"), re.compile(f"o{inner}*{end}")
    return re.compile(f"[ob]{inner}*(?=[cb])"), re.compile(f"[ob]{inner}*{end}")
