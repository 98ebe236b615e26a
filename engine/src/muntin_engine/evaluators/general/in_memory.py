"""Run the general evaluator without Spark, for restart tests."""

from __future__ import annotations

from collections.abc import Sequence

from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress
from muntin_engine.evaluators.general.bucket import BatchRun, Bucket
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec


class GeneralInMemory:
    """Evaluates windows from their events.

    Attributes:
        evicted: The rows of the second output, of the last micro-batch.
    """

    def __init__(self, plan: Plan, cells: Cells, codec: Codec, run: type[BatchRun] = BatchRun) -> None:
        query = plan.evaluator_query([Meter() for _ in plan.modules])
        self.evicted: Sequence[tuple[Key, OutputChange]] = ()
        self._bucket = Bucket(query, cells, codec, plan_identity(plan), run=run)

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        result = self._bucket.process([(key, [row]) for key, row in rows], arrived)
        self.evicted = [(key, change) for key, changes in result.evicted for change in changes]
        return [(key, change) for key, changes in result.output for change in changes]
