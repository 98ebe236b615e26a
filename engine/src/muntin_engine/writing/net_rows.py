"""The net effect of a micro-batch of changes, on plain rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from muntin_engine.writing.json_text import json_of

_CHANGES: Final = frozenset({"insert", "revise", "retract"})


class NetRows(NamedTuple):
    """What changes do to a table that is keyed by the keys and `event_id`.

    Attributes:
        touched: The keys and ids of rows that are no longer as they were.
        live: Those rows that are there from now on.
    """

    touched: list[tuple[Any, ...]]
    live: list[tuple[Any, ...]]


def net_rows(names: Sequence[str], rows: Iterable[tuple[Any, ...]], keys: Sequence[str]) -> NetRows:
    """Add changes up, in any order; see `net_changes`.

    Args:
        names: The columns of the rows, flat: `change`, `event_id`, the keys and, where lifetimes may get other ends,
            `lifetime_end` and `new_end`.
        rows: The changes.
        keys: The names of the key columns.

    Returns:
        Rows of the same columns. A row that comes and goes is in neither; a live one that was revised has its last end.

    Example:
        >>> net_rows(["event_id", "change", "n"], [(1, "insert", 5), (1, "retract", 5), (2, "insert", 6)], [])
        NetRows(touched=[(2,)], live=[(2, 'insert', 6)])
    """
    places = [names.index(name) for name in (*keys, "event_id")]
    change = names.index("change")
    old, new = (names.index("lifetime_end"), names.index("new_end")) if "new_end" in names else (None, None)
    counts: dict[tuple[Any, ...], Counter[Any]] = {}
    first: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows:
        if row[change] not in _CHANGES:
            continue
        row_id = tuple(json_of(row[place]) if isinstance(row[place], float) else row[place] for place in places)
        first.setdefault(row_id, row)
        ends = counts.setdefault(row_id, Counter())
        ends[None if old is None else row[old]] += 1 if row[change] == "insert" else -1
        if row[change] == "revise" and new is not None:
            ends[row[new]] += 1
    net = NetRows([], [])
    for row_id, ends in counts.items():
        row = first[row_id]
        if any(ends.values()):
            net.touched.append(tuple(row[place] for place in places))
        for end in (end for end, count in ends.items() if count > 0):
            net.live.append(row if old is None else (*row[:old], end, *row[old + 1 :]))
    return net
