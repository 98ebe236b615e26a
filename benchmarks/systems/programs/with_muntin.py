"""Muntin over a table in memory, without Spark."""

from __future__ import annotations

from inspect import signature
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.lasting import LastingHops, ends_of
from benchmarks.questions.question import Question, ticks
from benchmarks.questions.snapshots import Snapshot
from benchmarks.systems.muntin_windows import window_of
from benchmarks.systems.plain_averages import PlainAverage, RunningAverage, WholeSpread
from benchmarks.systems.programs.table_task import TableLibrary, run_library
from muntin_engine import EventStream, Query, events, module

AGGREGATES: Final = {
    "average": module("stats.average", "value"),
    "combine": module(PlainAverage, "value"),
    "class": module(WholeSpread, "value"),
    "remove": module(RunningAverage, "value"),
    "function": module(np.mean, "value", returns=float),
}
"""The average or the spread, by the kind of the module."""

_TIME: Final = pa.timestamp("us", "UTC")


def workers_of(count: int) -> dict[str, Any]:
    """Return the argument of `results` that says how many processes work, where there is one."""
    return {"workers": count} if "workers" in signature(Query.results).parameters else {}


class Muntin(TableLibrary):
    """Muntin, over Arrow tables."""

    distribution = "muntin-engine"

    def __init__(self) -> None:
        self._are_of_last_rows = False

    def frame(self, rows: pa.Table, question: Question) -> pa.Table:
        """Return rows; those of events that last have an end, and revised ones are two rows each."""
        if not isinstance(question, Snapshot | LastingHops):
            return rows
        start = ticks(rows["at"])
        end = pa.array(ends_of(start, question.longest)).cast(_TIME)
        lasting = rows.append_column("end", end)
        return _with_revisions(lasting, start) if question.is_revised else lasting

    def answers(self, frame: pa.Table, question: Question, way: str) -> pa.Table:
        """Answer with an aggregate of some kind."""
        windows = _events(frame, question).window(window_of(question))
        answers = windows.aggregate(value=AGGREGATES[way]).results(**workers_of(1))
        self._are_of_last_rows = isinstance(question, LastRows)
        return answers

    def arrow(self, answers: pa.Table) -> pa.Table:
        """Return what names windows in its place: their starts, or the times of their newest rows."""
        start = pc.struct_field(answers["window"], "start")
        if self._are_of_last_rows:
            end = pc.struct_field(answers["window"], "end")
            start = pc.subtract(end, pa.scalar(1, pa.duration("us")))
        return pa.table({"key": answers["key"], "start": start, "value": answers["value"]})


def _events(frame: pa.Table, question: Question) -> EventStream[Any]:
    """Return the rows that `frame` made as events: points, or with a lifetime where a question asks for it."""
    if isinstance(question, LastRows):
        return events(frame, key="key", at="at", order="at")  # times of a key differ
    if not isinstance(question, Snapshot | LastingHops):
        return events(frame, key="key", at="at")
    revisions: dict[str, Any] = {}
    if question.is_revised:
        revisions = {"id": "id", "change": "change", "new_end": "new_end"}
    return events(frame, key="key", start="at", end="end", **revisions)


def _with_revisions(lasting: pa.Table, start: np.ndarray[Any, Any]) -> pa.Table:
    """Return two rows for each event: one that inserts it without an end, and one that revises it."""
    no_end = pa.nulls(len(lasting), _TIME)
    ids = pa.array(start)

    def rows_of(change: str) -> pa.Table:
        """Return a row for each event with one kind of change; its end is the new one."""
        changes = pa.array(np.full(len(lasting), change))
        with_change = lasting.append_column("id", ids).append_column("change", changes)
        return with_change.append_column("new_end", lasting["end"]).set_column(3, "end", no_end)

    insertions = rows_of("insert")
    insertions = insertions.set_column(insertions.schema.get_field_index("new_end"), "new_end", no_end)
    order = np.arange(2 * len(lasting)).reshape(2, -1).T.ravel()  # each event's two rows one after the other
    return pa.concat_tables([insertions, rows_of("revise")]).take(pa.array(order)).combine_chunks()


if __name__ == "__main__":
    run_library(Muntin())
