"""What an emission decides: which windows are emitted, and whether an emitted result may change later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Generic

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import BoolArray
from muntin_engine.evaluators.arrays.admission.admission_contract import Admitted
from muntin_engine.evaluators.arrays.geometry.event_geometry import EventGridGeometry
from muntin_engine.evaluators.arrays.geometry.window_geometry import WindowGeometry
from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.store.stretch_store import StoreT
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.row_values import RowValues
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, ROWS, StretchTable, concat
from muntin_engine.time.inputs_progress import InputsProgress


class StoredResults(ABC):
    """Results as columns that can be stored, and compared with later ones."""

    @abstractmethod
    def columns(self, windows: ResultWindows) -> pa.Table:
        """Return the results of windows as columns `i0`, `i1` and so on."""


class ResultEmission(ABC, Generic[StoreT]):
    """The results of a batch."""

    @abstractmethod
    def stage(self, progress: InputsProgress) -> Hashable:
        """Return the part of the progress that results depend on: as long as it is equal, only rows make results."""

    @abstractmethod
    def results(
        self, store: StoreT, admitted: Admitted, previous: InputsProgress, progress: InputsProgress
    ) -> list[ResultWindows]:
        """Return the results of a batch, or their changes.

        Args:
            store: The store, with the rows of the batch.
            admitted: The rows that count.
            previous: The progress before the batch.
            progress: The progress after it.
        """

    @abstractmethod
    def finish(self, store: StoreT, results: Sequence[ResultWindows], progress: InputsProgress) -> int:
        """Forget the results that cannot change any more; return how many windows with members the batch completed.

        Args:
            store: The store, after `forget` of the geometry.
            results: The results of the batch, as `results` returned them.
            progress: The progress after the batch.
        """


class FinalResults(ResultEmission[StoreT]):
    """Each window is emitted once, when it is complete."""

    def __init__(self, geometry: WindowGeometry[StoreT]) -> None:
        """Emit the windows of a geometry."""
        self._geometry = geometry

    def stage(self, progress: InputsProgress) -> Hashable:
        """Return the part of the progress that completes windows."""
        return self._geometry.stage(progress)

    def results(
        self, store: StoreT, admitted: Admitted, previous: InputsProgress, progress: InputsProgress
    ) -> list[ResultWindows]:
        """Return the windows that the progress has completed."""
        del admitted
        return list(self._geometry.completed(store, previous, progress))

    def finish(self, store: StoreT, results: Sequence[ResultWindows], progress: InputsProgress) -> int:
        """Count the results: all of their windows are complete."""
        del store, progress
        return sum(map(len, results))


class CorrectedResults(ResultEmission[EventStore]):
    """Windows are emitted before they are complete, and again if they change: the earlier result is retracted then.

    A window is emitted as soon as an event starts where it ends, or later; eagerly, as soon as it begins.
    """

    def __init__(self, geometry: EventGridGeometry, stored_results: StoredResults, *, is_eager: bool) -> None:
        """Emit the windows of a geometry.

        Args:
            geometry: The geometry.
            stored_results: Makes columns of results.
            is_eager: True if a window is emitted as soon as it begins.
        """
        self._geometry = geometry
        self._stored_results = stored_results
        self._is_eager = is_eager

    def stage(self, progress: InputsProgress) -> Hashable:
        """Return the parts of the progress that complete windows, and the parts that make windows visible before."""
        (input_progress,) = progress.inputs
        return input_progress.watermark, input_progress.max_event_time, input_progress.horizon

    def results(
        self, store: EventStore, admitted: Admitted, previous: InputsProgress, progress: InputsProgress
    ) -> list[ResultWindows]:
        """Return the changes of results: retracted ones, then new ones.

        Args:
            store: The store, with the rows of the batch and the results that were emitted before.
            admitted: The rows that count, with the keys whose events they change.
            previous: The progress before the batch.
            progress: The progress after it.
        """
        # Results of a key can change only with its events: those of all other keys stay.
        is_touched = np.zeros(len(store.keys), np.bool_)
        is_touched[admitted.changed_keys] = True

        # A result is compared with earlier ones by its columns, which take the place of the partial states.
        results: list[StretchTable] = [EMPTY]  # `concat` needs a table, even if there are no windows
        for windows in self._windows(store, is_touched, previous, progress):
            keys = store.keys.take(windows.keys)
            table = self._stored_results.columns(ResultWindows(place=0, windows=windows, keys=keys))
            results.append(replace(windows, parts={ROWS: RowValues.of(table)}))
        changes = store.results.replace(concat(results), is_touched, last_id=store.last_event_id)
        if not len(changes):
            return []

        # `replace` has given each new result the next id. A retracted one, of weight -1, keeps the id that it was
        # emitted with.
        store.last_event_id += int(np.count_nonzero(changes.weight > 0))
        store.changed_results = changes
        return [ResultWindows(place=0, windows=changes, keys=store.keys.take(changes.keys))]

    def finish(self, store: EventStore, results: Sequence[ResultWindows], progress: InputsProgress) -> int:
        """Forget the results of the windows that are complete now; return how many results that were."""
        del results
        return store.results.forget(progress.least.watermark)

    def _windows(
        self, store: EventStore, is_touched: BoolArray, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[StretchTable]:
        """Yield the windows that become visible with the batch, then earlier ones that the batch may have changed.

        Args:
            store: The store, with the rows of the batch.
            is_touched: For the code of each key whether the batch changed its events.
            previous: The progress before the batch.
            progress: The progress after it.
        """
        # On the axis lie, in this order: complete windows, visible ones that may still change, and hidden ones.
        first_open = self._geometry.first_open(previous)
        first_hidden = self._first_hidden(previous)
        next_hidden = self._first_hidden(progress)

        # Windows that were hidden before the batch and are visible now, of all keys.
        yield from self._geometry.windows_between(store, max(first_open, first_hidden), next_hidden)

        # Windows that were visible before the batch, of keys whose events it changed.
        if is_touched.any():
            yield from self._geometry.windows_between(store, first_open, first_hidden, key_mask=is_touched)

    def _first_hidden(self, progress: InputsProgress) -> int:
        """Return the number of the first window that is not emitted yet.

        Eagerly a window is emitted once it has begun, otherwise once an event starts at its end or later.
        """
        windows = self._geometry.grid.windows
        first_unbegun = windows.first_unbegun(progress.least.horizon)
        if self._is_eager:
            return first_unbegun
        # `first_open` returns the first window that ends after a tick: here after the latest start. If the stream is
        # closed that is after all windows; but windows that begin at the horizon or later, where no row has been, stay
        # hidden.
        first_unreached = windows.first_open(progress.least.max_event_time)
        return min(first_unreached, first_unbegun)
