"""The rows of an input as a story shows them, and their numbers as a column of the payload."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin_engine.recording.story import Fate, StoryRow
from muntin_engine.tasks.batch_rows import kinds_of, times_of
from muntin_engine.tasks.bucket_rows import readable_value
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.row_problems import find_problems
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.event_ids import in_utc, stand_ins
from muntin_engine.wire.python_values import values_in
from muntin_engine.wire.shuffle import shared_name
from muntin_engine.wire.task_payload import InputTask, TaskPayload
from muntin_engine.wire.times import as_ticks
from muntin_engine.wire.value_flags import unreadable

_CHANGES_OF_A_KEY: Final = frozenset({"insert", "revise", "retract", "punctuate_key"})
"""The changes of rows that are of a single key."""


class InputRow(NamedTuple):
    """A row as it came.

    Attributes:
        row: The row as the story shows it. It does not say yet which event it changes.
        side: The place of the row's input.
        id: The id of the row's event, in the form in which evaluators look it up; see `stand_ins`.
        carries_number: True if the payload of the row has the row's number.
    """

    row: StoryRow
    side: int
    id: Hashable
    carries_number: bool


class _RecordedValues(NamedTuple):
    """The values of a row as they were recorded. Those that are not listed here are as in `StoryRow`.

    Attributes:
        payload: The values of the columns that modules read.
        id: The id of the row's event, in the form in which evaluators look it up; see `stand_ins`.
        passes_filter: True if the row meets the conditions of the query.
        carried_number: The number in the payload; None if the row carries none.
    """

    number: int
    key: tuple[Any, ...]
    payload: tuple[Any, ...]
    change: str | None
    id: Hashable
    source: str | None
    passes_filter: bool
    carried_number: int | None
    start: int | None
    end: int | None
    new_end: int | None


def readable_values(column: pa.Array) -> list[Any]:
    """Return a column as Python values. A value that Python has none for is text, as in the side output."""
    if unreadable(column).any():
        return list(map(readable_value, column))
    return values_in(column)


def number_column(input_task: InputTask) -> str:
    """Return the name of the column of an input that holds the numbers of rows: the last of its payload."""
    return f"i{len(input_task.plan_input.columns.payload) - 1}"


def with_numbers(task: TaskPayload, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    """Add the number of each row to a batch, as one more column of the payload.

    If the input keeps filtered events, only insertions get numbers: with a number other rows would have a payload, too,
    to which the filter would apply.

    Args:
        task: The query.
        batch: The projected rows.
        first_row: The number of the first row; the others are numbered on from there.
    """
    numbers = pa.array(range(first_row, first_row + len(batch)), pa.int64())
    for input_task in task.inputs:
        name = number_column(input_task)
        if len(task.inputs) > 1:
            name = shared_name(input_task.side, name)
        column: pa.Array = numbers
        if input_task.plan_input.keeps_filtered and "change" in batch.schema.names:
            is_insertion = pc.equal(batch.column("change"), "insert")
            column = pc.if_else(is_insertion, numbers, None)
        batch = batch.append_column(name, column)
    return batch


def read_input_rows(
    input_task: InputTask, batch: pa.RecordBatch, batch_number: int, numbers: Sequence[int]
) -> Iterator[InputRow]:
    """Yield the rows of an input as a story shows them.

    Args:
        input_task: The input.
        batch: The rows of the input, with the column of numbers.
        batch_number: The number of the micro-batch.
        numbers: The numbers of the rows.
    """
    columns = _BatchColumns(batch)
    read_columns = input_task.plan_input.columns.payload[:-1]  # the last one has the numbers
    read_names = [column.name for column in read_columns]
    payload_names = input_task.payload_names[: len(read_columns)]
    rows = zip(  # in the order of the fields of `_RecordedValues`
        numbers,
        columns.tuples(input_task.key_names),
        columns.tuples(payload_names),
        columns.values("change", default="insert"),
        columns.ids(),
        columns.values("source"),
        columns.values("kept", default=True),
        columns.values(number_column(input_task)),
        columns.ticks("start"),
        columns.ticks("end"),
        columns.ticks("new_end"),
        strict=True,
    )
    for values in map(_RecordedValues._make, rows):
        change = values.change or "insert"
        row = StoryRow(
            number=values.number,
            batch=batch_number,
            key=values.key if change in _CHANGES_OF_A_KEY else None,
            change=change,
            input=input_task.plan_input.name,
            source=values.source,
            start=values.start,
            end=values.end,
            new_end=values.start if change == "retract" else values.new_end,  # a retracted event ends at its start
        )
        if change == "insert":  # other rows have no payload, or only repeat that of their event
            payload = dict(zip(read_names, values.payload, strict=True))
            row = replace(row, end=_end_of_event(input_task, values.start, values.end), values=payload)
            if not values.passes_filter:
                row = replace(row, fate=Fate.FILTERED, reason=_why_filtered(input_task))
        yield InputRow(row, input_task.side, values.id, carries_number=values.carried_number is not None)


class MappedRow(NamedTuple):
    """What a map task makes of a row.

    Attributes:
        problem: The number of the row's problem among `PROBLEMS`; None if it has none, so that an evaluator gets it.
        start: The start of its event, as the query changes it.
        new_end: The new end of its event, as the query changes it.
    """

    problem: int | None
    start: int | None
    new_end: int | None


def read_mapped_rows(input_task: InputTask, batch: pa.RecordBatch) -> Iterator[list[MappedRow]]:
    """Yield for each row of an input what a map task makes of it: a row, or two or none where lifetimes are changed.

    Cost: a few vectorised passes. If the query changes lifetimes, each row costs as much as a batch in a map task: it
    is read as a batch of its own.
    """
    if not input_task.plan_input.changes_lifetimes:
        kind = kinds_of(input_task, batch)
        times = times_of(input_task, batch, kind)
        problems = find_problems(input_task, batch, kind, times)
        for values in zip(problems.to_pylist(), times.start.to_pylist(), times.new_end.to_pylist(), strict=True):
            yield [MappedRow(*values)]
        return
    for place in range(len(batch)):
        rows = read_rows(input_task, batch.slice(place, 1)).rows
        yield [MappedRow(**values) for values in rows.select(MappedRow._fields).to_pylist()]


class _BatchColumns:
    """The columns of a batch as Python values; a column that the batch lacks has the same value in each row."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Take the batch."""
        self._batch = batch
        self._names = frozenset(batch.schema.names)

    def values(self, name: str, *, default: Any = None) -> list[Any]:
        """Return the values of a column, as `readable_values` does, or the default if the batch has no such column."""
        if name not in self._names:
            return [default] * len(self._batch)
        return readable_values(self._batch.column(name))

    def tuples(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the values of several columns row by row; empty tuples if there are no columns."""
        if not names:
            return [()] * len(self._batch)
        return list(zip(*map(self.values, names), strict=True))

    def ticks(self, name: str) -> list[int | None]:
        """Return the times of a column as ticks, or None for each row if the batch has no such column."""
        if name not in self._names:
            return [None] * len(self._batch)
        ticks: list[int | None] = as_ticks(self._batch.column(name)).to_pylist()
        return ticks

    def ids(self) -> list[Hashable]:
        """Return the ids of events in the form in which evaluators look them up, and report rejected rows.

        An id that Python cannot read is None: no event has it, as its row is rejected.
        """
        if "id" not in self._names:
            return [None] * len(self._batch)
        ids = self._batch.column("id")
        ids = ids.cast(in_utc(ids.type))
        is_unreadable = unreadable(ids)
        if is_unreadable.any():
            ids = pc.if_else(arrow_array(is_unreadable), pa.nulls(1, ids.type)[0], ids)
        return list(stand_ins(ids))


def _end_of_event(input_task: InputTask, start: int | None, end: int | None) -> int | None:
    """Return the end of an event that is inserted; None if it is not known, as its row does not say it.

    Args:
        input_task: The input.
        start: The start of the event; None if it cannot be read.
        end: The end in the columns of the row; None if they have none.
    """
    lifetimes = input_task.plan_input.incoming_lifetimes
    if lifetimes == "point":
        return None if start is None else start + 1
    if lifetimes == "edge":  # the event lasts until the next one of its key
        return end
    return INFINITY if end is None else end


def _why_filtered(input_task: InputTask) -> str:
    """Return the reason for which the conditions of the query leave a row out, in words."""
    conditions = " and ".join(condition.name for condition in input_task.plan_input.columns.conditions)
    return f"it does not meet {conditions}"
