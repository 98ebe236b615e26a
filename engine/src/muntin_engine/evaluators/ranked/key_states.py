"""The state of a module that goes on from window to window of a key, as rows come and go, for many keys in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from muntin import Event
from muntin.columnar.arrays import IntArray
from muntin.errors.safe_text import safe_cause
from muntin.modules.aggregate import rows_of
from muntin.rows import RankedWindows
from muntin_engine.evaluators.arrays.stretches.python_states import ModuleCallError, State
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.meter import Meter
from muntin_engine.modules.skipping import Payloads, payloads_of, without_skipped

_PAYLOAD_BYTES: Final = 40
"""The memory of a payload and its place, roughly; of payloads that are larger, only what is written is known."""


class WindowState:
    """The state of the window of a key.

    Attributes:
        state: The module's state of the rows that were in it when it was last computed.
        payloads: The payloads of these rows, the oldest first; `SKIPPED` of rows that the module does not accept.
        entering: The payloads of the rows that came since.
        removed: The number of payloads that were removed since the state was built anew.
    """

    __slots__ = ("entering", "payloads", "removed", "state")

    def __init__(self, state: State, entering: list[Any]) -> None:
        """Begin a state of nothing.

        Args:
            state: The state.
            entering: The payloads of rows that are in the window already.
        """
        self.state = state
        self.payloads: deque[Any] = deque()
        self.entering = entering
        self.removed = 0


class KeyStates:
    """The states of one module.

    Cost: for each row a call that adds it and one that removes it, and for each window one for its result. A state that
    as many rows were removed from as a window has is built anew before the next batch, in one call: so the rounding of
    removals that are not exact does not add up for ever.

    Attributes:
        label: The module, by name and version.
        meter: Measures its calls.
        place: The place of the row at which the window is computed that the module was last called for.
    """

    def __init__(self, binding: Binding, windows: RankedWindows) -> None:
        """Keep no state yet."""
        self.label = f"{binding.module.name} {binding.module.version}"
        self.meter: Meter = binding.meter
        self.place = 0
        self._module: Any = binding.module
        self._called = binding.called
        self._select = binding.select
        self._may_skip = binding.called is not binding.module
        self._is_operator = binding.module.is_operator
        self._windows = windows
        self._states: dict[int, WindowState] = {}

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return len(self._states) * self._windows.size * _PAYLOAD_BYTES

    def lacks(self, code: int) -> bool:
        """Return True if a key has no state, so that the rows in its window have to be added first."""
        return code not in self._states

    def select(self, columns: Sequence[list[Any]], count: int) -> Payloads:
        """Return the payloads of rows that are given as columns of all inputs of the query."""
        return payloads_of(self._select, columns, count)

    def begin(self, code: int, payloads: list[Any]) -> None:
        """Begin the state of a key, given the payloads of the rows that are in its window."""
        self._states[code] = WindowState(self._created(), payloads)

    def results(self, code: int, payloads: list[Any], newest: Iterator[tuple[int, int]]) -> Iterator[Any]:
        """Yield the result of each window of a key.

        Args:
            code: The code of the key.
            payloads: The payloads of the rows that are released.
            newest: For each window that is computed, its newest row's place among all rows, and the number of payloads
                up to it.
        """
        window = self._states[code]
        if window.removed > self._windows.size:
            self._renew(window)
        first = 0
        for self.place, stop in newest:
            entering = payloads[first:stop]
            first = stop
            if window.entering:
                entering = window.entering + entering
                window.entering = []
            self._enter(window, entering)
            yield self._result(window.state)
        if first < len(payloads):
            # Rows that leave before the next window is computed are never seen.
            window.entering = (window.entering + payloads[first:])[-self._windows.size :]

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self._states = {int(codes[code]): window for code, window in self._states.items()}

    def clear(self) -> None:
        """Forget all states."""
        self._states = {}

    def _renew(self, window: WindowState) -> None:
        """Build a state anew before the rows of a batch enter it."""
        window.entering = [*window.payloads, *window.entering][-self._windows.size :]
        window.payloads = deque()
        window.removed = 0
        window.state = self._created()

    def _created(self) -> State:
        try:
            return self._called.create_state()
        except BaseException as error:
            raise ModuleCallError(self._module, "create_state") from safe_cause(error)

    def _enter(self, window: WindowState, entering: list[Any]) -> None:
        """Bring a state up to date, as rows enter the window and push others out."""
        payloads = window.payloads
        entering = entering[-self._windows.size :]
        excess = len(payloads) + len(entering) - self._windows.size
        leaving: list[Any] = []
        if excess > 0:
            leaving = [payloads.popleft() for _ in range(excess)]
            window.removed += excess
        if excess > len(payloads):  # more rows leave than stay
            entering = [*payloads, *entering]
            payloads.clear()
            leaving = []
            window.state = self._created()
        payloads.extend(entering)
        if self._may_skip:
            leaving = without_skipped(leaving)
            entering = without_skipped(entering)
        method = "remove_events"
        try:
            if leaving:
                window.state = self._called.remove_events(window.state, leaving)
            method = "add_events"
            if entering:
                window.state = self._called.add_events(window.state, entering)
        except BaseException as error:
            raise ModuleCallError(self._module, method) from safe_cause(error)

    def _result(self, state: State) -> Any:
        try:
            result = self._called.compute_result(state)
            if not self._is_operator:
                return result
            return [row.payload if isinstance(row, Event) else row for row in rows_of(result)]
        except BaseException as error:
            raise ModuleCallError(self._module, "compute_result") from safe_cause(error)
