"""The state of a module that goes on from window to window of a key, as rows come and go, for many keys in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from muntin import Event
from muntin.columnar.arrays import IntArray
from muntin.errors.safe_text import safe_cause
from muntin.modules.aggregate import rows_of
from muntin.rows import RankedWindows
from muntin_engine.evaluators.arrays.stretches.python_states import ModuleCallError, State
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.meter import Meter
from muntin_engine.modules.skipping import SKIPPED, Payloads, payloads_of, without_skipped

_STATE_BYTES: Final = 400
"""The memory of a state, roughly."""


class WindowState(NamedTuple):
    """The state of the window of a key.

    Attributes:
        state: The module's state of the rows in the window.
        removed: The number of rows that were removed since it was built of all rows.
    """

    state: State
    removed: int = 0


class RowsOfKey(NamedTuple):
    """The rows of a key in a batch.

    Attributes:
        code: The code of the key.
        first: The place of its first row among those of all keys.
        held: The number of rows that are in its window already.
        size: The number of its rows.
        newest: The places among its rows at which a window is computed.
    """

    code: int
    first: int
    held: int
    size: int
    newest: Sequence[int]


class KeyStates:
    """The states of one module.

    Cost: for each row a call that adds it and one that removes it, and for each window one for its result. A state that
    as many rows were removed from as a window has is built anew before the next batch, in one call: so the rounding of
    removals that are not exact does not add up for ever.

    Attributes:
        label: The module, by name and version.
        meter: Measures its calls.
        place: The place of the row that the module was last called for, among those of all keys.
    """

    def __init__(self, binding: Binding, windows: RankedWindows) -> None:
        """Keep no state yet."""
        self.label = f"{binding.module.name} {binding.module.version}"
        self.meter: Meter = binding.meter
        self.place = 0
        self._module: Any = binding.module
        self._called = binding.called
        self._select = binding.select
        self._skips_rows = binding.called is not binding.module
        self._is_operator = binding.module.is_operator
        self._windows = windows
        # Where each row has a window of its own, and rows stay in the window, no row needs to be looked at twice.
        self._has_window_for_each = windows.every == 1 and windows.size > 1 and not self._is_operator
        self._states: dict[int, WindowState] = {}

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return len(self._states) * _STATE_BYTES

    def select(self, columns: Sequence[list[Any]], count: int) -> Payloads:
        """Return the payloads of rows that are given as columns of all inputs of the query."""
        return payloads_of(self._select, columns, count)

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self._states = {int(codes[code]): state for code, state in self._states.items()}

    def clear(self) -> None:
        """Forget all states."""
        self._states = {}

    def results(self, keys: Sequence[RowsOfKey], payloads: Payloads) -> list[Any]:
        """Return the results of windows, key by key.

        Args:
            keys: The rows of each key.
            payloads: The payloads of the rows of all keys.

        Raises:
            ModuleCallError: The module raised an exception, for the row at `place`.
        """
        results: list[Any] = []
        for key in keys:
            values = payloads.values[key.first : key.first + key.size]
            window = self._states.get(key.code)
            self.place = key.first + max(0, key.held - 1)
            if window is None or window.removed > self._windows.size:
                window = WindowState(self._built(values[: key.held]))
            if not self._has_window_for_each or (payloads.has_skipped and SKIPPED in values):
                state = self._slide(window.state, values, key, results)
            elif self._skips_rows:
                # It accepts all rows of the key, so it is called past what counts them.
                _, inner = window.state
                state = min(self._windows.size, key.size), self._slide_by_one(inner, values, key, results)
            else:
                state = self._slide_by_one(window.state, values, key, results)
            removed = max(0, key.size - self._windows.size)
            self._states[key.code] = WindowState(state, window.removed + removed)
        return results

    def _slide_by_one(self, state: State, values: list[Any], key: RowsOfKey, results: list[Any]) -> State:
        """Add the results of windows that are computed at each row; return the state of the last one."""
        module = self._module
        add = module.add_events
        remove = module.remove_events
        compute = module.compute_result
        size = self._windows.size
        only_full = self._windows.only_full
        full = min(size, key.size)
        method = "add_events"
        first_result = len(results)
        try:
            for place in range(key.held, full):
                self.place = key.first + place
                state = add(state, [values[place]])
                if not only_full or place + 1 == size:
                    method = "compute_result"
                    results.append(compute(state))
                    method = "add_events"

            first_result = len(results)
            self.place = key.first + max(full, key.held)
            for leaving, entering in zip(values, values[max(full, key.held) :], strict=False):
                method = "remove_events"
                state = remove(state, [leaving])
                method = "add_events"
                state = add(state, [entering])
                method = "compute_result"
                results.append(compute(state))
        except BaseException as error:
            self.place += len(results) - first_result
            raise ModuleCallError(module, method) from safe_cause(error)
        return state

    def _slide(self, state: State, values: list[Any], key: RowsOfKey, results: list[Any]) -> State:
        """Add the results of windows that are computed at some rows; return the state of all rows up to the last."""
        size = self._windows.size
        previous = key.held - 1
        stops = list(key.newest)
        if not stops or stops[-1] < key.size - 1:
            stops.append(key.size - 1)
        windows = set(key.newest)
        for newest in stops:
            self.place = key.first + newest
            oldest = max(0, newest + 1 - size)
            oldest_before = max(0, previous + 1 - size)
            leaving = values[oldest_before : min(oldest, previous + 1)]
            entering = values[max(previous + 1, oldest) : newest + 1]
            if len(leaving) > previous + 1 - oldest_before - len(leaving):  # more rows leave than stay
                state = self._built(values[oldest : newest + 1])
            else:
                state = self._moved(state, leaving, entering)
            if newest in windows:
                results.append(self._result(state))
            previous = newest
        return state

    def _moved(self, state: State, leaving: list[Any], entering: list[Any]) -> State:
        """Return a state that rows have left and entered."""
        if self._skips_rows:
            leaving = without_skipped(leaving)
            entering = without_skipped(entering)
        method = "remove_events"
        try:
            if leaving:
                state = self._called.remove_events(state, leaving)
            method = "add_events"
            return self._called.add_events(state, entering) if entering else state
        except BaseException as error:
            raise ModuleCallError(self._module, method) from safe_cause(error)

    def _built(self, values: list[Any]) -> State:
        """Return the state of some rows alone."""
        try:
            state = self._called.create_state()
        except BaseException as error:
            raise ModuleCallError(self._module, "create_state") from safe_cause(error)
        return self._moved(state, [], values)

    def _result(self, state: State) -> Any:
        try:
            result = self._called.compute_result(state)
            if not self._is_operator:
                return result
            return [row.payload if isinstance(row, Event) else row for row in rows_of(result)]
        except BaseException as error:
            raise ModuleCallError(self._module, "compute_result") from safe_cause(error)
