"""The rows of a story as they come: their numbers, their fates, and the events that they bring and change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.windows import Stretches, WindowKind
from muntin_engine.plan import Plan
from muntin_engine.recording.event_lifetimes import EventLifetimes
from muntin_engine.recording.input_rows import InputRow, read_input_rows, with_numbers
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.story import Fate, StoryRow
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.time.changes import InputChange, Key
from muntin_engine.wire.shuffle import SIDE, by_side
from muntin_engine.wire.task_payload import TaskPayload


class StoryRows:
    """The rows that came so far, and the events that they brought.

    Attributes:
        all: The rows, each at the place of its number.
        events: The lifetimes of the events that counted.
    """

    def __init__(self, task: TaskPayload) -> None:
        self.all: list[StoryRow] = []
        self.events = EventLifetimes()
        self._task = task
        self._insertions = _InsertedRows()
        self._without_number = _RowsWithoutNumber()
        self._changes_of_event: dict[int, list[int]] = defaultdict(list)

    def add_batch(self, batch: RecordedBatch) -> list[RecordedPart]:
        """Add the rows of a micro-batch; return its parts with the numbers of their rows."""
        parts: list[RecordedPart] = []
        for part in batch.parts:
            numbered: list[pa.RecordBatch] = []
            for rows in part.batches():
                rows_with_numbers = with_numbers(self._task, rows, len(self.all))
                self._add_rows(rows_with_numbers, batch.number)
                numbered.append(rows_with_numbers)
            # A part of which no row is left still reports progress.
            parts.append(part._replace(rows=pa.Table.from_batches(numbered)) if numbered else part)
        return parts

    def set_fate(self, number: int, fate: Fate, reason: str) -> None:
        """Say why a row did not count."""
        self.all[number] = replace(self.all[number], fate=fate, reason=reason)

    def filter_ignored(self, first: int, read_numbers: Collection[int | None]) -> None:
        """Mark the insertions from a number on that the query neither read nor rejected as filtered.

        Args:
            first: The number of the first row of the micro-batch.
            read_numbers: The numbers of the rows that reached the evaluator.
        """
        for row in self.all[first:]:
            is_ignored = row.change == "insert" and row.fate is Fate.COUNTED and row.number not in read_numbers
            if is_ignored:
                reason = "nothing is left of its lifetime after the changes of the query"
                self.set_fate(row.number, Fate.FILTERED, reason)

    def number_of(self, key: Key, change: InputChange) -> int:
        """Find the number of a rejected row that does not carry its number; of equal rows, the earliest."""
        return self._without_number.take(key, change)

    def count_events(self, first: int, changes: Mapping[int, InputChange]) -> None:
        """Apply the rows from a number on to the events; their fates have to be known.

        Args:
            first: The number of the first row of the micro-batch.
            changes: The rows as the query sees them, with changed lifetimes, by number.
        """
        for number in range(first, len(self.all)):
            self._count_row(self.all[number], changes)
            # Changes that came before their event count now that there is one.
            for early_number in self._insertions.changes_before(number):
                self.all[early_number] = replace(self.all[early_number], event=number)
                self._count_row(self.all[early_number], changes)

    def set_awaited_watermarks(self, plan: Plan, numbers_in_results: Collection[int], watermark: int) -> None:
        """Say of the rows that are in no result which watermark would close the first of their windows.

        Of windows that other events cut, it is the one that a window of this event alone would wait for.

        Args:
            plan: The plan of the query.
            numbers_in_results: The rows that are in a result.
            watermark: The watermark at the end of the recording.
        """
        if plan.join is not None or watermark == INFINITY:
            return
        for number, (start, end) in self.events.items():
            row = self.all[number]
            if number in numbers_in_results or row.fate is not Fate.COUNTED:
                continue
            awaited = _awaited_watermark(plan, start, end, watermark)
            if awaited is not None:
                self.all[number] = replace(row, waits_for=awaited)

    def with_changes(self, events: Iterable[int]) -> list[int]:
        """Return rows of events with the rows that changed these events, in the order in which they came."""
        numbers = set(events)
        for event in list(numbers):
            numbers.update(self._changes_of_event.get(event, ()))
        return sorted(numbers)

    def since(self, first: int, events: Iterable[int]) -> list[int]:
        """Return rows of events from a number on, and later changes of these events from that number on."""
        return [number for number in self.with_changes(events) if number >= first]

    def _add_rows(self, batch: pa.RecordBatch, batch_number: int) -> None:
        """Add the rows of a batch, which are read input by input and numbered in the order of the batch."""
        first = len(self.all)
        rows: list[StoryRow] = []
        sides = batch.column(SIDE).to_numpy() if len(self._task.inputs) > 1 else np.zeros(len(batch), np.int32)
        for input_task, side_rows in by_side(self._task, batch):
            numbers = (first + np.flatnonzero(sides == input_task.side)).tolist()
            for input_row in read_input_rows(input_task, side_rows, batch_number, numbers):
                if not input_row.carries_number:
                    self._without_number.add(input_row)
                rows.append(replace(input_row.row, event=self._insertions.event_of(input_row)))
        self.all += sorted(rows, key=lambda row: row.number)

    def _count_row(self, row: StoryRow, changes: Mapping[int, InputChange]) -> None:
        """Apply a row to the event that it brings or changes; a row that did not count, or is of no event, to none."""
        if row.fate is not Fate.COUNTED or row.event is None:
            return
        if row.event != row.number:
            self._changes_of_event[row.event].append(row.number)

        change = changes.get(row.number)
        if change is None:
            change = InputChange(None, row.start or 0, row.end, (), row.new_end)
        end = change.end if change.new_end is None else change.new_end
        is_known = row.event in self.events
        start = self.events.start_of(row.event) if is_known else change.start  # a change moves the end alone
        self.events.put(row.key or (), row.event, start, INFINITY if end is None else end)


class _InsertedRows:
    """The rows that brought events, by which later rows name them; a change may come before its event."""

    def __init__(self) -> None:
        self._number_by_event: dict[Hashable, int] = {}
        self._waiting_changes: dict[Hashable, list[int]] = defaultdict(list)
        self._changes_before: dict[int, list[int]] = {}

    def event_of(self, input_row: InputRow) -> int | None:
        """Return the number of the row that brought the event of a row; None if no row did so far."""
        row = input_row.row
        if row.change not in ("insert", "revise", "retract"):
            return None
        if input_row.id is None:
            return row.number
        event = (input_row.side, freeze(row.key), freeze(input_row.id), row.start)
        if row.change == "insert":
            self._number_by_event[event] = row.number
            self._changes_before[row.number] = self._waiting_changes.pop(event, [])
        elif event not in self._number_by_event:
            self._waiting_changes[event].append(row.number)
        return self._number_by_event.get(event)

    def changes_before(self, number: int) -> list[int]:
        """Hand over the rows that changed the event of a row before it came; they are handed over once."""
        return self._changes_before.pop(number, [])


class _RowsWithoutNumber:
    """The numbers of rows that do not carry them, found by what the rows say; equal rows in their order."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, list[int]] = defaultdict(list)

    def add(self, input_row: InputRow) -> None:
        self._numbers[_row_name(input_row.row.key or (), input_row.as_change())].append(input_row.row.number)

    def take(self, key: Key, change: InputChange) -> int:
        return self._numbers[_row_name(key, change)].pop(0)


def _row_name(key: Key, change: InputChange) -> Hashable:
    """Return all that an evaluator still knows of a row that it rejects, by which the row is found again."""
    return change.side, freeze(key), freeze(change.id), change.start, change.new_end


def _awaited_watermark(plan: Plan, start: int, end: int, watermark: int) -> int | None:
    """Return the watermark that closes the first open window of an event; None if none is open."""
    kind = plan.window
    if not isinstance(kind, WindowKind):  # row windows and stream operators read events in their order
        return start + 1
    first, last = kind.membership(start, end)
    tick = max(first, min(watermark, last - 1))
    windows = kind.cut(Stretches([(first, last)]), tick, tick + 1)
    open_ends = [window.end for window in windows if window.end > watermark]
    return min(open_ends) + kind.ends_move if open_ends else None
