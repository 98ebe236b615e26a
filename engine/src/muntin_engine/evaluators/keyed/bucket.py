"""Process a bucket, a fixed share of all keys: a micro-batch of input changes gives the net change of the output.

State is a log of records, one or more for each key. A worker caches them between batches; a batch decodes and writes
only the keys that have rows or whose timer is due. The bucket's metadata holds the progress of the inputs, the list of
the log's entries and the soonest timer: a batch without rows and due timers reads nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from muntin_engine.evaluators.batch import advance_progress
from muntin_engine.evaluators.keyed.key_store import open_store, write_store
from muntin_engine.evaluators.keyed.keyed_run import BatchResult, BatchStart, KeyedRun, KeyWork, PatternChange
from muntin_engine.state.bucket_state import BucketMetadata, BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.key_patterns import KeyPatterns
from muntin_engine.state.store_cache import StoreCache
from muntin_engine.time.changes import InputChange, Key, canonical
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.shuffle import InputReport


class KeyedBucket:
    """Runs a query for many keys: a fixed share of all, as a key group is in Flink.

    Cost: reading and writing the metadata; for each key touched processing it, decoding it unless its decoded state is
    cached, and writing its changes, or all of it where that is little. Keys that are not touched and have nothing to
    close cost nothing, unless the state has to be read back first.
    """

    def __init__(
        self,
        run_class: type[KeyedRun],
        query: Any,
        cells: Cells,
        codec: Codec,
        identity: Mapping[str, object],
        trackers: Sequence[ProgressTracker] = (),
        cache: StoreCache | None = None,
        name: Hashable = None,
    ) -> None:
        """Open a bucket.

        Args:
            run_class: The class of a micro-batch of the query.
            query: The query, as `run_class` takes it.
            cells: The cells that hold the state.
            codec: Encodes and decodes the state.
            identity: The parts of the query that the state depends on. A query with another identity cannot read the
                state, except where only versions of modules differ and the newer ones continue from the older.
            trackers: Compute the watermark of each input from the progress that it reports; by default it reports its
                watermark itself.
            cache: The cache of this process for key stores, between batches; None for no cache.
            name: Identifies the bucket in that cache; of a tuple, the first part identifies the query.
        """
        self._run_class = run_class
        self._query = query
        self._codec = codec
        self._trackers = trackers or [ProgressTracker() for _ in query.sides]
        # The inputs of a join have no modules and windows of their own: the first one says these for the whole query.
        first_input = query.sides[0]
        modules = [binding.module for binding in first_input.bindings]
        compatibility = Compatibility(identity, modules, windows=[first_input.window])
        self._open_state = partial(BucketState, cells, codec, compatibility, cache=cache, name=name)
        self._most_patterns = first_input.most_patterns

    def process(
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
            ModuleFailedError: A module raised an exception. The state stays as it was, as with any other error.
            ModuleContractError: A module returned something else than it has to.
            StateMismatchError: The state was written by another query.
            StateError: The state is damaged or cannot be stored, a key has no room for its rows, or too many patterns
                are beyond the watermark.
        """
        state = self._open_state()
        metadata = state.metadata
        previous, progress = advance_progress(metadata, self._trackers, reports)
        patterns = self._advanced_patterns(metadata, reports, progress)
        if patterns is not None:
            metadata.patterns = patterns.present.to_data()

        work = self._work_by_key(changes, reports)
        start = BatchStart(
            codec=self._codec,
            metadata=metadata,
            previous=previous,
            progress=progress,
            patterns=patterns,
            signals=signals,
        )
        run = self._run_class(self._query, start)
        result = run.result
        result.keys = len(work)

        has_patterns = any(report.patterns for report in reports)
        if work or has_patterns or run.is_signalled or metadata.timer.is_reached(run.due_at):
            store = open_store(state, self._codec)
            # A key has work if it has rows, if its timer is due, or if a pattern advances its watermark. Keys are
            # sorted, so that a batch that is run again gives its output in the same order.
            due_keys = store.take_due(run.due_at, is_signalled=run.is_signalled)
            for name in sorted({*work, *due_keys, *run.keys_ahead(store)}):
                # Taken out of the dictionary, so that the memory of a key's rows is freed with the key.
                key_work = work.pop(name, None) or KeyWork(tuple(self._codec.unpack(name)))
                output = run.process_key(store, name, key_work)
                if output:
                    result.output.append((key_work.key, output))
            run.finish()
            write_store(state, store)

        result.held = metadata.held._replace(bytes=state.write())
        # Keys with a state hold the output watermark back: the timer of the bucket has the least of theirs.
        result.watermark = run.output_watermark(earliest=metadata.timer.output_watermark)
        return result

    def _work_by_key(
        self, changes: Iterable[tuple[Key, Sequence[InputChange]]], reports: Sequence[InputReport]
    ) -> dict[bytes, KeyWork]:
        """Return the rows and the watermarks of each key, by the encoded key."""
        work: dict[bytes, KeyWork] = {}
        for spelled_key, rows in changes:
            key = canonical(spelled_key)
            name = self._codec.pack(list(key))
            key_work = work.get(name)
            if key_work is None:
                work[name] = KeyWork(key, rows)
            else:  # keys may be equal that the map side told apart, such as 0.0 and -0.0
                work[name] = key_work._replace(rows=[*key_work.rows, *rows])
        for report in reports:
            for spelled_key, watermark in report.key_watermarks:
                key = canonical(spelled_key)
                name = self._codec.pack(list(key))
                key_work = work.get(name, KeyWork(key))
                work[name] = key_work._replace(watermarks=[*key_work.watermarks, watermark])
        return work

    def _advanced_patterns(
        self, metadata: BucketMetadata, reports: Sequence[InputReport], progress: InputsProgress
    ) -> PatternChange | None:
        """Return the patterns of keys before the batch and after it; None if there are none."""
        reported_patterns = list(chain.from_iterable(report.patterns for report in reports))
        if not reported_patterns and not metadata.patterns:
            return None
        previous = KeyPatterns(metadata.patterns)
        present = previous.advance(reported_patterns, progress.least.watermark, most=self._most_patterns)
        return PatternChange(previous, present)
