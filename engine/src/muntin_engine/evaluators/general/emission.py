"""Emission: the contract of the strategies by which general evaluation emits windows, and the plainest of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from muntin import Window
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.closing import ClosingWindows
from muntin_engine.evaluators.general.computation import WindowResults
from muntin_engine.evaluators.general.key_state import KeyState


class Emission(ABC):
    """Emits the windows of a key in a micro-batch, once its changes are in the indexes.

    Windows that are closed are forgotten after it.

    Attributes:
        follows_windows: True if it keeps an entry for each window that is emitted or watched. It is then told which
            windows a micro-batch affects.
        is_signalled: True if every key must be looked at, whatever its timers say.
        windows_closed: How many windows with members it has emitted for good, and of which it keeps no entry.
        evicted: What rows of the last key gave when they left, where a module makes an output of that.
    """

    follows_windows: ClassVar[bool] = True
    is_signalled: bool = False
    windows_closed: int = 0
    evicted: Sequence[OutputChange] = ()

    @abstractmethod
    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the net change of a key's output.

        Args:
            key: The key.
            state: Its state, which has taken the micro-batch in.
            affected: The windows that the micro-batch affects, and those that become visible; empty unless it
                follows windows.
            before: The progress before the micro-batch, as it counts for the key.
            now: The progress after it.
        """


class FinalEmission(Emission):
    """Emits closing windows, computed in one sweep. Between batches it keeps events and nothing else.

    Cost: a change costs its place in the index. A batch that closes windows costs the key's open events, plus for
    each window what its modules cost: a constant per row for modules that slide, the members for the others.
    """

    follows_windows = False

    def __init__(self, query: EvaluatorQuery, results: WindowResults) -> None:
        self._closing = ClosingWindows(query)
        self._results = results

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close."""
        del affected  # nothing is kept that it could alter
        limit = self._closing.limit(state, now.watermark)
        if limit is None:
            return []
        output: list[OutputChange] = []
        for step, rows in self._results.rows(key, self._closing.steps(state, limit, before.watermark, now)):
            self.windows_closed += 1
            for row in rows:
                state.serial += 1
                output.append(OutputChange(OutputKind.INSERT, state.serial, step.window, row.start, row.end, row.value))
        return output
