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
        """Return an empty holder of states for each module; none where windows are computed from rows alone."""

    @abstractmethod
    def lift(self, rows: StretchTable, keys: KeyTable) -> StretchTable:
        """Compute the parts of released rows that depend on each row alone.

        Args:
            rows: The rows.
            keys: The keys of the bucket.

        Raises:
            ModuleFailedError: A module raised an exception.
        """

    @abstractmethod
    def results(
        self, store: RankedStore, ranked: RowsByRank, windows: RankedWindows, newest: IntArray
    ) -> ResultWindows:
        """Compute windows at released rows, and move the states of modules on over these rows.

        A released row has its final place in the order. States are moved on also where no window is asked for.

        Args:
            store: The store of the bucket, which has the states.
            ranked: The rows of the keys that have released rows: those in windows already, then the released ones.
            windows: The windows.
            newest: For each window the place of its newest row in `ranked.rows`, ascending; empty for no windows.

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
        """Return no states: forms compute each window from its rows."""
        return ()

    def lift(self, rows: StretchTable, keys: KeyTable) -> StretchTable:
        """Return rows with the components of each."""
        inputs = [column.combine_chunks() for column in rows.parts[ROWS].table.columns]
        rows_to_lift = RowsToLift(bucket_count=1, starts=rows.low, ends=None, keys=(), inputs=inputs)

        def locate(row: int) -> tuple[Key, Window]:
            """Return the key and the tick of the row at a place, for the message if a form fails."""
            (key,) = keys_in(keys.take(rows.keys[row : row + 1]))
            tick = int(rows.low[row])
            return key, Window(tick, tick + 1)

        components = parts_of_rows(self.forms, rows_to_lift, locate)
        return replace(rows, parts={**rows.parts, **components})

    def results(
        self, store: RankedStore, ranked: RowsByRank, windows: RankedWindows, newest: IntArray
    ) -> ResultWindows:
        """Return windows with merged components; forms compute the results when these are written as columns."""
        table = RankRuns(ranked, windows, newest).table()
        return ResultWindows(place=0, windows=table, keys=store.keys.take(table.keys))


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

        def locate(_: int) -> tuple[Key, Window]:
            """Return the key and the window of the call that failed."""
            row = states.place  # `states` are those of the loop below: they note the row of each call
            (key,) = keys_in(store.keys.take(ranked.rows.keys[row : row + 1]))
            return key, ranked.window(row, windows)

        results: list[list[Any]] = []
        with located(locate):
            for states in store.states:
                CURRENT_CALL.set_module(states.label)
                started = states.meter.now()
                payloads = states.select(columns, len(payload))
                results.append(states.results(keys, payloads))
                states.meter.since(started)

        table = RankRuns(ranked, windows, newest).bare_table()
        return ResultWindows(place=0, windows=table, keys=store.keys.take(table.keys), values=results)


def _rows_of_keys(ranked: RowsByRank, newest: IntArray) -> list[RowsOfKey]:
    """Divide ranked rows by key, as `KeyStates` takes them.

    Args:
        ranked: The rows, key by key.
        newest: The place of the newest row of each window, ascending.
    """
    counts = ranked.held_counts + ranked.released_counts
    ends = np.cumsum(counts)
    firsts = ends - counts

    # The windows of a key are neighbours, too: those whose newest rows are among its rows.
    window_stops = np.searchsorted(newest, ends, "left")
    window_counts = np.diff(window_stops, prepend=0)
    window_starts = window_stops - window_counts
    newest_within_key = (newest - np.repeat(firsts, window_counts)).tolist()

    columns = (ranked.keys, firsts, ranked.held_counts, counts, window_starts, window_stops)
    keys: list[RowsOfKey] = []
    for code, first, held_count, size, window_start, window_stop in zip(*map(np.ndarray.tolist, columns), strict=True):
        key_newest = newest_within_key[window_start:window_stop]
        keys.append(RowsOfKey(code, first, held_count, size, newest=key_newest))
    return keys
