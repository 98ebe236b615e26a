"""Final output: a window is computed once, when no legal change can alter it."""

from __future__ import annotations

from muntin import Window
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.closing_windows import ClosingWindows
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_results import WindowResults


class FinalEmission(Emission):
    """Emits closing windows, computed in one sweep. Between batches it keeps events and nothing else.

    Cost: a change costs its place in the index. A batch that closes windows costs the key's open events, plus for
    each window what its modules cost: a constant per row for modules that slide, the members for the others.
    """

    follows_windows = False

    def __init__(self, query: EvaluatorQuery, results: WindowResults) -> None:
        super().__init__()
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
                serial = state.next_serial()
                output.append(OutputChange(OutputKind.INSERT, serial, step.window, row.start, row.end, row.value))
        return output
