"""Negative tuples (thesis, section 3.1): each row comes once more when it leaves the window, and is taken out again."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

from benchmarks.shapes.largest import Touched
from benchmarks.shapes.rows import NumberedRows
from benchmarks.shapes.ways import Outcome
from muntin.windows import HoppingWindows, Stretches


@dataclass
class _Key:
    """The rows of a key that are in the window now, and the largest of them.

    Attributes:
        rows: Time and payload of each, in order.
        heap: Their payloads, the largest first, with some that have left.
        left: How often a payload in the heap has left.
        end: Where the window ends.
    """

    rows: deque[tuple[int, float]] = field(default_factory=deque)
    heap: list[float] = field(default_factory=list)
    left: Counter[float] = field(default_factory=Counter)
    end: int = 0


def negative_tuples(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep the rows of the last window of each key and a heap of them; a row goes in once and out once."""
    outcome, keys = Outcome({}, Touched()), dict[int, _Key]()
    for arrival in rows.arrivals():
        columns = arrival.keys.tolist(), arrival.ticks.tolist(), arrival.payloads.tolist()
        for name, tick, payload in zip(*columns, strict=True):
            key = keys.setdefault(name, _Key())
            if not key.rows:
                key.end = next(windows.cut(Stretches(), tick, tick + 1)).end
            while key.end <= tick:
                _answer(windows, name, key, outcome)
            key.rows.append((tick, payload))
            heappush(key.heap, -payload)
            outcome.touched.payloads += 1
    for name, key in keys.items():
        while key.rows:
            _answer(windows, name, key, outcome)
    return outcome


def _answer(windows: HoppingWindows, name: int, key: _Key, outcome: Outcome) -> None:
    """Take out what has left the window, answer from what is in it, and go on to the next."""
    start = key.end - windows.size
    while key.rows and key.rows[0][0] < start:
        _, payload = key.rows.popleft()
        key.left[payload] += 1
        outcome.touched.payloads += 1
    while key.heap and key.left[-key.heap[0]]:
        key.left[-heappop(key.heap)] -= 1
    if key.heap:
        outcome.answers[name, (start - windows.offset) // windows.hop] = -key.heap[0]
    key.end += windows.hop
