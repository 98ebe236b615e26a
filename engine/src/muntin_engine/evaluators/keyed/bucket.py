"""Evaluate a bucket, a fixed share of all keys: a micro-batch of input changes gives the net change of the output.

State is a log of records, one or more for each key. A worker caches them between batches; a batch decodes and writes
only the keys that have rows or whose timer is due. The bucket's metadata holds the progress of the inputs, the list of
the log's entries and the soonest timer: a batch without rows and due timers reads nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, starmap
from typing import Any, NamedTuple, Protocol

from muntin import EARLIEST, INFINITY
from muntin_engine.errors import StateError
from muntin_engine.evaluators.batch import advance
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.evaluators.keyed.intake import NOT_TOLD, KeyIntake
from muntin_engine.evaluators.keyed.key_store import KeyStore, update_keys
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.bucket_state import BucketMetadata, BucketState, Due, KeyTimer, StateSize
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.key_patterns import CompletePattern, KeyPatterns
from muntin_engine.state.store_cache import StoreCache
from muntin_engine.time.changes import InputChange, Key, OutputChange, Progress, Rejection, canonical
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import Observation, ProgressTracker
from muntin_engine.wire.input_report import InputReport


class Work(NamedTuple):
    """The part of a batch for one key: its rows, and the watermarks of the key alone."""

    key: Key
    rows: Sequence[InputChange] = ()
    watermarks: Sequence[int] = ()

    def add(self, rows: Sequence[InputChange], watermarks: Sequence[int]) -> Work:
        """Return it with more rows and watermarks of the same key."""
        return Work(self.key, [*self.rows, *rows], [*self.watermarks, *watermarks])


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
        keys: The number of keys that the batch brought rows of.
        windows_closed: The number of windows of keys, with members, that this batch made final.
        keys_forgotten: The number of lives of keys that ended in this batch, so that nothing is kept of them.
        held: The sizes of the bucket's state now.
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


class Start(NamedTuple):
    """The beginning of a micro-batch.

    Attributes:
        codec: Encodes and decodes the state.
        metadata: The metadata of the bucket.
        before: The progress of the inputs before the batch.
        now: Their progress after it.
        patterns: The patterns of keys that were complete beyond the watermark before the batch, and those after it;
            None if there are none.
        signals: The names of the signals in the batch.
    """

    codec: Codec
    metadata: BucketMetadata
    before: InputsProgress
    now: InputsProgress
    patterns: tuple[KeyPatterns, KeyPatterns] | None
    signals: frozenset[str]


class KeyedRun(ABC):
    """A micro-batch on its way through the keys of a bucket.

    Attributes:
        state_class: The class of a key's state.
        result: The result of the batch so far.
        intakes: Take the rows of each input in.
        due_at: The progress by which timers are due.
        is_signalled: True if every key has work, whatever its timer says.
    """

    state_class: type[Any]
    due_at: Due
    is_signalled: bool = False

    def __init__(self, query: Any, start: Start) -> None:
        """Begin.

        Args:
            query: The query, as the state class takes it. Its `sides` say how the events of each input come.
            start: The progress and the state of the bucket.
        """
        self.result = BatchResult(progress=start.now.least, inputs=start.now)
        self.query, self.metadata = query, start.metadata
        self.codec, self._serial = start.codec, start.metadata.serial
        _, self._keys_held, self._events_held, self._windows_held = start.metadata.held
        self._patterns = start.patterns
        self.intakes: list[KeyIntake] = []
        for side, of_side in enumerate(query.sides):
            before = start.before.inputs[side]
            intake = KeyIntake(
                of_side, before, start.now.inputs[side], self.result.rejections, start.before.to_the_tick[side]
            )
            self.intakes.append(intake)
        self._decode = partial(self.state_class.from_data, query)

    @abstractmethod
    def take_rows(self, key: Key, state: Any, work: Work) -> list[OutputChange]:
        """Take the rows of a key in, drop what nothing needs then, and return the changes of its output."""

    @abstractmethod
    def timer_of(self, state: Any) -> KeyTimer:
        """Return the timer of the key whose rows were taken in."""

    @abstractmethod
    def output_watermark(self, earliest: int) -> int:
        """Return the output watermark, before which no output changes any more (StreamInsight paper, section V.F).

        Args:
            earliest: The smallest `KeyTimer.output_watermark` of any key that has a state.
        """

    def why_unstorable(self, key: Key, state: Any) -> StateError | None:
        """Return an error that says why a state cannot be stored, if more is known of that than what failed."""
        del key, state
        return None

    @cached_property
    def serializer(self) -> StateSerializer:
        """Writes what modules keep."""
        return StateSerializer(self.query.sides[0], self.codec, self.metadata.schema_versions)

    def run(self, store: KeyStore[Any], work: dict[bytes, Work]) -> None:
        """Process the keys that have rows or a timer that is due; rows are let go with their key, to save memory."""
        self.result.keys = len(work)
        due = store.take_due(self.due_at, is_signalled=self.is_signalled)
        for name in sorted({*work, *due, *self._keys_ahead(store)}):
            of_key = work.pop(name, None) or Work(tuple(self.codec.unpack(name)))
            if output := self.process_key(store, name, of_key):
                self.result.output.append((of_key.key, output))
        self.metadata.held = StateSize(0, self._keys_held, self._events_held, self._windows_held)
        for intake in self.intakes:
            self.result.accepted += intake.accepted

    def process_key(self, store: KeyStore[Any], name: bytes, work: Work) -> list[OutputChange]:
        """Evaluate a key: admit its rows, take them in, emit, and write its state; return the changes of its output."""
        key, serializer = work.key, self.serializer
        state = store.get(name, self._decode, serializer, key)
        if state is None:
            state = self.state_class(self.query, self._serial)
        else:
            self._keys_held -= 1
            self._events_held -= state.held_count
            self._windows_held -= state.held_windows
        output = self.take_rows(key, state, work)
        if state.is_empty:  # nothing is left of the key but its last serial number
            self.metadata.serial = max(self.metadata.serial, state.serial)
            store.remove(name)
            return output
        self._keys_held += 1
        self._events_held += state.held_count
        self._windows_held += state.held_windows
        try:
            store.put(name, self.timer_of(state), state, serializer, key)
        except StateError as error:
            named = self.why_unstorable(key, state)
            if named is None:
                raise
            raise named from error
        return output

    def hold(self, keys: int, events: int) -> None:
        """Count further keys and events that are held; negative numbers count those that no longer are."""
        self._keys_held += keys
        self._events_held += events

    def _keys_ahead(self, store: KeyStore[Any]) -> list[bytes]:
        """Return the encoded keys whose watermark the patterns of the batch advance."""
        if self._patterns is None or self._patterns[0] is self._patterns[1]:
            return []
        before, now = self._patterns
        named = ((name, tuple(self.codec.unpack(name))) for name, _ in store.items())
        return [name for name, key in named if now.watermark_of(key) > before.watermark_of(key)]

    def told(self, key: Key) -> tuple[int, int]:
        """Return the watermark that patterns gave a key before the batch, and the one that they give it after it."""
        if self._patterns is None:
            return NOT_TOLD
        before, now = self._patterns
        return before.watermark_of(key), now.watermark_of(key)

    def reached_by(self, work: Work) -> int:
        """Return up to where the batch says that time has passed for a key alone, which may be done besides."""
        finite = [watermark for watermark in work.watermarks if watermark < INFINITY]
        return max([EARLIEST if self._patterns is None else self._patterns[1].reached_by(work.key), *finite])


class OneInputRun(KeyedRun):
    """A micro-batch of one input.

    Attributes:
        now: The progress of the input after the batch, with the watermark after allowed lateness.
        work: The part of the batch for the key whose rows were taken in.
        key_now: The progress as it counts for that key.
    """

    work: Work
    key_now: Progress

    def __init__(self, query: Any, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        (self._intake,) = self.intakes
        self.now = self._intake.now

    def take_rows(self, key: Key, state: Any, work: Work) -> list[OutputChange]:
        """Admit the rows of a key, and evaluate it."""
        self.work = work
        net, before, now = self._intake.take(key, state, work.rows, self.told(key), work.watermarks)
        self.key_now = now
        return self.evaluate(key, state, net, before, now)

    @abstractmethod
    def evaluate(self, key: Key, state: Any, net: NetChanges, before: Progress, now: Progress) -> list[OutputChange]:
        """Take the net changes of a key in, drop what nothing needs then, and return the changes of its output.

        Args:
            key: The key.
            state: Its state, without the changes.
            net: The changes.
            before: The progress before the batch, as it counts for the key.
            now: The progress after it.
        """


class BeginsRun(Protocol):
    """Begins a micro-batch, as a class of runs does."""

    def __call__(self, query: Any, start: Start, /) -> KeyedRun:
        """Return the micro-batch; see `KeyedRun`."""
        ...


class KeyedBucket:
    """Evaluates a query for many keys: a fixed share of all, as a key group is in Flink.

    Cost: reading and writing the metadata; for each key touched evaluating it, decoding it unless its decoded state is
    kept, and writing its changes, or all of it where that is little. Keys that are not touched and have nothing to
    close cost nothing, unless the state has to be read back first.
    """

    def __init__(  # what a bucket is made of
        self,
        run: BeginsRun,
        query: Any,
        cells: Cells,
        codec: Codec,
        identity: Mapping[str, object],
        trackers: Sequence[ProgressTracker] = (),
        kept: StoreCache | None = None,
        name: Hashable = None,
    ) -> None:
        """Open a bucket.

        Args:
            run: Begins a micro-batch of a query.
            query: The query, as `run` takes it.
            cells: The cells that hold the state.
            codec: Encodes and decodes the state.
            identity: The parts of the query that the state depends on. A query with another identity cannot read the
                state, except where only versions of modules differ and the newer ones continue from the older.
            trackers: Compute the watermark of each input from the progress that it reports; by default it reports its
                watermark itself.
            kept: The cache of this process for key stores, between batches; None for no cache.
            name: Identifies the bucket in that cache; of a tuple, the first part identifies the query.
        """
        first, *_ = query.sides
        compatibility = Compatibility(identity, [binding.module for binding in first.bindings], (), [first.window])
        self._run, self._query, self._codec, self._most_patterns = run, query, codec, first.most_patterns
        self._trackers = trackers or [ProgressTracker() for _ in query.sides]
        self._state = partial(BucketState, cells, codec, compatibility, kept, name)

    def process(
        self,
        changes: Iterable[tuple[Key, Sequence[InputChange]]],
        arrived: Progress,
        *,
        observed: Sequence[Observation] = (),
        key_watermarks: Sequence[tuple[Key, int]] = (),
        patterns: Sequence[CompletePattern] = (),
        signals: frozenset[str] = frozenset(),
    ) -> BatchResult:
        """Process a micro-batch of the only input; see `run_batch`."""
        return self.run_batch(changes, [InputReport(arrived, observed, key_watermarks, patterns)], signals)

    def run_batch(
        self,
        changes: Iterable[tuple[Key, Sequence[InputChange]]],
        reports: Sequence[InputReport],
        signals: frozenset[str] = frozenset(),
    ) -> BatchResult:
        """Process a micro-batch.

        Args:
            changes: The rows of all inputs by key. The order of keys and of rows has no meaning.
            reports: The progress of each input, its observations, and the watermarks of single keys and of patterns of
                keys. They take effect after the batch: a row of the batch is late only relative to the watermark of
                earlier batches.
            signals: The names of the signals in the batch.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: The state was written by another query.
            StateError: Too many patterns are beyond the watermark.
        """
        state, codec = self._state(), self._codec
        metadata = state.metadata
        before, now = advance(metadata, self._trackers, reports)
        work: dict[bytes, Work] = {}
        punctuated = [Work(key, (), (watermark,)) for some in reports for key, watermark in some.key_watermarks]
        for given, rows, watermarks in chain(starmap(Work, changes), punctuated):
            key = canonical(given)
            name = codec.pack(list(key))
            known = work.get(name)
            work[name] = Work(key, rows, watermarks) if known is None else known.add(rows, watermarks)
        told, patterns = [one for some in reports for one in some.patterns], None
        if told or metadata.patterns:
            stored = KeyPatterns(metadata.patterns)
            patterns = stored, stored.advance(told, now.least.watermark, self._most_patterns)
            metadata.patterns = patterns[1].to_data()
        batch = self._run(self._query, Start(codec, metadata, before, now, patterns, signals))
        if work or told or batch.is_signalled or metadata.timer.is_reached(batch.due_at):
            update_keys(state, codec, partial(batch.run, work=work))
        batch.result.held = metadata.held._replace(bytes=state.write())
        batch.result.watermark = batch.output_watermark(metadata.timer.output_watermark)
        return batch.result
