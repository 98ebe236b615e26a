"""Tumbling windows and the last rows of a key, written by hand for `transformWithState`: one key per call.

These are what one writes for windows that Spark lacks, or for an aggregate in Python. Both processors keep the state of
a key in one value, which they read and write once per key and micro-batch; a timer wakes a key that gets no more rows.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.question import Question
from benchmarks.systems.spark import StreamSystem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

S = TypeVar("S", bound="KeyState")


class KeyState:
    """The state of a key, in memory."""

    @property
    @abstractmethod
    def due(self) -> int | None:
        """The first watermark, in milliseconds, at which something is emitted; None if nothing waits."""

    @abstractmethod
    def add(self, rows: Iterable[tuple[Any, ...]], watermark: int) -> None:
        """Take the rows of a micro-batch; those that are late at a watermark are dropped."""

    @abstractmethod
    def emit(self, watermark: int) -> Iterator[tuple[int, float]]:
        """Take out what is complete at a watermark, and yield the start and the result of each window."""

    @abstractmethod
    def packed(self) -> tuple[Any, ...] | None:
        """Return the state as a row of the state store; None if there is nothing to keep."""


class KeyProcessor(StatefulProcessor, Generic[S]):
    """Runs the state of each key."""

    schema: str
    """The columns of the state."""

    @abstractmethod
    def unpack(self, packed: tuple[Any, ...] | None) -> S:
        """Return the state in a row of the state store; a new one of none."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._state = handle.getValueState("state", self.schema)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Add the rows of a key, and emit what the watermark has passed."""
        state = self.unpack(self._state.get())
        due = state.due
        watermark = timerValues.getCurrentWatermarkInMs()
        state.add(rows, watermark)
        yield from self._emit(key[0], state, due, watermark)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Emit what the watermark has passed in the meantime, unless the rows that came before have done so."""
        state = self.unpack(self._state.get())
        watermark = timerValues.getCurrentWatermarkInMs()
        if state.due is not None and state.due <= watermark:
            yield from self._emit(key[0], state, state.due, watermark)

    def close(self) -> None:
        """Nothing is held open."""

    def _emit(self, key: int, state: S, due: int | None, watermark: int) -> list[Row]:
        """Return the results of a key, store what is left of its state, and set a timer if it is due at another time.

        Args:
            key: The key.
            state: Its state.
            due: The time for which a timer of it is set; None if there is none.
            watermark: The watermark, in milliseconds.
        """
        results = [Row(key=key, start=start, value=value) for start, value in state.emit(watermark)]
        packed = state.packed()
        if packed is None:
            self._state.clear()
        else:
            self._state.update(packed)
        if state.due is not None and state.due != due:
            self._handle.registerTimer(state.due)
        return results


class OpenWindows(KeyState):
    """The open tumbling windows of a key.

    Args:
        size: Length of a window, in seconds.
        counts: The number of rows of each window, by its start in seconds.
        totals: The sum of their values.
    """

    def __init__(self, size: int, counts: dict[int, int], totals: dict[int, float]) -> None:
        self._size = size
        self._counts = counts
        self._totals = totals

    @property
    def due(self) -> int | None:
        """The end of the first window."""
        return (min(self._counts) + self._size) * 1000 if self._counts else None

    def add(self, rows: Iterable[tuple[Any, ...]], watermark: int) -> None:
        """Add each row to its window."""
        for _, start, value in rows:
            if (start + self._size) * 1000 > watermark:
                self._counts[start] = self._counts.get(start, 0) + 1
                self._totals[start] = self._totals.get(start, 0.0) + value

    def emit(self, watermark: int) -> Iterator[tuple[int, float]]:
        """Yield the averages of the windows that have ended."""
        for start in sorted(self._counts):
            if (start + self._size) * 1000 <= watermark:
                yield start, self._totals.pop(start) / self._counts.pop(start)

    def packed(self) -> tuple[Any, ...] | None:
        """Return starts, counts and sums, side by side."""
        if not self._counts:
            return None
        return list(self._counts), list(self._counts.values()), list(self._totals.values())


class TumblingProcessor(KeyProcessor[OpenWindows]):
    """Averages over tumbling windows; a row is a key, the start of its window in seconds, and a value."""

    schema = "starts array<long>, counts array<long>, totals array<double>"

    def __init__(self, size: int) -> None:
        self._size = size

    def unpack(self, packed: tuple[Any, ...] | None) -> OpenWindows:
        """Return the windows of a key."""
        if packed is None:
            return OpenWindows(self._size, {}, {})
        starts, counts, totals = packed
        return OpenWindows(self._size, dict(zip(starts, counts, strict=True)), dict(zip(starts, totals, strict=True)))


class KeyRows(KeyState):
    """The last rows of a key, and those that wait until the watermark has passed them.

    Rows arrive out of order, and what the last hundred are is known only when no row can come in between.

    Args:
        windows: The windows.
        released: The number of rows that have passed.
        last: The values of the last of them.
        waiting: Time in microseconds and value of those that wait, in order.
    """

    def __init__(self, windows: LastRows, released: int, last: list[float], waiting: list[tuple[int, float]]) -> None:
        self._windows = windows
        self._released = released
        self._last = last
        self._waiting = waiting

    @property
    def due(self) -> int | None:
        """The first watermark that has passed the oldest row."""
        return self._waiting[0][0] // 1000 + 1 if self._waiting else None

    def add(self, rows: Iterable[tuple[Any, ...]], watermark: int) -> None:
        """Let rows wait that are not late."""
        for _, at, value in rows:
            if at >= watermark * 1000:
                self._waiting.append((at, value))
        self._waiting.sort()

    def emit(self, watermark: int) -> Iterator[tuple[int, float]]:
        """Let the rows before a watermark pass, and yield time and average where a window is computed."""
        until = bisect_left(self._waiting, (watermark * 1000,))
        released = self._waiting[:until]
        self._waiting = self._waiting[until:]
        for at, value in released:
            self._released += 1
            self._last.append(value)
            if self._released % self._windows.every == 0:
                del self._last[: -self._windows.size]
                yield at, sum(self._last) / len(self._last)

    def packed(self) -> tuple[Any, ...] | None:
        """Return the counts and the rows."""
        times = [at for at, _ in self._waiting]
        values = [value for _, value in self._waiting]
        return self._released, self._last, times, values


class LastRowsProcessor(KeyProcessor[KeyRows]):
    """Averages of the last rows; a row is a key, a time in microseconds, and a value."""

    schema = "released long, last array<double>, times array<long>, waiting array<double>"

    def __init__(self, windows: LastRows) -> None:
        self._windows = windows

    def unpack(self, packed: tuple[Any, ...] | None) -> KeyRows:
        """Return the rows of a key."""
        if packed is None:
            return KeyRows(self._windows, 0, [], [])
        released, last, times, values = packed
        return KeyRows(self._windows, released, list(last), list(zip(times, values, strict=True)))


def by_hand(stream: DataFrame, question: Question, delay: int) -> DataFrame:
    """Return the results of a processor. Spark makes numbers of times, which is cheaper than times in Python."""
    rows = stream.withWatermark("at", f"{delay} seconds")
    processor: KeyProcessor[Any]
    match question:
        case Hopping(size, hop) if size == hop:
            rows = rows.selectExpr("key", f"unix_seconds(at) - unix_seconds(at) % {size} AS start", "value")
            processor = TumblingProcessor(size)
            to_time = "timestamp_seconds"
        case LastRows():
            rows = rows.selectExpr("key", "unix_micros(at) AS start", "value")
            processor = LastRowsProcessor(question)
            to_time = "timestamp_micros"
        case _:
            raise TypeError(f"nothing is written by hand for {question}")
    grouped = rows.groupBy("key")
    results = grouped.transformWithState(processor, "key long, start long, value double", "Append", "EventTime")
    return results.selectExpr("key", f"{to_time}(start) AS start", "value")


BY_HAND: Final = StreamSystem("transformWithState", by_hand)
