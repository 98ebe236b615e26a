"""The rows of a story as they come: their numbers, their fates, and the events that they insert and change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.windows import Stretches, WindowKind
from muntin_engine.plan import Plan
from muntin_engine.recording.event_lifetimes import EventLifetimes
from muntin_engine.recording.input_rows import InputRow, read_input_rows, read_mapped_rows, with_numbers
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.story import Fate, StoryRow
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.tasks.row_problems import PROBLEMS
from muntin_engine.time.changes import InputChange, Key
from muntin_engine.wire.shuffle import SIDE, by_side
from muntin_engine.wire.task_payload import InputTask, TaskPayload


class StoryRows:
    """The rows that came so far, and the events that they inserted.

    Attributes:
        all: The rows, each at the place of its number.
        events: The lifetimes of the events that counted.
    """

    def __init__(self, task: TaskPayload) -> None:
        """Begin without rows."""
        self.all: list[StoryRow] = []
        self.events = EventLifetimes()
        self._task = task
        self._insertions = _InsertedRows()
        self._without_number = _RowsWithoutNumber()
        self._changes_of_event: dict[int, list[int]] = defaultdict(list)

    def add_batch(self, batch: RecordedBatch) -> list[RecordedPart]:
        """Add the rows of a micro-batch.

        Returns:
            The rows of each map task, with a column for their numbers.
        """
        parts: list[RecordedPart] = []
        for part in batch.parts:
            numbered: list[pa.RecordBatch] = []
            for rows in part.batches():
                rows_with_numbers = with_numbers(self._task, rows, len(self.all))
                self._add_rows(rows_with_numbers, batch.number)
                numbered.append(rows_with_numbers)
            # A task without rows is kept, as it still reports progress.
            parts.append(part._replace(rows=pa.Table.from_batches(numbered)) if numbered else part)
        return parts

    def set_fate(self, number: int, fate: Fate, reason: str) -> None:
        """Set the fate of a row that did not count, with the reason in a sentence."""
        self.all[number] = replace(self.all[number], fate=fate, reason=reason)

    def filter_ignored(self, first_row: int, read_numbers: Collection[int | None]) -> None:
        """Mark insertions as filtered that were not rejected, and yet did not reach the evaluator.

        The changes of lifetimes have left them out.

        Args:
            first_row: The number of the first row of the micro-batch.
            read_numbers: The numbers of the rows that reached the evaluator.
        """
        for row in self.all[first_row:]:
            is_ignored = row.change == "insert" and row.fate is Fate.COUNTED and row.number not in read_numbers
            if is_ignored:
                reason = "nothing is left of its lifetime after the changes of the query"
                self.set_fate(row.number, Fate.FILTERED, reason)

    def number_of(self, key: Key, change: InputChange) -> int:
        """Find the number of a row that an evaluator rejected and that does not carry its number.

        Among equal rows it is that of the earliest. A number is found only once.

        Args:
            key: The key of the row.
            change: The row, as the evaluator reports it.
        """
        return self._without_number.pop(key, change)

    def count_events(self, first_row: int, changes: Mapping[int, InputChange]) -> None:
        """Apply the rows of a micro-batch to the events; the fates of the rows have to be known.

        Args:
            first_row: The number of the first row of the micro-batch.
            changes: The rows by number, as the evaluator gets them: with lifetimes as the query changes them.
        """
        for number in range(first_row, len(self.all)):
            self._count_row(self.all[number], changes)
            # Changes that came before the row that inserts their event count only now.
            for early_number in self._insertions.changes_before(number):
                self.all[early_number] = replace(self.all[early_number], event=number)
                self._count_row(self.all[early_number], changes)

    def set_awaited_watermarks(self, plan: Plan, numbers_in_results: Collection[int], watermark: int) -> None:
        """Set for each row that is in no result the watermark that would close the first of its windows.

        If windows depend on events, as sessions do, it is the watermark for a window of this event alone.

        Args:
            plan: The plan of the query.
            numbers_in_results: The numbers of the rows that are in a result.
            watermark: The watermark at the end of the recording.
        """
        if plan.join is not None or watermark == INFINITY:  # there are no windows, or all of them are closed
            return
        for number, (start, end) in self.events.items():
            row = self.all[number]
            if number in numbers_in_results or row.fate is not Fate.COUNTED:
                continue
            awaited = _awaited_watermark(plan, start, end, watermark)
            if awaited is not None:
                self.all[number] = replace(row, waits_for=awaited)

    def with_changes(self, events: Iterable[int]) -> list[int]:
        """Return the rows that inserted given events and those that changed them, in the order in which they came.

        Args:
            events: The numbers of the rows that inserted the events.
        """
        numbers = set(events)
        for event in list(numbers):
            numbers.update(self._changes_of_event.get(event, ()))
        return sorted(numbers)

    def since(self, first_row: int, events: Iterable[int]) -> list[int]:
        """Return the rows that inserted or changed given events, in order, without those before a row.

        Args:
            first_row: The number of that row.
            events: The numbers of the rows that inserted the events.
        """
        return [number for number in self.with_changes(events) if number >= first_row]

    def _add_rows(self, batch: pa.RecordBatch, batch_number: int) -> None:
        """Add the rows of a batch, in which the rows of several inputs may be mixed; they are numbered in its order."""
        first_row = len(self.all)
        rows: list[StoryRow] = []
        problems: dict[int, int] = {}
        sides = np.zeros(len(batch), np.int32)
        if len(self._task.inputs) > 1:
            sides = batch.column(SIDE).to_numpy()
        for input_task, side_rows in by_side(self._task, batch):
            numbers = (first_row + np.flatnonzero(sides == input_task.side)).tolist()
            input_rows = list(read_input_rows(input_task, side_rows, batch_number, numbers))
            for input_row in input_rows:
                rows.append(replace(input_row.row, event=self._insertions.event_of(input_row)))
            problems |= self._without_number.add(input_task, side_rows, input_rows)
        self.all += sorted(rows, key=lambda row: row.number)
        for number, problem in problems.items():
            self.set_fate(number, Fate.REJECTED, PROBLEMS[problem].message)

    def _count_row(self, row: StoryRow, changes: Mapping[int, InputChange]) -> None:
        """Apply a row to the event that it inserts or changes, if it counted and is about an event."""
        if row.fate is not Fate.COUNTED or row.event is None:
            return
        if row.event != row.number:
            self._changes_of_event[row.event].append(row.number)

        change = changes.get(row.number)
        if change is None:  # the row does not carry its number: take it as it came
            change = InputChange(id=None, start=row.start or 0, end=row.end, payload=(), new_end=row.new_end)
        end = change.end if change.new_end is None else change.new_end
        is_known = row.event in self.events
        start = self.events.start_of(row.event) if is_known else change.start  # no change moves a start
        self.events.put(row.key or (), row.event, start, INFINITY if end is None else end)


class _InsertedRows:
    """The rows that inserted events, looked up by the ids of the events; a change may come before its event."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._number_by_event: dict[Hashable, int] = {}
        self._waiting_changes: dict[Hashable, list[int]] = defaultdict(list)
        self._changes_before: dict[int, list[int]] = {}

    def event_of(self, input_row: InputRow) -> int | None:
        """Note a row, and return the number of the row that inserted its event, which may be the row itself.

        None if the row is about no event. If the event has not been inserted yet, it is None too, and the row waits for
        the insertion; see `changes_before`.
        """
        row = input_row.row
        if row.change not in ("insert", "revise", "retract"):
            return None
        if input_row.id is None:  # without an id, only an insertion is about an event
            return row.number
        event = (input_row.side, freeze(row.key), freeze(input_row.id), row.start)
        if row.change == "insert":
            self._number_by_event[event] = row.number
            self._changes_before[row.number] = self._waiting_changes.pop(event, [])
        elif event not in self._number_by_event:
            self._waiting_changes[event].append(row.number)
        return self._number_by_event.get(event)

    def changes_before(self, number: int) -> list[int]:
        """Return the rows that changed the event of a row before the row itself came; a second call finds none."""
        return self._changes_before.pop(number, [])


class _RowsWithoutNumber:
    """The numbers of rows that do not carry them, looked up by the values that an evaluator gets of the rows.

    Of equal rows the numbers are found in order.
    """

    def __init__(self) -> None:
        """Begin without rows."""
        self._numbers: dict[Hashable, list[int]] = defaultdict(list)

    def add(self, input_task: InputTask, batch: pa.RecordBatch, input_rows: Sequence[InputRow]) -> dict[int, int]:
        """Add the rows of a batch that do not carry their numbers, unless they have a problem.

        Args:
            input_task: The input.
            batch: The rows of the input.
            input_rows: The same rows, as `read_input_rows` reads them.

        Returns:
            The problems of rows by the numbers of the rows. No evaluator gets these rows.
        """
        places = [place for place, input_row in enumerate(input_rows) if not input_row.carries_number]
        rows_without_number = batch.take(pa.array(places, pa.int64()))
        problems: dict[int, int] = {}
        for place, mapped_rows in zip(places, read_mapped_rows(input_task, rows_without_number), strict=True):
            input_row = input_rows[place]
            number = input_row.row.number
            for problem, start, new_end in mapped_rows:
                if problem is not None:
                    problems[number] = problem
                else:
                    name = _row_name(input_row.side, input_row.row.key or (), input_row.id, start, new_end)
                    self._numbers[name].append(number)
        return problems

    def pop(self, key: Key, change: InputChange) -> int:
        """Return the number of the earliest equal row, and remove it."""
        name = _row_name(change.side, key, change.id, change.start, change.new_end)
        return self._numbers[name].pop(0)


def _row_name(side: int, key: Key, id: Hashable, start: int | None, new_end: int | None) -> Hashable:
    """Return the values by which a row is looked up: an evaluator reports them when it rejects the row."""
    return side, freeze(key), freeze(id), start, new_end


def _awaited_watermark(plan: Plan, start: int, end: int, watermark: int) -> int | None:
    """Return the watermark that closes the first open window of an event; None if none of its windows is open.

    Args:
        plan: The plan of the query.
        start: The start of the event.
        end: The end of the event.
        watermark: The watermark so far.
    """
    kind = plan.window
    if not isinstance(kind, WindowKind):  # row windows and stream operators read events in their order
        return start + 1  # the watermark has to pass the event, so that no earlier one can come
    # The event is a member of the windows that have a tick in `[since, until)`. The first open window of these contains
    # the watermark, if it lies there; otherwise it contains the tick there that is nearest to the watermark.
    since, until = kind.membership(start, end)
    tick = max(since, min(watermark, until - 1))
    windows = kind.cut(Stretches([(since, until)]), tick, tick + 1)
    open_ends = [window.end for window in windows if window.end > watermark]
    if not open_ends:
        return None
    # Where an event may still move the end of a window, the watermark has to pass the end.
    return min(open_ends) + 1 if kind.ends_move else min(open_ends)
