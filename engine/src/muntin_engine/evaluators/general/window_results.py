"""The rows of windows, computed in one sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.computation import ModuleComputation, OutputRow, Stamper
from muntin_engine.evaluators.general.sweep import Slide, SweptWindow


class WindowResults:
    """Computes the results of windows and gives them lifetimes.

    Attributes:
        computations: The modules of the query.
        stamper: Gives results their lifetimes.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        self.computations = [ModuleComputation(binding, query.clip) for binding in query.bindings]
        self.stamper = Stamper(query)

    def slides(self, key: object) -> list[Slide]:
        """Return a `Slide` per module, which carries its state from window to window of a key."""
        return [Slide(computation, key) for computation in self.computations]

    def rows(self, key: object, steps: Iterable[SweptWindow]) -> Iterator[tuple[SweptWindow, list[OutputRow]]]:
        """Yield the steps of a sweep that have members, with their rows."""
        slides = self.slides(key)
        for step in steps:
            if step.members:
                yield step, self.stamper.rows(key, step.window, [slide.result(step) for slide in slides])
            else:
                for slide in slides:
                    slide.skip()
