"""What early emission means, said window by window from the history of the stream, and the evaluator beside it."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from muntin import EARLIEST, EarlyEmission, EmitPolicy, Event, Refinement, ResultRefinement, TimestampPolicy, Window
from muntin.changes import fold
from muntin.testing import reference
from muntin.testing.batches import Batch
from muntin.testing.scripts import Script
from muntin.testing.stream_history import StreamHistory
from muntin.triggers import Trigger, TriggerView
from muntin_engine.core.changes import OutputChange, OutputKind, Progress, Timing
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.lives.run import LivesBucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.differential.cases import Case
from tests.differential.drive import by_key, joined
from tests.triggers.meaning import RESULT, life
from tests.triggers.random_triggers import SIGNALS, random_trigger

EXPRESSIONS: Mapping[str, Callable[[tuple[Any, ...]], bool]] = {
    "x > 5": lambda payload: payload[0] is not None and payload[0] > 5,
    "x < -5": lambda payload: payload[0] is not None and payload[0] < -5,
}

Line = tuple[Hashable, Window, int, int, Hashable, str, int]
"""A result: its key, window, lifetime and value, its timing and its firing."""

Reached: TypeAlias = Callable[[Hashable], Progress]
"""How far a key is."""


@dataclass(frozen=True)
class EarlyCase:
    """A query with early emission under a random trigger."""

    case: Case
    refinement: Refinement | ResultRefinement
    number: int = 0

    def __str__(self) -> str:
        return f"{self.case}, {self.refinement} on {self.trigger}"

    @cached_property
    def seed(self) -> int:
        return zlib.crc32(f"{self.case} {self.refinement} {self.number}".encode())

    @cached_property
    def trigger(self) -> Trigger:
        found = (random_trigger(Random(f"{self.seed} {n}" if n else self.seed), depth=2) for n in count())
        has_rows = any(computation.module.is_operator for computation in self.case.reference.computations)
        return next(trigger for trigger in found if not (has_rows and trigger.reads_results))

    @cached_property
    def query(self) -> EvaluatorQuery:
        first, *others = self.case.query.bindings
        return replace(
            self.case.query,
            bindings=(replace(first, name=RESULT), *(replace(one, name=one.module.name) for one in others)),
            emit=EarlyEmission(self.trigger, self.refinement),
            expressions=EXPRESSIONS,
        )

    @property
    def reference(self) -> reference.WindowedQuery:
        return self.case.reference

    @property
    def emit(self) -> EmitPolicy:
        return EmitPolicy.FINAL

    @property
    def stream(self) -> Script:
        return self.case.another_stream(self.number, in_order=True)


class Told(NamedTuple):
    """What a batch says beside its rows."""

    clock: int
    signals: frozenset[str]


@dataclass
class Lived:
    """What an open window with members has been through."""

    views: list[TriggerView] = field(default_factory=list)
    members: dict[Hashable, Event[Any]] = field(default_factory=dict)
    is_changed: bool = False
    firings: int = 0
    put_out: set[Hashable] = field(default_factory=set)
    results: list[tuple[Any, ...]] = field(default_factory=list)


class Meaning:
    """What must be put out, batch by batch: a list of lines, and which of the earlier ones stand."""

    def __init__(self, case: EarlyCase) -> None:
        self.case = case
        self.query = case.reference
        self.standing: dict[tuple[Hashable, Window], Counter[Line]] = {}
        self._stream = StreamHistory()
        self._lived: dict[tuple[Hashable, Window], Lived] = {}

    def take(self, batch: Batch, before: Reached, now: Reached, told: Told) -> Counter[Line]:
        """Return what a batch inserts."""
        for step in batch.changes:
            self._stream.take(step)
        came: Counter[Line] = Counter()
        open_windows = set()
        for key, window, members in self._windows(now):
            if reference.is_closed(self.query, window, list(members.values()), before(key).watermark):
                continue
            lived = self._lived.setdefault((key, window), Lived())
            open_windows.add((key, window))
            if reference.is_closed(self.query, window, list(members.values()), now(key).watermark):
                came += self._put_out(key, window, lived, members, Timing.FINAL)
                open_windows.remove((key, window))
            elif self._fires(window, lived, members, now(key), told):
                came += self._put_out(key, window, lived, members, Timing.EARLY)
        for gone in self._lived.keys() - open_windows:
            if any(line[5] == Timing.EARLY for line in self.standing.get(gone, ())):
                del self.standing[gone]
            del self._lived[gone]
        return came

    def _windows(self, now: Reached) -> Iterator[tuple[Hashable, Window, dict[Hashable, Event[Any]]]]:
        for key, changes in self._stream.accepted.items():
            events = dict(fold(changes))
            if self.case.case.is_edge:
                events = dict(zip(events, joined_in_place(events), strict=True))
            for window in reference.windows(self.query.kind, list(events.values()), now(key).horizon):
                members = {id: e for id, e in events.items() if reference.belongs(self.query.kind, e, window)}
                if members:
                    yield key, window, members

    def _fires(
        self, window: Window, lived: Lived, members: dict[Hashable, Event[Any]], now: Progress, told: Told
    ) -> bool:
        came = [event for id, event in members.items() if id not in lived.members]
        left = len(lived.members.keys() - members.keys())
        lived.is_changed |= self._seen(window, members) != self._seen(window, lived.members)
        lived.members = members
        values = {name: [read((event.payload,)) for event in came] for name, read in EXPRESSIONS.items()}
        newest = max((event.start for event in came), default=EARLIEST)
        results = {}
        if self.case.trigger.reads_results:
            (row,) = reference.evaluate_window(
                replace(self.query, timestamps=TimestampPolicy.ALIGN), window, list(members.values())
            )
            results = {RESULT: row.value[0]}
        of_members = (len(came), left, newest)
        view = TriggerView(now.max_event_time, now.watermark, now.clock, *of_members, told.signals, values, results)
        lived.views.append(view)
        return lived.is_changed and len(lived.views) - 1 in life(self.case.trigger, window, lived.views).firings

    def _seen(self, window: Window, members: Mapping[Hashable, Event[Any]]) -> dict[Hashable, Any]:
        if not any(computation.module.reads_times for computation in self.query.computations):
            return {id: event.payload for id, event in members.items()}
        return {id: reference.clip(event, window, self.query.clip) for id, event in members.items()}

    def _put_out(
        self, key: Hashable, window: Window, lived: Lived, members: dict[Hashable, Event[Any]], timing: Timing
    ) -> Counter[Line]:
        is_rest = self.case.refinement is Refinement.DISCARD
        wanted = [event for id, event in members.items() if not is_rest or id not in lived.put_out]
        output = reference.evaluate_window(self.query, window, wanted) if wanted else []
        if output and isinstance(self.case.refinement, ResultRefinement):
            lived.results.append(output[0].value)
            value = self._refined(self.case.refinement, lived.results, is_final=timing is Timing.FINAL)
            output = [] if value is None else [replace(output[0], value=value)]
        lines = Counter((key, row.window, row.start, row.end, row.value, str(timing), lived.firings) for row in output)
        lived.firings, lived.is_changed, lived.put_out = lived.firings + 1, False, set(members)
        self.standing[key, window] = lines
        return lines

    def _refined(
        self, refinement: ResultRefinement, results: list[tuple[Any, ...]], *, is_final: bool
    ) -> tuple[Any, ...] | None:
        """Refine all results of a window from the first one on; return what is emitted of the last one."""
        names = [binding.name for binding in self.case.query.bindings]
        state, emitted = None, None
        for number, values in enumerate(results, 1):
            result = dict(zip(names, values, strict=True))
            state, emitted = refinement.refine(state, result, is_final and number == len(results))
        return None if emitted is None else tuple(emitted[name] for name in names)


def joined_in_place(events: Mapping[Hashable, Event[Any]]) -> list[Event[Any]]:
    """Let each sample last until the next, in the order in which they are given."""
    by_start = {event.start: event for event in joined(list(events.values()))}
    return [by_start[event.start] for event in events.values()]


def run_early(case: EarlyCase, stream: Script) -> None:
    """Run a stream and compare after each batch: with what is meant, and with `emit="final"`.

    Raises:
        AssertionError: They differ.
    """
    meaning, random = Meaning(case), Random(case.seed)
    engine, final = Engine(case, case.query), Engine(case, case.case.query)
    before = Progress()
    for batch in stream.batches():
        told = tell(random, before)
        arrived = replace(progress_of(case.query.window, batch), clock=told.clock)
        now = before.advance(arrived)
        wanted = meaning.take(batch, everywhere(before), everywhere(now), told)
        came = engine.take(batch, arrived, told.signals)
        assert came == wanted, f"missing {wanted - came}\nsurplus {came - wanted}"
        if case.refinement is Refinement.RETRACT:
            meant = {line: count for lines in meaning.standing.values() for line, count in lines.items()}
            assert engine.standing() == meant
        if case.refinement in (Refinement.ACCUMULATE, Refinement.RETRACT):
            assert finals(came) == finals(final.take(batch, arrived, frozenset()))
        before = now


def put_out(case: EarlyCase, stream: Script) -> list[Line]:
    """Return what a stream puts out."""
    random, engine, lines = Random(case.seed), Engine(case, case.query), Counter[Line]()
    for batch in stream.batches():
        told = tell(random, Progress())
        lines += engine.take(batch, replace(progress_of(case.query.window, batch), clock=told.clock), told.signals)
    return list(lines.elements())


def everywhere(progress: Progress) -> Reached:
    """All keys are as far as the input."""
    return lambda _key: progress


def tell(random: Random, before: Progress) -> Told:
    is_read = random.random() < 0.5
    clock = max(before.clock, 0) + random.randint(0, 20) if is_read else EARLIEST
    return Told(clock, frozenset(signal for signal in SIGNALS if random.random() < 0.05))


def finals(lines: Counter[Line]) -> Counter[Any]:
    return Counter({line[:5]: count for line, count in lines.items() if line[5] == Timing.FINAL})


class Engine:
    """A bucket that restarts before each batch, with what it put out and did not take back.

    Attributes:
        promised: Its output watermark.
    """

    def __init__(self, case: EarlyCase, query: EvaluatorQuery) -> None:
        self._case = case
        self._query = query
        self._cells = MemoryCells()
        self._random = Random(case.seed)
        self._rows: dict[tuple[Hashable, int], Line] = {}
        self.promised = EARLIEST

    def take(
        self,
        batch: Batch,
        arrived: Progress,
        signals: frozenset[str] = frozenset(),
        *,
        key_watermarks: Mapping[Hashable, int] = MappingProxyType({}),
        refused: int = 0,
    ) -> Counter[Line]:
        """Run a batch, of which some rows are to be refused; return what it inserts."""
        kind = Bucket if self._query.forget_keys_after is None else LivesBucket
        bucket = kind(self._query, self._cells, Codec(), {})
        rows, said = by_key(self._case.case, batch, self._random), [((key,), at) for key, at in key_watermarks.items()]
        result = bucket.process(rows, arrived, key_watermarks=said, signals=signals)
        assert len(result.rejections) == refused, f"refused {result.rejections}"
        assert result.accepted + refused == len(batch.changes), "a row is counted twice, or not at all"
        came: Counter[Line] = Counter()
        for (key,), changes in result.output:
            for change in changes:
                assert change.sync_time >= self.promised, f"{change} breaks the output watermark {self.promised}"
                came += self._apply(key, change)
        assert result.watermark >= self.promised
        self.promised = result.watermark
        return came

    def standing(self) -> Counter[Line]:
        """Return what was put out and not taken back."""
        return Counter(self._rows.values())

    def _apply(self, key: Hashable, change: OutputChange) -> Counter[Line]:
        line = (key, change.window, change.start, change.end, change.value, str(change.timing), change.firing)
        if change.kind is OutputKind.INSERT:
            assert (key, change.id) not in self._rows
            self._rows[key, change.id] = line
            return Counter([line])
        assert change.kind is OutputKind.RETRACT
        assert self._rows.pop((key, change.id)) == line
        return Counter()
