"""What the output of a query over windows has to be, by the reference evaluator and by definitions of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
    """What must be live of a query over windows, rows or events that are followed; its input is all one.

    Attributes:
        known: The input so far.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.known = Known(query)
        self._early = EarlyMeaning(query) if isinstance(query.emit, EarlyEmission) else None
        self._taken = 0

    def take(self, arrival: Arrival, run: Run) -> None:
        """Take a micro-batch that was run, and compare what came of it.

        Raises:
            AssertionError: The output is another.
        """
        self.known.take(arrival)
        if self._early is not None and self.query.forget_keys_after is None:
            inserted = self._early.take(self.known, arrival)
            differ(run.inserted, inserted)
            if self.query.emit.refinement is Refinement.RETRACT:  # type: ignore[union-attr]
                live = {row: count for rows in self._early.live.values() for row, count in rows.items()}
                differ(run.output, Counter(live))
            return
        if self.known.is_determined:
            self._compare(run)
        self._taken += 1
        if not self.known.is_waiting and self._early is None and self._taken % 3 == 0:  # it looks at every window
            for place, bucket in enumerate(run.promised):
                own = {key: some for key, some in self.known.events.items() if run.bucket_of(key) == place}
                least = min(least_promise(self.query, window, own, self.known) for window in self.query.named.values())
                promised = run.promised[bucket]
                assert promised >= least, f"the output watermark is {promised}, and could be {least}"

    def _compare(self, run: Run) -> None:
        wanted = self._wanted()
        got = run.output
        query = self.query
        if self._early is not None:
            got = Counter()
            for row, count in run.output.items():
                if row.more[-2] == "final":
                    got[row._replace(more=row.more[:-2])] += count
        if query.is_time_bound:
            wanted, got = (edges(output, query.first) for output in (wanted, got))
        differ(got, wanted)
        if query.has_second_output:
            differ(run.evicted, self._evicted())

    def _wanted(self) -> Counter[Row]:
        """Return the live output by the reference; of early results, the final ones."""
        query = self.query
        wanted = Counter[Row]()
        policy = EmitPolicy.FINAL if isinstance(query.emit, EarlyEmission) else query.emit
        policy = EmitPolicy.SPECULATIVE if query.late.corrects else policy
        field = query.modules[0].result_field()
        for name, window in query.named.items():
            meaning = query.meaning(window)
            for key, events in self.known.events.items():
                now = self.known.of(key)
                if now.watermark == INFINITY and isinstance(window, WindowKind) and type(window) in COMPARED:
                    for life in lives_of(events, query.forget_keys_after):
                        cut = pairs_of(window, life.events, now.horizon)
                        assert cut == pairs_defined(window, life.events, now.horizon), f"{window} cuts {life.events}"
                for row in live_output(meaning, policy, events, now):
                    values = values_of(field, row.value) if query.is_operator else row.value
                    lifetime = (row.start, row.end)
                    more = (name,) if name else ()
                    of_window = (row.window.start, row.window.end) if query.is_windowed else lifetime
                    wanted[Row(key, of_window, lifetime, plain(values), more)] += 1
        return wanted

    def _evicted(self) -> Counter[Row]:
        meaning = self.query.meaning(self.query.first)
        wanted = Counter[Row]()
        module = self.query.modules[0]
        assert isinstance(module, RowOperator)
        field = module.evicted_field()
        assert field is not None
        for key, events in self.known.events.items():
            now = self.known.of(key)
            for row in evaluate_evicted(meaning, events, now.watermark, now.horizon):
                extent = (row.window.start, row.window.end)
                wanted[Row(key, extent, extent, plain(values_of(field, row.value)))] += 1
        return wanted


def edges(output: Counter[Row], window: Any) -> Counter[Any]:
    """Return the ticks at which a value begins and ends to be live, so that it does not matter in which pieces it is.

    A window whose extent is not known while it lasts is left out.
    """
    found: Counter[Any] = Counter()
    for row, count in output.items():
        of = None if isinstance(window, WindowKind) and window.ends_move else row.window
        for tick, change in zip(row.lifetime, (count, -count), strict=True):
            found[row._replace(window=of or (0, 0), lifetime=(tick, tick))] += change
    return Counter({row: count for row, count in found.items() if count})


def least_promise(query: Query, window: WindowSpecification, histories: Histories, known: Known) -> int:
    """Return the output watermark that a bucket must reach: what it may still emit starts there or later.

    Args:
        query: The query.
        window: One of its windows.
        histories: The events of the keys of the bucket.
        known: The whole input.
    """
    watermark = known.now.watermark
    is_point = query.timestamps is TimestampPolicy.POINT_AT_END
    if watermark == EARLIEST or not isinstance(window, KINDS):
        return EARLIEST
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    if watermark == INFINITY or query.is_time_bound:
        return watermark
    least = watermark
    if isinstance(window, HoppingWindows):
        places = (watermark - window.offset - window.size) // window.hop + 1
        least = places * window.hop + window.offset + (window.size if is_point else 0)
    elif isinstance(window, CountWindows) and is_point:
        least = watermark + 1
    elif isinstance(window, CumulateWindows):
        behind = watermark - window.offset
        step, size = (behind // length * length + window.offset for length in (window.step, window.size))
        least = step + window.step if is_point else size
    elif isinstance(window, LandmarkWindows):
        steps = max(0, (watermark - window.since) // window.step)
        least = window.since + (steps + 1) * window.step if is_point else window.since
    elif isinstance(window, TrailingWindows):
        least = watermark + 1 if is_point else watermark - window.length + 1
        least = EARLIEST if window.every > 1 and query.ends_move else least
    elif isinstance(window, GlobalWindows):
        least = INFINITY if is_point else EARLIEST
    elif isinstance(window, CalendarWindows):
        days = (window.size + window.hop + 2) * (1 if window.unit == "day" else 31)
        later = reference.windows(window, [Event(watermark, INFINITY, None)], watermark + days * 86_400)
        least = later[0].end if is_point else later[0].start
    for events in histories.values():
        for start, end in _unsettled(query, window, events, known):
            least = min(least, end if is_point else start)
    return min(least, watermark) if is_point and query.forget_keys_after is not None else least


def _unsettled(
    query: Query, window: WindowSpecification, events: Sequence[Event[Any]], known: Known
) -> Iterable[tuple[int, int]]:
    """Yield the extents of the windows that may still change; for count windows, also of those still to come."""
    now = known.now
    meaning = query.meaning(window)
    for life, cut, members in reference.windows_with_members(meaning, events, now.horizon):
        if now.watermark < life.end and not reference.is_closed(meaning, cut, members, now.watermark):
            yield meaning.kind.extent_start(cut.start), cut.end
    for life in lives_of(events, query.forget_keys_after) if isinstance(window, CountWindows) else ():
        assert isinstance(window, CountWindows)
        counted = {event.start if window.by == "start" else event.end for event in life.events} - {INFINITY}
        places = range(0, len(counted) if now.watermark < life.end else 0, window.every)
        waiting = [place for place in places if place > len(counted) - window.count]
        yield from ((sorted(counted)[place], INFINITY) for place in waiting)
