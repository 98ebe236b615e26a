"""Random row windows, as the net draws them, and random rows for them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from muntin.rows import LastRows, PartitionedRows, Row
from tests.scenarios.drawing import row_windows

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


def drawn(
    kinds: type[PartitionedRows] | tuple[type[PartitionedRows], ...] = PartitionedRows,
    *,
    are_defined: bool = False,
    count: int = 60,
    most: int = 25,
) -> Iterator[tuple[PartitionedRows, list[Row], Random]]:
    """Yield windows and rows for them, with what further things may be drawn from.

    Args:
        kinds: The kinds of windows.
        are_defined: True if there are only such whose definition is written down: none that are limited, or told empty.
        count: How many.
        most: The greatest number of rows.
    """
    for seed in range(count):
        random = Random(seed)
        windows = row_windows(random)
        while not isinstance(windows, kinds) or (are_defined and not is_defined(windows)):
            windows = row_windows(random)
        yield windows, random_rows(random, windows, random.randint(most // 3, most)), random


def is_defined(windows: PartitionedRows) -> bool:
    """Return whether the definition of windows is written down."""
    is_limited = windows.partitions is not None and windows.partitions.has_limits
    waits = isinstance(windows, LastRows) and windows.waits_until_full
    return not (is_limited or waits or windows.shows_empty)


def random_rows(random: Random, windows: PartitionedRows, count: int) -> list[Row]:
    """Return rows in order, several at a tick now and then, with what the windows read: a name has one value."""
    time = random.randint(-9, 9)
    rows = list[Row]()
    for number in range(1, count + 1):
        time += random.choice((0, 0, 1, 1, 2, 7))
        values = {name: random.choice(VALUES[name]) for name in windows.reads}
        rows.append(Row(number, time, tuple(values[name] for name in windows.reads)))
    return rows
