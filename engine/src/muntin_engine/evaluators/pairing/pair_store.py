"""The kept events of both sides of a join in one bucket, as arrays, and as entries of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY
from muntin.axis import AnyAxis
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, ArrayStore, BatchOutcome
from muntin_engine.evaluators.arrays.coding import expanded
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.key_table import keys_in
from muntin_engine.evaluators.arrays.late_rows import LateRows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.stretch_table import EMPTY, ROWS, Part, StretchTable, concat
from muntin_engine.evaluators.keyed.output_tables import in_pieces
from muntin_engine.plan.join_plan import Condition
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells, HeldState
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket, payload_of
from muntin_engine.time.changes import Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.python_values import tuples_of, values_in
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import extents

MOST_CANDIDATES: Final = 4_000_000
"""At most so many candidates are looked at in one step, unless one row alone has more."""


def longest(starts: IntArray, ends: IntArray) -> int:
    """Return the longest of some lifetimes; `INFINITY` if one has no end."""
    if not len(ends) or ends.max() == INFINITY:
        return INFINITY if len(ends) else 0
    return int((ends - starts).max())


class Pairs(NamedTuple):
    """Pairs of rows that overlap.

    Attributes:
        probes: The place of each pair's row among those that were asked about.
        found: The place of its kept row.
    """

    probes: IntArray
    found: IntArray


class KeptRows:
    """Events of one side.

    Cost: adding rows sorts them, and copies the numbers of all that are kept. A search costs the logarithm of a key's
    events for each row, and a step for each event of the key that starts before the row ends and less than the longest
    lifetime before it starts.

    Attributes:
        rows: The events, from start to end, in the order of keys and starts.
    """

    def __init__(self) -> None:
        self.rows = EMPTY
        self._longest = 0

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: StretchTable) -> None:
        """Keep more events."""
        rows = rows.take(np.lexsort((rows.low, rows.keys)))
        at = self._between(rows.keys, np.minimum(rows.low, INFINITY - 1) + 1)[0]
        order = np.insert(np.arange(len(self)), at, len(self) + np.arange(len(rows)))
        self.rows = concat([self.rows, rows]).take(order)
        self._longest = max(self._longest, longest(rows.low, rows.high))

    def overlapping(self, rows: StretchTable) -> Iterator[Pairs]:
        """Yield the pairs of rows and kept events of the same key whose lifetimes overlap."""
        if not len(rows) or not len(self):
            return
        stops, lows, _ = self._between(rows.keys, rows.high)
        firsts = lows
        if self._longest < INFINITY:
            since = np.where(rows.low < EARLIEST + self._longest, EARLIEST, rows.low - self._longest)
            firsts = self._between(rows.keys, since + 1)[0]
        counts = np.maximum(stops - firsts, 0)
        totals, begin = np.cumsum(counts), 0
        while begin < len(rows):
            done = totals[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(totals, done + MOST_CANDIDATES, "right")))
            probes, within = expanded(counts[begin:end])
            probes += begin
            found = firsts[probes] + within
            is_pair = self.rows.high[found] > rows.low[probes]
            if is_pair.any():
                yield Pairs(probes[is_pair], found[is_pair])
            begin = end

    def forget(self, until: int) -> None:
        """Drop the events that end at a tick or before."""
        before, self.rows = len(self), self.rows.where(self.rows.high > until)
        if len(self) < before:
            self._longest = longest(self.rows.low, self.rows.high)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code, in the same order."""
        self.rows = self.rows.with_keys(places[self.rows.keys])

    def _between(self, codes: IntArray, ticks: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return for each key the first place whose start is at a tick or later, and where its events begin and end."""
        lows, highs = (np.searchsorted(self.rows.keys, codes, side) for side in ("left", "right"))
        low, high = lows, highs
        while (low < high).any():
            middle = (low + high) // 2
            is_before = (low < high) & (self.rows.low[np.minimum(middle, len(self) - 1)] < ticks)
            low, high = np.where(is_before, middle + 1, low), np.where(is_before | (low >= high), high, middle)
        return low, lows, highs


SIDES: Final = (Part(0, "rows"), Part(1, "rows"))
"""The parts of pairs: the columns of the left events, and of the right ones."""


class PairStore(ArrayStore):
    """The events of one bucket, from start to end, of each side those that the other one's may still overlap.

    Cost: a batch writes its own events, and searches the others; see `KeptRows`.
    """

    def __init__(self, condition: Condition | None = None, late: LateRows | None = None) -> None:
        """Keep nothing.

        Args:
            condition: What pairs meet, if they must.
            late: Makes late rows, if these are wanted.
        """
        self._condition = condition
        self._entries = FormEntries((), late=late)
        self._sides = (KeptRows(), KeptRows())

    def __len__(self) -> int:
        return sum(map(len, self._sides))

    def restore(self, entries: Sequence[StoredEntry], cells: Cells, at: InputsProgress) -> None:
        """Take the events of a log, without what the watermarks of the two sides have passed."""
        del cells
        for side, rows in self._by_side(entries):
            self._sides[side].add(rows)
        self._forget(watermarks_of(at))

    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Return the pairs that the rows of a batch make, with each other and with kept events."""
        self._entries.keys.forget_others(self)
        arrived = self._entries.take_in(blobs)
        sides: list[list[StretchTable]] = [[], []]
        for decoded in arrived:
            (mark,) = decoded.packed
            sides[mark[0]].append(decoded.batch)
        added, pairs, rows = list[tuple[int, StretchTable]](), list[Closed](), sum(len(some.batch) for some in arrived)
        late: list[tuple[Key, Rejection]] = []
        # the right events meet the old left ones, then the left events meet all: each pair comes once
        for side in (1, 0):
            if sides[side]:
                every, watermark = concat(sides[side]), before.inputs[side].watermark
                legal = self._entries.in_time(every.where(every.low >= watermark))
                late += self._entries.late(every.where(every.low < watermark), watermark, side)
                pairs += self._met(side, legal)
                self._sides[side].add(legal)
                added.append((side, legal))
        until = watermarks_of(now)
        self._forget(until)
        least = min(until)
        first_live = least + 1 if EARLIEST < least < INFINITY else EARLIEST
        state.log.forget(first_live)
        state.log.append(self._written(added, until))
        state.log.tidy(self, self._entries.size_of(len(self)), partial(self._whole, until), first_live)
        accepted = sum(len(legal) for _, legal in added)
        keys = self._entries.keys.count([some.codes for some in arrived])
        return BatchOutcome(pairs, accepted, keys, rows - accepted - len(late), late)

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say as one for each side, without events that end before a tick."""
        return self._written(self._by_side(entries), (first_live - 1, first_live - 1))

    @property
    def held(self) -> HeldState:
        """The number of events that are kept."""
        return HeldState(events=len(self))

    @property
    def memory(self) -> int:
        """About how many bytes they take."""
        return sum(kept.rows.nbytes for kept in self._sides) + self._entries.keys.nbytes

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return np.union1d(*(kept.rows.keys for kept in self._sides))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        for kept in self._sides:
            kept.renumber(places)

    def kept(self) -> Iterator[tuple[int, StretchTable, list[Key]]]:
        """Yield each side of which events are kept, these, and the key of each."""
        for side, kept in enumerate(self._sides):
            if len(kept):
                yield side, kept.rows, keys_in(self._entries.keys.take(kept.rows.keys))

    def _by_side(self, entries: Iterable[StoredEntry]) -> list[tuple[int, StretchTable]]:
        """Return the events of entries, those of each side as one."""
        sides: list[list[StretchTable]] = [[], []]
        for entry in entries:
            found = self._entries.decoded(entry)
            sides[found.packed[0][0]].append(found.batch)
        return [(side, concat(rows)) for side, rows in enumerate(sides) if rows]

    def _met(self, side: int, rows: StretchTable) -> Iterator[Closed]:
        """Yield the pairs of new rows of a side with the kept events of the other one."""
        kept = self._sides[1 - side].rows
        for probes, found in self._sides[1 - side].overlapping(rows):
            own, other = rows.take(probes), kept.take(found)
            low, high = np.maximum(own.low, other.low), np.minimum(own.high, other.high)
            parts = dict(
                zip(SIDES, (part.parts[ROWS] for part in ((other, own) if side else (own, other))), strict=True)
            )
            pairs = StretchTable(own.keys, low, high, own.weight, parts)
            if self._condition is not None:
                payloads = [tuples_of(parts[part].table, parts[part].table.column_names) for part in SIDES]
                pairs = pairs.where(np.fromiter(map(self._condition, *payloads), np.bool_, len(pairs)))
            yield Closed(0, pairs, self._entries.keys.take(pairs.keys))

    def _written(self, sides: Iterable[tuple[int, StretchTable]], watermarks: Sequence[int]) -> list[Entry]:
        """Return events as entries, without those that the watermark of the other side has passed."""
        alive = ((side, rows.where(rows.high > watermarks[1 - side])) for side, rows in sides)
        return [entry for side, rows in alive for entry in self._entries.write(rows, [bytes([side])])]

    def _whole(self, watermarks: Sequence[int]) -> list[Entry]:
        return self._written(((side, kept.rows) for side, kept in enumerate(self._sides)), watermarks)

    def _forget(self, watermarks: Sequence[int]) -> None:
        """Drop the events of each side that end where the watermark of the other one is, or before."""
        for side, kept in enumerate(self._sides):
            kept.forget(watermarks[1 - side])


def watermarks_of(progress: InputsProgress) -> tuple[int, ...]:
    """Return the watermark of each input."""
    return tuple(some.watermark for some in progress.inputs)


def pair_query(condition: Condition | None = None, late_on: AnyAxis | None = None) -> ArrayQuery:
    """Return a join as its buckets see it: no later pair starts before the least watermark of both inputs.

    Args:
        condition: What pairs meet, if they must.
        late_on: What ticks measure, if late rows are wanted.
    """
    late = None if late_on is None else LateRows(late_on, values_in)
    return ArrayQuery(
        partial(PairStore, condition, late), watermarks_of, lambda result: result.now.least.watermark, pair_tables
    )


def pair_tables(task: TaskPayload, pairs: Closed) -> Iterator[pa.Table]:
    """Yield pairs as tables of the query's result schema; the end of one that never ends is null."""
    join, (_, windows, keys, *_) = task.plan.join, pairs
    assert join is not None, "the planner gives it joins alone"
    sides = [windows.parts[part].table for part in SIDES]
    columns = [keys.column(name) for name in task.key_names]
    columns.append(extents(task, windows.low, pa.array(windows.high, mask=windows.high == INFINITY)))
    columns += [sides[column.side].column(column.place) for column in join.columns]
    yield from in_pieces(pa.table(columns, schema=task.results))


def rows_of_pairs(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the events that a bucket of a checkpoint holds of both inputs."""
    entries = [part.entry._replace(schema_version=None) for part in stored.parts]
    store = PairStore()
    store.restore(entries, stored.cells, InputsProgress.from_data(stored.tracked))
    for side, rows, keys in store.kept():
        (name, given), table = stored.inputs[side], rows.parts[ROWS].table
        columns = (keys, rows.low.tolist(), rows.high.tolist(), tuples_of(table, table.column_names))
        for key, start, end, payload in zip(*columns, strict=True):
            yield HeldRow("event", key, start, end, payload_of(given, payload), events=1, input=name)
