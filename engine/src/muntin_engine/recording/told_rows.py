"""The rows of a recording as they come: their numbers, what became of them, and the events that they made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin.windows import Stretches, WindowKind
from muntin_engine.plan import Plan
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.story import Fate, StoryRow
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.time.changes import InputChange, Key
from muntin_engine.wire.event_ids import in_utc, stand_ins
from muntin_engine.wire.python_values import tuples_of
from muntin_engine.wire.shuffle import SIDE, by_side, shared_name
from muntin_engine.wire.task_payload import InputTask, TaskPayload
from muntin_engine.wire.times import as_ticks

_OF_A_KEY: Final = frozenset({"insert", "revise", "retract", "punctuate_key"})


class ToldRows:
    """The rows that came, and the events that they made.

    Attributes:
        all: The rows, by their numbers.
    """

    def __init__(self, task: TaskPayload) -> None:
        self.all: list[StoryRow] = []
        self._task = task
        self._inserted: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, list[int]] = defaultdict(list)
        self._early: dict[int, list[int]] = defaultdict(list)
        self._unnumbered: dict[Hashable, list[int]] = defaultdict(list)
        self._changed: dict[int, list[int]] = defaultdict(list)
        self._events: dict[int, tuple[int, int]] = {}
        self._of_key: dict[Hashable, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))

    def take(self, batch: RecordedBatch) -> list[RecordedPart]:
        """Take the rows of a micro-batch; return them with their numbers."""
        parts: list[RecordedPart] = []
        for part in batch.parts:
            numbered = []
            for some in part.batches():
                first, is_alone = len(self.all), len(self._task.inputs) == 1
                numbered.append(self._numbered(some, first))
                sides = np.zeros(len(some), np.int32) if is_alone else some.column(SIDE).to_numpy()
                found = [
                    row
                    for given, own in by_side(self._task, numbered[-1])
                    for row in self._rows(
                        given, own, batch.number, (first + np.flatnonzero(sides == given.side)).tolist()
                    )
                ]
                self.all += sorted(found, key=lambda row: row.number)
            # one of which no row is left still has the progress that it told
            parts.append(part._replace(rows=pa.Table.from_batches(numbered)) if numbered else part)
        return parts

    def refuse(self, number: int, fate: Fate, reason: str) -> None:
        """Say that a row did not count."""
        self.all[number] = replace(self.all[number], fate=fate, reason=reason)

    def leave_out(self, first: int, taken: Collection[int | None]) -> None:
        """Say that the insertions from one on that nobody took, and that nothing is said of, have no lifetime."""
        for row in self.all[first:]:
            if row.change == "insert" and row.fate is Fate.COUNTED and row.number not in taken:
                self.refuse(row.number, Fate.FILTERED, "nothing is left of its lifetime after the changes of the query")

    def unnumbered(self, key: Key, change: InputChange) -> int:
        """Return the number of a row that does not carry it."""
        return self._unnumbered[_named(key, change)].pop(0)

    def count(self, first: int, lifetimes: Mapping[int, InputChange]) -> None:
        """Take the rows from one on, whose fates are known, into the events, with lifetimes as the query sees them."""
        for number in range(first, len(self.all)):
            self._count(self.all[number], lifetimes)
            for early in self._early.pop(number, ()):  # rows that changed the event before it came
                self.all[early] = replace(self.all[early], event=number)
                self._count(self.all[early], lifetimes)

    def _count(self, row: StoryRow, lifetimes: Mapping[int, InputChange]) -> None:
        if row.fate is not Fate.COUNTED or row.event is None:
            return
        if row.event != row.number:
            self._changed[row.event].append(row.number)
        seen, before = lifetimes.get(row.number), self._events.pop(row.event, None)
        if seen is None:
            seen = InputChange(None, row.start or 0, row.end, (), row.new_end)
        start = seen.start if before is None else before[0]
        end = seen.end if seen.new_end is None else seen.new_end
        own = self._of_key[freeze(row.key)]
        for tick in before or ():
            own[tick].discard(row.event)
        if end is None or end > start:
            self._events[row.event] = start, INFINITY if end is None else end
            for tick in self._events[row.event]:
                own[tick].add(row.event)

    def wait(self, plan: Plan, told: Collection[int], watermark: int) -> None:
        """Say of the rows that are in no result which watermark the first of their windows waits for.

        Of windows that other events cut, it is the one that a window of this event alone would wait for.
        """
        kind = plan.window
        if plan.join is not None or watermark == INFINITY:
            return
        for number, (start, end) in self._events.items():
            if number in told or self.all[number].fate is not Fate.COUNTED:
                continue
            if not isinstance(kind, WindowKind):  # rows and events are followed in their order
                waits_for = start + 1
            else:
                since, until = kind.membership(start, end)
                tick = max(since, min(watermark, until - 1))
                open = [cut.end for cut in kind.cut(Stretches([(since, until)]), tick, tick + 1) if cut.end > watermark]
                if not open:
                    continue
                waits_for = min(open) + kind.ends_move
            self.all[number] = replace(self.all[number], waits_for=waits_for)

    def with_changes(self, numbers: Iterable[int]) -> list[int]:
        """Return rows of events with those that changed these events, in the order in which they came."""
        found = set(numbers)
        return sorted(found.union(*(self._changed[number] for number in found if number in self._changed)))

    def of_batch(self, numbers: Iterable[int], first: int) -> list[int]:
        """Return those rows that came from one on, and the rows from there on that changed the events of others."""
        changed = (row for number in numbers for row in self._changed.get(number, ()))
        return sorted({row for row in (*numbers, *changed) if row >= first})

    def edges(self, key: Key, members: Collection[int], *ticks: int) -> set[int]:
        """Return the rows of the events of a key that begin or end at a tick where no member does; none is a member."""
        own, found = self._of_key[freeze(key)], set[int]()
        for tick in ticks:
            here = own.get(tick, set()) if tick < INFINITY else set()
            found |= here if here.isdisjoint(members) else set()
        return found

    def around(self, key: Key, whole: int, start: int, end: int, *, is_clipped: bool) -> set[int]:
        """Return the rows of the events that begin or end where a part of an event does, and not the event itself.

        Args:
            key: The key.
            whole: The row of the event.
            start: The start of the part.
            end: Its end.
            is_clipped: True if the event ends where another one begins, however long that lasts.
        """
        own, (first, last) = self._of_key[freeze(key)], self._events.get(whole, (EARLIEST, INFINITY))
        before = (
            {number for number in own.get(start, ()) if self._events[number][1] == start} if start > first else set()
        )
        after = {number for number in own.get(end, ()) if self._events[number][0] == end} if end < last else set()
        return after if is_clipped else before | after

    def over(self, key: Key, start: int, end: int) -> set[int]:
        """Return the rows of the events of a key that live in a part of the axis. Cost: a look at each event."""
        there = set().union(*self._of_key[freeze(key)].values())
        return {number for number in there if self._events[number][0] < end and self._events[number][1] > start}

    def _numbered(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """Return a batch with the column of numbers; where a filter looks at payloads, rows of changes have none."""
        numbers = pa.array(range(first, first + len(batch)), pa.int64())
        for given in self._task.inputs:
            name = f"i{len(given.plan_input.columns.payload) - 1}"
            name = name if len(self._task.inputs) == 1 else shared_name(given.side, name)
            own = numbers
            if given.plan_input.keeps_filtered and "change" in batch.schema.names:
                own = pc.if_else(pc.equal(batch.column("change"), "insert"), numbers, None)
            batch = batch.append_column(name, own)
        return batch

    def _rows(self, given: InputTask, part: pa.RecordBatch, batch: int, numbers: Sequence[int]) -> Iterator[StoryRow]:
        """Yield the rows of one input, which have these numbers."""
        columns, names = given.plan_input.columns, part.schema.names
        place, table, lifetimes = len(columns.payload) - 1, pa.table(part), given.plan_input.given_lifetimes

        def values(name: str, otherwise: Any = None) -> list[Any]:
            return part.column(name).to_pylist() if name in names else [otherwise] * len(part)

        def ticks(name: str) -> list[int | None]:
            return as_ticks(part.column(name)).to_pylist() if name in names else [None] * len(part)

        # a rejected row is recognized by its id, of which evaluators know the stand-in
        ids: Iterable[Hashable] = [None] * len(part)
        if "id" in names:
            ids = stand_ins(part.column("id").cast(in_utc(part.column("id").type)))

        read, why = [column.name for column in columns.payload[:place]], _filter_of(given)
        seen = zip(
            *(numbers, tuples_of(table, given.key_names), tuples_of(table, given.payload_names[:place])),
            *(values("change", "insert"), ids, values("source"), values("kept", True), values(f"i{place}")),
            *map(ticks, ("start", "end", "new_end")),
            strict=True,
        )
        for number, key, payload, said, id, source, is_kept, shown, start, end, new_end in seen:
            change = said or "insert"
            row = StoryRow(
                number=number,
                batch=batch,
                key=key if change in _OF_A_KEY else None,
                change=change,
                input=given.plan_input.name,
                source=source,
                start=start,
                end=end,
                new_end=start if change == "retract" else new_end,
            )
            if change == "insert":
                until = INFINITY if end is None and lifetimes != "edge" else end
                if lifetimes == "point":
                    until = None if start is None else start + 1
                fate, reason = (Fate.COUNTED, "") if is_kept else (Fate.FILTERED, why)
                row = replace(row, end=until, values=dict(zip(read, payload, strict=True)), fate=fate, reason=reason)
            if shown is None:
                hidden = InputChange(id, start or 0, row.end, (), row.new_end, source, given.side)
                self._unnumbered[_named(row.key or (), hidden)].append(number)
            yield replace(row, event=self._event(given.side, row, id))

    def _event(self, side: int, row: StoryRow, id: Hashable) -> int | None:
        """Return the number of the row that brought the event of a row."""
        if row.change not in ("insert", "revise", "retract"):
            return None
        if id is None:
            return row.number
        name = side, freeze(row.key), freeze(id), row.start
        if row.change == "insert":
            self._inserted[name] = row.number
            self._early[row.number] += self._waiting.pop(name, [])
        elif name not in self._inserted:
            self._waiting[name].append(row.number)
        return self._inserted.get(name)


def _named(key: Key, change: InputChange) -> Hashable:
    return change.side, freeze(key), freeze(change.id), change.start, change.new_end


def _filter_of(given: InputTask) -> str:
    conditions = " and ".join(condition.name for condition in given.plan_input.columns.conditions)
    return f"it does not meet {conditions}"
