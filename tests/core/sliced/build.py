"""Short ways to write the data of these tests."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY, Event, IncrementalAggregate
from muntin.testing import Computation, evaluate
from muntin.testing import WindowedQuery as ReferenceQuery
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import Key, Progress
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket, ArrayQuery, BatchOutcome
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.grid_store import GridStore, grid_query
from muntin_engine.evaluators.arrays.lifting import Rows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_lifting import lift_states
from muntin_engine.evaluators.arrays.state_modules import StateModules
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.progress import InputsProgress, ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.state.log import Entry, StoredEntry


class Members(IncrementalAggregate[int, list[int], tuple[int, ...]]):
    """The members themselves, in order. Its state is changed in place, so that whatever shares one shows."""

    name, version = "test.members", "1.0.0"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def create_state(self) -> list[int]:
        self.calls["create_state"] += 1
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        self.calls["add_events"] += 1
        self.calls["payloads"] += len(payloads)
        for payload in payloads:
            insort(state, payload)
        return state

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        self.calls["combine"] += 1
        before = list(other)
        for payload in before:
            insort(state, payload)
        assert other == before, "the two states are one"
        return state

    def compute_result(self, state: list[int]) -> tuple[int, ...]:
        self.calls["compute_result"] += 1
        return tuple(state)


class DeductingMembers(Members):
    """The same with `deduct`."""

    name = "test.deducting_members"

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        self.calls["deduct"] += 1
        for payload in other:
            state.remove(payload)
        return state


class Total(IncrementalAggregate[int, int, int]):
    """A sum, whose states are small numbers that Python may share."""

    name, version = "test.total", "2.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return state


class Counted(Total):
    """The same, which counts what it is asked."""

    name = "test.counted"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def create_state(self) -> int:
        self.calls["create_state"] += 1
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        self.calls["payloads"] += len(payloads)
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        self.calls["combine"] += 1
        return state + other

    def compute_result(self, state: int) -> int:
        self.calls["compute_result"] += 1
        return state


class CountedDeducting(Counted):
    """The same with `deduct`."""

    name = "test.counted_deducting"

    def deduct(self, state: int, other: int) -> int:
        self.calls["deduct"] += 1
        return state - other


class Row(NamedTuple):
    """A row of the input."""

    key: Key
    tick: int
    payload: Any


@dataclass(frozen=True)
class SlicedQuery:
    """A query of one input, which all modules read; the values of a payload are of any type, and travel packed."""

    grids: tuple[SliceGrid, ...]
    modules: StateModules
    codec: Codec
    inputs: int = 1

    @classmethod
    def of(cls, windows: Sequence[HoppingWindows], bindings: Sequence[Binding], inputs: int = 1) -> SlicedQuery:
        codec = Codec.of([binding.module for binding in bindings])

        def unpacked(column: pa.Array) -> list[Any]:
            return list(map(codec.unpack, column.to_pylist()))

        return cls(SliceGrid.shared(windows), StateModules(bindings, codec, values_of=unpacked), codec, inputs)

    def entries(self) -> StateEntries:
        return StateEntries(self.modules, self.grids)

    def store(self) -> GridStore:
        return GridStore(self.grids, self.entries())

    def in_buckets(self) -> ArrayQuery:
        return grid_query(self.grids, self.entries, at_end=False)

    def lift(self, rows: Sequence[Row], buckets: int = 1) -> list[BucketBlob]:
        """Return what a task of the map side sends to buckets; a payload is a tuple if there are several inputs."""
        inputs = [[row.payload] if self.inputs == 1 else row.payload for row in rows]
        columns = [pa.array(list(map(self.codec.pack, column)), pa.binary()) for column in zip(*inputs, strict=True)]
        keys = [pa.array(column) for column in zip(*(row.key for row in rows), strict=True)]
        starts = np.array([row.tick for row in rows], np.int64)
        given = Rows(buckets, starts, None, keys, columns)
        return list(lift_states(self.modules, self.grids, given))


def sliced(windows: HoppingWindows | Sequence[HoppingWindows], *modules: Any) -> SlicedQuery:
    """Return a query of one input, which all modules read."""
    specifications = [windows] if isinstance(windows, HoppingWindows) else windows
    return SlicedQuery.of(specifications, [Binding(module, itemgetter(0)) for module in modules])


def blobs_of(query: SlicedQuery, rows: Sequence[Row], random: Random | None = None, tasks: int = 1) -> list[bytes]:
    """Return the blobs of some tasks of the map side; rows go to any of them."""
    parts: list[list[Row]] = [[] for _ in range(tasks)]
    for row in rows:
        parts[random.randrange(tasks) if random else 0].append(row)
    return [blob for part in parts if part for _, blob in query.lift(part)]


class Answer(NamedTuple):
    """A row of the output."""

    key: Any
    window: int
    values: tuple[Any, ...]
    place: int = 0


def answers(query: SlicedQuery, closed: Iterable[Closed]) -> Iterator[Answer]:
    """Yield complete windows one by one."""
    for some in closed:
        keys = zip(*(column.to_pylist() for column in some.keys.columns), strict=True)
        windows, values = query.grids[some.place].windows, list(zip(*some.values or (), strict=True))
        for key, start, result in zip(keys, some.windows.low.tolist(), some.results.tolist(), strict=True):
            yield Answer(key, windows.counted.first_starting_from(start), values[result], some.place)


class Feed:
    """A bucket with its state, fed batch by batch; `restart` is what a new worker process knows."""

    def __init__(self, query: SlicedQuery, cells: MemoryCells | None = None) -> None:
        self.query = query
        self.cells = cells or MemoryCells()
        self.kept = KeptStores()
        self.output: list[Answer] = []
        self.late = self.accepted = 0
        self.compatibility = Compatibility({"query": "test"})

    def restart(self) -> None:
        self.kept = KeptStores()

    def batch(self, rows: Sequence[Row], watermark: int = EARLIEST, blobs: Sequence[bytes] | None = None) -> None:
        """Run a batch."""
        given = blobs_of(self.query, rows) if blobs is None else blobs
        newest = max((row.tick for row in rows), default=EARLIEST)
        known = max(newest + 1, watermark if watermark < INFINITY else EARLIEST) if rows else EARLIEST
        result = self.run(given, Progress(watermark, known, newest))
        self.output += answers(self.query, result.output)
        self.late += result.late
        self.accepted += result.accepted

    def run(self, blobs: Sequence[bytes], arrived: Progress) -> BatchOutcome:
        bucket = ArrayBucket(
            self.query.in_buckets(),
            [ProgressTracker()],
            self.cells,
            self.query.codec,
            self.compatibility,
            self.kept,
            "bucket",
        )
        return bucket.process(blobs, [InputReport(arrived)]).outcome

    @property
    def entries(self) -> list[str]:
        return sorted(name for name in self.cells.cells if name != "metadata")


def all_answers(query: SlicedQuery, entries: Sequence[Entry]) -> list[Answer]:
    """Return the windows that an empty store makes of entries."""
    store = query.store()
    store.restore([StoredEntry(entry.data) for entry in entries], MemoryCells(), InputsProgress.start(1))
    return list(answers(query, store.close(0, -NEVER, NEVER)))


def expected(
    windows: HoppingWindows, modules: Sequence[Any], rows: Iterable[Row], upto: int, place: int = 0
) -> list[Answer]:
    """Return what the reference evaluator makes of rows, in the order of keys and windows."""
    by_key: dict[Key, list[Event[int]]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(Event.point(row.tick, row.payload))
    query = ReferenceQuery(windows, [Computation(module) for module in modules])
    return sorted(
        Answer(key, (out.window.start - windows.offset) // windows.hop, out.value, place)
        for key, events in by_key.items()
        for out in evaluate(query, events, upto)
    )
