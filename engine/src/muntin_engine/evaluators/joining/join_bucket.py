"""Evaluate a bucket of a join: a micro-batch of both inputs gives the changes of the output.

State is the log of keys that the general evaluator has, see `muntin_engine.evaluators.general.key_store`, with the
events of both inputs in a key's records.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from muntin import EARLIEST, INFINITY, JoinKind, LatePolicy
from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress, Rejection, canonical
from muntin_engine.evaluators.general.admission import Admission, Filter
from muntin_engine.evaluators.general.key_store import KeyStore, update_keys
from muntin_engine.evaluators.general.state_serializer import StateSerializer
from muntin_engine.evaluators.joining.clipping import ClipEmission
from muntin_engine.evaluators.joining.emission import JoinEmission
from muntin_engine.evaluators.joining.join_query import JoinQuery
from muntin_engine.evaluators.joining.key_state import JoinState
from muntin_engine.progress import InputsProgress, Observation, ProgressTracker
from muntin_engine.state.bucket_state import BucketMetadata, BucketState, random_version
from muntin_engine.state.cells import Cells, HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores


@dataclass(slots=True)
class JoinResult:
    """The output of a bucket for a micro-batch.

    Attributes:
        progress: The progress of all inputs together, after the batch.
        output: The changes of the output, key by key.
        rejections: The late and rejected rows.
        accepted: The number of accepted rows; one that waits for other rows of its event counts when they came.
        keys: The number of keys that the batch brought rows of.
        watermark: The output watermark.
        held: The sizes of the bucket's state.
    """

    progress: Progress
    output: list[tuple[Key, list[OutputChange]]] = field(default_factory=list)
    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)
    accepted: int = 0
    keys: int = 0
    watermark: int = EARLIEST
    held: HeldState = field(default_factory=HeldState)


class Arrival(NamedTuple):
    """The progress of one input, as a micro-batch reports it.

    Attributes:
        progress: By explicit rows.
        observed: The observations of its sources.
    """

    progress: Progress
    observed: Sequence[Observation] = ()


class JoinBucket:
    """Evaluates a join for many keys.

    Cost: reading and writing the metadata; for each key with rows, or with something to emit or to drop, decoding it
    unless that is cached, matching, and writing its changes. Other keys cost nothing.
    """

    def __init__(  # what a bucket is made of
        self,
        query: JoinQuery,
        trackers: Sequence[ProgressTracker],
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        kept: KeptStores | None = None,
        name: Hashable = None,
        make_version: Callable[[], bytes] = random_version,
    ) -> None:
        """Open a bucket; see `Bucket` of the general evaluator for what it is given."""
        self._query = query
        self._trackers = trackers
        self._codec = codec
        self._state = partial(BucketState, cells, codec, compatibility, kept, name, make_version)

    def process(self, changes: Iterable[tuple[Key, Sequence[InputChange]]], arrived: Sequence[Arrival]) -> JoinResult:
        """Process a micro-batch.

        Args:
            changes: The rows of both inputs by key. The order of keys and of rows has no meaning.
            arrived: What the batch says of the progress of each input. A row of the batch is late only by the
                watermark that its own input had before the batch.

        Raises:
            StateMismatchError: The state was written by another query.
        """
        state, codec = self._state(), self._codec
        metadata = state.metadata
        before = InputsProgress.from_data(metadata.tracked) if metadata.tracked else InputsProgress.start(2)
        now = before.advance(self._trackers, [some.progress for some in arrived], [some.observed for some in arrived])
        work: dict[bytes, tuple[Key, list[InputChange]]] = {}
        for given, rows in changes:
            key = canonical(given)
            work.setdefault(codec.pack(list(key)), (key, []))[1].extend(rows)
        batch = _JoinBatch(self._query, codec, metadata, before, now)
        metadata.progress, metadata.tracked = now.least, now.to_data()
        if work or metadata.timer.is_reached(*batch.at):
            update_keys(state, codec, partial(batch.run, work=work))
        result, least = batch.result, now.least.watermark
        result.held = metadata.held._replace(bytes=state.write())
        result.watermark = least if least in (EARLIEST, INFINITY) else min(least, metadata.timer.output_watermark)
        return result


class _JoinBatch:
    """A micro-batch on its way through the keys.

    Attributes:
        result: Its result so far.
        at: The progress by which timers are due: the watermark of the left input, and that of the right one.
    """

    def __init__(
        self, query: JoinQuery, codec: Codec, metadata: BucketMetadata, before: InputsProgress, now: InputsProgress
    ) -> None:
        self.result = JoinResult(now.least)
        self._query, self._codec, self._metadata = query, codec, metadata
        self._emission = ClipEmission if query.kind is JoinKind.CLIP else JoinEmission
        self._filters = [Filter(side.keeps) for side in query.sides]
        self._serializers = [StateSerializer(side, codec, metadata.schema_versions) for side in query.sides]
        self._before = [progress.watermark for progress in before.inputs]
        left, right = (progress.watermark for progress in now.inputs)
        self._now = (left, right)
        limits = (
            INFINITY - 1 if after == INFINITY == earlier else after  # a side closes once: nothing waits for it then
            for earlier, after in zip(self._before, self._now, strict=True)
        )
        self.at = (*limits, EARLIEST, EARLIEST)
        _, self._keys_held, self._events_held, _ = metadata.held

    def run(self, store: KeyStore[JoinState], work: Mapping[bytes, tuple[Key, list[InputChange]]]) -> None:
        """Process the keys that have rows or a timer that is due."""
        self.result.keys = len(work)
        for name in sorted({*work, *store.due(self.at, is_signalled=False)}):
            key, rows = work.get(name) or (tuple(self._codec.unpack(name)), [])
            self._process_key(store, name, key, rows)
        self._metadata.held = HeldState(0, self._keys_held, self._events_held, 0)

    def _process_key(self, store: KeyStore[JoinState], name: bytes, key: Key, rows: Sequence[InputChange]) -> None:
        query, result = self._query, self.result
        stored = store.get(name, partial(JoinState.from_data, query, serializers=self._serializers, key=key))
        state = JoinState(query, self._metadata.serial) if stored is None else stored
        events = state.held_count
        emission, nets = self._emission(query, state, self._now), []
        for side, of_side in enumerate(state.sides):
            given, filter = query.sides[side], self._filters[side]
            own = [row for row in rows if row.side == side]
            open_rows = filter.count(of_side.waiting) + filter.count(own)
            adjusts = given.late.policy is LatePolicy.ADJUST
            admission = Admission(of_side, self._before[side], axis=given.axis, adjusts=adjusts)
            admission.admit(own, self._now[side])
            filter.leave_out(of_side, admission)
            rejections = filter.visible(admission.rejections)
            result.rejections += [(key, rejection) for rejection in rejections]
            result.accepted += open_rows - len(rejections) - filter.count(of_side.waiting)
            nets.append(admission)
        output = emission.emit(nets)
        emission.forget()
        if output:
            result.output.append((key, output))
        is_held = not state.is_empty
        self._keys_held += is_held - (stored is not None)
        self._events_held += state.held_count - events
        if not is_held:
            self._metadata.serial = max(self._metadata.serial, state.serial)
            store.remove(name)
            return
        parts = partial(state.changes, self._serializers, key), partial(state.to_data, self._serializers, key)
        store.put(name, emission.timer(), state, *parts)
