"""A sink on trial: places, micro-batches and crashes with which its laws are tried."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from types import FrameType
from typing import Any, Final

import pyarrow as pa

from muntin.errors import MuntinError
from muntin_engine.sinks.sink import Sink
from muntin_engine.testing.arrow_batch import ArrowBatch
from muntin_engine.testing.sink_stream import KEYS, changed_columns, expected_rows, micro_batch

ONCE: Final = "exactly once"
_ROUNDS_OF_A_LOOP: Final = 2
"""The number of executions of one line at which crashes are tried."""

_TO_DO: Final = (
    "commit the rows and the number of their micro-batch in one step, and skip or replace a number that is there"
)


class SinkLawError(MuntinError, AssertionError):
    """A sink breaks one of its laws; the sink writer must act.

    The message says which rows are missing or too many, after a crash at which line, and what to do.

    Attributes:
        law: The law.
    """

    def __init__(self, sink: object, law: str, found: str, to_do: str) -> None:
        self.law: str = law
        super().__init__(f"{sink} breaks a law of sinks: {law}\n  found: {found}\n  to do: {to_do}")


class Crash(BaseException):
    """Ends a sink in the middle of a line, as if its process had died; no `except Exception` holds it."""


@dataclass(frozen=True)
class SinkTrial:
    """A sink on trial.

    Attributes:
        make_sink: Makes a new sink of a place, as a new process would.
        read_rows: Reads the rows of a place.
        changes: True for a sink of changelogs.
        every: The number of lines from one crash to the next.
        spark: A session, for sinks that need DataFrames of Spark.
        take_away: Removes the rows that the last micro-batch wrote to a place; None if the trial has to.
    """

    make_sink: Callable[[str], Sink]
    read_rows: Callable[[str], Any]
    changes: bool = False
    every: int = 1
    spark: Any = None
    take_away: Callable[[str], object] | None = None
    _place_numbers: Iterator[int] = field(default_factory=count)

    def new_place(self) -> str:
        """Return the name of a place in which nothing was written yet."""
        return f"trial{next(self._place_numbers)}"

    def started(self, place: str, query_id: str = "query", columns: Sequence[str] = ()) -> Sink:
        """Return a sink as a new process has it before its first micro-batch."""
        sink = self.make_sink(place)
        self.open(sink, query_id, columns)
        return sink

    def open(self, sink: Sink, query_id: str = "query", columns: Sequence[str] = ()) -> None:
        """Open a sink for a query."""
        sink.keyed_by(list(KEYS))
        sink.check(columns or self.batch(0).columns)
        sink.open(query_id)

    def batch(self, number: int, *, again: bool = False, query: int = 0, wider: bool = False) -> Any:
        """Return a micro-batch.

        Args:
            number: The number of the micro-batch.
            again: True for another order of its rows, as Spark may have when it repeats the micro-batch.
            query: The number of the query.
            wider: True for one more column.
        """
        table = micro_batch(number, changes=self.changes, query=query, wider=wider)
        if again:
            table = pa.Table.from_pylist(table.to_pylist()[::-1], table.schema)
        return ArrowBatch(table) if self.spark is None else self.spark.createDataFrame(table)

    def write(self, sink: Sink, number: int, *, again: bool = False, query: int = 0, wider: bool = False) -> None:
        """Have a sink write a micro-batch."""
        batch = self.batch(number, again=again, query=query, wider=wider)
        row_count = micro_batch(number, changes=self.changes, query=query, wider=wider).num_rows
        sink.take_watermark(number * 10)
        sink.take_count(row_count)
        sink.take_input_id(f"input {number}")
        sink.write(batch, number)

    def rows(self, place: str, *, wider: bool = False) -> Counter[str]:
        """Count the rows of a place."""
        try:
            rows = self.read_rows(place)
        except FileNotFoundError:
            return Counter()
        if hasattr(rows, "toArrow"):
            rows = rows.toArrow()
        if isinstance(rows, pa.Table):
            rows = rows.to_pylist()
        names = changed_columns(changes=self.changes, wider=wider)
        counts: Counter[str] = Counter()
        for row in rows:
            values = dict(row)
            counts[_spelled({name: values.get(name) for name in names})] += 1
        return counts

    def expected(self, numbers: Iterable[int], *, query: int = 0, wider: Iterable[int] = ()) -> Counter[str]:
        """Count the rows that micro-batches come to.

        Args:
            numbers: The numbers of the micro-batches.
            query: The number of the query.
            wider: The numbers of those with one more column.
        """
        return Counter(map(_spelled, expected_rows(numbers, changes=self.changes, query=query, wider=wider)))

    def compare(
        self, law: str, sink: Sink, place: str, expected: Counter[str], event: str, *, wider: bool = False
    ) -> None:
        """Raise unless a place has the expected rows.

        Args:
            law: The law that is tried.
            sink: The sink.
            place: The place.
            expected: The expected rows.
            event: The event after which they are expected.
            wider: True to compare the column that only some rows have.
        """
        rows = self.rows(place, wider=wider)
        missing = expected - rows
        surplus = rows - expected
        if sink.guarantee != ONCE:  # rows may come twice
            surplus = Counter({row: number for row, number in surplus.items() if row not in expected})
        faults: list[str] = []
        if missing:
            faults.append(f"{missing.total()} rows are missing, such as {next(iter(missing))}")
        if surplus:
            faults.append(f"{surplus.total()} are too many, such as {next(iter(surplus))}")
        if faults:
            raise SinkLawError(sink, law, f"{event}: {'; '.join(faults)}", _TO_DO)


@contextmanager
def crashing_at(line: int, sink: Sink) -> Iterator[list[str]]:
    """Raise at the n-th line that is executed of the packages in which a sink's classes are.

    Of a loop the first two rounds count.

    Yields:
        The lines that were executed.
    """
    modules = [cls.__module__ for cls in type(sink).__mro__ if issubclass(cls, Sink) and cls is not Sink]
    packages = tuple(f"{name.rpartition('.')[0]}." if "." in name else name for name in modules)
    places: list[str] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(packages) or name.startswith(__package__ + "."):
            return None
        place = f"line {frame.f_lineno} of {name}, in {frame.f_code.co_name}"
        if event == "line" and places.count(place) < _ROUNDS_OF_A_LOOP:
            places.append(place)
            if len(places) == line:
                raise Crash
        return trace

    previous_trace = sys.gettrace()  # of a debugger, or of what measures coverage
    sys.settrace(trace)
    try:
        yield places
    finally:
        sys.settrace(previous_trace)


def _spelled(value: Any) -> str:
    """Spell a row so that equal rows are spelled alike, whatever made them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_spelled(value[name])}" for name in sorted(value)) + "}"
    return repr(value.asDict() if hasattr(value, "asDict") else value)
