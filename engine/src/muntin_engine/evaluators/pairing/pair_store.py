"""The kept events of both sides of a join in one bucket, as arrays, and as entries of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, ArrayStore, BatchOutcome
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.stretch_table import ROWS, Part, StretchTable, concat
from muntin_engine.evaluators.keyed.result_tables import in_pieces
from muntin_engine.evaluators.pairing.kept_rows import KeptRows
from muntin_engine.exchange.intake import tuples_of
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.times import extents
from muntin_engine.plan.join_plan import Condition
from muntin_engine.progress import InputsProgress
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells, HeldState
from muntin_engine.state.log import Entry, StoredEntry

SIDES: Final = (Part(0, "rows"), Part(1, "rows"))
"""The parts of pairs: the columns of the left events, and of the right ones."""


class PairStore(ArrayStore):
    """The events of one bucket, from start to end, of each side those that the other one's may still overlap.

    Cost: a batch writes its own events, and searches the others; see `KeptRows`.
    """

    def __init__(self, condition: Condition | None = None) -> None:
        """Keep nothing; pairs meet a condition, if there is one."""
        self._condition = condition
        self._entries = FormEntries(())
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
        arrived = [self._entries.arrived(blob) for blob in blobs]
        sides: list[list[StretchTable]] = [[], []]
        for decoded in arrived:
            (mark,) = decoded.packed
            sides[mark[0]].append(decoded.batch)
        added, pairs, rows = list[tuple[int, StretchTable]](), list[Closed](), sum(len(some.batch) for some in arrived)
        # the right events meet the old left ones, then the left events meet all: each pair comes once
        for side in (1, 0):
            if sides[side]:
                every = concat(sides[side])
                legal = every.where(every.low >= before.inputs[side].watermark)
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
        return BatchOutcome(pairs, accepted, keys, rows - accepted)

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
        return sum(kept.rows.nbytes for kept in self._sides)

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return np.union1d(*(kept.rows.keys for kept in self._sides))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        for kept in self._sides:
            kept.renumber(places)

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


def pair_query(condition: Condition | None = None) -> ArrayQuery:
    """Return a join as its buckets see it: no later pair starts before the least watermark of both inputs."""
    return ArrayQuery(
        partial(PairStore, condition), watermarks_of, lambda result: result.now.least.watermark, pair_tables
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
