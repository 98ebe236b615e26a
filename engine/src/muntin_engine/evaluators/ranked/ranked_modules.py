"""The modules of a query over windows of ranked rows: columnar forms, or states that rows enter and leave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.columnar.arrays import IntArray
from muntin.rows import RankedWindows
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm
from muntin_engine.evaluators.arrays.stretches.component_values import Values, lifted
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, Part, StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, lifted_arrays, reduced_parts
from muntin_engine.evaluators.arrays.values.state_modules import located
from muntin_engine.evaluators.ranked.key_states import KeyStates
from muntin_engine.evaluators.ranked.rank_windows import RankRuns, RowsByRank
from muntin_engine.evaluators.ranked.ranked_store import RankedStore
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.time.changes import Key
from muntin_engine.wire.python_values import values_in


class RankedModules(ABC):
    """Computes the results of windows of ranked rows."""

    @abstractmethod
    def new_states(self) -> Sequence[KeyStates]:
        """Return what a bucket keeps in memory of each module; nothing where windows are computed from rows."""

    @abstractmethod
    def lift(self, rows: StretchTable, keys: KeyTable) -> StretchTable:
        """Return rows that are released with what is computed of each by itself.

        Raises:
            ModuleFailedError: A module raised an exception.
        """

    @abstractmethod
    def results(
        self, store: RankedStore, ranked: RowsByRank, windows: RankedWindows, newest: IntArray
    ) -> ResultWindows:
        """Return windows with their results.

        Args:
            store: The store of the bucket.
            ranked: The rows of the keys that have released ones.
            windows: The windows.
            newest: The places of the rows at which a window is computed.

        Raises:
            ModuleFailedError: A module raised an exception.
        """


@dataclass(frozen=True)
class RankedForms(RankedModules):
    """Columnar forms: rows are lifted once, and all windows are computed at once.

    Attributes:
        forms: The forms.
    """

    forms: Sequence[BoundForm]

    def new_states(self) -> Sequence[KeyStates]:
        """Return nothing."""
        return ()

    def lift(self, rows: StretchTable, keys: KeyTable) -> StretchTable:
        """Return rows with the components of each."""
        inputs = [column.combine_chunks() for column in rows.parts[ROWS].table.columns]
        to_lift = RowsToLift(buckets=1, starts=rows.low, ends=None, keys=(), inputs=inputs)

        def located_at(row: int) -> tuple[Key, Window]:
            (key,) = keys_in(keys.take(rows.keys[row : row + 1]))
            return key, Window(int(rows.low[row]), int(rows.low[row]) + 1)

        parts: dict[Part, Values] = dict(rows.parts)
        for place, form in enumerate(self.forms):
            arrays, accepted_rows = lifted_arrays(form, to_lift, located_at)
            if accepted_rows is None:  # each row has a value
                for name, component in form.stored.items():
                    parts[Part(place, name)] = lifted(component, arrays[name])
            else:
                parts |= reduced_parts(place, form, arrays, accepted_rows, len(rows))
        return replace(rows, parts=parts)

    def results(
        self, store: RankedStore, ranked: RowsByRank, windows: RankedWindows, newest: IntArray
    ) -> ResultWindows:
        """Return windows with merged components, of which results are computed when they are written."""
        table = RankRuns(ranked, windows, newest).table()
        return ResultWindows(0, table, store.keys.take(table.keys))


@dataclass(frozen=True)
class RankedStates(RankedModules):
    """States that rows are added to and removed from, one key after the other.

    Attributes:
        bindings: The modules.
        windows: The windows.
        values_of: Returns the values of an input column.
    """

    bindings: Sequence[Binding]
    windows: RankedWindows
    values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in

    def new_states(self) -> Sequence[KeyStates]:
        """Return the states of each module, of no key yet."""
        return [KeyStates(binding, self.windows) for binding in self.bindings]

    def lift(self, rows: StretchTable, keys: KeyTable) -> StretchTable:
        """Return rows as they are."""
        del keys
        return rows

    def results(
        self, store: RankedStore, ranked: RowsByRank, windows: RankedWindows, newest: IntArray
    ) -> ResultWindows:
        """Return windows with the results of each module."""
        columns = self._columns(ranked.rows)
        counts = ranked.held_counts + ranked.released_counts
        ends = np.cumsum(counts)
        window_ends = np.searchsorted(newest, ends, "left")
        bounds = list(
            zip(
                ranked.keys.tolist(),
                (ends - counts).tolist(),
                (ends - ranked.released_counts).tolist(),
                ends.tolist(),
                np.append(0, window_ends[:-1]).tolist(),
                window_ends.tolist(),
                strict=True,
            )
        )
        places = newest.tolist()
        results: list[list[Any]] = []
        for states in store.states:
            results.append(self._results(store, states, ranked, columns, bounds, places))
        runs = RankRuns(ranked, windows, newest)
        keys = ranked.rows.keys[newest]
        table = StretchTable(keys, *runs.extents(), runs.sizes, {})
        return ResultWindows(0, table, store.keys.take(keys), results)

    def _columns(self, rows: StretchTable) -> list[list[Any]]:
        return list(map(self.values_of, rows.parts[ROWS].table.columns))

    def _results(
        self,
        store: RankedStore,
        states: KeyStates,
        ranked: RowsByRank,
        columns: Sequence[list[Any]],
        bounds: Sequence[tuple[int, ...]],
        places: Sequence[int],
    ) -> list[Any]:
        """Return the results of a module.

        Args:
            store: The store of the bucket.
            states: The states of the module.
            ranked: The rows.
            columns: The values of their columns.
            bounds: For each key its code, where its rows, its released rows and the rows of the next key begin, and
                where its windows and those of the next key begin.
            places: The place of the newest row of each window.
        """
        payloads = states.select(columns, len(ranked.rows)).values
        results: list[Any] = []

        def located_at(_: int) -> tuple[Key, Window]:
            place = states.place
            (key,) = keys_in(store.keys.take(ranked.rows.keys[place : place + 1]))
            return key, ranked.window(place, self.windows)

        with located(located_at):
            CURRENT_CALL.set_module(states.label)
            started = states.meter.now()
            for code, first, first_released, end, first_window, end_window in bounds:
                states.place = first_released
                if states.lacks(code):
                    states.begin(code, payloads[first:first_released])
                newest = places[first_window:end_window]
                stops = [place + 1 - first_released for place in newest]
                released = payloads[first_released:end]
                results += states.results(code, released, zip(newest, stops, strict=True))
            states.meter.since(started)
        return results
