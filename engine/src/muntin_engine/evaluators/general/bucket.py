"""Evaluate a bucket, a fixed share of all keys: a micro-batch of input changes gives the net change of the output.

State is a log of records, one or more for each key. A worker caches them between batches; a batch decodes and writes
only the keys that have rows or whose timer is due. The bucket's metadata holds the progress of the input, the list of
the log's entries and the soonest timer: a batch without rows and due timers reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import ClassVar, Final, NamedTuple

from muntin import (
    EARLIEST,
    INFINITY,
    EarlyEmission,
    EmitPolicy,
    LatePolicy,
    OutputContract,
    TimestampPolicy,
    Window,
)
from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress, Rejection, canonical
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.key_patterns import KeyPatterns, Told
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.admission import Admission, Filter, NetChanges
from muntin_engine.evaluators.general.affected import Affected, AffectedWindows
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.closing import FinalEmission, close_windows, leave_out_closed, timer
from muntin_engine.evaluators.general.computation import WindowResults
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.few_events import FewEvents, takes_few_events
from muntin_engine.evaluators.general.key_state import KeyState, assigner_of
from muntin_engine.evaluators.general.key_store import KeyStore, update_keys
from muntin_engine.evaluators.general.shedding import Shedding
from muntin_engine.evaluators.general.speculative import SpeculativeEmission
from muntin_engine.evaluators.general.state_serializer import StateSerializer
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.progress.tracker import effective, for_key, seen_to
from muntin_engine.state.bucket_state import BucketMetadata, BucketState, KeyTimer, random_version
from muntin_engine.state.cells import Cells, HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores

_REPORTED: Final = ProgressTracker()
"""Takes the progress that the input reports, without a progress policy."""


class Work(NamedTuple):
    """The part of a batch for one key: its rows and its key watermark."""

    key: Key
    rows: Sequence[InputChange] = ()
    key_watermark: int = EARLIEST

    def add(self, rows: Sequence[InputChange], key_watermark: int) -> Work:
        """Return it with more rows of the same key, and the larger key watermark."""
        return Work(self.key, [*self.rows, *rows], max(self.key_watermark, key_watermark))


@dataclass(slots=True)
class BatchResult:
    """The output of a bucket for a batch.

    Attributes:
        output: The changes of the output, key by key.
        evicted: The rows of the second output, key by key.
        rejections: The late and rejected rows, key by key. A row that waited for others may be rejected in a later
            batch than its own.
        progress: The progress of the input after the batch.
        watermark: The output watermark: no later output of this bucket changes anything before it.
        accepted: The number of accepted rows; one that waits for other rows of its event counts when they came.
        keys: The number of keys that the batch brought rows of.
        windows_closed: The number of windows of keys, with members, that this batch made final.
        keys_forgotten: The number of lives of keys that ended in this batch, so that nothing is kept of them.
        held: The sizes of the bucket's state now.
    """

    output: list[tuple[Key, list[OutputChange]]] = field(default_factory=list)
    evicted: list[tuple[Key, Sequence[OutputChange]]] = field(default_factory=list)
    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    watermark: int = EARLIEST
    accepted: int = 0
    keys: int = 0
    windows_closed: int = 0
    keys_forgotten: int = 0
    held: HeldState = field(default_factory=HeldState)


class Bucket:
    """Evaluates a query for many keys: a fixed share of all, as a key group is in Flink.

    Cost: reading and writing the metadata; for each key touched evaluating it, decoding it unless its decoded state is
    kept, and writing its changes, or all of it where that is little. Keys that are not touched and have nothing to
    close cost nothing, unless the state has to be read back first.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what a bucket is made of
        self,
        query: EvaluatorQuery,
        cells: Cells,
        codec: Codec,
        identity: Mapping[str, object],
        tracker: ProgressTracker = _REPORTED,
        run: type[BatchRun] | None = None,
        kept: KeptStores | None = None,
        name: Hashable = None,
        make_version: Callable[[], bytes] = random_version,
    ) -> None:
        """Open a bucket.

        Args:
            query: The query.
            cells: The cells that hold the state.
            codec: Encodes and decodes the state.
            identity: The parts of the query that the state depends on. A query with another identity cannot read the
                state, except where only versions of modules differ and the newer ones continue from the older.
            tracker: Computes the watermark from the progress that the input reports.
            run: The class that processes a micro-batch; `BatchRun` by default.
            kept: The cache of this process for key stores, between batches; None for no cache.
            name: Identifies the bucket in that cache; of a tuple, the first part identifies the query.
            make_version: Returns a version for the state that was never used before.
        """
        compatibility = Compatibility(identity, [binding.module for binding in query.bindings], (), [query.window])
        self._query = query
        self._codec = codec
        self._tracker = tracker
        self._run = run or BatchRun
        self._state = partial(BucketState, cells, codec, compatibility, kept, name, make_version)

    def process(
        self,
        changes: Iterable[tuple[Key, Sequence[InputChange]]],
        arrived: Progress,
        *,
        observed: Iterable[Observation] = (),
        key_watermarks: Iterable[tuple[Key, int]] = (),
        patterns: Sequence[Told] = (),
        signals: frozenset[str] = frozenset(),
    ) -> BatchResult:
        """Process a micro-batch.

        Args:
            changes: The rows of the batch by key. The order of keys and of rows has no meaning.
            arrived: The progress of the whole input that the batch reports. It takes effect after the batch: a row of
                the batch is late only relative to the watermark of earlier batches.
            observed: The observations of the batch's tasks for each source of the input.
            key_watermarks: Watermarks of single keys, which also take effect after the batch.
            patterns: Watermarks of the keys that patterns allow, which do so too.
            signals: The names of the signals in the batch.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: The state was written by another query.
            StateError: Too many patterns are beyond the watermark.
        """
        state, codec = self._state(), self._codec
        metadata, of_keys = state.metadata, list(key_watermarks)
        own = [watermark for _, watermark in (*of_keys, *patterns)]
        reported = seen_to(arrived, own) if own else arrived
        now, tracked = self._tracker.advance(metadata.progress, metadata.tracked, reported, observed)
        work: dict[bytes, Work] = {}
        for given, rows, key_watermark in chain(
            [(key, rows, EARLIEST) for key, rows in changes], [(key, (), watermark) for key, watermark in of_keys]
        ):
            key = canonical(given)
            name = codec.pack(list(key))
            known = work.get(name)
            work[name] = Work(key, rows, key_watermark) if known is None else known.add(rows, key_watermark)
        batch = self._run(self._query, codec, metadata, now, signals)
        batch.patterns = batch.patterns_before.advance(patterns, now.watermark, self._query.most_patterns)
        metadata.progress, metadata.tracked, metadata.patterns = now, tracked, batch.patterns.to_data()
        if work or patterns or batch.has_work(metadata.timer):
            update_keys(state, codec, partial(batch.run, work=work))
        batch.result.windows_closed += batch.emission.windows_closed
        batch.result.held = metadata.held._replace(bytes=state.write())
        batch.result.watermark = batch.output_watermark(metadata.timer.output_watermark)
        return batch.result


def _empty_assigner(query: EvaluatorQuery) -> Assigner:
    """Return the assigner of a key that will have future events alone."""
    return assigner_of(query.window)


class BatchRun:
    """Process one micro-batch, key by key.

    Attributes:
        result: The result of the batch so far.
        emission: The strategy that emits windows.
        now: The progress after the batch, with the watermark after allowed lateness.
        patterns_before: The patterns of keys that were complete beyond the watermark before the batch.
        patterns: Those after it.
        state_class: The class of a key's state.
    """

    state_class: ClassVar[type[KeyState]] = KeyState

    def __init__(
        self, query: EvaluatorQuery, codec: Codec, metadata: BucketMetadata, now: Progress, signals: frozenset[str]
    ) -> None:
        self.result = BatchResult(progress=now)
        self.patterns = self.patterns_before = KeyPatterns(metadata.patterns)
        results, self._future_keys = query.once(WindowResults), query.once(_empty_assigner)
        self.emission: Emission
        if isinstance(query.emit, EarlyEmission):
            self.emission = TriggeredEmission(query, results, query.emit, signals)
        elif query.emit is EmitPolicy.FINAL:
            self.emission = FinalEmission(query, results)
        else:
            self.emission = SpeculativeEmission(query, results)
        self._affected = AffectedWindows(query, results.computations) if self.emission.follows_windows else None
        self._filter = Filter(query.keeps)
        self._query, self._codec, self._metadata, self._serial = query, codec, metadata, metadata.serial
        _, self._keys_held, self._events_held, self._windows_held = metadata.held
        self._inputs_before, self._input = metadata.progress, now
        self._before, self.now = effective(query, metadata.progress), effective(query, now)
        self._adjusts = query.late.policy is LatePolicy.ADJUST
        self._shedding = Shedding.of(query)
        self._extent = results.extent
        self._few: FewEvents | None = None
        is_plain = self.state_class is KeyState  # others keep more of a key than events and windows
        if is_plain and isinstance(self.emission, FinalEmission) and query.once(takes_few_events):
            progress, at_end = (self._before, self.now), query.timestamps is TimestampPolicy.POINT_AT_END
            assigner, emission = self._future_keys, self.emission
            self._few = FewEvents(assigner, codec, emission, progress, self._serial, is_at_end=at_end)
        max_event_time = self.now.max_event_time
        # by which windows become visible before they close; see `KeyTimer.visibility`
        visibility = max_event_time if query.emit is EmitPolicy.SPECULATIVE else self.now.horizon
        self._due_at = (self.now.watermark, visibility, now.clock, max_event_time)

    @cached_property
    def _serializer(self) -> StateSerializer:
        return StateSerializer(self._query, self._codec, self._metadata.schema_versions)

    def output_watermark(self, earliest: int) -> int:
        """Return the output watermark, before which no output changes any more (StreamInsight paper, section V.F).

        Args:
            earliest: The smallest `KeyTimer.output_watermark` of any key that has a state.
        """
        query, watermark = self._query, self.now.watermark
        if watermark in (EARLIEST, INFINITY) or query.is_time_bound:
            return watermark
        assigner = self._future_keys
        if query.timestamps is TimestampPolicy.POINT_AT_END:
            return min(assigner.end_after(watermark), earliest)
        if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
            return EARLIEST
        first = min(assigner.start_after(watermark), earliest)
        return first if self._extent is None else query.window.extent_start(first)

    def timer_of(self, state: KeyState, now: Progress) -> KeyTimer:
        """Return the timer of a key, given the progress with the key's own watermark."""
        return timer(self._query, state, now)

    def has_work(self, timer: KeyTimer) -> bool:
        """True if any key has work, given the soonest of their timers."""
        return self.emission.is_signalled or timer.is_reached(*self._due_at)

    def run(self, store: KeyStore, work: Mapping[bytes, Work]) -> None:
        """Process the keys that have rows or a timer that is due."""
        self.result.keys = len(work)
        due, few = store.due(self._due_at, is_signalled=self.emission.is_signalled), self._few
        ahead = self._keys_ahead(store) if self.patterns is not self.patterns_before else ()
        has_patterns = bool(self.patterns or self.patterns_before)
        for name in sorted({*work, *due, *ahead}):
            own = work.get(name) or Work(tuple(self._codec.unpack(name)))
            output = None
            if few is not None and own.key_watermark == EARLIEST and not (has_patterns and self._is_ahead(own.key)):
                output = few.process(store, name, own.key, own.rows)
            if output is None:
                output = self._process_key(store, name, own)
            else:
                self.result.accepted += len(own.rows)
            if output:
                if (extent := self._extent) is not None:
                    output = [change._replace(window=extent(change.window)) for change in output]
                self.result.output.append((own.key, output))
        if few is not None:
            self._keys_held += few.keys_held
            self._events_held += few.events_held
            self._metadata.serial = max(self._metadata.serial, few.serial)
        self._metadata.held = HeldState(0, self._keys_held, self._events_held, self._windows_held)

    def _keys_ahead(self, store: KeyStore) -> list[bytes]:
        """Return the encoded keys whose watermark the patterns of the batch advance."""
        before, now = self.patterns_before, self.patterns
        named = ((name, tuple(self._codec.unpack(name))) for name, _ in store.items())
        return [name for name, key in named if now.watermark_of(key) > before.watermark_of(key)]

    def _is_ahead(self, key: Key) -> bool:
        return max(self.patterns.watermark_of(key), self.patterns_before.watermark_of(key)) > EARLIEST

    def _process_key(self, store: KeyStore, name: bytes, work: Work) -> list[OutputChange]:
        """Evaluate a key with its indexes: admit its rows, apply them, emit windows, close; return its output."""
        query, key = self._query, work.key
        decode = partial(self.state_class.from_data, query, serializer=self._serializer, key=key)
        stored = store.get(name, decode)
        state = self.state_class(query, self._serial) if stored is None else stored
        events, windows, open_rows = state.held_count, state.held_windows, self._filter.count(state.waiting)
        before, now = self._before, self.now
        if (own := max(state.key_watermark, self.patterns_before.watermark_of(key))) > EARLIEST:
            before = effective(query, for_key(self._inputs_before, own))
        state.key_watermark = max(state.key_watermark, work.key_watermark)
        if (own := max(own, state.key_watermark, self.patterns.watermark_of(key))) > EARLIEST:
            now = effective(query, for_key(self._input, own))
        shedding, watermark = self._shedding, before.watermark
        rows, shed = (work.rows, []) if shedding is None else shedding.take(key, state, work.rows, watermark)
        admission = Admission(state, watermark, axis=query.axis, adjusts=self._adjusts)
        admission.admit(rows, now.watermark)
        self._filter.leave_out(state, admission)
        rejections = self._filter.visible(admission.rejections + shed)
        output = self.evaluate(key, state, admission, before, now)
        if self.emission.evicted:
            self.result.evicted.append((key, self.emission.evicted))
        if rejections:
            self.result.rejections += [(key, rejection) for rejection in rejections]
        open_rows += self._filter.count(work.rows) - len(rejections)
        self.result.accepted += open_rows - self._filter.count(state.waiting)
        if state.key_watermark <= self._due_at[0]:
            state.key_watermark = EARLIEST
        is_held = not state.is_empty
        self._keys_held += is_held - (stored is not None)
        self._events_held += state.held_count - events
        self._windows_held += state.held_windows - windows
        if is_held:
            parts = partial(state.changes, self._serializer, key), partial(state.to_data, self._serializer, key)
            try:
                store.put(name, self.timer_of(state, now), state, *parts)
            except StateError as error:
                named = self._why_unstorable(key, state)
                if named is None:
                    raise
                raise named from error
        else:
            self._metadata.serial = max(self._metadata.serial, state.serial)
            store.remove(name)
        return output

    def evaluate(
        self, key: Key, state: KeyState, net: NetChanges, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take the net changes of a key in, forget what is closed then, and return the changes of its output.

        Args:
            key: The key.
            state: Its state, without the changes.
            net: The changes.
            before: The progress before the batch, as it counts for the key.
            now: The progress after it.
        """
        affected: dict[Window, Affected] = {}
        if self._affected is None:
            net.apply()
        else:
            affected = self._affected.apply(state, net, before, now)
            if state.closes_out_of_order:
                leave_out_closed(self._query, state, affected, before.watermark)
        output = self.emission.emit(key, state, affected, before, now)
        self.result.windows_closed += close_windows(self._query, state, now.watermark)
        return output

    def _why_unstorable(self, key: Key, state: KeyState) -> StateError | None:
        """Return an error that names the module of a live result that cannot be stored; None if all can."""
        rows = ((window, out.row.value) for window, entry in state.entries for out in entry.live)
        found = (self._serializer.why_unstorable(value, key, window) for window, value in rows)
        return next(filter(None, found), None)
