"""Evaluate windows that cut the axis, key by key: a micro-batch of input changes gives the net change of the output."""

from __future__ import annotations

from typing import Final

from muntin import EARLIEST, INFINITY, EarlyEmission, EmitPolicy, OutputContract, TimestampPolicy, Window
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.affected import Affected, AffectedWindows
from muntin_engine.evaluators.general.fast_assigners import GridAssigner, new_assigner
from muntin_engine.evaluators.general.key_state import KeyState, columns_of, waiting_rows
from muntin_engine.evaluators.general.speculative import SpeculativeEmission
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.evaluators.general.window_closing import Closing, Emission, FinalEmission
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.evaluators.keyed.bucket import OneInputRun, Start, Work
from muntin_engine.evaluators.keyed.computation import WindowResults, sweep
from muntin_engine.evaluators.keyed.event_index import by_start, by_until, stored_event
from muntin_engine.evaluators.keyed.key_store import MOST_RECORDS, KeyStore
from muntin_engine.modules.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import Due, KeyTimer
from muntin_engine.time.changes import Key, OutputChange, Progress

MOST_ROWS: Final = 16
"""A key that a batch brings more rows of gets its indexes: its state is soon large, and then decoded anyway."""


def plain_grid(query: EvaluatorQuery) -> GridAssigner | None:
    """Return the grid if keys of a few rows need no indexes; None if all do.

    Only insertions come, for final output of windows of a grid without gaps, and none is filtered or shed.
    """
    others, new = (query.keeps, query.most_held, query.forget_keys_after), query.once(new_assigner)
    is_plain = query.emit is EmitPolicy.FINAL and not query.event_ends_move and others == (None, None, None)
    return new.copy() if is_plain and isinstance(new, GridAssigner) and not new.has_gaps else None


class GeneralRun(OneInputRun):
    """A micro-batch of windows that cut the axis.

    Attributes:
        closing: Closes windows.
        emission: The strategy that emits them.
    """

    state_class = KeyState
    query: EvaluatorQuery

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        results, now, new = query.once(WindowResults), self.now, query.once(new_assigner)
        self.closing = query.once(Closing)
        self._final = FinalEmission(self.closing, results)
        self.emission: Emission = self._final
        if isinstance(query.emit, EarlyEmission):
            self.emission = TriggeredEmission(query, self.closing, results, query.emit, start.signals)
        elif query.emit is not EmitPolicy.FINAL:
            self.emission = query.once(SpeculativeEmission)
        self.is_signalled = self.emission.is_signalled
        self._affected = query.once(AffectedWindows) if self.emission.follows_windows else None
        self._extent, self._future_keys = results.extent, new
        self._grid = None if start.patterns else query.once(plain_grid)
        self._is_at_end = query.timestamps is TimestampPolicy.POINT_AT_END
        max_event_time = now.max_event_time
        # by which windows become visible before they close; see `KeyTimer.visibility`
        visibility = max_event_time if query.emit is EmitPolicy.SPECULATIVE else now.horizon
        self.due_at = Due(now.watermark, visibility, now.clock, max_event_time)

    def output_watermark(self, earliest: int) -> int:
        """Return the output watermark, before which no output changes any more (StreamInsight paper, section V.F)."""
        query, now = self.query, self.now
        if now.watermark in (EARLIEST, INFINITY) or query.is_time_bound:
            return now.watermark
        assigner = self._future_keys
        if query.timestamps is TimestampPolicy.POINT_AT_END:
            return min(assigner.end_after(now.watermark), earliest)
        if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
            return EARLIEST
        first = min(assigner.start_after(now.watermark), earliest)
        return first if self._extent is None else query.window.extent_start(first)

    def run(self, store: KeyStore[KeyState], work: dict[bytes, Work]) -> None:
        """Process the keys that have rows or a timer that is due."""
        super().run(store, work)
        self.result.windows_closed += self.emission.windows_closed

    def timer_of(self, state: KeyState) -> KeyTimer:
        """Return the timer of the key whose rows were taken in."""
        return self.closing.timer(state, self.key_now)

    def process_key(self, store: KeyStore[KeyState], name: bytes, work: Work) -> list[OutputChange]:
        """Evaluate a key, and say where each window begins for those who read results."""
        output = None if self._grid is None or work.watermarks else self._process_rows(store, name, work, self._grid)
        if output is None:
            output = super().process_key(store, name, work)
        if output and (extent := self._extent) is not None:
            output = [change._replace(window=extent(change.window)) for change in output]
        return output

    def _process_rows(
        self, store: KeyStore[KeyState], name: bytes, work: Work, grid: GridAssigner
    ) -> list[OutputChange] | None:
        """Evaluate a key of a few rows without its indexes; return None, with nothing done, if that takes them.

        An insertion that no other row can be about matters to nothing before a window of a grid closes, and a window
        is computed from its members alone. So the rows of most batches are appended to the records of their key as
        they came, and the records are read when a window closes.
        """
        known, rows, limit, grid.frontier = store.find(name), work.rows, self.now.watermark, EARLIEST
        if len(rows) > MOST_ROWS or not (rows if known is None else known.has_few_rows):
            return None
        if rows:
            least, width = self._intake.before.watermark, len(rows[0][3])
            for id, start, end, payload, new_end, *_ in rows:
                is_plain = id is None and new_end is None and end is not None and least <= start < end
                if not is_plain or len(payload) != width:
                    return None
            self._intake.accepted += len(rows)
        if known is None or (known.timer.closing > limit and len(known.records) < MOST_RECORDS):
            if not rows:
                return []
            timer = self._timer(grid.first_open(min(map(by_start, rows))))
            if timer.closing > limit:
                self.hold(known is None, len(rows))
                store.append(name, timer, len(rows), self.codec.pack(waiting_rows(self._serial, [], rows)))
                return []
        return self._close(store, name, work, grid)

    def _close(self, store: KeyStore[KeyState], name: bytes, work: Work, grid: GridAssigner) -> list[OutputChange]:
        """Emit the windows of a key that close, computed from columns, and keep the rows that later ones need."""
        known, now, rows = store.find(name), self.now, work.rows
        records = [] if known is None else [self.codec.unpack(record.data) for record in known.records]
        if rows:
            records.append(waiting_rows(self._serial, [], rows))
        serial, grid.frontier, starts, ends, payloads = columns_of(records)
        columns = range(len(starts)), starts, ends, payloads, *grid.memberships(starts, ends)
        events = sorted(map(stored_event, zip(*columns, strict=True)), key=by_until)
        steps = sweep(grid.ending(events, EARLIEST, now.watermark, now.horizon), events)
        output = self._final.rows(work.key, steps, serial)
        serial += len(output)
        grid.close(now.watermark)
        kept = [event for event in events if event.until > grid.frontier]
        self.hold(bool(kept) - (known is not None), len(kept) + len(rows) - len(events))
        store.remove(name)
        if kept:
            timer = self._timer(grid.first_open(min(map(by_start, kept))))
            store.append(name, timer, len(kept), self.codec.pack(waiting_rows(serial, grid.to_data(), kept)))
        else:
            self.metadata.serial = max(self.metadata.serial, serial)
        return output

    def _timer(self, first: tuple[int, int]) -> KeyTimer:
        """Return the timer of a key by its first open window, as `Closing.timer` does for any key."""
        start, end = first
        return KeyTimer(end, INFINITY, end if self._is_at_end else start)

    def evaluate(
        self, key: Key, state: KeyState, net: NetChanges, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take the net changes of a key in, emit windows, and forget what is closed then."""
        self.emission.begin_key()
        return self.evaluate_state(key, state, net, before, now)

    def evaluate_state(
        self, key: Key, state: KeyState, net: NetChanges, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Do so for all of a key, or for one of its lives."""
        affected: dict[Window, Affected] = {}
        if self._affected is None:
            net.apply()
        else:
            affected = self._affected.apply(state, net, before, now)
            if state.closes_out_of_order:
                self.closing.leave_out(state, affected, before.watermark)
        output = self.emission.emit(key, state, affected, before, now)
        self.result.windows_closed += self.closing.close(state, now.watermark)
        return output

    def why_unstorable(self, key: Key, state: KeyState) -> StateError | None:
        """Return an error that names the module of a live result that cannot be stored; None if all can."""
        rows = ((window, out.row.value) for window, entry in state.entries for out in entry.live)
        found = (self.serializer.why_unstorable(value, key, window) for window, value in rows)
        return next(filter(None, found), None)
