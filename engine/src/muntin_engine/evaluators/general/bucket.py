"""A bucket of keys: one micro-batch of changes in, the net change of the output out.

State lives in cells. Keys are spread over *key groups*, one cell each; in a key group every key is a run of bytes of
its own. So a batch reads the key groups of the keys it touches and of those whose timer is due, and decodes those keys
alone. The bucket's metadata, one more cell, holds the progress of the input and the timers of the key groups.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, Final, NamedTuple, TypeAlias

from muntin import EARLIEST, EarlyEmission, EmitPolicy, LatePolicy, Window
from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress, Rejection, canonical
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.admission import Admission, Filter
from muntin_engine.evaluators.general.affected import Affected, AffectedWindows
from muntin_engine.evaluators.general.closing import forget_closed
from muntin_engine.evaluators.general.computation import WindowResults, extent_of
from muntin_engine.evaluators.general.emission import Emission, FinalEmission
from muntin_engine.evaluators.general.key_state import KeptStates, KeyState, assigner_of
from muntin_engine.evaluators.general.speculative import SpeculativeEmission
from muntin_engine.evaluators.general.timers import output_watermark, timer
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.progress.tracker import effective, for_key, seen_to
from muntin_engine.state.bucket_metadata import KEY_GROUPS, BucketMetadata, KeyTimer, soonest
from muntin_engine.state.cells import Cells, HeldState, damaged, total
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility

_METADATA: Final = "metadata"

_SAID: Final = ProgressTracker()
"""Progress is what the input says, and no more."""


class Work(NamedTuple):
    """The part of a batch for one key: its rows and its key watermark."""

    key: Key
    rows: Sequence[InputChange] = ()
    key_watermark: int = EARLIEST

    def add(self, rows: Sequence[InputChange], key_watermark: int) -> Work:
        """Return it with more of the same key."""
        return Work(self.key, [*self.rows, *rows], max(self.key_watermark, key_watermark))


_Rows: TypeAlias = dict[bytes, Work]
"""What a batch brings some keys, by the bytes that name a key."""


class StoredKey(NamedTuple):
    """A key of a key group."""

    timer: KeyTimer
    data: bytes


@dataclass(slots=True)
class BatchResult:
    """The output of a bucket for a batch.

    Attributes:
        output: The changes of the output, key by key.
        rejections: The late and rejected rows, key by key. A row that waited for others may be rejected in a later
            batch than its own.
        progress: The progress of the input now.
        watermark: No later output of this bucket has a sync time below it.
        accepted: The number of accepted rows; one that waits for other rows of its event counts when they came.
        keys: The number of keys that the batch brought rows of.
        windows_closed: The number of windows of keys, with members, that this batch made final.
        held: The sizes of the bucket's state now.
    """

    output: list[tuple[Key, list[OutputChange]]] = field(default_factory=list)
    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    watermark: int = EARLIEST
    accepted: int = 0
    keys: int = 0
    windows_closed: int = 0
    held: HeldState = field(default_factory=HeldState)


class Bucket:
    """Evaluates a query for many keys.

    Cost: reading and writing the metadata, plus for each key group touched reading and writing its bytes, plus for each
    key touched decoding, evaluating and encoding it. Keys that are not touched and have nothing to close cost nothing
    but the bytes of their key group.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        cells: Cells,
        codec: Codec,
        identity: Mapping[str, object],
        tracker: ProgressTracker = _SAID,
        run: type[BatchRun] | None = None,
    ) -> None:
        """Open a bucket.

        Args:
            query: What it evaluates.
            cells: Its state.
            codec: How the state is written.
            identity: What the state depends on besides this class; a query that differs in it cannot read the state,
                but for versions that its modules go on from.
            tracker: What says how far the input is, besides the progress that arrives.
            run: The way of a micro-batch through the bucket, if it is another one.
        """
        self._query = query
        self._cells = cells
        self._codec = codec
        self._compatibility = Compatibility(
            {**identity, "key_groups": KEY_GROUPS}, [binding.module for binding in query.bindings]
        )
        self._tracker = tracker
        self._run = run or BatchRun

    def process(
        self,
        changes: Iterable[tuple[Key, Sequence[InputChange]]],
        arrived: Progress,
        *,
        observed: Iterable[Observation] = (),
        key_watermarks: Iterable[tuple[Key, int]] = (),
        signals: frozenset[str] = frozenset(),
    ) -> BatchResult:
        """Take in a micro-batch.

        Args:
            changes: The rows of the batch by key. Order means nothing, neither of keys nor of rows.
            arrived: What the batch says of the progress of the whole input. It holds after the batch: a row of the
                batch is late only by the watermark of earlier batches.
            observed: What the tasks of the batch have seen of each source of the input.
            key_watermarks: Watermarks of single keys, which hold after the batch too.
            signals: The names of the external events that it brings.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: The state was written by another query.
        """
        metadata = BucketMetadata.from_bytes(self._cells.get(_METADATA), self._compatibility, self._codec)
        punctuated = list(key_watermarks)
        said = seen_to(arrived, [key_watermark for _, key_watermark in punctuated]) if punctuated else arrived
        now, metadata.tracked = self._tracker.advance(metadata.progress, metadata.tracked, said, observed)
        work: dict[int, _Rows] = {}
        for named, rows, key_watermark in chain(
            [(key, rows, EARLIEST) for key, rows in changes], [(key, (), tick) for key, tick in punctuated]
        ):
            key = canonical(named)
            name = self._codec.pack(list(key))
            group = work.setdefault(zlib.crc32(name) % KEY_GROUPS, {})
            known = group.get(name)
            group[name] = Work(key, rows, key_watermark) if known is None else known.add(rows, key_watermark)
        batch = self._run(self._query, self._codec, metadata, now, signals)
        written: dict[str, bytes] = {}
        due = [key_group for key_group, timer in metadata.timers.items() if batch.has_work(timer)]
        for key_group in sorted({*work, *due}):
            cell = f"key_group {key_group}"
            written[cell] = batch.process_key_group(key_group, self._cells.get(cell), work.get(key_group, {}))
        metadata.progress = now
        written[_METADATA] = metadata.to_bytes(self._codec)
        for cell, data in written.items():  # all at the end: a module that failed before has changed none
            if data:
                self._cells.put(cell, data)
            else:
                self._cells.remove(cell)
        batch.result.windows_closed += batch.emission.windows_closed
        batch.result.held = total([*metadata.held.values(), HeldState(len(written[_METADATA]))])
        earliest = soonest(metadata.timers.values()).output_watermark
        batch.result.watermark = batch.output_watermark(earliest)
        return batch.result


class BatchRun:
    """One micro-batch on its way through the key groups.

    Attributes:
        result: What becomes of it.
        emission: The strategy by which windows are emitted.
        now: The progress after it by which windows close.
        state_class: What it keeps of a key.
    """

    state_class: ClassVar[type[KeyState]] = KeyState

    def __init__(
        self, query: EvaluatorQuery, codec: Codec, metadata: BucketMetadata, now: Progress, signals: frozenset[str]
    ) -> None:
        self.result = BatchResult(progress=now)
        results = WindowResults(query)
        self.emission: Emission
        if isinstance(query.emit, EarlyEmission):
            self.emission = TriggeredEmission(query, results, query.emit, signals)
        elif query.emit is EmitPolicy.FINAL:
            self.emission = FinalEmission(query, results)
        else:
            self.emission = SpeculativeEmission(query, results)
        self._affected = AffectedWindows(query, results.computations) if self.emission.follows_windows else None
        self._filter = None if query.keeps is None else Filter(query.keeps)
        self._kept = KeptStates(query, codec, metadata.schema_versions, results.computations)
        self._query, self._codec, self._metadata, self._serial = query, codec, metadata, metadata.serial
        self._inputs_before, self._input = metadata.progress, now
        self._before, self.now = effective(query, metadata.progress), effective(query, now)
        self._adjusts = query.late.policy is LatePolicy.ADJUST
        self._extent = extent_of(query)
        max_event_time = self.now.max_event_time
        # by which windows become visible before they close; see `KeyTimer.visibility`
        visibility = max_event_time if query.emit is EmitPolicy.SPECULATIVE else self.now.horizon
        self._at = (self.now.watermark, visibility, now.clock, max_event_time)
        self._more_events = self._more_windows = 0

    def output_watermark(self, earliest: int) -> int:
        """Return a tick below which no output changes any more, given the smallest of any key that has a state."""
        return output_watermark(self._query, assigner_of(self._query.window), self.now, earliest)

    def timer_of(self, state: KeyState, now: Progress) -> KeyTimer:
        """Return the timer of a key, given the progress as it counts for the key."""
        return timer(self._query, state, now)

    def has_work(self, timer: KeyTimer) -> bool:
        """True if a key or a key group has something to do."""
        return self.emission.is_signalled or timer.is_reached(*self._at)

    def process_key_group(self, key_group: int, data: bytes | None, rows: _Rows) -> bytes:
        """Process the keys of a key group that have rows or something to do; return its bytes, none if it is empty."""
        timers, held = self._metadata.timers, self._metadata.held
        if (data is None) == (key_group in held):
            found = "the metadata lists it, and it is empty" if data is None else "the metadata does not list it"
            raise damaged(f"key_group {key_group}", found)
        read = {} if data is None else self._codec.unpack(data)
        stored = {name: StoredKey(KeyTimer(*timer), data) for name, (*timer, data) in read.items()}
        self.result.keys += len(rows)
        self._more_events = self._more_windows = 0
        for name in sorted({*rows, *(name for name, key in stored.items() if self.has_work(key.timer))}):
            work = rows.get(name) or Work(tuple(self._codec.unpack(name)))
            kept = self.process_key(work, stored.pop(name, None))
            if kept is not None:
                stored[name] = kept
        if not stored:
            timers.pop(key_group, None)
            held.pop(key_group, None)
            return b""
        timers[key_group] = soonest([key.timer for key in stored.values()])
        packed = self._codec.pack({name: [*key.timer.to_data(), key.data] for name, key in stored.items()})
        _, _, events, windows = held.get(key_group, HeldState())
        held[key_group] = HeldState(len(packed), len(stored), events + self._more_events, windows + self._more_windows)
        return packed

    def process_key(self, work: Work, stored: StoredKey | None) -> StoredKey | None:
        """Evaluate a key: the four phases of the paper's section V.D, and its clean-up."""
        query, key, follows_windows = self._query, work.key, self.emission.follows_windows
        if stored is None:
            state = self.state_class(query, self._serial)
        else:
            state = self.state_class.from_data(query, self._codec.unpack(stored.data), self._kept, key)
            self._more_events -= state.held_count
            self._more_windows -= len(state.windows) if follows_windows else 0
        waiting, before, now = state.waiting_count, self._before, self.now
        if state.key_watermark > EARLIEST:
            before = effective(query, for_key(self._inputs_before, state.key_watermark))
        state.key_watermark = max(state.key_watermark, work.key_watermark)
        if state.key_watermark > EARLIEST:
            now = effective(query, for_key(self._input, state.key_watermark))
        admission = Admission(state, before.watermark, axis=query.axis, adjusts=self._adjusts)
        admission.admit(work.rows, now.watermark)
        rejections, count = admission.rejections, len(work.rows)
        if self._filter is not None:
            self._filter.leave_out(state, admission)
            rejections, count = self._filter.shown(rejections), count - self._filter.count(work.rows)
        affected: dict[Window, Affected] = {}
        if self._affected is None:
            admission.settle()
        else:
            affected = self._affected.find(state, admission, before, now)
        output = self.emission.emit(key, state, affected, before, now)
        self.result.windows_closed += forget_closed(query, state, now.watermark)
        if output:
            if (extent := self._extent) is not None:
                output = [change._replace(window=extent(change.window)) for change in output]
            self.result.output.append((key, output))
        self.result.rejections += [(key, rejection) for rejection in rejections]
        self.result.accepted += waiting + count - len(rejections) - state.waiting_count
        if state.key_watermark <= self._at[0]:
            state.key_watermark = EARLIEST
        if state.is_empty:
            self._metadata.serial = max(self._metadata.serial, state.serial)
            return None
        self._more_events += state.held_count
        self._more_windows += len(state.windows) if follows_windows else 0
        return StoredKey(self.timer_of(state, now), self._packed(key, state))

    def _packed(self, key: Key, state: KeyState) -> bytes:
        data = state.to_data(self._kept, key)
        try:
            return self._codec.pack(data)
        except StateError as error:
            rows = ((window, out.row.value) for window, entry in state.windows.items() for out in entry.live)
            found = (self._kept.why_unstorable(value, key, window) for window, value in rows)
            raise next(filter(None, found), error) from error
