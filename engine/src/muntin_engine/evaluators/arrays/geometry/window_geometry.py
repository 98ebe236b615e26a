"""What a geometry decides: how rows become stretches, which windows those make, and what of them stays in the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from muntin import INFINITY
from muntin_engine.evaluators.arrays.store.stretch_store import StoreT, StretchStore
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.log import Entry, LogEntry
from muntin_engine.time.inputs_progress import InputsProgress


class WindowGeometry(ABC, Generic[StoreT]):
    """Windows as their buckets see them. A geometry keeps nothing itself: a store holds what it works on."""

    @abstractmethod
    def new_store(self) -> StoreT:
        """Return an empty store."""

    @abstractmethod
    def restore(self, store: StoreT, entries: Sequence[LogEntry], cells: Cells, progress: InputsProgress) -> None:
        """Fill an empty store from the log, with the stretches that open windows need.

        Args:
            store: The store.
            entries: The log.
            cells: The state of the bucket; some geometries keep a part of it beside the log.
            progress: The progress when the log was last written. Entries may still hold stretches of windows that were
                complete by then: these are dropped.
        """

    @abstractmethod
    def stage(self, progress: InputsProgress) -> Hashable:
        """Return the part of the progress that windows depend on: as long as it is equal, none becomes complete."""

    @abstractmethod
    def add(self, store: StoreT, rows: Sequence[StretchTable]) -> None:
        """Merge the admitted rows of a batch, and add them to a store."""

    @abstractmethod
    def completed(self, store: StoreT, previous: InputsProgress, progress: InputsProgress) -> Iterator[ResultWindows]:
        """Yield the windows with members that the progress has completed.

        Args:
            store: The store, with the rows of the batch.
            previous: The progress before the batch.
            progress: The progress after it.
        """

    @abstractmethod
    def forget(self, store: StoreT, previous: InputsProgress, progress: InputsProgress) -> None:
        """Drop the stretches that no open window needs.

        Args:
            store: The store.
            previous: The progress before the batch.
            progress: The progress after it.
        """

    @abstractmethod
    def write(self, store: StoreT, state: BucketState, progress: InputsProgress) -> None:
        """Write what the batch added to the store; remove dead entries from the log, and merge others.

        Args:
            store: The store, after `forget`.
            state: The state of the bucket, to whose log is written.
            progress: The progress after the batch.
        """

    @abstractmethod
    def output_watermark(self, progress: InputsProgress, first_start: int) -> int:
        """Return the tick before which no later output of a bucket changes anything.

        Args:
            progress: The progress after a batch.
            first_start: The least start of an open window when the bucket was last written; see `first_start`.
        """

    def first_start(self, store: StoreT) -> int:
        """Return the least start of an open session or snapshot; `INFINITY` if there is none, as on a grid."""
        del store
        return INFINITY


class StretchGeometry(WindowGeometry[StretchStore]):
    """Windows of new events, which are never revised: map tasks lift them, and what lies together is merged."""

    def __init__(self, values: StretchValues, *, at_end: bool) -> None:
        """Make windows of stretches.

        Args:
            values: The values of stretches.
            at_end: True if results are points at the ends of their windows.
        """
        self.values = values
        self._at_end = at_end

    @abstractmethod
    def lift(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield for each bucket the stretches that rows become."""

    @abstractmethod
    def first_in_time(self, previous: InputsProgress) -> int:
        """Return the first slice, or tick, that is in time: a stretch that starts before it is late.

        Args:
            previous: The progress before the batch.
        """

    @abstractmethod
    def merge_entries(
        self, store: StretchStore, entries: Sequence[LogEntry], first_live: int, progress: InputsProgress
    ) -> list[Entry]:
        """Merge log entries into as few as possible, upgrading them.

        Args:
            store: The store of the log.
            entries: The entries.
            first_live: The first slice, or tick, that an open window needs; stretches that end before it are left out.
            progress: The progress after the batch.
        """

    def new_store(self) -> StretchStore:
        """Return an empty store."""
        return StretchStore(self.values)

    def window_results(self, store: StretchStore, place: int, windows: StretchTable) -> ResultWindows:
        """Return windows with their keys and, where modules are called one by one, their results.

        Args:
            store: The store of the windows.
            place: The place of their specification among those of the query.
            windows: The windows, with merged values.
        """
        keys = store.keys.take(windows.keys)
        values = self.values.results(windows, store.keys)  # None of forms, whose results are computed as columns later
        return ResultWindows(place, windows, keys, values)


@dataclass(frozen=True, slots=True)
class EntryMerging:
    """Merges the log entries of a store, for its log.

    Attributes:
        geometry: The geometry of the stretches.
        store: The store.
        progress: The progress after the batch.
    """

    geometry: StretchGeometry
    store: StretchStore
    progress: InputsProgress

    def merge(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into as few as possible, without stretches that end before `first_live`."""
        return self.geometry.merge_entries(self.store, entries, first_live, self.progress)
