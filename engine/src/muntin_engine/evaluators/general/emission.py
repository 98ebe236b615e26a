"""The contract of an emission, which emits the windows of keys, and the one that emits them when they close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from muntin import Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_closing import Closing
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.sweep import SweptWindow
from muntin_engine.time.changes import OutputChange, OutputKind, Progress


class Emission(ABC):
    """Emits the windows of a key in a micro-batch, after its changes are applied to the indexes.

    The caller then drops the state of closed windows.

    Attributes:
        follows_windows: True if the emission keeps an entry for each window that was emitted or has a trigger. It then
            gets the windows that a micro-batch affects.
        is_signalled: True if every key has work, whatever its timer says, because of a signal.
        windows_closed: The number of windows with members that were emitted as final and have no entry any more.
    """

    follows_windows: ClassVar[bool] = True
    is_signalled: bool = False
    windows_closed: int = 0

    def begin_key(self) -> None:  # noqa: B027  # most know nothing of a key between two calls
        """Begin a key, which has one call of `emit` or, where keys are forgotten, one for each of its lives."""

    @abstractmethod
    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], previous: Progress, progress: Progress
    ) -> list[OutputChange]:
        """Return the net change of a key's output.

        Args:
            key: The key.
            state: The state of the key, with the micro-batch applied.
            affected: The windows that the micro-batch affects, and those that become visible, whose first results are
                emitted before they close; empty if `follows_windows` is false.
            previous: The progress before the micro-batch, with the key's own watermark.
            progress: The progress after the micro-batch, likewise.
        """


class FinalEmission(Emission):
    """Emits windows when they close, computed in one sweep. Between batches it keeps events alone.

    Cost: a change is inserted into the index. A batch that closes windows goes through the key's open events once, and
    calls the modules for each window. A module whose state slides gets all members of the first window, and then each
    row that enters or leaves once. Any other module gets all members of each window. So a row that is in many windows
    is added once in each batch that closes some of them.
    """

    follows_windows = False

    def __init__(self, closing: Closing, results: WindowResults) -> None:
        """Prepare to emit windows as they close, with the computation of their results."""
        self._closing = closing
        self._results = results

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], previous: Progress, progress: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close; no earlier output ever changes."""
        steps = self._closing.steps(state, previous, progress)
        if not steps:
            return []
        output = self.rows(key, steps, state.serial)
        state.serial += len(output)
        return output

    def rows(self, key: object, steps: Iterable[SweptWindow], serial: int) -> list[OutputChange]:
        """Count the windows of a sweep as closed, and return their rows, numbered from the one after `serial` on."""
        output: list[OutputChange] = []
        stamped_rows = self._results.stamper.rows
        for step, values in self._results.values(key, steps):
            self.windows_closed += 1
            for row in stamped_rows(key, step.window, values):
                serial += 1
                output.append(OutputChange(OutputKind.INSERT, serial, step.window, *row))
        return output
