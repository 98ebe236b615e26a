"""Streams of composite keys that punctuation is about in part: by one of their columns, by ranges, or whole."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any, Final

from muntin import EARLIEST, INFINITY
from muntin.changes import Insertion, Punctuation
from muntin.testing import Batch, Boundary, KeyPunctuation, KeyRange, Script
from muntin.testing.batches import KeyedChange, Step, matches
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.core.key_patterns import Told
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.testing.meaning import progress_of
from tests.differential.cases import Case
from tests.differential.drive import Run, input_change
from tests.differential.lives import LivesOnTheirWay
from tests.differential.meaning import Table, bag, expected

REGIONS: Final[dict[Hashable, str | None]] = {"a": "eu", "b": "us", None: None}
SENSORS: Final = (3, 10, 15)
PATTERNS: Final[list[Hashable]] = [
    *product([*REGIONS.values(), ...], [*SENSORS, ..., KeyRange(10, 20), KeyRange(None, 15), KeyRange(10)]),
    *product([KeyRange("f"), KeyRange(None, "f")], [10, ..., KeyRange(3, 11)]),
]


def with_composite_keys(stream: Script) -> Script:
    """Return a stream whose keys have two columns; the events of an id stay those of one key."""
    changes = {
        step: replace(step, key=(REGIONS[step.key], SENSORS[hash(step.change.id) % 3])) for step in stream.changes()
    }
    return replace(stream, steps=tuple(changes[s] if isinstance(s, KeyedChange) else s for s in stream.steps))


def punctuated_in_part(stream: Script, seed: int, share: float = 0.4) -> Script:
    """Return a stream with punctuation of patterns, as far as the rest of it allows, or closing their keys."""
    random, steps = Random(seed), list[Step]()
    for place, step in enumerate(stream.steps):
        if random.random() < share:
            pattern, rest = random.choice(PATTERNS), stream.steps[place:]
            syncs = [s.change.sync_time for s in rest if isinstance(s, KeyedChange) and matches(pattern, s.key)]
            least = min(syncs, default=random.choice((INFINITY, 45)))
            time = 45 if least == INFINITY and syncs else least - random.choice((0, 1, 4)) * (least != INFINITY)
            told = [s.time for s in steps if isinstance(s, KeyPunctuation) and s.key == pattern]
            if time > max(told, default=EARLIEST):
                steps.append(KeyPunctuation(pattern, time))
        steps.append(step)
    return replace(stream, steps=tuple(steps))


def told_of(mark: KeyPunctuation) -> Told:
    """Return punctuation of some keys as the evaluator takes it."""
    parts: Any = mark.key
    return [_condition(part) for part in parts], mark.time


def _condition(part: Any) -> list[object]:
    if part is ...:
        return []
    return [part.low, part.high] if isinstance(part, KeyRange) else [part]


class PatternRun(Run):
    """A run of a stream with composite keys; some whole keys are told as such, others as patterns."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._closed: dict[Hashable, Progress] = {}

    def _arrived(self, batch: Batch) -> Progress:
        for mark in batch.of_keys:
            self._stream.take(mark)
        return progress_of(self.case.query.window, batch).advance(
            Progress(horizon=max((mark.time for mark in batch.of_keys if mark.time < INFINITY), default=EARLIEST))
        )

    def _evaluate(self, batch: Batch, arrived: Progress) -> BatchResult:
        said, (whole, patterns) = progress_of(self.case.query.window, batch), divided(batch, self._random)
        rows = rows_of(self.case, batch, self._random)
        result = self._bucket.process(rows, said, key_watermarks=whole, patterns=patterns)
        result.output = [((key,), changes) for key, changes in result.output]
        return result

    def expected(self) -> Table:
        """Return what must stand: each key is as far as the whole input, or as punctuation of some keys says.

        A key that was closed so hears nothing of times that are seen later.
        """
        tables = {key: bag(expected(self.case, events, self._now(key))) for key, events in self.histories().items()}
        return {key: rows for key, rows in tables.items() if rows}

    def _now(self, key: Hashable) -> Progress:
        now = self.progress.advance(Progress(self._stream.watermark_of(key)))
        return self._closed.setdefault(key, now) if now.watermark == INFINITY else now


class LivesPatternRun(PatternRun, LivesOnTheirWay):
    """The same of a query that forgets keys."""


def divided(batch: Batch, random: Random) -> tuple[list[tuple[Key, int]], list[Told]]:
    """Return the punctuation of some keys in a batch: whole keys, and patterns, which a whole key may be told as."""
    whole, patterns = list[tuple[Key, int]](), list[Told]()
    for mark in random.sample(batch.of_keys, len(batch.of_keys)):
        key, conditions = mark.key, told_of(mark)
        assert isinstance(key, tuple)
        if all(len(condition) == 1 for condition in conditions[0]) and random.random() < 0.5:
            whole.append((key, mark.time))
        else:
            patterns.append(conditions)
    return whole, patterns


def rows_of(case: Case, batch: Batch, random: Random) -> list[tuple[Key, list[InputChange]]]:
    """Return the rows of a batch as the evaluator takes them, in any order."""
    rows: dict[Any, list[InputChange]] = {}
    for step in random.sample(batch.changes, len(batch.changes)):
        rows.setdefault(step.key, []).append(input_change(case, step))
    return list(rows.items())


def hasty(stream: Script, seed: int) -> Script:
    """Return insertions that end, with punctuation, of all keys and of some, that many of them ignore."""
    random, steps, latest = Random(seed), list[Step](), dict[Hashable, int]()
    for step in stream.changes():
        if isinstance(step.change, Insertion) and step.change.event.end < INFINITY:  # a late row too moves the horizon
            steps.append(step)
        if random.random() < 0.4:
            pattern = random.choice([..., *random.sample(PATTERNS, 3)])
            time = max(latest.get(pattern, -30), step.change.event.start - 3) + random.randint(1, 12)
            latest[pattern] = time
            steps += [Punctuation(time) if pattern is ... else KeyPunctuation(pattern, time), Boundary.BATCH]
    return Script((*steps, Boundary.RESTART, Punctuation(INFINITY)), allow_illegal=True)
