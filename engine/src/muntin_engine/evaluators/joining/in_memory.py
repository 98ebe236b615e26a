"""Run the evaluator of joins without Spark, for restart tests."""

from __future__ import annotations

from collections.abc import Sequence

from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress
from muntin_engine.evaluators.joining.join_bucket import Arrival, JoinBucket
from muntin_engine.evaluators.joining.join_query import JoinQuery
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility


class JoinInMemory:
    """Joins rows of two sides.

    Attributes:
        evicted: Nothing: joins have no second output.
    """

    def __init__(self, query: JoinQuery, compatibility: Compatibility, cells: Cells, codec: Codec) -> None:
        self.evicted: Sequence[tuple[Key, OutputChange]] = ()
        self._bucket = JoinBucket(query, [ProgressTracker(), ProgressTracker()], cells, codec, compatibility)

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        result = self._bucket.process([(key, [row]) for key, row in rows], [Arrival(arrived)] * 2)
        return [(key, change) for key, changes in result.output for change in changes]
