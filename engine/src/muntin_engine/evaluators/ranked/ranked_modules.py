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
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, parts_of_rows
from muntin_engine.evaluators.arrays.values.state_modules import located
from muntin_engine.evaluators.ranked.key_states import KeyStates, RowsOfKey
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
        to_lift = RowsToLift(bucket_count=1, starts=rows.low, ends=None, keys=(), inputs=inputs)

        def located_at(row: int) -> tuple[Key, Window]:
            (key,) = keys_in(keys.take(rows.keys[row : row + 1]))
            return key, Window(int(rows.low[row]), int(rows.low[row]) + 1)

        return replace(rows, parts={**rows.parts, **parts_of_rows(self.forms, to_lift, located_at)})

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
        payload = ranked.rows.parts[ROWS].table
        columns = list(map(self.values_of, payload.columns))
        keys = _rows_of_keys(ranked, newest)

        def located_at(_: int) -> tuple[Key, Window]:
            place = states.place
            (key,) = keys_in(store.keys.take(ranked.rows.keys[place : place + 1]))
            return key, ranked.window(place, windows)

        results: list[list[Any]] = []
        with located(located_at):
            for states in store.states:
                CURRENT_CALL.set_module(states.label)
                started = states.meter.now()
                results.append(states.results(keys, states.select(columns, len(payload))))
                states.meter.since(started)

        table = RankRuns(ranked, windows, newest).bare_table()
        return ResultWindows(0, table, store.keys.take(table.keys), results)


def _rows_of_keys(ranked: RowsByRank, newest: IntArray) -> list[RowsOfKey]:
    """Return where the rows of each key lie, and those at which a window is computed."""
    counts = ranked.held_counts + ranked.released_counts
    ends = np.cumsum(counts)
    firsts = ends - counts
    window_ends = np.searchsorted(newest, ends, "left")
    window_counts = np.diff(window_ends, prepend=0)
    places = (newest - np.repeat(firsts, window_counts)).tolist()
    columns = (ranked.keys, firsts, ranked.held_counts, counts, window_ends - window_counts, window_ends)
    keys: list[RowsOfKey] = []
    for code, first, held, count, first_window, end_window in zip(*map(np.ndarray.tolist, columns), strict=True):
        keys.append(RowsOfKey(code, first, held, count, places[first_window:end_window]))
    return keys
