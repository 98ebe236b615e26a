"""Evaluate what follows events in their order, key by key: row windows and stream operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from muntin import EARLIEST, INFINITY, IntervalOperator, RowOperator, TimestampPolicy
from muntin.rows import RowWindows
from muntin_engine.core.changes import Key, OutputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.evaluators.keyed.bucket import KeyedBucket, KeyedRun, Start
from muntin_engine.evaluators.keyed.computation import results_in_order
from muntin_engine.evaluators.ordered.delay_buffer import DelayBuffer, Follower
from muntin_engine.evaluators.ordered.row_operator import RowOperatorCalls
from muntin_engine.evaluators.ordered.row_windows import RowAggregates
from muntin_engine.evaluators.ordered.rows_state import LATER, RowsState
from muntin_engine.evaluators.ordered.stream_operator import LastingState, OperatorState, StreamOperatorCalls
from muntin_engine.state.bucket_state import Due, KeyTimer


class OrderedRun(KeyedRun):
    """A micro-batch of events that wait in the delay buffers of their keys, and of what follows those released."""

    follower: Follower[Any]

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self.due_at = Due(self.now[0].watermark)

    def evaluate(
        self,
        key: Key,
        state: DelayBuffer,
        nets: Sequence[NetChanges],
        before: Sequence[Progress],
        now: Sequence[Progress],
    ) -> list[OutputChange]:
        """Take the net changes of a key in, and let what follows its events follow those that are released."""
        nets[0].apply()
        output = self.follower.follow(key, state, state.release(now[0].watermark), before[0], now[0])
        self.result.windows_closed = self.follower.windows_closed
        if self.follower.evicted:
            self.result.evicted.append((key, self.follower.evicted))
        return output


class RowsRun(OrderedRun):
    """A micro-batch of windows that follow rows."""

    state_class = RowsState

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self._windows, (now,) = cast(RowWindows, query.window), self.now
        self._is_aligned = query.timestamps is not TimestampPolicy.POINT_AT_END
        self._start_of_new = self._windows.earliest_start(self._windows.create_state(), LATER)
        results = query.once(results_in_order)
        if isinstance(query.bindings[0].module, RowOperator):
            self.follower = RowOperatorCalls(query, self._windows, now, self.serializer)
        else:
            self.follower = RowAggregates(query, self._windows, results, now)

    def output_watermark(self, earliest: int) -> int:
        """Return the least start of a window that a row may yet be in; of points, what time has come to."""
        watermark = self.now[0].watermark
        if watermark in (EARLIEST, INFINITY) or not self._is_aligned:
            return watermark
        unborn = self._windows.earliest_start(self._windows.create_state(), watermark)
        return min(watermark, unborn, earliest)

    def timer_of(self, state: RowsState, now: Sequence[Progress]) -> KeyTimer:
        """Return when the next row is released, or time does something."""
        watermark = now[0].watermark
        bound = state.earliest_start(watermark, self._start_of_new) if self._is_aligned else INFINITY
        return KeyTimer(min(state.due(watermark), state.next_tick()), INFINITY, bound)


class StreamRun(OrderedRun):
    """A micro-batch of events that a stream operator follows."""

    state_class = OperatorState

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        if isinstance(query.bindings[0].module, IntervalOperator):
            self.state_class = LastingState
        super().__init__(query, start)
        self.follower = StreamOperatorCalls(query)

    def output_watermark(self, earliest: int) -> int:
        """Return the watermark: what is handed over later lies at it or after it, and no row before its cause."""
        del earliest
        return self.now[0].watermark

    def timer_of(self, state: OperatorState, now: Sequence[Progress]) -> KeyTimer:
        """Return when the next event is released, or the operator is woken."""
        return KeyTimer(min(state.due(now[0].watermark), state.wake_up), INFINITY, INFINITY)


class RowsBucket(KeyedBucket):
    """Evaluates windows that follow rows in their order."""

    run = RowsRun


class StreamBucket(KeyedBucket):
    """Evaluates a stream operator."""

    run = StreamRun
