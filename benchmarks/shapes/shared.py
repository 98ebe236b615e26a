"""Sub-aggregates that windows share, as related work has them (thesis, section 3.1): for streams in order.

Paired windows are those of S. Krishnamurthy, C. Wu and M. Franklin: On-the-fly sharing for streamed aggregation,
SIGMOD 2006; base intervals (B-Int) those of A. Arasu and J. Widom: Resource sharing in continuous sliding-window
aggregates, VLDB 2004.
"""

from __future__ import annotations

from collections import defaultdict

from benchmarks.shapes.largest import Touched
from benchmarks.shapes.rows import NumberedRows
from benchmarks.shapes.ways import Outcome
from muntin.windows import HoppingWindows


def paired_windows(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Cut each hop where a window starts and where one ends, and merge the fragments of each window anew."""
    outcome, rest = Outcome({}, Touched()), windows.size % windows.hop
    for key, payloads in _by_key(rows).items():
        fragments: dict[tuple[int, bool], float] = {}
        for tick, payload in enumerate(payloads):
            place = (tick // windows.hop, tick % windows.hop >= rest)
            fragments[place] = max(payload, fragments.get(place, payload))
            outcome.touched.payloads += 1
        for number in _windows(windows, len(payloads)):
            end = (number + windows.size // windows.hop, rest > 0)
            inside = [(hop, is_late) for hop in range(number, end[0] + 1) for is_late in (False, True)]
            _answer(outcome, (key, number), [fragments[at] for at in inside if at < end and at in fragments])
    return outcome


def base_intervals(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Merge two neighbours into an interval twice as long, and so on; a window is two intervals of each length."""
    outcome = Outcome({}, Touched())
    for key, payloads in _by_key(rows).items():
        outcome.touched.payloads += len(payloads)
        levels = [payloads]
        while len(levels[-1]) > 1:
            below = levels[-1]
            levels.append([max(below[at], below[at + 1]) for at in range(0, len(below) - 1, 2)])
            outcome.touched.merges += len(levels[-1])
        for number in _windows(windows, len(payloads)):
            start = number * windows.hop
            parts = _cover(levels, max(0, start), min(len(payloads), start + windows.size))
            _answer(outcome, (key, number), parts)
    return outcome


def _by_key(rows: NumberedRows) -> dict[int, list[float]]:
    """Return the payloads of each key, one per tick."""
    found: dict[int, list[float]] = defaultdict(list)
    for arrival in rows.arrivals():
        for key, payload in zip(arrival.keys.tolist(), arrival.payloads.tolist(), strict=True):
            found[key].append(payload)
    return found


def _windows(windows: HoppingWindows, ticks: int) -> range:
    """Return the numbers of the windows over some of the first ticks."""
    return range(-windows.size // windows.hop + 1, (ticks - 1) // windows.hop + 1)


def _cover(levels: list[list[float]], start: int, end: int) -> list[float]:
    """Return the values of the fewest intervals that make up `[start, end)`."""
    found: list[float] = []
    for values in levels:
        if start >= end:
            break
        if start % 2:
            found.append(values[start])
        if end % 2 and start < end:
            found.append(values[end - 1])
        start, end = (start + 1) // 2, end // 2
    return found


def _answer(outcome: Outcome, name: tuple[int, int], parts: list[float]) -> None:
    if parts:
        outcome.touched.merges += len(parts) - 1
        outcome.answers[name] = max(parts)
