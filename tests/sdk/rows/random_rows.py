"""Random row windows, as the net draws them, and random rows for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from muntin.rows import LastRows, PartitionedRows, Row
from tests.scenarios.drawing import row_windows

# p is a partition, v the attribute of a delta, m a marker, t a trigger, a admits; o opens a window, c closes it.
VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "p": ("a", "b", "c"),
    "v": (*range(10), *[None] * 10),
    "m": (False, False, True, None),
    "t": (False, True, None),
    "a": (True, True, False, None),
    "o": (False, True, True, None),
    "c": (False, False, True, None),
}
"""Values of what windows read, by its name; some come more often."""


def random_tick_after(rows: Sequence[Row], random: Random) -> int:
    """Return the tick of the last row, or one of the eleven ticks after it."""
    newest = rows[-1].time if rows else 0
    return newest + random.randrange(12)


def random_windows(
    kinds: type[PartitionedRows] | tuple[type[PartitionedRows], ...] = PartitionedRows,
    *,
    are_defined: bool = False,
    count: int = 60,
    most: int = 25,
) -> Iterator[tuple[PartitionedRows, list[Row], Random]]:
    """Yield random windows, each with rows for it and with the generator that drew both, to draw further things.

    Args:
        kinds: Kinds of windows to draw from.
        are_defined: True for windows alone for which `is_defined` holds.
        count: Number of windows.
        most: Greatest number of rows; the least is a third of it.
    """
    for seed in range(count):
        random = Random(seed)
        windows = row_windows(random)
        while not isinstance(windows, kinds) or (are_defined and not is_defined(windows)):
            windows = row_windows(random)
        rows = random_rows(random, windows, random.randint(most // 3, most))
        yield windows, rows, random


def is_defined(windows: PartitionedRows) -> bool:
    """Return whether `meaning` or `meaning_between` defines the windows.

    They define none whose partitions have limits, that wait until they are full, or that are computed when empty.
    """
    is_limited = windows.partitions is not None and windows.partitions.has_limits
    waits = isinstance(windows, LastRows) and windows.waits_until_full
    return not (is_limited or waits or windows.shows_empty)


def random_rows(random: Random, windows: PartitionedRows, count: int) -> list[Row]:
    """Return rows in order, several at a tick now and then, with the values that the windows read."""
    time = random.randint(-9, 9)
    rows = list[Row]()
    for number in range(1, count + 1):
        time += random.choice((0, 0, 1, 1, 2, 7))
        # By name first: windows may read a name twice, and a row has one value of it.
        values = {name: random.choice(VALUES[name]) for name in windows.reads}
        rows.append(Row(number, time, tuple(values[name] for name in windows.reads)))
    return rows
