"""What the output of a query over windows has to be, by the reference evaluator and by definitions of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
from tests.scenarios.early import EarlyMeaning
from tests.scenarios.known import Arrival, Histories, Known
from tests.scenarios.query import Query
from tests.scenarios.running import Row, Run, differ, plain
from tests.sdk.windows.window_definitions import DEFINED, pairs_defined, pairs_of

KINDS: Final = (
    *(HoppingWindows, CalendarWindows, SessionWindows, SnapshotWindows, CountWindows),
    *(CumulateWindows, LandmarkWindows, TrailingWindows, GlobalWindows),
)
"""The kinds of windows of which it is known how far output can be complete."""

COMPARED: Final = frozenset(DEFINED) - {CalendarWindows}
"""The kinds that are held against their definitions; those of calendars know no years beyond 9999."""


class Windowed:
    """The expected output of a query over windows, rows or events that are followed; its input is all one.

    Attributes:
        known: The input so far.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.known = Known(query)
        self._early = EarlyMeaning(query) if isinstance(query.emit, EarlyEmission) else None
        self._batches_compared = 0

    def check(self, arrival: Arrival, run: Run) -> None:
        """Add a micro-batch that was run, and compare the output with the expected one.

        Raises:
            AssertionError: The output is another.
        """
        self.known.add(arrival)
        if self._early is not None and self.query.forget_keys_after is None:
            self._check_early(self._early, arrival, run)
            return
        if self.known.is_determined:
            self._check_live(run)
        self._batches_compared += 1
        # The least output watermark follows from every window there is: not each micro-batch is worth that.
        if not self.known.is_waiting and self._early is None and self._batches_compared % 3 == 0:
            self._check_output_watermarks(run)

    def _check_early(self, meaning: EarlyMeaning, arrival: Arrival, run: Run) -> None:
        """Compare what a micro-batch inserts, and what is live where results are retracted."""
        differ(run.inserted, meaning.insertions(self.known, arrival))
        if meaning.emit.refinement is not Refinement.RETRACT:
            return
        live = Counter[Row]()
        for rows in meaning.live.values():
            live += rows
        differ(run.output, live)

    def _check_live(self, run: Run) -> None:
        query = self.query
        expected: Counter[Any] = self._expected_rows()
        output: Counter[Any] = run.output if self._early is None else _final_rows(run.output)
        if query.is_time_bound:
            expected = edges(expected, query.first)
            output = edges(output, query.first)
        differ(output, expected)
        if query.has_second_output:
            differ(run.evicted, self._expected_evicted_rows())

    def _check_output_watermarks(self, run: Run) -> None:
        for place, output_watermark in enumerate(run.output_watermarks.values()):
            bucket_events = {key: events for key, events in self.known.events.items() if run.bucket_of(key) == place}
            least = INFINITY
            for window in self.query.named.values():
                least = min(least, least_output_watermark(self.query, window, bucket_events, self.known))
            assert output_watermark >= least, f"the output watermark is {output_watermark}, and could be {least}"

    def _expected_rows(self) -> Counter[Row]:
        """Return the live output by the reference; of early results, the final ones."""
        query = self.query
        policy = EmitPolicy.FINAL if isinstance(query.emit, EarlyEmission) else query.emit
        if query.late.corrects:
            policy = EmitPolicy.SPECULATIVE
        result_field = query.modules[0].result_field()
        expected = Counter[Row]()
        for name, window in query.named.items():
            further_columns = (name,) if name else ()
            for key, events in self.known.events.items():
                progress = self.known.progress_of(key)
                if progress.watermark == INFINITY:
                    self._check_windows(window, events, progress.horizon)
                for result in live_output(query.meaning(window), policy, events, progress):
                    values = values_of(result_field, result.value) if query.is_operator else result.value
                    lifetime = (result.start, result.end)
                    extent = (result.window.start, result.window.end) if query.is_windowed else lifetime
                    expected[Row(key, extent, lifetime, plain(values), further_columns)] += 1
        return expected

    def _check_windows(self, window: WindowSpecification, events: Sequence[Event[Any]], horizon: int) -> None:
        """Hold the windows of a whole stream against the definition of their kind."""
        if not isinstance(window, WindowKind) or type(window) not in COMPARED:
            return
        for life in lives_of(events, self.query.forget_keys_after):
            pairs = pairs_of(window, life.events, horizon)
            assert pairs == pairs_defined(window, life.events, horizon), f"{window} cuts {life.events}"

    def _expected_evicted_rows(self) -> Counter[Row]:
        module = self.query.modules[0]
        assert isinstance(module, RowOperator)
        field = module.evicted_field()
        assert field is not None
        meaning = self.query.meaning(self.query.first)
        expected = Counter[Row]()
        for key, events in self.known.events.items():
            progress = self.known.progress_of(key)
            for result in evaluate_evicted(meaning, events, progress.watermark, progress.horizon):
                extent = (result.window.start, result.window.end)
                expected[Row(key, extent, extent, plain(values_of(field, result.value)))] += 1
        return expected


def _final_rows(output: Counter[Row]) -> Counter[Row]:
    """Return the final results among early ones, without the columns that say so."""
    final = Counter[Row]()
    for row, count in output.items():
        timing = row.more[-2]
        if timing == "final":
            final[row._replace(more=row.more[:-2])] += count
    return final


def edges(output: Counter[Row], window: Any) -> Counter[Any]:
    """Return the ticks at which a value begins and ends to be live, so that it does not matter in which pieces it is.

    A window whose extent is not known while it lasts is left out.
    """
    has_extent = not (isinstance(window, WindowKind) and window.ends_move)
    values_at: Counter[Any] = Counter()
    for row, count in output.items():
        start, end = row.lifetime
        edge = row if has_extent else row._replace(window=(0, 0))
        values_at[edge._replace(lifetime=(start, start))] += count
        values_at[edge._replace(lifetime=(end, end))] -= count
    return Counter({edge: count for edge, count in values_at.items() if count})


def least_output_watermark(query: Query, window: WindowSpecification, histories: Histories, known: Known) -> int:
    """Return the output watermark that a bucket must reach: what it may still emit starts there or later.

    Args:
        query: The query.
        window: One of its windows.
        histories: The events of the keys of the bucket.
        known: The whole input.
    """
    watermark = known.progress.watermark
    is_point = query.timestamps is TimestampPolicy.POINT_AT_END
    if watermark == EARLIEST or not isinstance(window, KINDS):
        return EARLIEST
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    if watermark == INFINITY or query.is_time_bound:
        return watermark
    if isinstance(window, TrailingWindows) and window.every > 1 and query.ends_move:
        return EARLIEST
    next_start, next_end = _next_window(window, watermark)
    least = next_end if is_point else next_start
    for events in histories.values():
        for start, end in _unsettled(query, window, events, known):
            least = min(least, end if is_point else start)
    if is_point and query.forget_keys_after is not None:
        return min(least, watermark)
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
        period = since_offset // window.size * window.size + window.offset
        step = since_offset // window.step * window.step + window.offset
        return period, step + window.step
    if isinstance(window, LandmarkWindows):
        steps = max(0, (watermark - window.since) // window.step)
        return window.since, window.since + (steps + 1) * window.step
    if isinstance(window, TrailingWindows):
        return watermark - window.length + 1, watermark + 1
    if isinstance(window, GlobalWindows):
        return EARLIEST, INFINITY
    if isinstance(window, CalendarWindows):
        days = (window.size + window.hop + 2) * (1 if window.unit == "day" else 31)
        windows = reference.windows(window, [Event(watermark, INFINITY, None)], watermark + days * 86_400)
        return windows[0].start, windows[0].end
    return watermark, watermark


def _unsettled(
    query: Query, window: WindowSpecification, events: Sequence[Event[Any]], known: Known
) -> Iterator[tuple[int, int]]:
    """Yield the extents of the windows that may still change; for count windows, also of those still to come."""
    watermark = known.progress.watermark
    meaning = query.meaning(window)
    for life, cut, members in reference.windows_with_members(meaning, events, known.progress.horizon):
        if watermark < life.end and not reference.is_closed(meaning, cut, members, watermark):
            yield meaning.kind.extent_start(cut.start), cut.end
    if not isinstance(window, CountWindows):
        return
    for life in lives_of(events, query.forget_keys_after):
        if watermark >= life.end:
            continue
        counted = {event.start if window.by == "start" else event.end for event in life.events} - {INFINITY}
        ticks = sorted(counted)
        for place in range(0, len(ticks), window.every):
            if place > len(ticks) - window.count:  # it waits for more ticks
                yield ticks[place], INFINITY
