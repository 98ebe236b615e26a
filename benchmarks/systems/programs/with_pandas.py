"""pandas over a table in memory: `groupby` of a key and a time that is rounded down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.question import Question
from benchmarks.systems.programs.python_aggregates import average_by_state, spread_of
from benchmarks.systems.programs.table_task import TableLibrary, run_library

_FUNCTIONS: Final[dict[str, Callable[[Any], float]]] = {
    "function": lambda values: float(np.mean(values.to_numpy())),
    "class": lambda values: spread_of(values.tolist()),
    "combine": lambda values: average_by_state(values.tolist()),
}
"""The functions of the values of a window, by the way that they stand for."""


class Pandas(TableLibrary):
    """pandas."""

    distribution = "pandas"

    def frame(self, rows: pa.Table, question: Question) -> pd.DataFrame:
        """Return rows as a data frame."""
        del question
        return rows.to_pandas()

    def answers(self, frame: pd.DataFrame, question: Question, way: str) -> pd.DataFrame:
        """Answer by `groupby`; a Python function is called by `apply`."""
        if isinstance(question, LastRows):
            rolling = frame.groupby("key")["value"].rolling(question.size, min_periods=1)
            values = rolling.mean().droplevel("key")
            return frame[["key", "at"]].rename(columns={"at": "start"}).assign(value=values)
        assert isinstance(question, Hopping)
        start = frame["at"].dt.floor(f"{question.size}s").rename("start")
        values = frame.groupby(["key", start])["value"]
        answers = values.mean() if way == "average" else values.apply(_FUNCTIONS[way])
        return answers.reset_index()

    def arrow(self, answers: pd.DataFrame) -> pa.Table:
        """Return the answers without their index."""
        return pa.Table.from_pandas(answers, preserve_index=False)


if __name__ == "__main__":
    run_library(Pandas())
