"""Measures of an answer: how wrong it is, and how long after it could be known it came.

They are those of Li, *Window Queries over Data Streams* (2008), section 6.1.5. `muntin_engine.testing.measure` takes
them of the engine, with the memory it needs; other ways to answer a query can be measured with the functions here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from muntin.changes import Punctuation
from muntin.testing.batches import Boundary
from muntin.testing.equality import equal
from muntin.testing.scripts import Script

WindowT = TypeVar("WindowT", bound=Hashable)
"""The name of a window: its key and extent, say."""


def mean_error(found: Mapping[WindowT, float], truth: Mapping[WindowT, float]) -> float:
    """Return by how many percent the results are wrong, on average over the windows.

    The error of a window is the distance from the true result, in percent of it: 100 where the result is missing, and
    where it ought to be 0 and is not. Windows that ought not to be there do not count.

    Args:
        found: The result of each window.
        truth: The true one.

    Example:
        >>> mean_error({"a": 9.0, "b": 4.0}, {"a": 10.0, "b": 4.0})
        5.0
    """
    errors = [_error(found.get(window), true) for window, true in truth.items()]
    return sum(errors) / len(errors) if errors else 0.0


def wrong_share(found: Mapping[WindowT, object], truth: Mapping[WindowT, object], tolerance: float = 0.0) -> float:
    """Return the percentage of windows that have a wrong result, no result, or ought not to be there.

    Args:
        found: The result of each window.
        truth: The true one.
        tolerance: Within which numbers are equal.

    Example:
        >>> wrong_share({"a": 9, "b": 4, "c": 1}, {"a": 10, "b": 4, "d": 2, "c": 1})
        50.0
    """
    windows = found.keys() | truth.keys()
    right = [w for w in found.keys() & truth.keys() if equal(found[w], truth[w], tolerance)]
    return 100.0 * (len(windows) - len(right)) / len(windows) if windows else 0.0


def latencies(script: Script, emitted: Iterable[tuple[int, int]]) -> list[int]:
    """Return the number of steps by which each result came after the punctuation that covers its window.

    0 means that it came as soon as it could be known, a negative number that it was a guess. Results of windows that
    no punctuation covers are left out.

    Args:
        script: The stream; boundaries of micro-batches are no steps.
        emitted: Of each result, how many steps had arrived when it came, and the watermark that its window waits for:
            its end, as a rule.

    Example:
        >>> script = Script().point("a", 1).point("b", 4).punctuate(5).point("c", 6).close()
        >>> latencies(script, [(2, 5), (4, 5), (5, 10)])
        [-1, 1, 0]
    """
    steps = [step for step in script.steps if not isinstance(step, Boundary)]
    marks = [(place, step.time) for place, step in enumerate(steps, 1) if isinstance(step, Punctuation)]
    found = ((place, next((at for at, time in marks if time >= needed), None)) for place, needed in emitted)
    return [place - covered for place, covered in found if covered is not None]


def _error(found: float | None, true: float) -> float:
    if found is None:
        return 100.0
    if true == 0:
        return 0.0 if found == 0 else 100.0
    return 100.0 * abs(found - true) / abs(true)
