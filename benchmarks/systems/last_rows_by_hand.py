"""Row windows written by hand: a key keeps its last rows, and those that wait until the watermark has passed them.

Rows arrive out of order, and what the last hundred are is known only when no row can come in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.question import Question
from benchmarks.windows import Aggregate, LastRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STATE: Final = "released long, last array<double>, times array<long>, waiting array<double>"
"""The state of a key: how many rows have passed, the values of the last ones, and the rows that wait."""

OUTPUT: Final = "key long, at long, value double"
"""The columns that the processors emit; `at` is the time of the newest row, in microseconds."""

State: TypeAlias = tuple[int, list[float], list[int], list[float]]

_MICROSECONDS: Final = 1000


@dataclass(slots=True)
class KeyRows:
    """The rows of a key.

    Attributes:
        released: How many have passed.
        last: The values of the last of them.
        waiting: Time and value of those that wait, in order.
    """

    released: int = 0
    last: list[float] = field(default_factory=list)
    waiting: list[tuple[int, float]] = field(default_factory=list)

    @classmethod
    def read(cls, state: State | None) -> KeyRows:
        """Return the rows in a state."""
        if state is None:
            return cls()
        released, last, times, waiting = state
        return cls(released, list(last), list(zip(times, waiting, strict=True)))

    def written(self) -> State:
        """Return the rows as a state."""
        return self.released, self.last, [at for at, _ in self.waiting], [value for _, value in self.waiting]

    @property
    def due(self) -> int | None:
        """The first watermark, in milliseconds, that releases a row; None if none waits."""
        return self.waiting[0][0] // _MICROSECONDS + 1 if self.waiting else None

    def take(self, rows: Iterable[tuple[int, float]], done: int) -> None:
        """Let rows wait that are not late.

        Args:
            rows: Times and values.
            done: The watermark in milliseconds.
        """
        self.waiting += [row for row in rows if row[0] >= done * _MICROSECONDS]
        self.waiting.sort()

    def release(self, windows: LastRows, aggregate: Aggregate, done: int) -> Iterator[tuple[int, float]]:
        """Let the rows before a watermark pass, and yield time and result where a window is computed."""
        until = bisect_left(self.waiting, (done * _MICROSECONDS,))
        rows, self.waiting = self.waiting[:until], self.waiting[until:]
        for at, value in rows:
            self.released += 1
            self.last.append(value)
            if self.released % windows.every == 0:
                del self.last[: -windows.size]
                yield at, sum(self.last) / len(self.last) if aggregate == "average" else max(self.last)


class LastRowsProcessor(StatefulProcessor):
    """Reads and writes the state of a key once per batch; a timer wakes a key whose rows wait."""

    def __init__(self, windows: LastRows, aggregate: Aggregate) -> None:
        self._windows = windows
        self._aggregate = aggregate

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._state = handle.getValueState("rows", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Take the rows of a key, and release what the watermark has passed."""
        yield from self._release(
            key[0], self._read(), self._times_and_values(rows), timerValues.getCurrentWatermarkInMs()
        )

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        """Release what the watermark has passed in the meantime, unless the rows that came before have done so."""
        held, done = self._read(), timerValues.getCurrentWatermarkInMs()
        if held.due is not None and held.due <= done:
            yield from self._release(key[0], held, [], done)

    def close(self) -> None:
        """Nothing is held open."""

    def _times_and_values(self, rows: Iterator[Row]) -> Iterable[tuple[int, float]]:
        return [(row[1], row[2]) for row in rows]

    def _shown(self, key: int, results: list[tuple[int, float]]) -> Iterator[Any]:
        return iter([Row(key=key, at=at, value=value) for at, value in results])

    def _read(self) -> KeyRows:
        return KeyRows.read(self._state.get())  # a tuple of what STATE says

    def _release(self, key: int, held: KeyRows, rows: Iterable[tuple[int, float]], done: int) -> Iterator[Any]:
        due = held.due
        held.take(rows, done)
        results = list(held.release(self._windows, self._aggregate, done))
        self._state.update(held.written())
        if held.due is not None and held.due != due:
            self._handle.registerTimer(held.due)
        return self._shown(key, results)


class LastRowsFrames(LastRowsProcessor):
    """The same with data frames in and out."""

    def _times_and_values(self, rows: Iterator[pd.DataFrame]) -> Iterable[tuple[int, float]]:
        return [row for frame in rows for row in zip(frame["at"].tolist(), frame["value"].tolist(), strict=True)]

    def _shown(self, key: int, results: list[tuple[int, float]]) -> Iterator[Any]:
        if results:
            times, values = zip(*results, strict=True)
            yield pd.DataFrame({"key": key, "at": times, "value": values})


def last_rows_results(stream: DataFrame, question: Question, windows: LastRows, in_frames: bool) -> DataFrame:
    """Return the results of row windows, one call per key and batch, with rows or data frames."""
    watermarked = stream.withWatermark("at", f"{question.delay} seconds")
    grouped = watermarked.selectExpr("key", "unix_micros(at) AS at", "value").groupBy("key")
    if in_frames:
        frames = LastRowsFrames(windows, question.aggregate)
        output = grouped.transformWithStateInPandas(frames, OUTPUT, "Append", "EventTime")
    else:
        rows = LastRowsProcessor(windows, question.aggregate)
        output = grouped.transformWithState(rows, OUTPUT, "Append", "EventTime")
    return output.selectExpr("key", "timestamp_micros(at) AS start", "value")
