"""A micro-batch of row windows: released rows and time drive the windows of a key, and these drive its modules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, cast

from muntin import EARLIEST, INFINITY, TimestampPolicy, Window
from muntin.rows import Action, RowWindows
from muntin_engine.evaluators.keyed.computation import results_in_order
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.keyed_run import BatchStart
from muntin_engine.evaluators.ordered.delay_buffer import Edge, OrderedRun
from muntin_engine.evaluators.ordered.rows_state import LATER, RowsState
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import OutputChange, OutputKind, Progress


class RowsRun(OrderedRun):
    """A micro-batch of windows that follow rows.

    Attributes:
        windows: The windows, as an automaton that rows and time drive.
        results: Computes the results of the modules.
    """

    state_class = RowsState
    state: RowsState

    def __init__(self, query: EvaluatorQuery, start: BatchStart) -> None:
        """Begin a micro-batch."""
        super().__init__(query, start)
        self.windows = cast(RowWindows, query.window)
        self.results = query.once(results_in_order)
        # Results start where their windows do, which may be before the watermark, unless they are points at the end.
        self._results_span_windows = query.timestamps is not TimestampPolicy.POINT_AT_END
        # The start of windows without rows at the tick `LATER`: any earlier start is due to a row.
        self._start_without_rows = self.windows.earliest_start(self.windows.create_state(), LATER)

    @abstractmethod
    def process_row(self, event: StoredEvent) -> None:
        """Process the next released row."""

    @abstractmethod
    def advance(self, tick: int) -> None:
        """Let time pass up to a tick."""

    @abstractmethod
    def process_actions(self, actions: Iterable[Action], time: int) -> None:
        """Apply the actions that time brings about, and pass them on to the modules.

        Args:
            actions: The actions of the windows.
            time: The tick.
        """

    @abstractmethod
    def is_new(self) -> bool:
        """Return True if the key can be forgotten: its state is that of a new key."""

    def process_released(self, released: Iterable[Edge], previous: Progress, progress: Progress) -> None:
        """Process the rows that are released, and let time pass up to the watermark, or to the end of the stream."""
        state = self.state
        if state.windows_state is None:
            state.windows_state = self.windows.create_state()
        for edge in released:
            self.process_row(edge.event)
        if progress.watermark < INFINITY:
            self.advance(progress.watermark)
        else:
            end = self._end(previous, progress)
            self.advance(end)
            self.process_actions(self.windows.close(state.windows_state, end), end)
        # The stream has ended for the key, or the key can be forgotten.
        if progress.watermark == INFINITY or self.is_new():
            state.clear()

    def _end(self, previous: Progress, progress: Progress) -> int:
        """Return the tick at which the stream ends for the key.

        If the key is done before the stream is, its stream ends after its own rows and watermarks. The rows of other
        keys do not count: which of them have come by now depends on micro-batches.
        """
        if self.progress.watermark == INFINITY:  # the stream is done, for all keys
            return progress.horizon
        return max(
            self.state.newest + 1,
            previous.watermark,
            self.progress.watermark,
            self.last_finite_watermark(self.work),
        )

    def emit(
        self, window: Window, results: Sequence[Any], partition: Hashable, *, key: object, ends_window: bool
    ) -> None:
        """Emit the results of a window.

        Args:
            window: The window.
            results: The result of each aggregate; or one item, the list of rows that the operator returned.
            partition: The partition of the window; None where rows are not partitioned.
            key: The key, for errors of aggregates.
            ends_window: True if the window has no further results: then its last row is marked.
        """
        rows = self.results.stamper.rows(key, window, results)
        for row_number, (start, end, value) in enumerate(rows, 1):
            change = OutputChange(
                OutputKind.INSERT,
                self.state.next_serial(),
                window,
                start,
                end,
                value,
                partition=partition,
                ends_window=ends_window and row_number == len(rows),
            )
            self.output.append(change)

    def output_watermark(self, earliest: int) -> int:
        """Return the least start of a window that is yet to be computed; the watermark, if results are points at ends.

        Args:
            earliest: The least such start for the rows of any key.
        """
        watermark = self.progress.watermark
        if watermark in (EARLIEST, INFINITY) or not self._results_span_windows:
            return watermark
        start_without_rows = self.windows.earliest_start(self.windows.create_state(), watermark)
        return min(watermark, start_without_rows, earliest)

    def timer_of(self, state: RowsState) -> KeyTimer:
        """Return the timer of a key: when its next row is released, or its windows act without a row."""
        watermark = self.key_progress.watermark
        output_watermark = INFINITY  # points at the end lie after the watermark: no row holds them back
        if self._results_span_windows:
            output_watermark = state.earliest_start(watermark, self._start_without_rows)
        closing = min(state.due(watermark), state.next_tick())
        return KeyTimer(closing=closing, visibility=INFINITY, output_watermark=output_watermark)
