"""Windows that random streams run over, by name."""

from __future__ import annotations

from dataclasses import replace

from muntin import (
    INFINITY,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.changes import Punctuation
from muntin.testing.scripts import Script
from muntin.windows import WindowKind

WINDOWS: dict[str, WindowKind] = {
    "tumbling": tumbling(8),
    "one tick": tumbling(1),
    "wide": tumbling(50),
    "offset": tumbling(7, 3),
    "overlapping": hopping(10, 3),
    "overlapping by much": hopping(13, 2, -5),
    "gaps": hopping(4, 9, 1),
    "reach": tumbling(6, reach=5),
    "overlapping with reach": hopping(9, 4, 1, reach=3),
    "gaps with reach": hopping(3, 8, reach=4),
    "snapshot": snapshot(),
    **{f"count by start {n}": count_by_start(n) for n in (1, 2, 3)},
    **{f"count by end {n}": count_by_end(n) for n in (1, 2, 3)},
    "session": session(4),
    "session of one tick": session(1),
}

GROWING: dict[str, WindowKind] = {
    "cumulating": cumulate(12, 4, 1),
    "cumulating by ticks": cumulate(3, 1),
    "landmark": landmark(5, -7),
    "global": global_windows(),
}
"""Windows that share a start; results of time-bound output are not defined for them."""

TRAILING: dict[str, WindowKind] = {"trailing": trailing(6), "trailing by three": trailing(9, every=3)}
"""Windows that look back; results of time-bound output are not defined for them."""

RANKED: dict[str, WindowKind] = {
    "tumbling counts": count_by_start(3, every=3),
    "counts that overlap": count_by_start(3, every=2),
    "counts with gaps": count_by_start(2, every=4),
    "every third start": count_by_start(1, every=3),
    "tumbling counts of ends": count_by_end(2, every=2),
    "counts of ends that overlap": count_by_end(4, every=3),
    "counts of ends with gaps": count_by_end(1, every=3),
}
"""Count windows at every n-th time only; results of time-bound output are not defined for them."""


def until_closed(stream: Script) -> Script:
    """Leave out the steps after the end of the stream: revisions of an open event that leave it open."""
    for count, step in enumerate(stream.steps, 1):
        if step == Punctuation(INFINITY) and count < len(stream.steps):
            return replace(stream, steps=stream.steps[:count])
    return stream
