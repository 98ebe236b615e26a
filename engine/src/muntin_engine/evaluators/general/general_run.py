"""Process windows that cut the axis, key by key: a micro-batch of input changes gives the net change of the output."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, EarlyEmission, EmitPolicy, OutputContract, TimestampPolicy, Window
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.affected import Affected, AffectedWindows
from muntin_engine.evaluators.general.emission import Emission, FinalEmission
from muntin_engine.evaluators.general.fast_assigners import shared_assigner
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.small_keys import SmallKeys, plain_grid
from muntin_engine.evaluators.general.speculative import SpeculativeEmission
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.evaluators.general.window_closing import Closing
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.intake import AdmittedRows
from muntin_engine.evaluators.keyed.key_store import KeyStore
from muntin_engine.evaluators.keyed.keyed_run import BatchStart, KeyedRun, KeyWork
from muntin_engine.evaluators.keyed.net_changes import NetChanges
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import Due, KeyTimer
from muntin_engine.time.changes import Key, OutputChange, Progress


class GeneralRun(KeyedRun):
    """A micro-batch of windows that cut the axis.

    Attributes:
        progress: The progress of the input after the batch, with the watermark after allowed lateness.
        closing: Closes windows.
        emission: The strategy that emits them.
    """

    state_class = KeyState
    query: EvaluatorQuery
    _key_progress: Progress

    def __init__(self, query: EvaluatorQuery, start: BatchStart) -> None:
        """Begin a micro-batch with the emission that the query asks for."""
        super().__init__(query, start)
        (self._intake,) = self.intakes
        self.progress = self._intake.progress
        self.closing = query.once(Closing)

        results = query.once(WindowResults)
        final_emission = FinalEmission(self.closing, results)
        self.emission: Emission = final_emission
        if isinstance(query.emit, EarlyEmission):
            self.emission = TriggeredEmission(query, self.closing, results, query.emit, start.signals)
        elif query.emit is not EmitPolicy.FINAL:
            self.emission = query.once(SpeculativeEmission)
        self.is_signalled = self.emission.is_signalled
        self._affected_windows = query.once(AffectedWindows) if self.emission.follows_windows else None

        # `SmallKeys` is the fast path for keys of few rows. Where patterns advance keys, each key has a watermark of
        # its own, which that path does not know.
        self._small_keys: SmallKeys | None = None
        grid = None if start.patterns else query.once(plain_grid)
        if grid is not None:
            self._small_keys = SmallKeys(self, grid, final_emission)

        self._extent = results.extent
        # This assigner knows no events. It stands for keys whose events all lie in the future: see `output_watermark`.
        self._assigner_without_events = query.once(shared_assigner)

        # Windows become visible before they close: speculative output by the max event time, eager output by the
        # horizon.
        is_speculative = query.emit is EmitPolicy.SPECULATIVE
        visibility = self.progress.max_event_time if is_speculative else self.progress.horizon
        self.due_at = Due(
            closing=self.progress.watermark,
            visibility=visibility,
            clock=self.progress.clock,
            max_event_time=self.progress.max_event_time,
        )

    def process_key(self, store: KeyStore[KeyState], name: bytes, work: KeyWork) -> list[OutputChange]:
        """Process a key; its output names the extents of windows, which are what results report."""
        output = None
        # Small keys know the watermark of the whole input, but not one that the batch brings for this key alone.
        if self._small_keys is not None and not work.watermarks:
            output = self._small_keys.process(store, name, work)  # None if the key is not small
        if output is None:
            output = super().process_key(store, name, work)
        if output and self._extent is not None:
            extent = self._extent
            output = [change._replace(window=extent(change.window)) for change in output]
        return output

    def process_rows(self, key: Key, state: KeyState, work: KeyWork) -> list[OutputChange]:
        """Admit the rows of a key, emit windows, and drop the state of those that are closed then."""
        admitted = self._intake.admit(key, state, work.rows, self.pattern_watermarks(key), work.watermarks)
        self._key_progress = admitted.progress
        self.emission.begin_key()
        return self.process_changes(key, state, admitted)

    def process_changes(self, key: Key, state: KeyState, admitted: AdmittedRows) -> list[OutputChange]:
        """Process the net changes of a key."""
        return self.process_state(key, state, admitted.net, admitted.previous, admitted.progress)

    def process_state(
        self, key: Key, state: KeyState, net: NetChanges, previous: Progress, progress: Progress
    ) -> list[OutputChange]:
        """Apply net changes to the state of a key, or of one of its lives; emit and close its windows."""
        affected: dict[Window, Affected] = {}
        if self._affected_windows is None:
            net.apply()
        else:
            affected = self._affected_windows.apply(state, net, previous, progress)
            if state.closes_out_of_order:
                self.closing.remove_closed(state, affected, previous.watermark)
        output = self.emission.emit(key, state, affected, previous, progress)
        self.result.windows_closed += self.closing.close(state, progress.watermark)
        return output

    def timer_of(self, state: KeyState) -> KeyTimer:
        """Return the timer of a key; its rows were the last that `process_rows` got."""
        return self.closing.timer(state, self._key_progress)

    def output_watermark(self, earliest: int) -> int:
        """Return the output watermark, before which no output changes any more (StreamInsight paper, section V.F).

        Args:
            earliest: The least tick at which a key that has a state may still emit or change output.
        """
        query = self.query
        watermark = self.progress.watermark
        if watermark in (EARLIEST, INFINITY):
            return watermark
        if query.is_time_bound:
            return watermark  # a time-bound result never changes output before its cause
        # Output comes from keys that have a state, not before `earliest`, and from windows with future events only.
        assigner = self._assigner_without_events
        if query.timestamps is TimestampPolicy.POINT_AT_END:
            return min(assigner.end_after(watermark), earliest)
        if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
            return EARLIEST  # a module may give its output any time
        first_start = min(assigner.start_after(watermark), earliest)
        return first_start if self._extent is None else query.window.extent_start(first_start)

    def finish(self) -> None:
        """Count the outcome of all keys, with the windows that the emission closed."""
        super().finish()
        self.result.windows_closed += self.emission.windows_closed

    def why_unstorable(self, key: Key, state: KeyState) -> StateError | None:
        """Return an error that names the module of a live result that cannot be stored; None if all can."""
        for window, entry in state.entries:
            for live_row in entry.live_rows:
                error = self.serializer.why_unstorable(live_row.row.value, key, window)
                if error is not None:
                    return error
        return None
