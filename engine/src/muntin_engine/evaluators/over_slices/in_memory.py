"""Evaluation over slices in memory, for restart tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from muntin import TimestampPolicy
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.core.slice_grid import Grid, RangeGrid, SliceGrid
from muntin_engine.core.window_grid import grid_of, settled
from muntin_engine.evaluators.over_slices.slice_bucket import SliceBucket
from muntin_engine.evaluators.over_slices.slice_store import SliceStore
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores


class SlicesInMemory(ABC):
    """Evaluates final results over slices, and keeps decoded state between micro-batches, as a worker does."""

    evicted: Sequence[tuple[Key, OutputChange]] = ()

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        self.grids: Sequence[Grid] = tuple(map(RangeGrid.of, plan.steps))
        if plan.input.lifetimes == "point":
            self.grids = SliceGrid.shared(plan.steps)
        self._steps = list(map(grid_of, plan.steps))
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END
        self._bucket: SliceBucket[Any] = SliceBucket(
            self.grids, self.store, cells, codec, plan_compatibility(plan), KeptStores(), "bucket"
        )

    @abstractmethod
    def lift(self, key: Key, row: InputChange) -> Iterable[bytes]:
        """Return the partial states of a row, as the map side sends them."""

    @abstractmethod
    def store(self) -> SliceStore[Any, Any]:
        """Return an empty store."""

    @abstractmethod
    def results(self, output: Any) -> Iterable[tuple[Key, int, tuple[object, ...]]]:
        """Return key, number and results of windows that are complete."""

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        steps = replace(arrived, watermark=settled(self._steps, arrived.watermark))
        blobs = [blob for key, row in rows for blob in self.lift(key, row)]
        return [change for complete in self._bucket.process(blobs, steps).output for change in self._changes(complete)]

    def _changes(self, complete: Any) -> Iterator[tuple[Key, OutputChange]]:
        for key, number, values in self.results(complete.output):
            window = self.grids[complete.place].windows.window(number)
            start, end = (window.end, window.end + 1) if self._at_end else (window.start, window.end)
            yield key, OutputChange(OutputKind.INSERT, number, window, start, end, values)
