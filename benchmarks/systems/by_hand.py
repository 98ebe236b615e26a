"""The common part of the hand-written processors: a key's open windows, as one row of state.

A window is the second it starts at, and keeps the count of its members and the sum or the maximum of their values.
Spark SQL assigns a row to the last window it is in; the others start a hop earlier each. That is cheaper than
handing timestamps to Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.question import Question
from benchmarks.windows import Aggregate, Hopping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STATE: Final = "starts array<long>, counts array<long>, values array<double>"
"""The state of a key: its open windows, side by side."""

OUTPUT: Final = "key long, start long, value double"
"""The columns that the processors emit; `start` in seconds."""

State: TypeAlias = tuple[list[int], list[int], list[float]]
OpenWindows: TypeAlias = dict[int, tuple[int, float]]
"""Count and value by start."""

_MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Assignment:
    """A question in the terms of the hand-written processors.

    Attributes:
        aggregate: The aggregate to compute.
        size: Length of a window, in seconds.
        hop: From one window to the next, in seconds.
    """

    aggregate: Aggregate
    size: int
    hop: int

    @classmethod
    def of(cls, question: Question) -> Assignment:
        """Return the assignment of a question about hopping windows.

        Raises:
            ValueError: The size is no multiple of the hop; a row would be in more or fewer windows, by where it lies.
        """
        windows = question.windows
        if not isinstance(windows, Hopping) or windows.size % windows.hop:
            raise ValueError(f"the hand-written systems want a size that is a multiple of the hop, got {windows}")
        return cls(question.aggregate, windows.size, windows.hop)

    def windows_of(self, last: int) -> range:
        """Return the starts of the windows that a row is in, given the last one."""
        return range(last, last - self.size, -self.hop)

    def joined(self, window: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
        """Return a window with the members of both."""
        value = window[1] + other[1] if self.aggregate == "average" else max(window[1], other[1])
        return window[0] + other[0], value

    def result(self, window: tuple[int, float]) -> float:
        """Return a window's result."""
        return window[1] / window[0] if self.aggregate == "average" else window[1]

    def expiry(self, start: int) -> int:
        """Return when a window is over, in milliseconds."""
        return (start + self.size) * _MILLISECONDS


def assigned(stream: DataFrame, question: Question, *kept: str) -> DataFrame:
    """Return the columns `key`, `last`, `value` and any others to keep; `last` is the start of a row's last window.

    The stream has a watermark, whether its column is kept or not. Times are seconds.
    """
    last = f"unix_seconds(at) - unix_seconds(at) % {Assignment.of(question).hop} AS last"
    return stream.withWatermark("at", f"{question.delay} seconds").selectExpr("key", last, "value", *kept)


def as_results(output: DataFrame) -> DataFrame:
    """Return the output of a processor as results."""
    return output.selectExpr("key", "timestamp_seconds(start) AS start", "value")


def read_windows(state: State | None) -> OpenWindows:
    """Return the windows of a state."""
    return {} if state is None else {start: (count, value) for start, count, value in zip(*state, strict=True)}


def write_windows(windows: OpenWindows) -> State:
    """Return windows as a state."""
    return list(windows), [count for count, _ in windows.values()], [value for _, value in windows.values()]


def add_all(
    assignment: Assignment, windows: OpenWindows, rows: Iterable[tuple[int, tuple[int, float]]], done: int
) -> None:
    """Add rows, or pieces of windows, to the windows they are in.

    Args:
        assignment: The question.
        windows: The open ones of a key; changed.
        rows: The start of the last window, with count and value.
        done: The watermark in milliseconds. A row is late for a window that has ended by then.
    """
    for last, piece in rows:
        for start in assignment.windows_of(last):
            if assignment.expiry(start) <= done:
                break
            before = windows.get(start)
            windows[start] = piece if before is None else assignment.joined(before, piece)


def take_done(assignment: Assignment, windows: OpenWindows, done: int) -> list[tuple[int, float]]:
    """Take the windows out that have ended by a watermark, and return their starts and results."""
    starts = [start for start in windows if assignment.expiry(start) <= done]
    return [(start, assignment.result(windows.pop(start))) for start in starts]


def first_expiry(assignment: Assignment, windows: Sequence[int]) -> int:
    """Return when the first of some windows, at least one, is over, in milliseconds."""
    return assignment.expiry(min(windows))
