"""Streams whose watermark a policy derives, keys that punctuate themselves, and late rows that are taken in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from muntin import EARLIEST, INFINITY, Event, correct
from muntin.changes import Insertion, Punctuation
from muntin.progress import ProgressPolicy
from muntin.testing.batches import Batch, Boundary, KeyedChange, Step
from muntin.testing.scripts import Script
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.core.progress.histories import Row, punctuations, seen_by_tasks
from tests.differential.cases import Case
from tests.differential.drive import Run, by_key
from tests.differential.meaning import Table, bag, expected

MakePolicy = Callable[[Script], ProgressPolicy]
"""Returns the policy that a stream just keeps."""


def source_of(step: KeyedChange, sources: Sequence[str]) -> str | None:
    """Return the source of a change: whichever it is, that of one event stays the same."""
    return sources[hash(step.change.id) % len(sources)] if sources else None


def derived(stream: Script, policy: ProgressPolicy, sources: Sequence[str]) -> Script:
    """Return a stream with the watermark that a policy derives, instead of its own. It stays legal or this raises."""
    batches = list(_batches(stream))
    history = [[row for step in batch for row in _rows(step, sources)] for batch in batches]
    steps: list[Step] = []
    latest = EARLIEST
    for batch, watermark in zip(batches, punctuations(policy, sources or [None], history), strict=True):
        steps += [step for step in batch if not isinstance(step, Punctuation)]
        if watermark > latest:
            steps.append(Punctuation(watermark))
            latest = watermark
    return Script(tuple(steps))


def _batches(stream: Script) -> Iterator[list[Step]]:
    """Yield the steps of each micro-batch with the seam before it; of watermark only that which closes the stream."""
    batch: list[Step] = []
    for step in stream.steps:
        if isinstance(step, Boundary):
            yield batch
            batch = []
        if not isinstance(step, Punctuation) or step.time == INFINITY:
            batch.append(step)
    yield batch


def _rows(step: Step, sources: Sequence[str]) -> Iterator[Row]:
    if isinstance(step, Punctuation):
        yield Row("punctuate", step.time)
    elif isinstance(step, KeyedChange) and isinstance(step.change, Insertion):
        yield Row("insert", step.change.event.start, source_of(step, sources))


def longest_delay(stream: Script, sources: Sequence[str]) -> int:
    """Return how far behind the newest start of its source a change of a stream comes."""
    return max([0, *(max(started) - sync for started, sync in _arrivals(stream, sources) if started)])


def greatest_disorder(stream: Script, sources: Sequence[str]) -> int:
    """Return how many rows of its source that start later come before a change of a stream."""
    return max([0, *(sum(start > sync for start in started) for started, sync in _arrivals(stream, sources))])


def _arrivals(stream: Script, sources: Sequence[str]) -> Iterator[tuple[list[int], int]]:
    """Yield for each change the starts that came before it, of the same source, and its own sync time."""
    started: dict[str | None, list[int]] = {}
    for step in stream.changes():
        before = started.setdefault(source_of(step, sources), [])
        yield before, step.change.sync_time
        if isinstance(step.change, Insertion):
            before.append(step.change.event.start)


class DerivedRun(Run):
    """A run of a bucket that derives the watermark itself from what tasks observe."""

    def __init__(self, case: Case, policy: ProgressPolicy, sources: Sequence[str]) -> None:
        self._policy, self._sources = policy, tuple(sources)
        super().__init__(case)

    def _start(self) -> Bucket:
        tracker = ProgressTracker(self._policy, self._sources)
        return Bucket(self.case.query, self.cells, Codec(), {"query": str(self.case)}, [tracker])

    def _evaluate(self, batch: Batch, arrived: Progress) -> BatchResult:
        closing = INFINITY if batch.punctuation == INFINITY else None
        said = progress_of(self.case.query.window, replace(batch, punctuation=closing))
        marks = [] if closing is None else [Punctuation(closing)]
        steps: list[Step] = [*batch.changes, *marks]
        rows = [row for step in steps for row in _rows(step, self._sources)]
        observed = seen_by_tasks(self._policy, rows, self._random)
        result = self._bucket.process(by_key(self.case, batch, self._random), said, observed=observed)
        assert result.progress == self.progress
        return result


class KeyRun(Run):
    """A run in which keys punctuate themselves, as far as the rest of the stream allows."""

    def __init__(self, case: Case, stream: Script) -> None:
        super().__init__(case)
        self._promised: dict[Hashable, int] = {}
        self._new: Mapping[Hashable, int] = {}
        self._closed: dict[Hashable, Progress] = {}
        self._promises = list(key_watermarks(Random(case.seed), list(stream.batches())))

    def _arrived(self, batch: Batch) -> Progress:
        self._new = self._promises.pop(0)
        for key, key_watermark in self._new.items():
            self._promised[key] = max(key_watermark, self._promised.get(key, EARLIEST))
        finite = [key_watermark for key_watermark in self._new.values() if key_watermark != INFINITY]
        said = super()._arrived(batch)
        return replace(said, horizon=max([said.horizon, *finite]))

    def _evaluate(self, batch: Batch, arrived: Progress) -> BatchResult:
        key_watermarks = [((key,), key_watermark) for key, key_watermark in self._new.items()]
        said = progress_of(self.case.query.window, batch)
        return self._bucket.process(by_key(self.case, batch, self._random), said, key_watermarks=key_watermarks)

    def expected(self) -> Table:
        """Return what must stand: each key is as far as the whole input, or as far as it says itself.

        A key that has closed itself hears nothing of times that are seen later.
        """
        tables = {key: bag(expected(self.case, events, self._now(key))) for key, events in self.histories().items()}
        return {key: rows for key, rows in tables.items() if rows}

    def _now(self, key: Hashable) -> Progress:
        now = self.progress.advance(Progress(self._promised.get(key, EARLIEST)))
        return self._closed.setdefault(key, now) if now.watermark == INFINITY else now


def key_watermarks(random: Random, batches: Sequence[Batch]) -> Iterator[Mapping[Hashable, int]]:
    """Yield what keys may say of themselves after each micro-batch."""
    for place in range(len(batches)):
        coming = [step for batch in batches[place + 1 :] for step in batch.changes]
        key_watermarks: dict[Hashable, int] = {}
        for key in ("a", "b", None, "never"):
            least = min((step.change.sync_time for step in coming if step.key == key), default=None)
            if random.random() < 0.4:
                end = random.choice((INFINITY, 45)) if least is None else 45
                key_watermarks[key] = end if least in (None, INFINITY) else least - random.choice((0, 1, 4))
        yield key_watermarks


class CorrectingRun(Run):
    """A run whose watermark is hasty, and whose results are corrected until it is as the stream says."""

    allowed = 6

    def __init__(self, case: Case, *, waits: bool) -> None:
        self._waits = waits
        super().__init__(case)

    def _start(self) -> Bucket:
        query = replace(self.case.query, late=correct(self.allowed), waits_for_watermark=self._waits)
        return Bucket(query, self.cells, Codec(), {"query": str(self.case)})

    def _arrived(self, batch: Batch) -> Progress:
        said = progress_of(self.case.query.window, batch)
        hasty = self._hasty(said.watermark)
        newest = hasty if self._waits else max(said.newest, hasty)
        return Progress(said.watermark, max(said.horizon, EARLIEST if hasty == INFINITY else hasty), newest)

    def _evaluate(self, batch: Batch, arrived: Progress) -> BatchResult:
        said = progress_of(self.case.query.window, batch)
        hasty = replace(said, watermark=self._hasty(said.watermark))
        return self._bucket.process(by_key(self.case, batch, self._random), hasty)

    def _hasty(self, watermark: int) -> int:
        return watermark if watermark in (EARLIEST, INFINITY) else watermark + self.allowed


def adjusted(batches: Sequence[Batch]) -> Iterator[Batch]:
    """Yield micro-batches in which late insertions start at the watermark before them, if they end after it."""
    latest = EARLIEST
    for batch in batches:
        changes = [moved(step, latest) for step in batch.changes]
        yield replace(batch, changes=tuple(step for step in changes if step is not None))
        latest = max(latest, EARLIEST if batch.punctuation is None else batch.punctuation)


def moved(step: KeyedChange, watermark: int) -> KeyedChange | None:
    """Return an insertion that starts at a watermark if it started before; None if it ends there or before."""
    event: Event[Any] = step.change.event
    if event.start >= watermark:
        return step
    if event.end <= watermark:
        return None
    return replace(step, change=Insertion(step.change.id, replace(event, start=watermark)))


def hasty(stream: Script, seed: int) -> Script:
    """Return the insertions of a stream with punctuation that many of them ignore."""
    random, latest = Random(seed), -30
    script = Script(allow_illegal=True)
    for step in stream.changes():
        if isinstance(step.change, Insertion):
            script = replace(script, steps=(*script.steps, KeyedChange(step.key, step.change)))
        if random.random() < 0.3:
            latest += random.randint(1, 12)
            script = script.punctuate(latest).batch()
    return script.close()
