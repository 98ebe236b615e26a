"""Final output: a window is computed once, when no legal change can alter it."""

from __future__ import annotations

from muntin_engine.core.admission import Admission
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.closing import Closing
from muntin_engine.core.computation import Computation, OutputRow, Stamper
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.retirement import retire
from muntin_engine.core.sweep import Slide, Step


class FinalEvaluator:
    """Evaluates closing windows in one sweep. Between batches it keeps events and nothing else.

    Cost: a change costs its place in the index. A batch that closes windows costs the key's open events, plus for
    each window what its modules cost: a constant per row for modules that slide, the members for the others.

    Attributes:
        windows_closed: How many windows with members it has closed.
    """

    def __init__(self, query: WindowedQuery) -> None:
        self._query = query
        self._closing = Closing(query)
        self._computations = [Computation(binding, query.clip) for binding in query.bindings]
        self._stamper = Stamper(query)
        self.windows_closed = 0

    def evaluate(
        self, key: object, state: KeyState, admission: Admission, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take a batch into a key's state and return what it puts out."""
        admission.settle()
        limit = self._closing.limit(state, now.punctuation)
        output: list[OutputChange] = []
        if limit is not None:
            slides = [Slide(computation, key) for computation in self._computations]
            for step in self._closing.steps(state, limit, before.punctuation, now):
                output += [_insertion(state, step, row) for row in self._rows(slides, step)]
        retire(self._query, state, now.punctuation)
        return output

    def _rows(self, slides: list[Slide], step: Step) -> list[OutputRow]:
        if step.members:
            self.windows_closed += 1
            return self._stamper.rows(step.window, [slide.result(step) for slide in slides])
        for slide in slides:
            slide.skip()
        return []


def _insertion(state: KeyState, step: Step, row: OutputRow) -> OutputChange:
    return OutputChange(OutputKind.INSERT, state.next_serial(), step.window, row.start, row.end, row.value)
