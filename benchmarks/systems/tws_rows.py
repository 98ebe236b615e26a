"""transformWithState written by hand: one key per call, Rows in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.question import Question
from benchmarks.systems.by_hand import (
    OUTPUT,
    STATE,
    Assignment,
    OpenWindows,
    add_all,
    as_results,
    assigned,
    first_expiry,
    read_windows,
    take_done,
    write_windows,
)
from benchmarks.systems.last_rows_by_hand import last_rows_results
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import Hopping, LastRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class RowProcessor(StatefulProcessor):
    """Keeps a dict of windows per key in one value; reads and writes it once per key and batch.

    Windows that ended by the watermark are emitted with the key's next rows; a timer at the end of the first open one
    wakes a key that gets no more.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._state = handle.getValueState("windows", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Add the rows of a key."""
        windows = self._read()
        done = timerValues.getCurrentWatermarkInMs()
        add_all(self._assignment, windows, ((row[1], (1, row[2])) for row in rows), done)
        yield from self._close(key[0], windows, done)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Close what ended in the meantime, unless the rows that came before have done so."""
        windows = self._read()
        done = timerValues.getCurrentWatermarkInMs()
        if windows and first_expiry(self._assignment, list(windows)) <= done:
            yield from self._close(key[0], windows, done)

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self) -> OpenWindows:
        return read_windows(self._state.get())  # a tuple of what STATE says

    def _close(self, key: int, windows: OpenWindows, done: int) -> list[Row]:
        results = take_done(self._assignment, windows, done)
        if windows:
            self._state.update(write_windows(windows))
            self._handle.registerTimer(first_expiry(self._assignment, list(windows)))
        else:
            self._state.clear()
        return [Row(key=key, start=start, value=value) for start, value in results]


class TransformWithStateRows(SparkSystem):
    """`transformWithState` by hand."""

    name = "transformWithState"
    has = (Hopping, LastRows)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        if isinstance(question.windows, LastRows):
            return last_rows_results(stream, question, question.windows, in_frames=False)
        grouped = assigned(stream, question).groupBy("key")
        processor = RowProcessor(Assignment.of(question))
        return as_results(grouped.transformWithState(processor, OUTPUT, "Append", "EventTime"))
