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
        first: The place of the key's first row among those of all keys.
        held_count: The number of its rows that were in its window before the batch; they come first.
        size: The number of its rows.
        newest: The places of the newest rows of the windows to compute, among the rows of the key.
    """

    code: int
    first: int
    held_count: int
    size: int
    newest: Sequence[int]


class KeyStates:
    """The states of one module.

    Cost: for each row a call that adds it and one that removes it, and for each window one for its result. A state from
    which more rows were removed than a window has is built anew in the next batch of its key, in one call: so the
    rounding of removals that are not exact does not add up for ever.

    Attributes:
        label: The module, by name and version.
        meter: Measures its calls.
        place: The place of the row that the module was last called for, among those of all keys.
    """

    def __init__(self, binding: Binding, windows: RankedWindows) -> None:
        """Start without states.

        Args:
            binding: The module with the columns that it reads.
            windows: The windows.
        """
        self.label = f"{binding.module.name} {binding.module.version}"
        self.meter: Meter = binding.meter
        self.place = 0  # of the row that the module was last called for
        self._module: Any = binding.module
        self._called = binding.called
        self._select = binding.select
        self._counts_accepted = binding.called is not binding.module
        """True if the module may skip payloads: it is called through a wrapper that counts those that it accepts."""
        self._is_operator = binding.module.is_operator
        self._windows = windows
        self._slides_by_one = windows.every == 1 and windows.size > 1 and not self._is_operator
        """True if each row has a window, which shares rows with the one before: then `_slide_by_one` is faster."""
        self._states: dict[int, WindowState] = {}

    @property
    def nbytes(self) -> int:
        """The bytes that the states take, roughly."""
        return len(self._states) * _STATE_BYTES

    def select(self, columns: Sequence[list[Any]], count: int) -> Payloads:
        """Return the payloads of rows for the module.

        Args:
            columns: The values of each column of the query.
            count: The number of rows.
        """
        return payloads_of(self._select, columns, count)

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self._states = {int(new_codes[code]): state for code, state in self._states.items()}

    def clear(self) -> None:
        """Forget all states."""
        self._states = {}

    def results(self, keys: Sequence[RowsOfKey], payloads: Payloads) -> list[Any]:
        """Move the state of each key on to the last of its rows, and return the results of the windows on the way.

        Results come key by key. The states are kept for the next batch, which goes on from them.

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
            # If a state cannot be built, the error names the last row of the window before the batch, or the first row.
            self.place = key.first + max(0, key.held_count - 1)
            # A new key has no state, nor has any key after a restart. A state that many rows were removed from is built
            # anew, so that the rounding of removals does not add up.
            if window is None or window.removed > self._windows.size:
                window = WindowState(self._built(values[: key.held_count]))

            # `_slide` can do all; `_slide_by_one` is faster where each row has a window and none is skipped.
            if not self._slides_by_one or (payloads.has_skipped and SKIPPED in values):
                state = self._slide(window.state, values, key, results)
            elif self._counts_accepted:
                # The module accepts all rows of the key: it is called directly. The state of the wrapper is the pair of
                # the number of accepted rows and the module's own state.
                _, module_state = window.state
                module_state = self._slide_by_one(module_state, values, key, results)
                state = (min(self._windows.size, key.size), module_state)
            else:
                state = self._slide_by_one(window.state, values, key, results)
            removed = max(0, key.size - self._windows.size)
            self._states[key.code] = WindowState(state, window.removed + removed)
        return results

    def _slide_by_one(self, state: State, values: list[Any], key: RowsOfKey, results: list[Any]) -> State:
        """Compute a window at each new row of a key, row by row; return the state of the window at its last row.

        Args:
            state: The state of the window before the batch.
            values: The payloads of the key's rows.
            key: The rows of the key.
            results: The list to which the results are added.
        """
        module = self._module
        add = module.add_events
        remove = module.remove_events
        compute = module.compute_result
        size = self._windows.size
        only_full = self._windows.only_full
        filling_stop = min(size, key.size)  # the place of the first row at which another row leaves the window
        method = "add_events"
        first_result = len(results)
        try:
            # Until the window is full, rows only enter. Each row is noted as it comes, as it may have no result.
            for place in range(key.held_count, filling_stop):
                self.place = key.first + place
                first_result = len(results)
                state = add(state, [values[place]])
                if not only_full or place + 1 == size:
                    method = "compute_result"
                    results.append(compute(state))
                    method = "add_events"

            # From then on, the oldest row leaves as the next one enters. Noting each row would take time: only the
            # first one is noted. Each row has a result, so if a call fails, the number of results tells the row.
            first_result = len(results)
            sliding_start = max(filling_stop, key.held_count)
            self.place = key.first + sliding_start
            for leaving, entering in zip(values, values[sliding_start:], strict=False):
                method = "remove_events"
                state = remove(state, [leaving])
                method = "add_events"
                state = add(state, [entering])
                method = "compute_result"
                results.append(compute(state))
        except BaseException as error:
            self.place += len(results) - first_result  # the rows after the noted one
            raise ModuleCallError(module, method) from safe_cause(error)
        return state

    def _slide(self, state: State, values: list[Any], key: RowsOfKey, results: list[Any]) -> State:
        """Compute the windows of a key, from one to the next; return the state of the window at its last row.

        Args:
            state: The state of the window before the batch.
            values: The payloads of the key's rows.
            key: The rows of the key.
            results: The list to which the results are added.
        """
        # The state stops at the newest row of each window, and at the key's last row, even if no window is computed at
        # the last row: the next batch goes on from there.
        size = self._windows.size
        stops = list(key.newest)
        if not stops or stops[-1] < key.size - 1:
            stops.append(key.size - 1)
        computed_stops = set(key.newest)

        # Each window is `values[oldest:stop]`.
        previous_stop = key.held_count
        for newest in stops:
            self.place = key.first + newest
            stop = newest + 1
            oldest = max(0, stop - size)
            previous_oldest = max(0, previous_stop - size)
            # Rows that only the previous window has leave, and rows that only this window has enter. If the two windows
            # have no row in common, rows between them do neither.
            leaving = values[previous_oldest : min(oldest, previous_stop)]
            entering = values[max(previous_stop, oldest) : stop]
            staying_count = max(0, previous_stop - oldest)
            if len(leaving) > staying_count:  # to build the state anew takes fewer rows than to remove these
                state = self._built(values[oldest:stop])
            else:
                state = self._moved(state, leaving, entering)
            if newest in computed_stops:
                results.append(self._result(state))
            previous_stop = stop
        return state

    def _moved(self, state: State, leaving: list[Any], entering: list[Any]) -> State:
        """Remove payloads from a state, then add others; return the new state.

        Args:
            state: The state.
            leaving: The payloads to remove; the module may have skipped some.
            entering: The payloads to add; the module may skip some.
        """
        if self._counts_accepted:
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
        """Return a new state with payloads; the module may skip some."""
        try:
            state = self._called.create_state()
        except BaseException as error:
            raise ModuleCallError(self._module, "create_state") from safe_cause(error)
        return self._moved(state, leaving=[], entering=values)

    def _result(self, state: State) -> Any:
        """Return the result of a state, which for an operator is the list of the payloads of its rows."""
        try:
            result = self._called.compute_result(state)
            if not self._is_operator:
                return result
            return [row.payload if isinstance(row, Event) else row for row in rows_of(result)]
        except BaseException as error:
            raise ModuleCallError(self._module, "compute_result") from safe_cause(error)
