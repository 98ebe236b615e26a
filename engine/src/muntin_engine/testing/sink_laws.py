"""The laws of sinks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pyarrow as pa

from muntin.errors import MuntinError, QueryError
from muntin_engine.errors import StateError
from muntin_engine.sinks import Sink
from muntin_engine.testing.arrow_batch import ArrowBatch
from muntin_engine.testing.sink_stream import KEYS, changed_columns, expected, micro_batch

_ONCE: Final = "exactly once"
_BATCHES: Final = 10
"""Micro-batches in a place in which crashes are tried, so that reading it again and again stays cheap."""


class SinkLawError(MuntinError, AssertionError):
    """A sink breaks one of its laws; who wrote it must act.

    The message says which rows are missing or too many, after a crash at which line, and what to do.

    Attributes:
        law: The law.
    """

    def __init__(self, sink: object, law: str, found: str, to_do: str) -> None:
        self.law: str = law
        super().__init__(f"{sink} breaks a law of sinks: {law}\n  found: {found}\n  to do: {to_do}")


class _Crash(BaseException):
    """Ends a sink in the middle of a line, as if its process had died; no `except Exception` holds it."""


def check_sink(
    make_sink: Callable[[str], Sink],
    read_rows: Callable[[str], Any],
    *,
    changes: bool = False,
    every: int = 1,
    spark: Any = None,
    take_away: Callable[[str], object] | None = None,
) -> dict[str, str]:
    """Raise unless a sink keeps the laws of sinks: whatever is repeated or cut short, its guarantee holds.

    The rows have the columns `station` (a text or null), `rides` (an integer), `km` (a float) and `window` (a struct of
    `start` and `end`); a changelog has `change` and `event_id` too. At each line of the sink's package a crash is
    tried, so a sink of a hundred lines is written to some hundreds of times. A crash is an exception in the process of
    the test; it is not the end of the process, nor of the machine.

    | law | what is tried |
    |---|---|
    | every row arrives | micro-batches with rows and without |
    | a micro-batch that comes again changes nothing | each comes twice, in another order, also to a new sink |
    | a crash loses nothing and doubles nothing | a crash at each line, in the first micro-batch and in later ones |
    | `last_written` is the last micro-batch | it is read after each one |
    | another query's rows are told apart | a query of another checkpoint is refused, or its rows come too |
    | a new column is taken with its values, or refused | its values arrive, null in older rows; or nothing changes |
    | what was written is taken away, and it is missed | an error, or an earlier `last_written`; the rows come again |

    If the sink says that it writes `"exactly once"`, readers see a micro-batch whole or not at all, also during a
    crash. One that says at least once may double rows, and loses none.

    Args:
        make_sink: Takes the name of a place, such as `"trial1"`, and returns a new sink of it, as a new process would.
        read_rows: Takes the name of a place and returns the rows there: an Arrow table, a DataFrame or dicts. Columns
            that were not written are left aside.
        changes: True for a sink of changelogs, whose rows are those that stand.
        every: Crashes are tried at each line; 5 for each fifth one, where a sink is slow.
        spark: A session, for sinks that ask a DataFrame for more than `columns`, `toArrow`, `toPandas`, `collect`,
            `toLocalIterator`, `take`, `count` and `isEmpty`. None: micro-batches are Arrow tables that answer these.
        take_away: Takes the name of a place, and takes away the rows that the last micro-batch wrote there, as somebody
            does who restores a table to the version before. None: of a sink that has a folder, the files are deleted
            that the last micro-batch added.

    Returns:
        For each law "holds", or why it does not apply.

    Raises:
        SinkLawError: A law is broken.

    Example:
        >>> class Numbered(Sink):
        ...     guarantee = "exactly once"
        ...     places: dict = {}
        ...     def __init__(self, place):
        ...         self.place_name = place
        ...     def open(self, query_id):
        ...         self.query_id = query_id
        ...     def write(self, batch, batch_id):
        ...         rows = self.places.setdefault(self.place_name, {})
        ...         rows[self.query_id, batch_id] = batch.collect()
        >>> def rows_of(place):
        ...     return [row for rows in Numbered.places.get(place, {}).values() for row in rows]
        >>> check_sink(Numbered, rows_of)["a micro-batch that comes again changes nothing"]
        'holds'
    """
    trial = _SinkTrial(make_sink, read_rows, changes, every, spark, take_away)
    return {law: check(trial, law) or "holds" for law, check in _LAWS.items()}


class _SinkTrial:
    def __init__(
        self,
        make_sink: Callable[[str], Sink],
        read_rows: Callable[[str], Any],
        changes: bool,
        every: int,
        spark: Any,
        take_away: Callable[[str], object] | None,
    ) -> None:
        self.take_away = take_away
        self.every = every
        self._make = make_sink
        self._read = read_rows
        self.changes = changes
        self._spark = spark
        self._numbers = count()

    def new_place(self) -> str:
        return f"trial{next(self._numbers)}"

    def started(self, place: str, query_id: str = "query", columns: Sequence[str] = ()) -> Sink:
        """Return a sink as a new process has it before its first micro-batch."""
        sink = self._make(place)
        sink.keyed_by(list(KEYS))
        sink.check(columns or self.batch(0).columns)
        sink.open(query_id)
        return sink

    def batch(self, number: int, *, again: bool = False, of: int = 0, wider: bool = False) -> Any:
        table = micro_batch(number, changes=self.changes, of=of, wider=wider)
        table = pa.Table.from_pylist(table.to_pylist()[::-1], table.schema) if again else table
        return ArrowBatch(table) if self._spark is None else self._spark.createDataFrame(table)

    def give(self, sink: Sink, number: int, **asked: Any) -> None:
        batch = self.batch(number, **asked)
        sink.take_watermark(number * 10)
        sink.take_count(micro_batch(number, changes=self.changes, **_shape(asked)).num_rows)
        sink.take_read(f"read {number}")
        sink.write(batch, number)

    def rows(self, place: str, wider: bool = False) -> Counter[str]:
        try:
            found = self._read(place)
        except FileNotFoundError:
            return Counter()
        if hasattr(found, "toArrow"):
            found = found.toArrow()
        rows: Iterable[Any] = found.to_pylist() if isinstance(found, pa.Table) else found
        names = changed_columns(changes=self.changes, wider=wider)
        return Counter(_spelled({name: row.get(name) for name in names}) for row in map(dict, rows))

    def wanted(self, numbers: Iterable[int], of: int = 0, wider: Iterable[int] = ()) -> Counter[str]:
        return Counter(map(_spelled, expected(numbers, changes=self.changes, of=of, wider=wider)))

    def compare(
        self,
        law: str,
        sink: Sink,
        place: str,
        wanted: Counter[str],
        did: str,
        *,
        wider: bool = False,
    ) -> None:
        found = self.rows(place, wider)
        missing, surplus = wanted - found, found - wanted
        if sink.guarantee != _ONCE:
            surplus = Counter({row: n for row, n in surplus.items() if row not in wanted})
        if missing or surplus:
            told = [f"{missing.total()} rows are missing, such as {next(iter(missing))}"] if missing else []
            told += [f"{surplus.total()} are too many, such as {next(iter(surplus))}"] if surplus else []
            raise SinkLawError(sink, law, f"{did}: {'; '.join(told)}", _TO_DO)


_TO_DO: Final = (
    "commit the rows and the number of their micro-batch in one step, and skip or replace a number that is there"
)


def _all_rows_arrive(trial: _SinkTrial, law: str) -> str | None:
    place = trial.new_place()
    sink = trial.started(place)
    for number in range(6):
        trial.give(sink, number)
        trial.compare(law, sink, place, trial.wanted(range(number + 1)), f"micro-batch {number} was written")
    return None


def _a_repetition_changes_nothing(trial: _SinkTrial, law: str) -> str | None:
    place = trial.new_place()
    for number in range(5):
        for again in (False, True):
            sink = trial.started(place)
            trial.give(sink, number, again=again)
        trial.compare(law, sink, place, trial.wanted(range(number + 1)), f"micro-batch {number} came again")
    trial.give(sink, 4, again=True)
    trial.compare(law, sink, place, trial.wanted(range(5)), "micro-batch 4 came again in the same run")
    return None


def _a_crash_changes_nothing(trial: _SinkTrial, law: str) -> str | None:
    lines = count(1, trial.every)
    for number in cycle(range(_BATCHES)):
        if number == 0:
            place = trial.new_place()
        if number == 0 or not trial.batch(number).count():
            trial.give(trial.started(place), number)
        elif not _cut_short(trial, law, place, number, next(lines)):
            break
    lines = count(1, trial.every)
    while _cut_short(trial, law, trial.new_place(), 0, next(lines)):  # the very first micro-batch
        pass
    return None


def _cut_short(trial: _SinkTrial, law: str, place: str, number: int, line: int) -> bool:
    """Try a crash at the n-th line that a sink executes for a micro-batch; False if it has no such line."""
    told = f"a crash in micro-batch {number} at"
    before, after = trial.wanted(range(number)), trial.wanted(range(number + 1))
    sink = trial._make(place)
    where = ""
    with _crashing_at(line, sink) as places:
        try:
            sink.keyed_by(list(KEYS))
            sink.check(trial.batch(0).columns)
            sink.open("query")
            trial.give(sink, number)
        except _Crash:
            where = places[-1]
    if not where:
        return False
    if sink.guarantee == _ONCE and (found := trial.rows(place)) not in (before, after):
        surplus, missing = found - after, before - found
        raise SinkLawError(
            sink,
            law,
            f"after {told} {where} readers see a part of it, or what was not written: {(surplus or missing or found)}",
            "make a micro-batch visible as a whole",
        )
    sink = trial.started(place)
    last = sink.last_written
    if last is not None and last.number not in (number - 1, number):
        raise SinkLawError(
            sink,
            law,
            f"after {told} {where} last_written is {last}",
            f"let it be {number - 1}, or {number} once that is whole",
        )
    trial.give(sink, number, again=True)
    trial.compare(law, sink, place, after, f"{told} {where}, and it came again")
    return True


def _it_says_what_it_has(trial: _SinkTrial, law: str) -> str | None:
    place = trial.new_place()
    for number in range(-1, 4):
        sink = trial.started(place)
        if number >= 0:
            trial.give(sink, number)
        for asked in (sink, trial.started(place)):
            last = asked.last_written
            if last is None:
                return f"{sink} does not say which micro-batch it has: it cannot be told to be ahead of its checkpoint"
            if last.number != number or last.read not in ("", f"read {number}"):
                raise SinkLawError(
                    sink, law, f"after micro-batch {number} last_written is {last}", "keep both with the rows"
                )
    return None


def _another_query_is_told_apart(trial: _SinkTrial, law: str) -> str | None:
    place = trial.new_place()
    for number in range(3):
        trial.give(trial.started(place), number)
    try:
        for number in range(2):
            trial.give(trial.started(place, "other"), number, of=1)
    except (QueryError, StateError) as error:
        trial.compare(law, trial._make(place), place, trial.wanted(range(3)), f"another query was refused: {error}")
        return None
    both = trial.wanted(range(3)) + trial.wanted(range(2), of=1)
    trial.compare(law, trial._make(place), place, both, "another query, with numbers from 0, wrote its rows too")
    return None


def _columns_may_change(trial: _SinkTrial, law: str) -> str | None:
    place = trial.new_place()
    for number in range(2):
        trial.give(trial.started(place), number)
    columns = trial.batch(2, wider=True).columns
    try:
        for _ in range(2):
            trial.give(trial.started(place, columns=columns), 2, wider=True)
    except MuntinError as error:
        trial.compare(law, trial._make(place), place, trial.wanted(range(2)), f"a new column was refused: {error}")
        return f"a new column is refused: {str(error).splitlines()[0]}"
    wanted = trial.wanted(range(3), wider=(2,))
    trial.compare(law, trial._make(place), place, wanted, "a micro-batch with a new column came", wider=True)
    return None


def _what_is_taken_away_is_missed(trial: _SinkTrial, law: str) -> str | None:
    place = trial.new_place()
    last_number = 2
    for number in range(last_number):
        trial.give(trial.started(place), number)
    folder = trial.started(place).folder
    files_before = _files_in(folder)
    trial.give(trial.started(place), last_number)
    if trial.take_away is not None:
        trial.take_away(place)
    else:
        new_files = _files_in(folder) - files_before
        if not new_files:
            return "not tried: check_sink(..., take_away=...) says how rows are taken away there"
        for file in new_files:
            file.unlink()

    try:
        sink = trial.started(place)
        last = sink.last_written
    except (QueryError, StateError):
        return None
    if last is None:
        return f"{sink} does not say which micro-batch it has"
    if last.number >= last_number:
        raise SinkLawError(
            sink,
            law,
            f"the rows of micro-batch {last_number} were taken away, and last_written is {last}",
            "keep what can be compared with the rows, such as a size or a version, and raise a StateError or let"
            " last_written be a micro-batch that is there",
        )
    for number in range(last.number + 1, last_number + 1):  # as a query does whose checkpoint was restored too
        trial.give(trial.started(place), number)
    trial.compare(law, sink, place, trial.wanted(range(last_number + 1)), "what was taken away was written again")
    return None


def _files_in(folder: Path | None) -> set[Path]:
    """Return the files of rows in a folder and its folders."""
    return set() if folder is None else {file for file in folder.rglob("[!._]*") if file.is_file()}


_LAWS: Final[dict[str, Callable[[_SinkTrial, str], str | None]]] = {
    "every row arrives": _all_rows_arrive,
    "a micro-batch that comes again changes nothing": _a_repetition_changes_nothing,
    "a crash loses nothing and doubles nothing": _a_crash_changes_nothing,
    "last_written is the last micro-batch": _it_says_what_it_has,
    "another query's rows are told apart": _another_query_is_told_apart,
    "a new column is taken with its values, or refused": _columns_may_change,
    "what was written is taken away, and it is missed": _what_is_taken_away_is_missed,
}


@contextmanager
def _crashing_at(line: int, sink: Sink) -> Iterator[list[str]]:
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
        if event == "line" and places.count(place) < 2:
            places.append(place)
            if len(places) == line:
                raise _Crash
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        yield places
    finally:
        sys.settrace(former)


def _shape(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name != "again"}


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_spelled(value[name])}" for name in sorted(value)) + "}"
    return repr(value.asDict() if hasattr(value, "asDict") else value)
