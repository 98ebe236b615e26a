"""Evaluate a join, key by key: a micro-batch of both inputs gives the changes of the output."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import EARLIEST, INFINITY, JoinKind
from muntin_engine.core.changes import Key, OutputChange, Progress
from muntin_engine.evaluators.joins.clipping import ClipEmission
from muntin_engine.evaluators.joins.emission import JoinEmission
from muntin_engine.evaluators.joins.join_query import JoinQuery
from muntin_engine.evaluators.joins.key_state import JoinState
from muntin_engine.evaluators.joins.matching import Watermarks
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.evaluators.keyed.bucket import KeyedBucket, KeyedRun, Start
from muntin_engine.state.bucket_state import Due, KeyTimer


class JoinRun(KeyedRun):
    """A micro-batch of both inputs."""

    state_class = JoinState
    query: JoinQuery

    def __init__(self, query: JoinQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self._emission = ClipEmission if query.kind is JoinKind.CLIP else JoinEmission
        (left, left_before), (right, right_before) = (
            (now.watermark, before.watermark) for now, before in zip(self.now, self.before, strict=True)
        )
        self._watermarks = Watermarks(left, right)
        # a side closes once: nothing waits for it then
        left, right = left - (left == INFINITY == left_before), right - (right == INFINITY == right_before)
        self.due_at = Due(left, right_closing=right)

    def evaluate(
        self,
        key: Key,
        state: JoinState,
        nets: Sequence[NetChanges],
        before: Sequence[Progress],
        now: Sequence[Progress],
    ) -> list[OutputChange]:
        """Take the net changes of both inputs in, and return the rows that change, or are final now."""
        self._of_key = self._emission(self.query, state, self._watermarks)
        output = self._of_key.emit(nets)
        self._of_key.forget()
        return output

    def timer_of(self, state: JoinState, now: Sequence[Progress]) -> KeyTimer:
        """Return when the key has work, by the watermark of each input."""
        return self._of_key.timer()

    def output_watermark(self, earliest: int) -> int:
        """Return the least watermark of both inputs, or the first start of a row that waits."""
        least = self.result.progress.watermark
        return least if least in (EARLIEST, INFINITY) else min(least, earliest)


class JoinBucket(KeyedBucket):
    """Evaluates a join."""

    run = JoinRun
