"""The evaluation of one key in a micro-batch: the four phases of the paper's section V.D, and its clean-up."""

from __future__ import annotations

from muntin import EarlyEmission, EmitPolicy
from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.admission import Admission
from muntin_engine.evaluators.general.affected import AffectedWindows
from muntin_engine.evaluators.general.closing import forget_closed
from muntin_engine.evaluators.general.computation import WindowResults
from muntin_engine.evaluators.general.emission import Emission, FinalEmission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.speculative import SpeculativeEmission
from muntin_engine.evaluators.general.triggered import TriggeredEmission


class KeyEvaluation:
    """Evaluates the keys of a micro-batch, one after the other.

    Attributes:
        emission: The strategy by which windows are emitted.
        windows_closed: How many windows with members have closed.
    """

    def __init__(self, query: EvaluatorQuery, signals: frozenset[str] = frozenset()) -> None:
        """Prepare for a micro-batch.

        Args:
            query: The query.
            signals: The names of the external events that it brings.
        """
        results = WindowResults(query)
        self._query = query
        self._affected = AffectedWindows(query, results.computations)
        self._forgotten = 0
        self.emission: Emission
        if isinstance(query.emit, EarlyEmission):
            self.emission = TriggeredEmission(query, results, query.emit, signals)
        elif query.emit is EmitPolicy.FINAL:
            self.emission = FinalEmission(query, results)
        else:
            self.emission = SpeculativeEmission(query, results)

    @property
    def windows_closed(self) -> int:
        """The number of windows with members that have closed."""
        return self.emission.windows_closed + self._forgotten

    def evaluate(
        self, key: object, state: KeyState, admission: Admission, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take what was admitted of a key into its state, and return the net change of its output.

        Args:
            key: The key.
            state: Its state.
            admission: The rows of the micro-batch.
            before: The progress before the micro-batch, as it counts for the key.
            now: The progress after it.
        """
        if self.emission.follows_windows:
            affected = self._affected.find(state, admission, before, now)
        else:
            admission.settle()
            affected = {}
        output = self.emission.emit(key, state, affected, before, now)
        self._forgotten += forget_closed(self._query, state, now.watermark)
        return output
