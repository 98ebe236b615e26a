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
from muntin_engine.testing.sink_stream import KEYS, compared_columns, expected_rows, micro_batch

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

    def __init__(self, sink: object, law: str, fault: str, to_do: str) -> None:
        self.law: str = law
        super().__init__(f"{sink} breaks a law of sinks: {law}\n  found: {fault}\n  to do: {to_do}")


class Crash(BaseException):
    """Ends a sink in the middle of a line, as if its process had died; no `except Exception` catches it."""


@dataclass(frozen=True)
class SinkTrial:
    """A sink on trial.

    Attributes:
        make_sink: The function from the name of a place to a new sink of it, as a new process would make it.
        read_rows: The function from the name of a place to its rows.
        changes: True for a sink of changelogs.
        every: The number of lines from one crash to the next.
        spark: A session, for sinks that need DataFrames of Spark; None for Arrow tables.
        take_away: The function that removes the rows that the last micro-batch wrote to a place; None if the trial has
            to delete files.
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
        """Return a new sink of a place, opened, as a new process has it before its first micro-batch.

        Args:
            place: The name of the place.
            query_id: The query that writes.
            columns: The columns that it writes; by default those of the first micro-batch.
        """
        sink = self.make_sink(place)
        self.open(sink, query_id, columns)
        return sink

    def open(self, sink: Sink, query_id: str = "query", columns: Sequence[str] = ()) -> None:
        """Open a sink for a query, as the engine does: with its keys, its columns and its id."""
        sink.keyed_by(list(KEYS))
        sink.check(columns or self.batch(0).columns)
        sink.open(query_id)

    def batch(self, number: int, *, is_repeated: bool = False, query: int = 0, has_new_column: bool = False) -> Any:
        """Return a micro-batch, as a DataFrame of Spark or as an object that stands in for one.

        Args:
            number: The number of the micro-batch.
            is_repeated: True for another order of its rows, as Spark may have when it repeats the micro-batch.
            query: The number of the query.
            has_new_column: True for one more column.
        """
        table = micro_batch(number, changes=self.changes, query=query, has_new_column=has_new_column)
        if is_repeated:
            table = pa.Table.from_pylist(table.to_pylist()[::-1], table.schema)
        return ArrowBatch(table) if self.spark is None else self.spark.createDataFrame(table)

    def write(
        self, sink: Sink, number: int, *, is_repeated: bool = False, query: int = 0, has_new_column: bool = False
    ) -> None:
        """Have a sink write a micro-batch; the arguments after the sink are those of `batch`."""
        batch = self.batch(number, is_repeated=is_repeated, query=query, has_new_column=has_new_column)
        row_count = micro_batch(number, changes=self.changes, query=query, has_new_column=has_new_column).num_rows
        # The engine tells a sink these things of a micro-batch before the sink writes it. There is no watermark before
        # any progress, nor in a micro-batch without rows of input.
        if number > 0 and row_count > 0:
            sink.take_watermark(number * 10)
        sink.take_count(row_count)
        sink.take_input_id(f"input {number}")
        sink.write(batch, number)

    def rows(self, place: str, *, has_new_column: bool = False) -> Counter[str]:
        """Read the rows of a place, and count equal ones.

        Args:
            place: The name of the place.
            has_new_column: True to read the column that only some micro-batches have.
        """
        try:
            rows = self.read_rows(place)
        except FileNotFoundError:
            return Counter()
        if hasattr(rows, "toArrow"):
            rows = rows.toArrow()
        if isinstance(rows, pa.Table):
            rows = rows.to_pylist()
        names = compared_columns(changes=self.changes, has_new_column=has_new_column)
        counts: Counter[str] = Counter()
        for row in rows:
            values = dict(row)
            counts[_spelled({name: values.get(name) for name in names})] += 1
        return counts

    def expected(self, numbers: Iterable[int], *, query: int = 0, with_new_column: Iterable[int] = ()) -> Counter[str]:
        """Return the rows that a place has to have after some micro-batches, counted as by `rows`.

        Args:
            numbers: The numbers of the micro-batches.
            query: The number of the query.
            with_new_column: The numbers of the micro-batches with one more column.
        """
        rows = expected_rows(numbers, changes=self.changes, query=query, with_new_column=with_new_column)
        return Counter(map(_spelled, rows))

    def compare(
        self, law: str, sink: Sink, place: str, expected: Counter[str], event: str, *, has_new_column: bool = False
    ) -> None:
        """Raise unless a place has the expected rows.

        Args:
            law: The law that is tried.
            sink: The sink.
            place: The place.
            expected: The expected rows.
            event: The event after which they are expected.
            has_new_column: True to compare the column that only some micro-batches have.
        """
        rows = self.rows(place, has_new_column=has_new_column)
        missing = expected - rows
        surplus = rows - expected
        if sink.guarantee != ONCE:
            # A sink that writes at least once may double expected rows.
            surplus = Counter({row: count for row, count in surplus.items() if row not in expected})
        faults: list[str] = []
        if missing:
            faults.append(f"{missing.total()} rows are missing, such as {next(iter(missing))}")
        if surplus:
            faults.append(f"{surplus.total()} are too many, such as {next(iter(surplus))}")
        if faults:
            raise SinkLawError(sink, law, f"{event}: {'; '.join(faults)}", _TO_DO)


@contextmanager
def crashing_at(line: int, sink: Sink) -> Iterator[list[str]]:
    """Raise `Crash` at the n-th line that is executed in the packages of a sink's classes.

    A line counts at most twice, so that a long loop does not use up all crashes.

    Args:
        line: The number of the line, from 1; with fewer lines there is no crash.
        sink: The sink.

    Yields:
        The lines that were counted, with their functions; the last one is where the crash was.
    """
    modules = [cls.__module__ for cls in type(sink).__mro__ if issubclass(cls, Sink) and cls is not Sink]
    prefixes: list[str] = []
    for name in modules:
        package, _, _ = name.rpartition(".")
        prefixes.append(f"{package}." if package else name)  # a module of no package counts alone
    packages = tuple(prefixes)
    executed_lines: list[str] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        """Count the lines of the packages.

        Python calls this for each function that is entered, and, if it returns itself, for each line of that function.
        """
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(packages) or name.startswith(__package__ + "."):
            return None  # other code, or this trial itself
        executed_line = f"line {frame.f_lineno} of {name}, in {frame.f_code.co_name}"
        if event == "line" and executed_lines.count(executed_line) < _ROUNDS_OF_A_LOOP:
            executed_lines.append(executed_line)
            if len(executed_lines) == line:
                raise Crash
        return trace

    previous_trace = sys.gettrace()  # of a debugger, or of what measures coverage
    sys.settrace(trace)
    try:
        yield executed_lines
    finally:
        sys.settrace(previous_trace)


def _spelled(value: Any) -> str:
    """Spell a row so that equal rows are spelled alike, whatever made them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_spelled(value[name])}" for name in sorted(value)) + "}"
    return repr(value.asDict() if hasattr(value, "asDict") else value)
