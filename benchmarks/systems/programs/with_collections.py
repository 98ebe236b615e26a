"""Python by hand over rows in memory, in the order of their times: a deque of values and a state for each key."""

from __future__ import annotations

import platform
from collections import deque

import numpy as np
import pyarrow as pa

from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.question import Question, Rows, answer_table
from benchmarks.systems.plain_averages import RunningAverage
from benchmarks.systems.programs.table_task import TableLibrary, run_library


class ByHand(TableLibrary):
    """A loop over rows, which calls the class of an aggregate. It knows neither late rows nor restarts."""

    distribution = "Python"

    @property
    def version(self) -> str:
        """The version of Python."""
        return platform.python_version()

    def frame(self, rows: pa.Table, question: Question) -> Rows:
        """Return rows as arrays."""
        del question
        return Rows.of(rows)

    def answers(self, frame: Rows, question: Question, way: str) -> pa.Table:
        """Answer at each row."""
        del way
        assert isinstance(question, LastRows)
        average = RunningAverage()
        windows: dict[int, deque[float]] = {}
        states: dict[int, list[float]] = {}
        values: list[float] = []
        for key, value in zip(frame.key.tolist(), frame.value.tolist(), strict=True):
            window = windows.get(key)
            if window is None:
                window = windows[key] = deque()
                states[key] = average.create_state()
            state = states[key]
            if len(window) == question.size:
                state = average.remove_events(state, [window.popleft()])
            window.append(value)
            state = average.add_events(state, [value])
            states[key] = state
            values.append(average.compute_result(state))
        return answer_table(frame.key, frame.at, np.array(values))

    def arrow(self, answers: pa.Table) -> pa.Table:
        """Return the answers as they are."""
        return answers


if __name__ == "__main__":
    run_library(ByHand())
