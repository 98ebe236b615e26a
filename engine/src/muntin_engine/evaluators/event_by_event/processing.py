"""A micro-batch of a bucket of keys that an operator follows."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from muntin import INFINITY, ClipPolicy, tumbling
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.event_by_event.following import FollowingEmission
from muntin_engine.evaluators.event_by_event.key_state import FollowedState
from muntin_engine.evaluators.general.bucket import BatchRun
from muntin_engine.evaluators.general.closing import waiting_times
from muntin_engine.evaluators.general.computation import WindowResults
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.state.bucket_state import BucketMetadata, KeyTimer
from muntin_engine.state.codec import Codec


class EventByEventRun(BatchRun):
    """A micro-batch on its way through the keys: events are admitted as elsewhere, and wait for the watermark."""

    state_class: ClassVar[type[KeyState]] = FollowedState

    def __init__(
        self, query: EvaluatorQuery, codec: Codec, metadata: BucketMetadata, now: Progress, signals: frozenset[str]
    ) -> None:
        """Begin."""
        of_ticks = query.once(_of_ticks)
        super().__init__(of_ticks, codec, metadata, now, signals)
        self.emission = FollowingEmission(of_ticks, of_ticks.once(WindowResults).computations[0])

    def output_watermark(self, earliest: int) -> int:
        """Return the watermark: what is handed over later lies at it or after it, and no row before its cause."""
        del earliest
        return self.now.watermark

    def timer_of(self, state: KeyState, now: Progress) -> KeyTimer:
        """Return when the next event is handed over, the operator woken, or an event forgotten."""
        assert isinstance(state, FollowedState)
        waiting = next((event.until for event in state.events if event.is_member), INFINITY)
        if state.lasts:
            starts = (event.start + 1 for event in state.events if event.is_member and event.start >= now.watermark)
            waiting = min([waiting, *starts])
        kept = [event.end + 1 for event in state.events.until_at_most(state.assigner.frontier)]
        return KeyTimer(min([waiting, state.wake_up, *kept, *waiting_times(state, now.watermark)]), INFINITY, INFINITY)


def _of_ticks(query: EvaluatorQuery) -> EvaluatorQuery:
    """Return the query in which an event waits as a member of a window of one tick would: until that is over."""
    return replace(query, window=tumbling(1), clip=ClipPolicy.FULL)
