"""The live output of a query: the results that were emitted and not retracted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from muntin import Window
from muntin.testing import equal
from muntin_engine.time.changes import OutputChange, OutputKind, Timing


class LiveResult(NamedTuple):
    """A live result: emitted, and not retracted; or a row of the second output.

    Attributes:
        key: The key.
        window: The window.
        start: The start of its lifetime.
        end: The end of its lifetime.
        value: The value, or the row of an operator.
        timing: Early or final.
        firing: The number of earlier firings of the window.
        is_evicted: True for a row of the second output.
    """

    key: Hashable
    window: Window
    start: int
    end: int
    value: Any
    timing: Timing = Timing.FINAL
    firing: int = 0
    is_evicted: bool = False


class EmittedResult(NamedTuple):
    """A live result with the names by which the engine retracts it.

    Attributes:
        key_number: The number of its key.
        id: The id of its row.
        result: The result.
    """

    key_number: int
    id: int
    result: LiveResult


class LiveOutput:
    """The live output, as it changes.

    Attributes:
        emitted: The live results with their names.
    """

    def __init__(self, emitted: Iterable[EmittedResult] = ()) -> None:
        self.emitted = list(emitted)

    def apply(self, key_number: int, key: Hashable, change: OutputChange, *, is_evicted: bool = False) -> None:
        """Apply a change of an output. A retraction of a row that was never emitted has no effect.

        Args:
            key_number: The number of the key.
            key: The key.
            change: The change.
            is_evicted: True for a change of the second output, which has the rows that leave windows.
        """
        result = LiveResult(
            key=key,
            window=change.window,
            start=change.start,
            end=change.end,
            value=change.value,
            timing=change.timing,
            firing=change.firing,
            is_evicted=is_evicted,
        )
        emitted = EmittedResult(key_number, change.id, result)
        if change.kind is OutputKind.INSERT:
            self.emitted.append(emitted)
            return
        if not self._remove(emitted):
            return
        # A revision moves the end of the result; any other change retracts it.
        if change.kind is OutputKind.REVISE and change.new_end is not None:
            revised = result._replace(end=change.new_end)
            self.emitted.append(EmittedResult(key_number, change.id, revised))

    def _remove(self, emitted: EmittedResult) -> bool:
        """Remove a result; return False if it is not live."""
        for place, live_result in enumerate(self.emitted):
            if equal(tuple(live_result), tuple(emitted)):  # which takes NaN for equal to NaN
                del self.emitted[place]
                return True
        return False

    def results(self) -> list[LiveResult]:
        """Return the live output."""
        return [emitted.result for emitted in self.emitted]
