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
from typing import Final, NamedTuple, TypeAlias

from muntin import EARLIEST, LatePolicy
from muntin_engine.core.changes import InputChange, OutputChange, Progress, Rejection
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.keys import Key, canonical
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.admission import Admission, Filter
from muntin_engine.evaluators.general.assignment import assigner_of
from muntin_engine.evaluators.general.key_evaluation import KeyEvaluation
from muntin_engine.evaluators.general.key_state import KeptStates, KeyState
from muntin_engine.evaluators.general.timers import output_watermark, timer, visible_to
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.progress.lateness import effective, for_key, seen_to
from muntin_engine.state.bucket_metadata import KEY_GROUPS, BucketMetadata, KeyTimer, soonest
from muntin_engine.state.cells import Cells
from muntin_engine.state.checked_cells import damaged
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.held import HeldState, total

_METADATA: Final = "metadata"

_SAID: Final = ProgressTracker()
"""Progress is what the input says, and no more."""


class _Work(NamedTuple):
    """The part of a batch for one key: its rows and its key watermark."""

    key: Key
    rows: Sequence[InputChange] = ()
    key_watermark: int = EARLIEST

    def add(self, rows: Sequence[InputChange], key_watermark: int) -> _Work:
        return _Work(self.key, [*self.rows, *rows], max(self.key_watermark, key_watermark))


_Rows: TypeAlias = dict[bytes, _Work]
"""What a batch brings some keys, by the bytes that name a key."""


class _StoredKey(NamedTuple):
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
    ) -> None:
        """Open a bucket.

        Args:
            query: What it evaluates.
            cells: Its state.
            codec: How the state is written.
            identity: What the state depends on besides this class; a query that differs in it cannot read the state,
                but for versions that its modules go on from.
            tracker: What says how far the input is, besides the progress that arrives.
        """
        self._query = query
        self._cells = cells
        self._codec = codec
        self._compatibility = Compatibility(
            {**identity, "key_groups": KEY_GROUPS}, [binding.module for binding in query.bindings]
        )
        self._tracker = tracker
        self._assigner = assigner_of(query.window)

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
        punctuated = [(key, (), key_watermark) for key, key_watermark in key_watermarks]
        said = seen_to(arrived, (key_watermark for *_, key_watermark in punctuated))
        now, metadata.tracked = self._tracker.advance(metadata.progress, metadata.tracked, said, observed)
        work = self._by_key_group(chain(((key, rows, EARLIEST) for key, rows in changes), punctuated))
        batch = _BatchRun(self._query, self._codec, metadata, now, signals)
        written: dict[str, bytes] = {}
        for key_group in sorted({*work, *batch.key_groups_with_work()}):
            name = f"key_group {key_group}"
            written[name] = batch.process_key_group(key_group, self._cells.get(name), work.get(key_group, {}))
        written[_METADATA] = batch.close()
        self._write(written)
        batch.result.held = total([*metadata.held.values(), HeldState(len(written[_METADATA]))])
        earliest, closing = soonest(metadata.timers.values()).output_watermark, effective(self._query, now)
        batch.result.watermark = output_watermark(self._query, self._assigner, closing, earliest)
        return batch.result

    def _by_key_group(self, given: Iterable[tuple[Key, Sequence[InputChange], int]]) -> dict[int, _Rows]:
        work: dict[int, _Rows] = {}
        for named, rows, key_watermark in given:
            key = canonical(named)
            name = self._codec.pack(list(key))
            key_group = work.setdefault(zlib.crc32(name) % KEY_GROUPS, {})
            known = key_group.get(name)
            key_group[name] = _Work(key, rows, key_watermark) if known is None else known.add(rows, key_watermark)
        return work

    def _write(self, written: Mapping[str, bytes]) -> None:
        """Write cells, all at the end: a module that failed before has changed none."""
        for name, data in written.items():
            if data:
                self._cells.put(name, data)
            else:
                self._cells.remove(name)


class _BatchRun:
    """One micro-batch on its way through the key groups."""

    def __init__(
        self,
        query: EvaluatorQuery,
        codec: Codec,
        metadata: BucketMetadata,
        now: Progress,
        signals: frozenset[str],
    ) -> None:
        self.result = BatchResult(progress=now)
        self._query = query
        self._codec = codec
        self._filter = None if query.keeps is None else Filter(query.keeps)
        self._evaluation = KeyEvaluation(query, signals)
        self._metadata = metadata
        self._kept = KeptStates(query, codec, metadata.schema_versions)
        self._before = metadata.progress
        self._now = now
        closing = effective(query, now)
        self._at = (closing.watermark, visible_to(query, closing), now.clock, closing.max_event_time)
        self._serial = metadata.serial
        self._more_events = self._more_windows = 0

    def key_groups_with_work(self) -> list[int]:
        """Return the key groups that have a key with something to do."""
        return [key_group for key_group, timer in self._metadata.timers.items() if self._has_work(timer)]

    def process_key_group(self, key_group: int, data: bytes | None, rows: _Rows) -> bytes:
        """Process the keys of a key group that have rows or something to do; return its bytes, none if it is empty."""
        if (data is None) == (key_group in self._metadata.held):
            found = "the metadata lists it, and it is empty" if data is None else "the metadata does not list it"
            raise damaged(f"key_group {key_group}", found)
        stored = {} if data is None else self._read(data)
        self.result.keys += len(rows)
        self._more_events = self._more_windows = 0
        for name in sorted({*rows, *(name for name, key in stored.items() if self._has_work(key.timer))}):
            work = rows.get(name) or _Work(tuple(self._codec.unpack(name)))
            kept = self._process_key(work, stored.pop(name, None))
            if kept is not None:
                stored[name] = kept
        if not stored:
            self._metadata.timers.pop(key_group, None)
            self._metadata.held.pop(key_group, None)
            return b""
        self._metadata.timers[key_group] = soonest(key.timer for key in stored.values())
        packed = self._codec.pack({name: [*key.timer.to_data(), key.data] for name, key in stored.items()})
        _, _, events, windows = self._metadata.held.get(key_group, HeldState())
        held = HeldState(len(packed), len(stored), events + self._more_events, windows + self._more_windows)
        self._metadata.held[key_group] = held
        return packed

    def _has_work(self, timer: KeyTimer) -> bool:
        return self._evaluation.emission.is_signalled or timer.is_reached(*self._at)

    def close(self) -> bytes:
        """Return the metadata after the batch."""
        self._metadata.progress = self._now
        self.result.windows_closed = self._evaluation.windows_closed
        return self._metadata.to_bytes(self._codec)

    def _read(self, data: bytes) -> dict[bytes, _StoredKey]:
        return {name: _StoredKey(KeyTimer(*timer), data) for name, (*timer, data) in self._codec.unpack(data).items()}

    def _process_key(self, work: _Work, stored: _StoredKey | None) -> _StoredKey | None:
        state = KeyState(self._query, self._serial) if stored is None else self._restore(work.key, stored.data)
        waiting, before = state.waiting_count, self._progress(self._before, state)
        if stored is not None:
            self._count(state, -1)
        state.key_watermark = max(state.key_watermark, work.key_watermark)
        now = self._progress(self._now, state)
        adjusts = self._query.late.policy is LatePolicy.ADJUST
        admission = Admission(state, before.watermark, axis=self._query.axis, adjusts=adjusts)
        admission.admit(work.rows, now.watermark)
        if self._filter is not None:
            self._filter.leave_out(state, admission)
        output = self._evaluation.evaluate(work.key, state, admission, before, now)
        if output:
            self.result.output.append((work.key, output))
        rejections, count = admission.rejections, len(work.rows)
        if self._filter is not None:
            rejections, count = self._filter.shown(rejections), count - self._filter.count(work.rows)
        self.result.rejections += [(work.key, rejection) for rejection in rejections]
        self.result.accepted += waiting + count - len(rejections) - state.waiting_count
        if state.key_watermark <= self._at[0]:
            state.key_watermark = EARLIEST
        if not state.is_empty:
            self._count(state, +1)
            return _StoredKey(timer(self._query, state, now), self._packed(work.key, state))
        self._metadata.serial = max(self._metadata.serial, state.serial)
        return None

    def _progress(self, progress: Progress, state: KeyState) -> Progress:
        """Return the progress that counts for a key."""
        return effective(self._query, for_key(progress, state.key_watermark))

    def _count(self, state: KeyState, sign: int) -> None:
        """Take note that the key group holds a key, or does not any more."""
        self._more_events += sign * len(state.events)
        if self._evaluation.emission.follows_windows:
            self._more_windows += sign * len(state.windows)

    def _packed(self, key: Key, state: KeyState) -> bytes:
        data = state.to_data(self._kept, key)
        try:
            return self._codec.pack(data)
        except StateError as error:
            rows = ((window, out.row.value) for window, entry in state.windows.items() for out in entry.live)
            found = (self._kept.why_unstorable(value, key, window) for window, value in rows)
            raise next(filter(None, found), error) from error

    def _restore(self, key: Key, data: bytes) -> KeyState:
        return KeyState.from_data(self._query, self._codec.unpack(data), self._kept, key)
