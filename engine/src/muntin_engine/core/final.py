"""Final output: a window is computed once, when no legal change can alter it."""

from __future__ import annotations

from collections.abc import Iterator

from muntin import EARLIEST, INFINITY
from muntin_engine.core.admission import Admission
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.computation import Computation, OutputRow, Stamper
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.retirement import boundary_limit, closing_limit, retire
from muntin_engine.core.sweep import Slide, Step, sweep


class FinalEvaluator:
    """Evaluates closing windows in one sweep. Between batches it keeps events and nothing else.

    Cost: a change costs its place in the index. A batch that closes windows costs the key's open events, plus for
    each window what its modules cost: a constant per row for modules that slide, the members for the others.
    """

    def __init__(self, query: WindowedQuery) -> None:
        self._query = query
        self._computations = [Computation(binding, query.clip) for binding in query.bindings]
        self._stamper = Stamper(query)

    def evaluate(
        self, key: object, state: KeyState, admission: Admission, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take a batch into a key's state and return what it puts out."""
        admission.settle()
        limit = self._limit(state, now.punctuation)
        first = state.assigner.first_open(state.events.earliest(state.assigner.frontier))
        output: list[OutputChange] = []
        if first is not None and first.end <= limit:
            slides = [Slide(computation, key) for computation in self._computations]
            for step in self._closing(state, limit, before.punctuation, now):
                output += [_insertion(state, step, row) for row in self._rows(slides, step)]
        retire(self._query, state, now.punctuation)
        return output

    def _closing(self, state: KeyState, limit: int, before: int, now: Progress) -> Iterator[Step]:
        """Yield the windows that close now, and those that are empty after one that is not."""
        frontier = state.assigner.frontier
        events = [event for event in state.events.until_after(frontier) if event.since < limit]
        for step in sweep(state.assigner.ending(events, EARLIEST, limit, now.horizon), events):
            if not self._closes_alone or self._has_closed(step, now.punctuation) > self._has_closed(step, before):
                yield step

    @property
    def _closes_alone(self) -> bool:
        """True if a window may close before an earlier one: an event in one count window may not be in the next."""
        return self._query.counts and self._query.waits_for_ends

    def _limit(self, state: KeyState, punctuation: int) -> int:
        if self._closes_alone:
            return boundary_limit(self._query, punctuation)
        return closing_limit(self._query, state, punctuation)

    def _has_closed(self, step: Step, punctuation: int) -> bool:
        """True if a window closed at a punctuation; what closed then has not changed since."""
        if punctuation == INFINITY:
            return True
        return step.window.end <= punctuation and all(event.end < punctuation for event in step.members.values())

    def _rows(self, slides: list[Slide], step: Step) -> list[OutputRow]:
        if step.members:
            return self._stamper.rows(step.window, [slide.result(step) for slide in slides])
        for slide in slides:
            slide.skip()
        return []


def _insertion(state: KeyState, step: Step, row: OutputRow) -> OutputChange:
    return OutputChange(OutputKind.INSERT, state.next_serial(), step.window, row.start, row.end, row.value)
