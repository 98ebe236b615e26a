"""Evaluators as stages of a pipeline in one process: events in, events out, without Spark and without Java.

Each stage is a bucket of the engine, and does what a worker does with a micro-batch: what the map side sends crosses as
bytes, what a bucket keeps is written as in a checkpoint, and is kept decoded from batch to batch. The plans that the
engine would make are made by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.windows import Ints
from muntin import ColumnarAggregate, Module, hopping, tumbling
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.schemas import describe
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.lifting import Rows, lift_each, lift_rows
from muntin_engine.evaluators.arrays.results import form_results
from muntin_engine.evaluators.arrays.stores import grid_query
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import BeginsRun, KeyedBucket
from muntin_engine.evaluators.ordered.stream_operator import StreamRun
from muntin_engine.evaluators.pairing.pair_store import SIDES, pair_query
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.progress import ProgressTracker
from muntin_engine.progress.report import InputReport
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores

Asked: TypeAlias = Mapping[str, tuple[ColumnarAggregate[Any, Any], str]]
"""The aggregates of a window by the names of their results, each with the column that it reads."""


class Events(NamedTuple):
    """A micro-batch of events, as arrays side by side, and how complete they are after it.

    Attributes:
        keys: Of each event.
        starts: Where each starts, in microseconds.
        ends: Where each ends.
        columns: What else there is of them.
        watermark: No later event starts before it.
    """

    keys: Ints
    starts: Ints
    ends: Ints
    columns: Mapping[str, pa.Array]
    watermark: int

    @property
    def progress(self) -> Progress:
        """The progress that a batch reports."""
        newest = int(self.starts.max(initial=self.watermark))
        return Progress(self.watermark, max(newest + 1, int(self.ends.max(initial=0))), newest)

    def shifted(self, by: int) -> Events:
        """Return the events later by so much, and the watermark with them."""
        return self._replace(starts=self.starts + by, ends=self.ends + by, watermark=self.watermark + by)


class WindowStage:
    """Hopping windows on arrays; the size is a multiple of the hop.

    Args:
        size: Of the windows.
        hop: From one to the next.
        asked: What is computed.
        at_end: True if results are points where windows end; they last as long as these otherwise.
    """

    def __init__(self, size: int, hop: int, asked: Asked, *, at_end: bool = False) -> None:
        self._size, self._hop, self._asked, self._at_end = size, hop, asked, at_end
        self._grid = SliceGrid.of(tumbling(size) if size == hop else hopping(size, hop))
        self._forms = [
            BoundForm(module, f"{module.name} {module.version}", (place,), (describe(float, column),))
            for place, (module, column) in enumerate(asked.values())
        ]
        query = grid_query([self._grid], lambda: FormEntries(self._forms), at_end=at_end)
        cells, kept = MemoryCells(), KeptStores()
        self._bucket = ArrayBucket(query, [ProgressTracker()], cells, Codec(), Compatibility({}), kept, "bucket")

    def take(self, events: Events) -> Events:
        """Return the results that a batch completes."""
        inputs = [events.columns[column] for _, column in self._asked.values()]
        rows = Rows(1, events.starts, None, [pa.array(events.keys)], inputs)
        blobs = [blob.blob for blob in lift_rows(self._grid, self._forms, rows)]
        output = self._bucket.run_batch(blobs, [InputReport(events.progress)]).outcome.output
        nothing = np.empty(0, np.int64)
        keys = np.concatenate([nothing, *(closed.keys.column("k0").to_numpy() for closed in output)])
        starts = np.concatenate([nothing, *(closed.windows.low for closed in output)])
        columns = {}
        for place, (name, form) in enumerate(zip(self._asked, self._forms, strict=True)):
            parts = [pa.array(form_results(form, place, closed.windows), pa.float64()) for closed in output]
            columns[name] = pa.concat_arrays([pa.array([], pa.float64()), *parts])
        opened = (events.watermark // self._hop + 1) * self._hop
        if self._at_end:
            return Events(keys, starts + self._size, starts + self._size + 1, columns, opened)
        return Events(keys, starts, starts + self._size, columns, opened - self._size)


class PairStage:
    """An inner join on arrays. The columns of both sides are in the pairs, so their names differ."""

    def __init__(self) -> None:
        trackers = [ProgressTracker(), ProgressTracker()]
        self._bucket = ArrayBucket(
            pair_query(), trackers, MemoryCells(), Codec(), Compatibility({}), KeptStores(), "bucket"
        )

    def take(self, left: Events, right: Events) -> Events:
        """Return the pairs that a batch of both sides completes."""
        blobs = [_blob(side, events) for side, events in enumerate((left, right)) if len(events.keys)]
        result = self._bucket.run_batch(blobs, [InputReport(left.progress), InputReport(right.progress)])
        parts = [
            pa.table(
                [keys.column(0), pairs.low, pairs.high, *(some for side in SIDES for some in pairs.parts[side].table)],
                names=["key", "start", "end", *left.columns, *right.columns],
            )
            for _, pairs, keys, *_ in result.outcome.output
        ]
        if not parts:
            nothing = np.empty(0, np.int64)
            empty = dict.fromkeys((*left.columns, *right.columns), pa.array([], pa.float64()))
            return Events(nothing, nothing, nothing, empty, result.now.least.watermark)
        table = pa.concat_tables(parts).combine_chunks()
        keys, starts, ends = (table[name].to_numpy() for name in ("key", "start", "end"))
        columns = {name: table[name].chunk(0) for name in table.column_names[3:]}
        return Events(keys, starts, ends, columns, result.now.least.watermark)


class OperatorStage:
    """An operator in Python, over windows or over the stream itself.

    Args:
        module: The operator.
        select: Makes what it reads of the values of an event.
        window: Its windows; None if it follows the stream.
    """

    def __init__(self, module: Module, select: Callable[[Any], Any], window: WindowKind | None = None) -> None:
        query = EvaluatorQuery(
            window or tumbling(1),
            (Binding(module, select),),
            clip=ClipPolicy.RIGHT,
            timestamps=TimestampPolicy.UNCHANGED,
            has_ids=False,
        )
        run: BeginsRun = StreamRun if window is None else GeneralRun
        self._bucket = KeyedBucket(run, query, MemoryCells(), Codec.of([module]), {}, kept=KeptStores(), name="bucket")

    def take(self, events: Events) -> list[tuple[int, int, Any]]:
        """Return key, start and value of each row that a batch completes."""
        changes: dict[int, list[InputChange]] = {}
        columns = [column.to_pylist() for column in events.columns.values()]
        ticks = zip(events.keys.tolist(), events.starts.tolist(), events.ends.tolist(), strict=True)
        for (key, start, end), payload in zip(ticks, zip(*columns, strict=True), strict=True):
            changes.setdefault(key, []).append(InputChange(None, start, end, payload))
        result = self._bucket.process([((key,), some) for key, some in changes.items()], events.progress)
        return [(key[0], change.start, change.value) for key, rows in result.output for change in rows]


def _blob(side: int, events: Events) -> bytes:
    keys = [pa.array(events.keys)]
    rows = Rows(1, events.starts, events.ends, keys, list(events.columns.values()))
    (found,) = lift_each(1, rows, packed=[bytes([side])])
    return found.blob


def columns_of(values: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the columns of rows of three; of none, three empty ones."""
    return list(zip(*values, strict=True)) if values else [(), (), ()]
