"""Runs two streams through a join bucket batch by batch, and checks after each what must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Any

from muntin import EARLIEST, INFINITY, Event, JoinKind, tumbling
from muntin.changes import Insertion, Punctuation, Revision, fold
from muntin.testing import Batch, KeyedChange, Script, random_stream, shuffle, split
from muntin.testing.stream_history import StreamHistory
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.joins.bucket import JoinBucket
from muntin_engine.evaluators.joins.join_query import JoinQuery
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.differential.cases import until_closed
from tests.joins.meaning import Condition, Side, final_rows, rows

Table = Mapping[Hashable, Counter[tuple[Any, ...]]]


@dataclass(frozen=True)
class Case:
    """A join and the streams that it gets, all from a seed."""

    seed: int
    kind: JoinKind
    is_eager: bool
    sides: tuple[Side, Side]
    again: float
    events: int
    on: Condition | None = None

    @property
    def query(self) -> JoinQuery:
        columns = ((0, 0), (1, 0)) if self.kind.pairs else ((0, 0),)
        left, right = (
            EvaluatorQuery(tumbling(1), (), has_ids=side.has_ids and not side.is_edge, is_edge=side.is_edge)
            for side in self.sides
        )
        meets = None if self.on is None else of_payloads(self.on)
        return JoinQuery(self.kind, (left, right), columns, self.is_eager, meets)

    def streams(self) -> list[Script]:
        """Return the streams of both sides, cut into as many micro-batches as it happens."""
        return [self._stream(Random(self.seed * 2 + place), side) for place, side in enumerate(self.sides)]

    def _stream(self, random: Random, side: Side) -> Script:
        seed = random.randrange(10**9)
        stream = random_stream(
            seed,
            keys=random.choice((("a",), ("a", None), ("a", "b", None))),
            events=self.events,
            starts=range(-10, random.choice((10, 40))),
            payload=lambda random: random.randrange(10**6),
            disorder=random.randrange(20),
            closed=random.random() < 0.7,
            again=self.again if side.has_ids else 0.0,
        )
        if not side.has_ids or side.is_edge:
            steps = [s for s in stream.steps if not (isinstance(s, KeyedChange) and isinstance(s.change, Revision))]
            stream = Script(tuple(steps if not side.is_edge else samples_of(steps)))
        stream = until_closed(shuffle(until_closed(stream), seed, early_revisions=random.random() < 0.5))
        return split(stream, seed, cuts=random.choice((0.1, 0.4)))


def random_case(seed: int) -> Case:
    """Return a case, the same for the same seed."""
    random = Random(seed)
    choices = (Side(), Side(), Side(has_ids=False), Side(has_ids=False), Side(is_edge=True, has_ids=False))
    sides = (random.choice(choices), random.choice(choices))
    again = random.choice((0.0, 0.3))
    kind, is_eager, count = random.choice(list(JoinKind)), random.random() < 0.5, random.choice((4, 9, 20))
    return Case(seed, kind, is_eager, sides, again, count, random.choice((None, meets_often, meets_rarely)))


def meets_often(left: int, right: int) -> bool | None:
    """Return whether two payloads meet, as most do; of some it is not known."""
    return None if (left + right) % 7 == 0 else left % 4 != right % 4


def meets_rarely(left: int, right: int) -> bool:
    """Return whether two payloads meet, as few do."""
    return left % 3 == right % 3


def of_payloads(on: Condition) -> Callable[[tuple[Any, ...], tuple[Any, ...]], bool]:
    """Return a condition on payloads of one column each, as an evaluator asks it."""
    return lambda left, right: bool(on(left[0], right[0]))


def samples_of(steps: Sequence[Any]) -> list[Any]:
    """Return the steps with events that have no end, of which a key has one at a tick."""
    found, known = [], set()
    for step in steps:
        if isinstance(step, KeyedChange):
            event = step.change.event
            if (step.key, event.start) in known:
                continue
            known.add((step.key, event.start))
            found.append(KeyedChange(step.key, Insertion(step.change.id, Event(event.start, INFINITY, event.payload))))
        else:
            found.append(step)
    return found


class Run:
    """Two streams on their way through a bucket, with what the bucket has said so far."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.query = case.query
        self.cells = MemoryCells()
        self.promised = EARLIEST
        self.watermarks = [EARLIEST, EARLIEST]
        self.came = self.accepted = 0
        self._rows: dict[Hashable, dict[int, tuple[Any, ...]]] = {}
        self._used: set[tuple[Hashable, int]] = set()
        self._histories = [StreamHistory(), StreamHistory()]
        self._random = Random(case.seed)
        self._version = 0
        self.restart()

    def restart(self) -> None:
        """Start a process."""
        identity, kept, make_version = {"query": str(self.case)}, KeptStores(), self._make_version
        self.bucket = JoinBucket(self.query, self.cells, Codec(), identity, kept=kept, make_version=make_version)

    def evaluate(
        self, changes: Sequence[tuple[Key, Sequence[InputChange]]], arrived: Sequence[InputReport]
    ) -> BatchResult:
        """Run a micro-batch."""
        return self.bucket.take(changes, arrived)

    def _make_version(self) -> bytes:
        self._version += 1
        return str(self._version).encode()

    def take(self, batches: Sequence[Batch]) -> BatchResult:
        """Run a micro-batch of both streams, and check what it emits."""
        if any(batch.restart_before for batch in batches):
            self.restart()
        changes: list[tuple[Key, list[InputChange]]] = []
        arrived: list[InputReport] = []
        for side, (batch, history) in enumerate(zip(batches, self._histories, strict=True)):
            for step in batch.changes:
                history.take(step)
                changes.append(((step.key,), [self._change(side, step)]))
            watermark = EARLIEST if batch.punctuation is None else batch.punctuation
            if batch.punctuation is not None:
                history.take(Punctuation(watermark))
            self.watermarks[side] = max(self.watermarks[side], watermark)
            arrived.append(InputReport(Progress(watermark)))
        self._random.shuffle(changes)
        result = self.evaluate(changes, arrived)
        assert not result.rejections, f"rejected {result.rejections}"
        self.came, self.accepted = self.came + len(changes), self.accepted + result.accepted
        assert result.progress.watermark == min(self.watermarks)
        for (key,), output in result.output:
            for change in output:
                assert change.sync_time >= self.promised, f"{change} breaks the output watermark {self.promised}"
                self._apply(key, change)
        assert result.watermark >= self.promised, "the output watermark goes back"
        self.promised = result.watermark
        if not any(history.waiting for history in self._histories):
            assert self.table() == self.expected(), f"after {batches}"
            assert self.accepted == self.came, "no row waits"
        if min(self.watermarks) == INFINITY:
            assert result.held.keys == result.held.events == 0
        return result

    def expected(self) -> Table:
        """Return what must be emitted, by definition."""
        histories = [self._history(side) for side in range(2)]
        found = {}
        for key in {*histories[0], *histories[1]}:
            left, right = both = [history.get(key, []) for history in histories]
            if self.case.is_eager:
                found[key] = rows(self.case.kind, left, right, self.case.on)
            else:
                found[key] = final_rows(self.case.kind, self.case.sides, both, self.watermarks, self.case.on)
        return {key: some for key, some in found.items() if some}

    def table(self) -> Table:
        """Return what was emitted and not retracted."""
        return {key: Counter(some.values()) for key, some in self._rows.items() if some}

    def _history(self, side: int) -> Mapping[Hashable, list[Event[Any]]]:
        histories = {key: list(fold(some).values()) for key, some in self._histories[side].accepted.items()}
        return (
            {key: lasting(events) for key, events in histories.items()} if self.case.sides[side].is_edge else histories
        )

    def _change(self, side: int, step: KeyedChange) -> InputChange:
        change, given = step.change, self.case.sides[side]
        id = change.id if given.has_ids and not given.is_edge else None
        event = change.event
        if isinstance(change, Insertion):
            return InputChange(id, event.start, event.end, (event.payload,), side=side)
        return InputChange(id, event.start, event.end, (event.payload,), change.new_end, side=side)

    def _apply(self, key: Hashable, change: OutputChange) -> None:
        live = self._rows.setdefault(key, {})
        right = change.value[1] if self.case.kind.pairs else None
        row = (change.start, change.end, change.value[0], right)
        if change.kind is OutputKind.INSERT:
            assert (key, change.id) not in self._used, f"the id of {change} is used twice"
            self._used.add((key, change.id))
            live[change.id] = row
            return
        assert self.case.is_eager, f"{change} of what was final"
        assert live.pop(change.id, None) == row, f"{change} of what was not there"
        if change.kind is OutputKind.REVISE:
            assert change.new_end is not None
            assert change.start < change.new_end != change.end
            live[change.id] = (change.start, change.new_end, *row[2:])


def lasting(samples: Sequence[Event[Any]]) -> list[Event[Any]]:
    """Let each sample last until the next."""
    ordered = sorted(samples, key=lambda event: event.start)
    ends = [*(event.start for event in ordered[1:]), INFINITY]
    return [Event(event.start, end, event.payload) for event, end in zip(ordered, ends, strict=True)]


def run_join(seed: int) -> None:
    """Run a random case to the end of its streams."""
    run_case(random_case(seed), Run)


def run_case(case: Case, kind: type[Run]) -> None:
    """Run a case to the end of its streams; what must hold is checked after each micro-batch."""
    run = kind(case)
    for batches in zip_longest(*(stream.batches() for stream in case.streams()), fillvalue=Batch(())):
        run.take(batches)
