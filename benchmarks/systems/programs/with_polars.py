"""Polars over a table in memory: `group_by` of truncated times, `group_by_dynamic`, and Python functions of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.systems.programs.python_aggregates import average_by_state, spread_of
from benchmarks.systems.programs.table_task import TableLibrary, run_library

_FUNCTIONS: Final[dict[str, Callable[[pl.Series], float]]] = {
    "function": lambda values: float(np.mean(values.to_numpy())),
    "class": lambda values: spread_of(values.to_list()),
    "combine": lambda values: average_by_state(values.to_list()),
}
"""The functions of the values of a window, by the way that they stand for."""


class Polars(TableLibrary):
    """Polars."""

    distribution = "polars"

    def frame(self, rows: pa.Table, question: Question) -> pl.DataFrame:
        """Return rows as a data frame."""
        del question
        frame = pl.from_arrow(rows)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def answers(self, frame: pl.DataFrame, question: Question, way: str) -> pl.DataFrame:
        """Answer by `group_by_dynamic`, or by `group_by`."""
        if isinstance(question, Session):
            return _sessions(frame, question.gap)
        if isinstance(question, LastRows):
            rolling = pl.col("value").rolling_mean(question.size, min_samples=1).over("key")
            return frame.select("key", pl.col("at").alias("start"), value=rolling)
        assert isinstance(question, Hopping)
        if way == "dynamic":
            groups: Any = frame.group_by_dynamic(
                "at",
                every=f"{question.hop}s",
                period=f"{question.size}s",
                offset=f"{question.hop - question.size}s",  # the first windows of a key begin before its first row
                group_by="key",
            )
            averages: pl.DataFrame = groups.agg(value=pl.col("value").mean())
            return averages.rename({"at": "start"})
        start = pl.col("at").dt.truncate(f"{question.size}s").alias("start")
        return frame.group_by("key", start).agg(value=_aggregate(way))

    def arrow(self, answers: pl.DataFrame) -> pa.Table:
        """Return the columns in their order."""
        return answers.select("key", "start", "value").to_arrow()


def _aggregate(way: str) -> pl.Expr:
    """Return the expression of an aggregate."""
    if way == "average":
        return pl.col("value").mean()
    function = _FUNCTIONS[way]

    def of_columns(columns: Sequence[pl.Series]) -> float:
        return function(columns[0])

    return pl.map_groups("value", of_columns, return_dtype=pl.Float64, returns_scalar=True)


def _sessions(frame: pl.DataFrame, gap: int) -> pl.DataFrame:
    """Number the sessions of each key, and add up their rows."""
    ordered = frame.sort("key", "at")
    is_first = (pl.col("at").diff() > pl.duration(seconds=gap)) | (pl.col("key").diff() != 0)
    numbered = ordered.with_columns(session=is_first.fill_null(value=False).cum_sum())
    groups = numbered.group_by("session")
    return groups.agg(key=pl.col("key").first(), start=pl.col("at").min(), value=pl.col("value").mean())


if __name__ == "__main__":
    run_library(Polars())
