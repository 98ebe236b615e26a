"""The laws of sinks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

from muntin.errors import MuntinError, QueryError
from muntin_engine.errors import StateError
from muntin_engine.sinks.sink import Sink
from muntin_engine.testing.sink_trial import ONCE, Crash, SinkLawError, SinkTrial, crashing_at

_BATCHES: Final = 10
"""Micro-batches in a place in which crashes are tried, so that reading it again and again stays cheap."""


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

    | law | what is tried, and what has to come of it |
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
        make_sink: A function of the name of a place, such as `"trial1"`, that returns a new sink of it, as a new
            process would.
        read_rows: A function of the name of a place that returns the rows there: an Arrow table, a DataFrame or dicts.
            Columns that were not written are ignored.
        changes: True for a sink of changelogs, whose rows are the live ones.
        every: The number of lines from one crash to the next; 5 tries each fifth line, where a sink is slow.
        spark: A session, for sinks that ask a DataFrame for more than `columns`, `toArrow`, `toPandas`, `collect`,
            `toLocalIterator`, `take`, `count` and `isEmpty`. None: micro-batches are Arrow tables that answer these.
        take_away: A function of the name of a place that removes the rows which the last micro-batch wrote there, as
            restoring a table to an earlier version does. None: of a sink that has a folder, the files are deleted that
            the last micro-batch added.

    Returns:
        The outcome of each law: "holds", or the reason why it does not apply.

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
    trial = SinkTrial(
        make_sink=make_sink,
        read_rows=read_rows,
        changes=changes,
        every=every,
        spark=spark,
        take_away=take_away,
    )
    outcomes: dict[str, str] = {}
    for law, check in _LAWS.items():
        reason_not_tried = check(trial, law)
        outcomes[law] = reason_not_tried or "holds"
    return outcomes


# Each law is a function of a trial and of the law's name, for errors. It raises a `SinkLawError` if the law is broken.
# It returns the reason why the law was not tried; None if the law was tried and holds.


def _all_rows_arrive(trial: SinkTrial, law: str) -> str | None:
    """Write micro-batches one by one, and compare after each; return None, as each sink can be tried so."""
    place = trial.new_place()
    sink = trial.started(place)
    for number in range(6):
        trial.write(sink, number)
        trial.compare(law, sink, place, trial.expected(range(number + 1)), f"micro-batch {number} was written")
    return None


def _a_repetition_changes_nothing(trial: SinkTrial, law: str) -> str | None:
    """Write each micro-batch in two runs of the query, and the last one once more in the second run; return None."""
    place = trial.new_place()
    for number in range(5):
        for is_repeated in (False, True):
            sink = trial.started(place)
            trial.write(sink, number, is_repeated=is_repeated)
        trial.compare(law, sink, place, trial.expected(range(number + 1)), f"micro-batch {number} came again")
    # The sink of the second run, which has just written the last micro-batch, gets it once more.
    trial.write(sink, number, is_repeated=True)
    trial.compare(law, sink, place, trial.expected(range(5)), f"micro-batch {number} came again in the same run")
    return None


def _a_crash_changes_nothing(trial: SinkTrial, law: str) -> str | None:
    """Crash at each line that a sink executes for a micro-batch, and write the micro-batch again.

    Returns None, as each sink can be tried so.
    """
    # First, crash in later micro-batches: at the first line of one micro-batch, at a later line of the next one, and so
    # on, until a sink executes fewer lines than that. Each place gets ten micro-batches. Its first one, and those
    # without rows, are written without a crash.
    lines = count(1, trial.every)
    for number in cycle(range(_BATCHES)):
        if number == 0:
            place = trial.new_place()
            trial.write(trial.started(place), number)
        elif not trial.batch(number).count():
            trial.write(trial.started(place), number)
        elif not _crash_and_repeat(trial, law, place, number, next(lines)):
            break

    # Then in the very first micro-batch of a place.
    lines = count(1, trial.every)
    while _crash_and_repeat(trial, law, trial.new_place(), number=0, line=next(lines)):
        pass
    return None


def _crash_and_repeat(trial: SinkTrial, law: str, place: str, number: int, line: int) -> bool:
    """Crash at the n-th line that a sink executes for a micro-batch, check what is left, and write it again.

    Args:
        trial: The trial.
        law: The name of the law.
        place: The name of the place, which has all earlier micro-batches.
        number: The number of the micro-batch.
        line: The number of the line, from 1.

    Returns:
        False if the sink executes no such line; the micro-batch is then written without a crash.
    """
    sink = trial.make_sink(place)
    where = _crash(trial, sink, number, line)
    if not where:
        return False
    crash = f"a crash in micro-batch {number} at {where}"
    expected_before = trial.expected(range(number))
    expected_after = trial.expected(range(number + 1))
    # Readers see the micro-batch whole or not at all.
    if sink.guarantee == ONCE:
        rows = trial.rows(place)
        if rows not in (expected_before, expected_after):
            surplus = rows - expected_after
            missing = expected_before - rows
            faulty_rows = surplus or missing or rows  # with neither, a part of the micro-batch is visible
            raise SinkLawError(
                sink,
                law,
                f"after {crash} readers see a part of it, or what was not written: {faulty_rows}",
                "make a micro-batch visible as a whole",
            )

    # A new process learns from the sink which micro-batch is the last, and writes this one again.
    sink = trial.started(place)
    last = sink.last_written
    if last is not None and last.number not in (number - 1, number):
        to_do = f"let it be {number - 1}, or {number} once that is whole"
        raise SinkLawError(sink, law, f"after {crash} last_written is {last}", to_do)
    trial.write(sink, number, is_repeated=True)
    trial.compare(law, sink, place, expected_after, f"{crash}, and it came again")
    return True


def _crash(trial: SinkTrial, sink: Sink, number: int, line: int) -> str:
    """Write a micro-batch with a crash at the n-th line; return that line and its function, empty without a crash."""
    with crashing_at(line, sink) as executed_lines:
        try:
            trial.open(sink)
            trial.write(sink, number)
        except Crash:
            return executed_lines[-1]
    return ""


def _last_written_is_last(trial: SinkTrial, law: str) -> str | None:
    """After each micro-batch, ask two sinks for the last one: the sink that wrote it, and the sink of a new run.

    Returns:
        The reason why the law does not apply: a sink says nothing of micro-batches. None if the law holds.
    """
    place = trial.new_place()
    for number in range(-1, 4):  # -1 is the number of the last micro-batch before any was written
        writing_sink = trial.started(place)
        if number >= 0:
            trial.write(writing_sink, number)
        for sink in (writing_sink, trial.started(place)):
            last = sink.last_written
            if last is None:
                reason = "nobody can see whether it is ahead of its checkpoint"
                return f"{sink} does not say which micro-batch it has: {reason}"
            if last.number != number or last.input_id not in ("", f"input {number}"):
                fault = f"after micro-batch {number} last_written is {last}"
                raise SinkLawError(sink, law, fault, "keep both with the rows")
    return None


def _another_query_is_told_apart(trial: SinkTrial, law: str) -> str | None:
    """Write micro-batches of another query to the same place: they are refused, or stand beside the others.

    It returns None, as each sink can be tried so.
    """
    place = trial.new_place()
    for number in range(3):
        trial.write(trial.started(place), number)
    expected = trial.expected(range(3))
    try:
        for number in range(2):
            trial.write(trial.started(place, "other"), number, query=1)
    except (QueryError, StateError) as error:
        trial.compare(law, trial.make_sink(place), place, expected, f"another query was refused: {error}")
        return None
    expected += trial.expected(range(2), query=1)
    event = "another query, with numbers from 0, wrote its rows too"
    trial.compare(law, trial.make_sink(place), place, expected, event)
    return None


def _a_column_may_be_added(trial: SinkTrial, law: str) -> str | None:
    """Try that a sink takes a micro-batch with one more column, or refuses it and keeps its rows.

    Where it takes the micro-batch, the earlier rows have nulls in the new column.

    Returns:
        The refusal of the sink, for the report; None if it takes the column.
    """
    place = trial.new_place()
    for number in range(2):
        trial.write(trial.started(place), number)
    columns = trial.batch(2, has_new_column=True).columns
    try:
        for _ in range(2):  # the second time it is a repetition, and the place has the column already
            trial.write(trial.started(place, columns=columns), 2, has_new_column=True)
    except MuntinError as error:
        expected = trial.expected(range(2))
        trial.compare(law, trial.make_sink(place), place, expected, f"a new column was refused: {error}")
        return f"a new column is refused: {str(error).splitlines()[0]}"
    expected = trial.expected(range(3), with_new_column=(2,))
    event = "a micro-batch with a new column came"
    trial.compare(law, trial.make_sink(place), place, expected, event, has_new_column=True)
    return None


def _removed_rows_are_missed(trial: SinkTrial, law: str) -> str | None:
    """Take away the rows of the last micro-batch: the sink refuses to go on, or has them written again.

    Returns:
        The reason why the law was not tried, or does not apply; None if it holds.
    """
    place = trial.new_place()
    last_number = 2
    for number in range(last_number):
        trial.write(trial.started(place), number)
    folder = trial.started(place).folder
    files_before = _files_in(folder)
    trial.write(trial.started(place), last_number)

    # Take its rows away; without a function for this, by deleting the files that the micro-batch added.
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
        return None  # it refuses to go on, as the law asks
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
    # A query that finds the sink behind its checkpoint writes the missing micro-batches again.
    for number in range(last.number + 1, last_number + 1):
        trial.write(trial.started(place), number)
    expected = trial.expected(range(last_number + 1))
    trial.compare(law, sink, place, expected, "what was taken away was written again")
    return None


def _files_in(folder: Path | None) -> set[Path]:
    """Return the files of rows below a folder; names that begin with "." or "_" are of other files."""
    if folder is None:
        return set()
    return {file for file in folder.rglob("[!._]*") if file.is_file()}


_LAWS: Final[dict[str, Callable[[SinkTrial, str], str | None]]] = {
    "every row arrives": _all_rows_arrive,
    "a micro-batch that comes again changes nothing": _a_repetition_changes_nothing,
    "a crash loses nothing and doubles nothing": _a_crash_changes_nothing,
    "last_written is the last micro-batch": _last_written_is_last,
    "another query's rows are told apart": _another_query_is_told_apart,
    "a new column is taken with its values, or refused": _a_column_may_be_added,
    "what was written is taken away, and it is missed": _removed_rows_are_missed,
}
"""The laws, each with the function that tries it: it raises, or returns why the law does not apply."""
