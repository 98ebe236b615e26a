"""The evaluators of the engine, each around cells in memory, as a process opens them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

from muntin import HoppingWindows, Insertion, TimestampPolicy
from muntin.testing import Batch, KeyedChange
from muntin_engine.core.bucket import Bucket
from muntin_engine.core.cells import MemoryCells
from muntin_engine.core.changes import InputChange, OutputChange, OutputKind, Progress
from muntin_engine.core.meter import Meter
from muntin_engine.core.sliced.bucket import SliceBucket
from muntin_engine.core.sliced.grid import Grid, RangeGrid, SliceGrid
from muntin_engine.core.sliced.kept import KeptStores
from muntin_engine.core.window_grid import settled
from muntin_engine.plan import Evaluator, Plan, windowed_query
from muntin_engine.plan.continuing import lineage_of
from muntin_engine.testing.asked import Asked
from muntin_engine.testing.partial_states import Arrays, PartialStates, PythonStates

Change: TypeAlias = tuple[int, OutputChange]
"""A change of the output, with the number of its key."""

_BUCKET: Final = "bucket"


class Process(Protocol):
    """A process that evaluates a query: all that is lost when it ends."""

    def take(self, batch: Batch, arrived: Progress) -> list[Change]:
        """Evaluate a micro-batch, write the state and return what is put out."""
        ...


def start(asked: Asked, evaluator: Evaluator, cells: MemoryCells) -> Process:
    """Return a new process that finds in the cells what those before it wrote."""
    plan = asked.plan(evaluator)
    kind = GeneralProcess if evaluator is Evaluator.GENERAL else SlicedProcess
    return kind(asked, plan, cells)


class GeneralProcess:
    """Evaluates windows from their events."""

    def __init__(self, asked: Asked, plan: Plan, cells: MemoryCells) -> None:
        query = windowed_query(plan, [Meter() for _ in plan.modules])
        self._asked = asked
        self._bucket = Bucket(query, cells, asked.codec, plan.identity())

    def take(self, batch: Batch, arrived: Progress) -> list[Change]:
        """Evaluate a micro-batch, write the state and return what is put out."""
        rows = [((self._asked.keys[step.key],), [self._row(step)]) for step in batch.changes]
        result = self._bucket.process(rows, arrived)
        return [(key, change) for (key,), changes in result.output for change in changes]

    def _row(self, step: KeyedChange) -> InputChange:
        change = step.change
        return InputChange(
            self._asked.ids[change.id] if self._asked.has_ids else None,
            change.event.start,
            change.event.end,
            self._asked.values(change.event.payload),
            None if isinstance(change, Insertion) else change.new_end,
        )


class SlicedProcess:
    """Evaluates final results over slices, and keeps decoded state between micro-batches, as a worker does."""

    def __init__(self, asked: Asked, plan: Plan, cells: MemoryCells) -> None:
        self._windows = [window for window in plan.windows if isinstance(window, HoppingWindows)]
        self._grids = _grids(self._windows, is_point=asked.is_point)
        self._partials: PartialStates = _partials(asked, plan, self._grids)
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END
        self._bucket: SliceBucket[Any] = SliceBucket(
            self._grids, self._partials.store, cells, asked.codec, lineage_of(plan), KeptStores(), _BUCKET
        )

    def take(self, batch: Batch, arrived: Progress) -> list[Change]:
        """Evaluate a micro-batch, write the state and return what is put out."""
        steps = replace(arrived, punctuation=settled(self._windows, arrived.punctuation))
        blobs = [blob for step in batch.changes for blob in self._partials.lift(step)]
        return [change for complete in self._bucket.process(blobs, steps).output for change in self._changes(complete)]

    def _changes(self, complete: Any) -> Iterator[Change]:
        for key, number, values in self._partials.rows(complete.output):
            window = self._grids[complete.place].windows.window(number)
            start, end = (window.end, window.end + 1) if self._at_end else (window.start, window.end)
            yield key, OutputChange(OutputKind.INSERT, number, window, start, end, values)


def _grids(windows: list[HoppingWindows], *, is_point: bool) -> tuple[Grid, ...]:
    return SliceGrid.shared(windows) if is_point else tuple(map(RangeGrid.of, windows))


def _partials(asked: Asked, plan: Plan, grids: tuple[Grid, ...]) -> PartialStates:
    kind = Arrays if plan.choice.evaluator is Evaluator.COLUMNAR else PythonStates
    return kind(asked, plan, grids)
