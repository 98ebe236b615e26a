"""A bucket of a join of events whose ends stay: rows in, pairs out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.pairing.pair_store import Joined, PairStore
from muntin_engine.plan.join_plan import Condition
from muntin_engine.progress import InputsProgress, Observation, ProgressTracker
from muntin_engine.state.bucket_state import BucketState, random_version
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores


@dataclass(frozen=True, slots=True)
class PairResult:
    """The output of a bucket for a micro-batch.

    Attributes:
        pairs: The pairs, final all of them.
        progress: The progress of both inputs together, after the batch.
        accepted: The number of events that it brought.
        late: The number of late rows.
        keys: The number of keys that it brought rows of.
        held: The number of events that are kept.
        state_bytes: The bytes of the state.
        before: The watermark of each input before the batch, by which its rows are late.
    """

    pairs: Sequence[Joined]
    progress: Progress
    accepted: int
    late: int
    keys: int
    held: int
    state_bytes: int
    before: Sequence[int]


class PairBucket:
    """Joins for many keys.

    Cost: two state calls for a batch that brings nothing and moves no watermark. Otherwise one write for what it
    brought, one removal per dead entry, and the search for pairs. The state is not read while the worker keeps it.
    """

    def __init__(  # what a bucket is made of
        self,
        trackers: Sequence[ProgressTracker],
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        kept: KeptStores | None = None,
        name: Hashable = None,
        make_version: Callable[[], bytes] = random_version,
        condition: Condition | None = None,
    ) -> None:
        """Open a bucket; see `JoinBucket` for what it is given, and `JoinQuery` for the condition."""
        self._trackers = trackers
        self._condition = condition
        self._state = partial(BucketState, cells, codec, compatibility, kept, name, make_version)

    def process(
        self, blobs: Sequence[bytes], arrived: Sequence[Progress], observed: Sequence[Sequence[Observation]]
    ) -> PairResult:
        """Take in a micro-batch.

        Args:
            blobs: Its rows, as `row_blobs` writes them.
            arrived: What it says of the progress of each input. A row is late by what was said before.
            observed: The observations of the sources of each input.

        Raises:
            StateMismatchError: Another query wrote the state.
        """
        state = self._state()
        metadata = state.metadata
        before = InputsProgress.from_data(metadata.tracked) if metadata.tracked else InputsProgress.start(2)
        now = before.advance(self._trackers, arrived, observed)
        metadata.progress, metadata.tracked = now.least, now.to_data()
        earlier, later = ([progress.watermark for progress in some.inputs] for some in (before, now))
        if not blobs and earlier == later:
            return PairResult((), now.least, 0, 0, 0, metadata.held.events, state.write(), earlier)
        store = state.open(lambda entries: PairStore.of(entries, earlier))
        taken = store.take(blobs, earlier, later)
        store.forget(later)
        least = now.least.watermark
        if not len(store):
            state.log.rewrite([])
        else:
            first_live = least + 1 if EARLIEST < least < INFINITY else EARLIEST
            state.log.forget(first_live)
            state.log.append(taken.entries)
            state.log.tidy(store, store.size, partial(store.whole, later), first_live)
        metadata.held = metadata.held._replace(events=len(store))
        state.keep(store, state.log.size)
        met = taken.pairs if self._condition is None else [some.where(self._condition) for some in taken.pairs]
        counts = taken.accepted, taken.late, taken.keys, len(store)
        return PairResult(met, now.least, *counts, state.write(), earlier)
