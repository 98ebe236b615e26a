"""The steps of a micro-batch for one key: read its state, admit its rows, emit, and write its state.

`KeyedBucket` goes through the keys; each evaluator adds a run that knows what its rows mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.intake import NO_PATTERNS, KeyIntake, PatternWatermarks
from muntin_engine.evaluators.keyed.key_store import KeyStore
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.bucket_state import BucketMetadata, Due, KeyTimer, StateSize
from muntin_engine.state.codec import Codec
from muntin_engine.state.key_patterns import KeyPatterns
from muntin_engine.time.changes import InputChange, Key, OutputChange, Progress, Rejection
from muntin_engine.time.inputs_progress import InputsProgress


class KeyWork(NamedTuple):
    """The part of a batch for one key.

    Attributes:
        key: The key.
        rows: The rows of the key, of all inputs.
        watermarks: The watermarks of the key alone.
    """

    key: Key
    rows: Sequence[InputChange] = ()
    watermarks: Sequence[int] = ()


@dataclass(slots=True)
class BatchResult:
    """The output of a bucket for a batch.

    Attributes:
        output: The changes of the output, key by key.
        evicted: The rows of the second output, key by key.
        rejections: The late and rejected rows, key by key. A row that waited for others may be rejected in a later
            batch than its own.
        progress: The progress of all inputs together after the batch.
        inputs: The progress of each input after the batch.
        watermark: The output watermark: no later output of this bucket changes anything before it.
        accepted: The number of accepted rows; one that waits for other rows of its event counts when they came.
        keys: The number of keys that the batch brought rows or watermarks of.
        windows_closed: The number of windows of keys, with members, that this batch made final.
        keys_forgotten: The number of lives of keys that ended in this batch, so that nothing is kept of them.
        held: The sizes of the bucket's state after the batch.
    """

    output: list[tuple[Key, list[OutputChange]]] = field(default_factory=list)
    evicted: list[tuple[Key, Sequence[OutputChange]]] = field(default_factory=list)
    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    inputs: InputsProgress | None = None
    watermark: int = EARLIEST
    accepted: int = 0
    keys: int = 0
    windows_closed: int = 0
    keys_forgotten: int = 0
    held: StateSize = field(default_factory=StateSize)


class PatternChange(NamedTuple):
    """The patterns of keys that are complete beyond the watermark, such as all keys of one site.

    Attributes:
        previous: The patterns before the batch.
        present: The patterns after the batch; the same object if it advances none.
    """

    previous: KeyPatterns
    present: KeyPatterns


class BatchStart(NamedTuple):
    """The beginning of a micro-batch.

    Attributes:
        codec: Encodes and decodes the state.
        metadata: The metadata of the bucket.
        previous: The progress of the inputs before the batch.
        progress: The progress of the inputs after the batch.
        patterns: The patterns of keys before the batch and after it; None if there are none.
        signals: The names of the signals in the batch.
    """

    codec: Codec
    metadata: BucketMetadata
    previous: InputsProgress
    progress: InputsProgress
    patterns: PatternChange | None
    signals: frozenset[str]


@dataclass(slots=True)
class HeldCount:
    """The keys, events and windows in the state of a bucket, counted as they come and go.

    Attributes:
        keys: The number of keys with state.
        events: The number of their events.
        windows: The number of windows that have been emitted and may still change.
    """

    keys: int
    events: int
    windows: int

    def add(self, keys: int, events: int, windows: int = 0) -> None:
        """Count further keys, events and windows; negative numbers count those that left the state."""
        self.keys += keys
        self.events += events
        self.windows += windows


class KeyedRun(ABC):
    """A micro-batch on its way through the keys of a bucket.

    Attributes:
        state_class: The class of a key's state.
        query: The query, as the state class takes it.
        metadata: The metadata of the bucket.
        codec: Encodes and decodes the state.
        result: The result of the batch so far.
        held: The count of what the state keeps, as the batch has left it so far.
        intakes: Admit the rows of each input.
        due_at: The progress by which timers are due.
        is_signalled: True if every key has work, whatever its timer says.
    """

    state_class: type[Any]
    due_at: Due
    is_signalled: bool = False

    def __init__(self, query: Any, start: BatchStart) -> None:
        """Begin a micro-batch.

        Args:
            query: The query, as the state class takes it. Its `sides` say how the events of each input come.
            start: The progress and the metadata of the bucket.
        """
        self.query = query
        self.metadata = start.metadata
        self.codec = start.codec
        self.result = BatchResult(progress=start.progress.least, inputs=start.progress)
        self.intakes = [
            KeyIntake(input_query, start.previous, start.progress, side=side, rejections=self.result.rejections)
            for side, input_query in enumerate(query.sides)
        ]
        self._patterns = start.patterns
        self._decode = partial(self.state_class.from_data, query)
        self._serial = start.metadata.serial

        # The totals of the state, which each key changes as it is processed.
        held = start.metadata.held
        self.held = HeldCount(held.keys, held.events, held.windows)

    @abstractmethod
    def process_rows(self, key: Key, state: Any, work: KeyWork) -> list[OutputChange]:
        """Admit the rows of a key, drop the part of its state that nothing needs then, and return its output."""

    @abstractmethod
    def timer_of(self, state: Any) -> KeyTimer:
        """Return the timer of a key; its rows were the last that `process_rows` got."""

    @abstractmethod
    def output_watermark(self, earliest: int) -> int:
        """Return the output watermark, before which no output changes any more (StreamInsight paper, section V.F).

        Args:
            earliest: The smallest `KeyTimer.output_watermark` of any key that has a state.
        """

    def why_unstorable(self, key: Key, state: Any) -> StateError | None:
        """Return an error that names the value of a state that cannot be stored; None if no such value was found."""
        del key, state
        return None

    @cached_property
    def serializer(self) -> StateSerializer:
        """Writes and reads the states of modules; the modules are those of the first input, as a join has none."""
        return StateSerializer(self.query.sides[0], self.codec, self.metadata.schema_versions)

    def process_key(self, store: KeyStore[Any], name: bytes, work: KeyWork) -> list[OutputChange]:
        """Process a key and write its state; return the changes of its output.

        Args:
            store: The states of the keys.
            name: The key, encoded.
            work: The part of the batch for the key.

        Raises:
            StateError: The state holds a value that cannot be stored.
        """
        key = work.key
        state = store.get(name, self._decode, self.serializer, key)
        if state is None:
            # The new state begins above the serial numbers of keys that were forgotten: this key may be one of them.
            state = self.state_class(self.query, self._serial)
        else:
            # The state is counted out as it was, and in again as it is after the rows.
            self.held.add(keys=-1, events=-state.held_count, windows=-state.held_windows)

        output = self.process_rows(key, state, work)

        if state.is_empty:
            # Nothing is left of the key but its last serial number: it must not give two output events the same id.
            self.metadata.serial = max(self.metadata.serial, state.serial)
            store.remove(name)
            return output
        self.held.add(keys=1, events=state.held_count, windows=state.held_windows)
        try:
            store.put(name, self.timer_of(state), state, self.serializer, key)
        except StateError as error:
            named_error = self.why_unstorable(key, state)
            if named_error is None:
                raise
            raise named_error from error
        return output

    def keys_ahead(self, store: KeyStore[Any]) -> list[bytes]:
        """Return the encoded keys whose watermarks are advanced by the patterns that the batch brings."""
        if self._patterns is None:
            return []
        previous, present = self._patterns
        if previous is present:
            return []  # the batch advances no pattern
        names: list[bytes] = []
        for name, _ in store.items():
            key = tuple(self.codec.unpack(name))
            if present.watermark_of(key) > previous.watermark_of(key):
                names.append(name)
        return names

    def pattern_watermarks(self, key: Key) -> PatternWatermarks:
        """Return the watermarks that patterns give a key."""
        if self._patterns is None:
            return NO_PATTERNS
        previous, present = self._patterns
        return PatternWatermarks(previous.watermark_of(key), present.watermark_of(key))

    def last_finite_watermark(self, work: KeyWork) -> int:
        """Return the latest watermark that the batch has for one key alone; `EARLIEST` if there is none.

        A watermark of `INFINITY`, which says that the key gets no more rows, does not count.
        """
        watermarks = [watermark for watermark in work.watermarks if watermark < INFINITY]
        if self._patterns is not None:
            watermarks.append(self._patterns.present.finite_watermark_of(work.key))
        return max(watermarks, default=EARLIEST)

    def finish(self) -> None:
        """Count the outcome of all keys, in the result and in the metadata."""
        # The bytes are 0 here: they are known only when the state has been written.
        held = self.held
        self.metadata.held = StateSize(bytes=0, keys=held.keys, events=held.events, windows=held.windows)
        for intake in self.intakes:
            self.result.accepted += intake.accepted
