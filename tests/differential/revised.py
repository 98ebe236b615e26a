"""Runs rows of events with ids, legal and illegal ones, through arrays and through the general evaluator."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Axis, ColumnarAggregate, EmitPolicy, TimestampPolicy, Window, snapshot
from muntin.schemas import describe
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket, BucketResult
from muntin_engine.evaluators.arrays.results import EVENT_ID, Closed, form_results
from muntin_engine.evaluators.arrays.stretch_table import ROWS
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.evaluators.revised.store import revised_query
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.exchange.shuffle import to_blob
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from tests.differential.forms import FORMS, INVERTIBLE

READS = describe(int | None, "payload")

SNAPSHOT: Final = snapshot()


class RowBatch(NamedTuple):
    """A micro-batch.

    Attributes:
        rows: Its rows with their keys.
        watermark: The watermark after it.
        is_restarted: True if a new process takes it.
    """

    rows: list[tuple[str | None, InputChange]]
    watermark: int
    is_restarted: bool


@dataclass(frozen=True)
class RevisedCase:
    """Columnar aggregates over windows of events with ids.

    Attributes:
        number: Draws the rows.
        forms: The aggregates.
        ids: The type of ids.
        hostile: How often a row makes no sense, is late, or comes before the one that it follows.
        live: How many events there are about at a time.
        rows: The most rows of a batch.
        is_filtered: True if a filter leaves some of the events out, by a second column of the payload.
        windows: Snapshots, or windows on a grid.
        timestamps: The lifetimes of results.
        emit: The emission of results.
        spread: Where tick 0 of the rows lies, and how many ticks each of theirs is.
    """

    number: int = 0
    forms: str = "several"
    ids: pa.DataType = field(default_factory=pa.int64)
    hostile: float = 0.2
    live: int = 8
    rows: int = 30
    is_filtered: bool = False
    windows: WindowKind = SNAPSHOT
    timestamps: TimestampPolicy = TimestampPolicy.ALIGN
    emit: EmitPolicy = EmitPolicy.FINAL
    spread: tuple[int, int] = (0, 1)

    @property
    def modules(self) -> tuple[ColumnarAggregate[Any, Any], ...]:
        """The aggregates."""
        return (FORMS | INVERTIBLE)[self.forms]

    @cached_property
    def bound(self) -> tuple[BoundForm, ...]:
        return tuple(BoundForm(form, f"{form.name} {form.version}", (0,), (READS,)) for form in self.modules)

    @cached_property
    def query(self) -> EvaluatorQuery:
        """The query as evaluators read it."""
        bindings = tuple(Binding(module, lambda payload: payload[0]) for module in self.modules)
        keeps = itemgetter(1) if self.is_filtered else None
        return EvaluatorQuery(
            axis=Axis.TICKS,
            window=self.windows,
            bindings=bindings,
            timestamps=self.timestamps,
            emit=self.emit,
            keeps=keeps,
        )

    @cached_property
    def batches(self) -> list[RowBatch]:
        """Random rows: most are of events that are there, and fit them; the last batch closes the stream."""
        random = Random(zlib.crc32(repr((self.number, self.forms, str(self.ids), self.hostile, self.live)).encode()))
        draw = _Draw(random, self.hostile, self.live, pa.types.is_string(self.ids))
        count, found, watermark = random.randint(2, 12), list[RowBatch](), 0
        for place in range(count):
            rows = [draw.row(watermark) for _ in range(random.choice((0, 1, 5, self.rows)))]
            random.shuffle(rows)
            if self.is_filtered:
                rows = [(key, _filtered(row, random)) for key, row in rows]
            watermark += random.choice((0, 0, 1, 3, 10))
            at = INFINITY if place == count - 1 else self._moved(watermark)
            rows = [(key, self._spread(row)) for key, row in rows]
            found.append(RowBatch(rows, at, random.random() < 0.5))
        return found

    def _spread(self, row: InputChange) -> InputChange:
        end, new_end = (None if tick is None else self._moved(tick) for tick in (row.end, row.new_end))
        return row._replace(start=self._moved(row.start), end=end, new_end=new_end)

    def _moved(self, tick: int) -> int:
        origin, scale = self.spread
        return tick if tick == INFINITY else origin + tick * scale


def _filtered(row: InputChange, random: Random) -> InputChange:
    """Return a row that says in its payload whether the filter lets its event in; one without a payload does not."""
    (payload,) = row.payload
    is_told = row.new_end is None or payload is not None
    is_in = random.random() < 0.6
    return row._replace(payload=(payload if is_in else None, is_in if is_told else None))


class _Draw:
    """Draws rows, and remembers what events there would be if all of them were taken in their order."""

    def __init__(self, random: Random, hostile: float, live: int, is_text: bool) -> None:
        self._random, self._hostile, self._live, self._is_text = random, hostile, live, is_text
        self._events: dict[tuple[str | None, Any, int], int] = {}

    def row(self, watermark: int) -> tuple[str | None, InputChange]:
        """Return a row and its key."""
        random = self._random
        is_odd = random.random() < self._hostile
        if not self._events or (random.random() < 0.5 and len(self._events) < self._live):
            return self._insertion(watermark - (random.randint(1, 9) if is_odd else 0))
        key, id, start = random.choice(list(self._events))
        end = self._events[key, id, start]
        new_end = random.choice((start, *(max(start, watermark) + random.randint(0, 9) for _ in range(3)), INFINITY))
        expected = None if end == INFINITY or random.random() < 0.5 else end
        payload: object = random.choice((None, None, start % 7, 3))
        if is_odd:
            expected = random.choice((None, start, start - 1, start + random.randint(1, 9)))
            new_end = random.choice((new_end, start - 1, watermark - 1))
            start += random.choice((0, 0, 0, 1))
        else:
            self._events[key, id, start] = new_end
            if new_end == start or random.random() < 0.3:
                del self._events[key, id, start]
        return key, InputChange(id, start, expected, (payload,), new_end)

    def _insertion(self, least: int) -> tuple[str | None, InputChange]:
        random = self._random
        key, number = random.choice(("a", "a", "a", "b", None)), random.randint(0, 5 + self._live // 10)
        id = f"id {number}" if self._is_text else number
        start = least + random.randint(0, 6)
        end = random.choice((INFINITY, start + random.randint(1, 12)))
        self._events[key, id, start] = end
        return key, InputChange(id, start, end, (random.choice((None, start % 7, -4)),))


class RevisedRun:
    """Rows on their way through both evaluators; some batches fail after they were evaluated, and are run again.

    Attributes:
        rejected: The number of rejected rows.
        left_to_count: The number of rows that wait, as they are neither accepted nor rejected nor left out.
        put_out: The number of results.
        retracted: The number of results that were retracted.
    """

    def __init__(self, case: RevisedCase) -> None:
        self.case = case
        self.forms = case.bound
        self.rejected = self.put_out = self.retracted = self.left_to_count = 0
        self._emitted: dict[tuple[Key, int], OutputChange] = {}
        self._used: set[tuple[Key, int]] = set()
        self._random = Random(case.number)
        self._query = revised_query(case.query, case.bound, Codec(), self._results)
        self._cells, self._others = MemoryCells(), MemoryCells()
        self._kept = KeptStores()

    def take(self, batch: RowBatch) -> None:
        """Run a batch, and compare all that is said of it."""
        if batch.is_restarted:
            self._kept = KeptStores()
        starts = [row.start for _, row in batch.rows]
        ends = [end for _, row in batch.rows for end in (row.end, row.new_end) if end is not None and end < INFINITY]
        arrived = Progress(batch.watermark, max([0, *starts, *ends]) + 1, max(starts, default=0))
        if self._random.random() < 0.2:
            before = dict(self._cells.cells)
            self._arrays(batch, arrived)
            self._cells.cells = before
        found, meant = self._arrays(batch, arrived), self._general(batch, arrived)
        outcome = found.outcome
        assert Counter(outcome.rejections) == Counter(meant.rejections)
        is_final = self.case.emit is EmitPolicy.FINAL
        changes = [] if is_final else [change for some in outcome.output for change in self._changes(some)]
        output: Counter[tuple[object, ...]] = Counter(_corrected(key, change) for key, change in changes)
        if is_final:
            output = Counter(row for closed in outcome.output for row in self._rows(closed))
        wanted: Counter[tuple[object, ...]] = Counter(
            _corrected(key, some) for key, changes in meant.output for some in changes
        )
        if is_final:
            wanted = Counter((key[0], some.window, some.value) for key, changes in meant.output for some in changes)
        assert output == wanted, f"missing {wanted - output}\nsurplus {output - wanted}"
        self._follow(changes)
        assert found.held.windows == meant.held.windows
        if not (batch.watermark == INFINITY and self.case.timestamps is TimestampPolicy.POINT_AT_END):
            assert outcome.windows_closed == meant.windows_closed  # of windows without an end there is no point at it
        assert (outcome.accepted, outcome.keys) == (meant.accepted, meant.keys)
        assert (self._query.output_watermark(found), found.now.least) == (meant.watermark, meant.progress)
        assert (found.held.keys, found.held.events) == (meant.held.keys, meant.held.events)
        assert found.held.bytes == sum(map(len, self._cells.cells.values()))
        self.rejected += len(outcome.rejections)
        self.left_to_count += len(batch.rows) - outcome.accepted - len(outcome.rejections)
        if self.case.is_filtered:
            self.left_to_count -= sum(row.new_end is None and not row.payload[1] for _, row in batch.rows)
        self.put_out += sum(output.values())
        if batch.watermark == INFINITY:
            assert list(self._cells.cells) == ["metadata"]
            assert self.left_to_count == 0, "nothing waits any more"

    def _follow(self, changes: Sequence[tuple[Key, OutputChange]]) -> None:
        """Check that each retraction names what was inserted and is live, and that no id is used twice."""
        for key, change in changes:
            name = key, change.id
            if change.kind is OutputKind.INSERT:
                assert name not in self._used
                self._used.add(name)
                self._emitted[name] = change
            else:
                assert self._emitted.pop(name)._replace(kind=OutputKind.RETRACT) == change
                self.retracted += 1

    def _arrays(self, batch: RowBatch, arrived: Progress) -> BucketResult:
        bucket = ArrayBucket(
            self._query, [ProgressTracker()], self._cells, Codec(), Compatibility({}), self._kept, "bucket"
        )
        tasks: list[list[tuple[str | None, InputChange]]] = [[], [], []]
        for row in batch.rows:
            self._random.choice(tasks).append(row)
        return bucket.process([to_blob(self._table(task)) for task in tasks if task], [InputReport(arrived)])

    def _general(self, batch: RowBatch, arrived: Progress) -> BatchResult:
        rows: dict[Key, list[InputChange]] = {}
        for key, row in batch.rows:
            rows.setdefault((key,), []).append(row)
        return Bucket(self.case.query, self._others, Codec(), {}).process(rows.items(), arrived)

    def _table(self, rows: Sequence[tuple[str | None, InputChange]]) -> pa.Table:
        keys, changes = zip(*rows, strict=True)
        ids, starts, ends, payloads, new_ends, *_ = zip(*changes, strict=True)
        return pa.table(
            {
                "k0": pa.array(keys, pa.string()),
                "id": pa.array(ids, self.case.ids),
                "start": pa.array(starts, pa.int64()),
                "end": pa.array(ends, pa.int64()),
                "new_end": pa.array(new_ends, pa.int64()),
                **{
                    f"i{place}": pa.array(column, (pa.int64(), pa.bool_())[place])
                    for place, column in enumerate(zip(*payloads, strict=True))
                },
            }
        )

    def _rows(self, closed: Closed) -> Iterator[tuple[str | None, Window, tuple[Any, ...]]]:
        _, windows, keys, _ = closed
        if EVENT_ID in windows.parts:
            columns = windows.parts[ROWS].table.columns
            results = [[Codec().unpack(value) for value in column.to_pylist()] for column in columns]
        else:
            results = [values_of(form_results(form, number, windows)) for number, form in enumerate(self.forms)]
        named = zip(keys.column("k0").to_pylist(), windows.low.tolist(), windows.high.tolist(), strict=True)
        for (key, start, end), *values in zip(named, *results, strict=True):
            yield key, Window(start, end), tuple(values)

    def _results(self, closed: Closed) -> pa.Table:
        """Return results as columns of bytes."""
        columns = [values_of(form_results(form, number, closed.windows)) for number, form in enumerate(self.forms)]
        packed = [pa.array([Codec().pack(value) for value in column], pa.binary()) for column in columns]
        return pa.table({f"i{place}": column for place, column in enumerate(packed)})

    def _changes(self, closed: Closed) -> Iterator[tuple[Key, OutputChange]]:
        numbers = zip(closed.windows.parts[EVENT_ID].array.tolist(), closed.windows.weight.tolist(), strict=True)
        for (id, weight), (key, window, values) in zip(numbers, self._rows(closed), strict=True):
            kind = OutputKind.INSERT if weight > 0 else OutputKind.RETRACT
            at_end = self.case.timestamps is TimestampPolicy.POINT_AT_END
            start, end = (window.end, window.end + 1) if at_end else (window.start, window.end)
            yield (key,), OutputChange(kind, id, window, start, end, values)


def _corrected(key: Key, change: OutputChange) -> tuple[object, ...]:
    """Return what is told of a change of the output; its number is each evaluator's own."""
    return key[0], change.kind, change.window, change.start, change.end, repr(change.value)


def run(case: RevisedCase) -> RevisedRun:
    """Run all batches.

    Raises:
        AssertionError: The two evaluators differ.
    """
    running = RevisedRun(case)
    for batch in case.batches:
        running.take(batch)
    return running


def values_of(results: Any) -> list[Any]:
    nulls = np.ma.getmaskarray(results)
    return [None if null else value for value, null in zip(np.ma.getdata(results).tolist(), nulls, strict=True)]
