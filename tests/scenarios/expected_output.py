"""The expected output of a query over windows, by the reference evaluator and by definitions of this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from muntin import (
    EARLIEST,
    INFINITY,
    EarlyEmission,
    EmitPolicy,
    Event,
    OutputContract,
    Refinement,
    RowOperator,
    TimestampPolicy,
)
from muntin.testing import evaluate_evicted, reference
from muntin.testing.key_lives import lives_of
from muntin.windows import (
    CalendarWindows,
    CountWindows,
    CumulateWindows,
    GlobalWindows,
    HoppingWindows,
    LandmarkWindows,
    SessionWindows,
    SnapshotWindows,
    TrailingWindows,
    WindowKind,
    WindowSpecification,
)
from muntin_engine.testing.reference_output import live_output
from tests.scenarios.columns import values_of
from tests.scenarios.expected_early_results import ExpectedEarlyResults
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival, Histories, ReferenceInput
from tests.scenarios.running import Row, Run, assert_same_rows, comparable
from tests.sdk.windows.window_definitions import DEFINED, pairs_defined, pairs_of

KINDS_WITH_LEAST_OUTPUT_WATERMARK: Final = (
    HoppingWindows,
    CalendarWindows,
    SessionWindows,
    SnapshotWindows,
    CountWindows,
    CumulateWindows,
    LandmarkWindows,
    TrailingWindows,
    GlobalWindows,
)
"""The kinds of windows for which `least_output_watermark` defines how far output must be complete."""

KINDS_WITH_DEFINITION: Final = frozenset(DEFINED) - {CalendarWindows}
"""The kinds that are compared with their definitions; those of calendars know no years beyond 9999."""


class ExpectedOutput:
    """The expected output of a query over windows, over rows, or over events that are followed one by one.

    Attributes:
        query: The query.
        reference_input: The input so far.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.reference_input = ReferenceInput(query)
        self._early = ExpectedEarlyResults(query) if isinstance(query.emit, EarlyEmission) else None
        self._batches_compared = 0

    def check(self, arrival: Arrival, run: Run) -> None:
        """Add a micro-batch that was run, and compare the output with the expected one.

        Raises:
            AssertionError: The output differs.
        """
        self.reference_input.add(arrival)
        if self._early is not None and self.query.forget_keys_after is None:
            self._check_early(self._early, arrival, run)
            return
        if self.reference_input.is_determined:
            self._check_live(run)
        self._batches_compared += 1
        # The least output watermark follows from every window there is: too slow for each micro-batch.
        if not self.reference_input.is_waiting and self._early is None and self._batches_compared % 3 == 0:
            self._check_output_watermarks(run)

    def _check_early(self, expected_results: ExpectedEarlyResults, arrival: Arrival, run: Run) -> None:
        """Compare what a micro-batch inserts, and what is live where results are retracted."""
        assert_same_rows(run.inserted, expected_results.insertions(self.reference_input, arrival))
        if expected_results.emit.refinement is not Refinement.RETRACT:
            return
        live = Counter[Row]()
        for rows in expected_results.live.values():
            live += rows
        assert_same_rows(run.output, live)

    def _check_live(self, run: Run) -> None:
        """Compare the rows that are live, and those of the second output."""
        query = self.query
        expected: Counter[Any] = self._expected_rows()
        output: Counter[Any] = run.output if self._early is None else _final_rows(run.output)
        if query.is_time_bound:
            expected = edges(expected, query.first)
            output = edges(output, query.first)
        assert_same_rows(output, expected)
        if query.has_second_output:
            assert_same_rows(run.evicted, self._expected_evicted_rows())

    def _check_output_watermarks(self, run: Run) -> None:
        """Check that each bucket's output watermark is as far as the events of its keys allow."""
        reference_input = self.reference_input
        for place, output_watermark in enumerate(run.output_watermarks.values()):
            bucket_events: dict[Hashable, Sequence[Event[Any]]] = {}
            for key, events in reference_input.events.items():
                if run.bucket_of(key) == place:
                    bucket_events[key] = events
            least = INFINITY
            for window in self.query.named.values():
                least = min(least, least_output_watermark(self.query, window, bucket_events, reference_input))
            assert output_watermark >= least, f"the output watermark is {output_watermark}, and could be {least}"

    def _expected_rows(self) -> Counter[Row]:
        """Return the live output by the reference; of early results, the final ones."""
        query = self.query
        policy = EmitPolicy.FINAL if isinstance(query.emit, EarlyEmission) else query.emit
        if query.late.corrects:
            policy = EmitPolicy.SPECULATIVE  # a window is complete, and then corrected
        result_field = query.modules[0].result_field()
        expected = Counter[Row]()
        for name, window in query.named.items():
            further_columns = (name,) if name else ()
            for key, events in self.reference_input.events.items():
                progress = self.reference_input.progress_of(key)
                if progress.watermark == INFINITY:
                    self._check_windows(window, events, progress.horizon)
                for result in live_output(query.reference_query(window), policy, events, progress):
                    values = values_of(result_field, result.value) if query.is_operator else result.value
                    lifetime = (result.start, result.end)
                    extent = (result.window.start, result.window.end) if query.is_windowed else lifetime
                    expected[Row(key, extent, lifetime, comparable(values), further_columns)] += 1
        return expected

    def _check_windows(self, window: WindowSpecification, events: Sequence[Event[Any]], horizon: int) -> None:
        """Compare the windows of a whole stream with the definition of their kind."""
        if not isinstance(window, WindowKind) or type(window) not in KINDS_WITH_DEFINITION:
            return
        for life in lives_of(events, self.query.forget_keys_after):
            pairs = pairs_of(window, life.events, horizon)
            assert pairs == pairs_defined(window, life.events, horizon), f"{window} cuts {life.events}"

    def _expected_evicted_rows(self) -> Counter[Row]:
        """Return the results of rows that leave, by the reference."""
        module = self.query.modules[0]
        assert isinstance(module, RowOperator)
        field = module.evicted_field()
        assert field is not None
        reference_query = self.query.reference_query(self.query.first)
        expected = Counter[Row]()
        for key, events in self.reference_input.events.items():
            progress = self.reference_input.progress_of(key)
            for result in evaluate_evicted(reference_query, events, progress.watermark, progress.horizon):
                extent = (result.window.start, result.window.end)
                expected[Row(key, extent, extent, comparable(values_of(field, result.value)))] += 1
        return expected


def _final_rows(output: Counter[Row]) -> Counter[Row]:
    """Return the final results among early ones, without the columns `timing` and `firing`."""
    final = Counter[Row]()
    for row, count in output.items():
        *other_columns, timing, _firing = row.further_columns
        if timing == "final":
            final[row._replace(further_columns=tuple(other_columns))] += count
    return final


def edges(output: Counter[Row], window: Any) -> Counter[Any]:
    """Return the ticks at which values begin to be live, counted up, and cease to be, counted down.

    Unlike rows, these do not depend on where lifetimes are cut. An edge has the tick in the place of the lifetime, and
    no window if its extent is not known while it lasts.
    """
    has_extent = not (isinstance(window, WindowKind) and window.ends_move)
    count_by_edge = Counter[Any]()
    for row, count in output.items():
        start, end = row.lifetime
        edge = row if has_extent else row._replace(window=(0, 0))
        count_by_edge[edge._replace(lifetime=(start, start))] += count
        count_by_edge[edge._replace(lifetime=(end, end))] -= count
    return Counter({edge: count for edge, count in count_by_edge.items() if count != 0})


def least_output_watermark(
    query: Query, window: WindowSpecification, histories: Histories, reference_input: ReferenceInput
) -> int:
    """Return the output watermark that a bucket must reach: what it may still emit starts there or later.

    Args:
        query: The query.
        window: One of its windows.
        histories: The events of the keys of the bucket.
        reference_input: The whole input.
    """
    watermark = reference_input.progress.watermark
    if watermark == EARLIEST or not isinstance(window, KINDS_WITH_LEAST_OUTPUT_WATERMARK):
        return EARLIEST
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST  # results may lie anywhere
    if watermark == INFINITY or query.is_time_bound:
        return watermark
    if isinstance(window, TrailingWindows) and window.every > 1 and query.ends_move:
        return EARLIEST  # a start that is retracted changes the ranks of all later ones

    # Results start with their window, or with its end if they are points there.
    is_point = query.timestamps is TimestampPolicy.POINT_AT_END
    next_start, next_end = _next_window(window, watermark)
    least = next_end if is_point else next_start
    for events in histories.values():
        for start, end in _unsettled(query, window, events, reference_input):
            least = min(least, end if is_point else start)
    if is_point and query.forget_keys_after is not None:
        return min(least, watermark)  # the end of a life may cut a window short
    return least


def _next_window(window: WindowKind, watermark: int) -> tuple[int, int]:
    """Return the start and end of the first window that events which come later may have."""
    if isinstance(window, HoppingWindows):
        start = ((watermark - window.offset - window.size) // window.hop + 1) * window.hop + window.offset
        return start, start + window.size
    if isinstance(window, CountWindows):
        return watermark, watermark + 1
    if isinstance(window, CumulateWindows):
        since_offset = watermark - window.offset
        period_start = since_offset // window.size * window.size + window.offset
        step_start = since_offset // window.step * window.step + window.offset
        return period_start, step_start + window.step
    if isinstance(window, LandmarkWindows):
        steps_passed = max(0, (watermark - window.since) // window.step)
        return window.since, window.since + (steps_passed + 1) * window.step
    if isinstance(window, TrailingWindows):
        return watermark - window.length + 1, watermark + 1
    if isinstance(window, GlobalWindows):
        return EARLIEST, INFINITY
    if isinstance(window, CalendarWindows):
        days = (window.size + window.hop + 2) * (1 if window.unit == "day" else 31)
        first, *_ = reference.windows(window, [Event(watermark, INFINITY, None)], watermark + days * 86_400)
        return first.start, first.end
    return watermark, watermark


def _unsettled(
    query: Query, window: WindowSpecification, events: Sequence[Event[Any]], reference_input: ReferenceInput
) -> Iterator[tuple[int, int]]:
    """Yield the extents of the windows that may still change; for count windows, also of those still to come."""
    watermark = reference_input.progress.watermark
    reference_query = query.reference_query(window)
    for life, cut, members in reference.windows_with_members(reference_query, events, reference_input.progress.horizon):
        if watermark < life.end and not reference.is_closed(reference_query, cut, members, watermark):
            yield reference_query.kind.extent_start(cut.start), cut.end
    if not isinstance(window, CountWindows):
        return
    for life in lives_of(events, query.forget_keys_after):
        if watermark >= life.end:
            continue
        counted_ticks = {event.start if window.by == "start" else event.end for event in life.events}
        ticks = sorted(counted_ticks - {INFINITY})
        for place in range(0, len(ticks), window.every):
            if place > len(ticks) - window.count:  # it waits for more ticks
                yield ticks[place], INFINITY
