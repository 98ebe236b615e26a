"""applyInPandasWithState written by hand: one key per call, one tuple of state, one timeout.

The state is one run of bytes: PySpark 4.3 cannot read a schema with an array there (`KeyError: 'elementType'`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from benchmarks.question import Question
from benchmarks.systems.by_hand import (
    OUTPUT,
    Assignment,
    OpenWindows,
    add_all,
    as_results,
    assigned,
    first_expiry,
    take_done,
)
from benchmarks.systems.pieces import pieces
from benchmarks.systems.system import SparkSystem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATE: Final = "windows binary"
_WINDOW: Final = np.dtype([("start", np.int64), ("count", np.int64), ("value", np.float64)])


def pack(windows: OpenWindows) -> bytes:
    """Return windows as bytes."""
    return np.array([(start, *window) for start, window in windows.items()], _WINDOW).tobytes()


def unpack(data: bytes) -> OpenWindows:
    """Return the windows in some bytes."""
    return {start: (count, value) for start, count, value in np.frombuffer(data, _WINDOW).tolist()}


class GroupUpdate:
    """Updates a key: adds its rows, if it has any, and closes what ended."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        """Yield the results of the key."""
        windows = unpack(state.get[0]) if state.exists else {}
        done = state.getCurrentWatermarkMs()
        if not state.hasTimedOut:
            for frame in frames:
                add_all(self._assignment, windows, pieces(self._assignment.aggregate, frame), done)
        results = take_done(self._assignment, windows, done)
        if windows:
            state.update((pack(windows),))
            state.setTimeoutTimestamp(first_expiry(self._assignment, list(windows)))
        elif state.exists:
            state.remove()
        if results:
            starts, values = zip(*results, strict=True)
            yield pd.DataFrame({"key": key[0], "start": starts, "value": values})


class GroupStatePandas(SparkSystem):
    """`applyInPandasWithState` by hand."""

    name = "applyInPandasWithState"

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        grouped = assigned(stream, question, "at").groupBy("key")  # without the column Spark sees no watermark
        update = GroupUpdate(Assignment.of(question))
        return as_results(grouped.applyInPandasWithState(update, OUTPUT, _STATE, "append", "EventTimeTimeout"))
