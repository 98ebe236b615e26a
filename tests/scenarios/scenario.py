"""One scenario for every evaluator: what a user writes, what arrives, and what goes wrong on the way.

The meaning is that of the reference evaluator of `muntin.testing`. Each evaluator of the registry that can run the
query runs it, and nothing here names one: **to add an implementation, register it**, and `make` this room of tests.
While it is not registered, `with_evaluator(...)` adds it for a test:

    with with_evaluator(NewEvaluator()):
        Scenario(query, stream, Mishaps(seed=3)).check()

After each micro-batch the live output has to be what the reference says of the history so far, if that follows from
what came. Whatever the query is, no output lies behind the output watermark, which never goes back; no id is used
twice; a retraction repeats what is live; a window that did not change emits nothing; and at the end no row has vanished
and no state is left.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from muntin import INFINITY, EarlyEmission, EmitPolicy, Event, Refinement, TimestampPolicy
from muntin.changes import Revision, fold
from muntin.testing import KeyedChange, Script, evaluate_evicted, shuffle, smallest_failing, split
from muntin.testing.stream_history import StreamHistory
from muntin.windows import WindowKind
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators import registry
from muntin_engine.evaluators.evaluator import Evaluator
from muntin_engine.plan import planner
from muntin_engine.testing.meaning import live_output, progress_of
from tests.differential.cases import until_closed
from tests.differential.drive import joined
from tests.scenarios import query as queries
from tests.scenarios.query import Query, columns_of, values_of
from tests.scenarios.running import Mishaps, Row, Run, plain

MOST_TRIES: Final = 100
"""After so many runs a stream that fails is small enough."""

Histories = Mapping[Hashable, Sequence[Event[Any]]]


@dataclass(frozen=True)
class Scenario:
    """A query, its stream, and the mishaps on the way.

    Attributes:
        query: What a query writer states.
        stream: Changes and punctuation in order of arrival, and the seams between micro-batches.
        mishaps: What goes wrong.
    """

    query: Query
    stream: Script
    mishaps: Mishaps = Mishaps()  # noqa: RUF009  # it is frozen

    def check(self) -> None:
        """Run it through each evaluator that can, and compare with the reference; a failure shows the smallest stream.

        Raises:
            AssertionError: An evaluator differs, or its output is not as it must be.
        """
        arriving = self.arriving
        for evaluator in self.query.evaluators:
            try:
                self._run(evaluator, arriving)
            except Exception as error:
                fails = partial(self._fails, evaluator, type(error), itertools.count())
                small = smallest_failing(arriving, fails)
                print(
                    f"\n{self.query}\nevaluator {evaluator}, {self.mishaps}\nthe smallest stream that fails:\n{small}"
                )
                self._run(evaluator, small)
                pytest.fail("it fails only now and then")

    @property
    def arriving(self) -> Script:
        """The stream as it arrives: disordered, and cut into micro-batches."""
        stream, mishaps = self.stream, self.mishaps
        if mishaps.disorder:
            stream = until_closed(shuffle(stream, mishaps.seed, early_revisions=mishaps.seed % 3 > 0))
        return stream if mishaps.cuts is None else split(stream, mishaps.seed, cuts=mishaps.cuts, restarts=0)

    def _fails(self, evaluator: str, kind: type[Exception], tries: Iterator[int], stream: Script) -> bool:
        if next(tries) > MOST_TRIES:
            return False
        try:
            self._run(evaluator, stream)
        except Exception as error:
            return type(error) is kind
        return False

    def _run(self, evaluator: str, stream: Script) -> None:
        run, history, now = Run(self.query, self.query.evaluators[evaluator], self.mishaps), StreamHistory(), Progress()
        detours, random, illegal = 0, Random(self.mishaps.seed), Counter[str]()
        for batch in stream.batches():
            detours += sum(_is_of_the_dead(history, step) for step in batch.changes)
            some = list(self._illegal(random, run, now.watermark)) if random.random() < self.mishaps.illegal else []
            illegal.update(output for output, _ in some)
            run.take(batch, [row for _, row in some])
            for step in batch.changes:
                history.take(step)
            now = now.advance(progress_of(self.query.first, batch))
            if not history.waiting or self.query.emit is EmitPolicy.FINAL:
                self._compare(run, self._events(history), now)
        assert run.counts["late"] == illegal["late"], f"late: {run.counts}, not {illegal}"
        refused = run.counts["late"] + run.counts["shed"] + run.counts["rejected"]
        assert 0 <= refused - illegal.total() <= detours, f"refused: {run.counts}, not {illegal}"
        if now.watermark == INFINITY:
            assert run.is_empty, "state is left of a stream that is closed"
        if not history.waiting:
            taken = run.counts["accepted"] + run.counts["filtered"] + refused
            assert taken == run.counts["sent"], f"vanished: {run.counts}"

    def _illegal(self, random: Random, run: Run, watermark: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield rows that must be refused, each with the output that has it; none of them moves the watermark."""
        row = run.row(random.choice(("a", "b", None)), 10**6 + run.counts["sent"], 0, 1, 1)
        wrong: list[dict[str, Any]] = [{"start": None}, {"change": "grow"}, {"start": 2**62}, {"start": -(2**62)}]
        if self.query.lifetimes in ("intervals", "named"):
            wrong += [{"end": 0}, {"end": -1}]
        if self.query.has_ids:
            wrong += [{"id": None}, {"change": "revise", "new_end": None}]
        yield "rejected", row | random.choice(wrong)
        if -(2**61) < watermark < INFINITY:
            # where output changes at the ends of windows alone, rows are late of which a window is complete
            far = self.query.longest if self.query.plan().steps else 0
            start = watermark - far - random.randint(1, 9)
            yield "late", row | {"start": start, "end": start + 1, "id": 2 * 10**6 + run.counts["sent"]}

    def _compare(self, run: Run, histories: Histories, now: Progress) -> None:
        wanted, got = self._wanted(histories, now), run.output
        if isinstance(self.query.emit, EarlyEmission):
            if self.query.emit.refinement is Refinement.DISCARD:
                return
            got = Counter()
            for row, count in run.output.items():
                if row.more[-2] == "final":
                    got[row._replace(more=row.more[:-2])] += count
        if self.query.timestamps is TimestampPolicy.TIME_BOUND:
            wanted, got = (edges(output, self.query.first) for output in (wanted, got))
        assert got == wanted, f"missing {wanted - got}\nsurplus {got - wanted}"
        if self.query.has_second_output:
            evicted = self._evicted(histories, now)
            assert run.evicted == evicted, f"missing {evicted - run.evicted}\nsurplus {run.evicted - evicted}"

    def _events(self, history: StreamHistory) -> Histories:
        """Return the events of each key that the filter lets in, as they are known."""
        found = {key: list(fold(changes).values()) for key, changes in history.accepted.items()}
        if self.query.lifetimes == "samples":
            found = {key: joined(events) for key, events in found.items()}
        keeps, rows = self.query.keeps, self.query.rows
        kept = {key: [event for event in events if keeps(event.payload)] for key, events in found.items()}
        if rows is None:
            return kept
        names = ("x", "order", *rows.reads)
        return {
            key: [replace(event, payload=columns_of(event.payload, names)) for event in events]
            for key, events in kept.items()
        }

    def _wanted(self, histories: Histories, now: Progress) -> Counter[Row]:
        """Return the live output by the reference; of early results, the final ones."""
        emit, wanted = self.query.emit, Counter[Row]()
        policy = EmitPolicy.FINAL if isinstance(emit, EarlyEmission) else emit
        for name, window in self.query.named.items():
            meaning = self.query.meaning(window)
            for key, events in histories.items():
                for row in live_output(meaning, policy, events, now):
                    values = values_of(self.query.modules[0], row.value) if self.query.is_operator else row.value
                    lifetime, more = (row.start, row.end), (name,) if name else ()
                    of_window = (row.window.start, row.window.end) if self.query.is_windowed else lifetime
                    wanted[Row(key, of_window, lifetime, plain(values), more)] += 1
        return wanted

    def _evicted(self, histories: Histories, now: Progress) -> Counter[Row]:
        meaning, wanted = self.query.meaning(self.query.first), Counter[Row]()
        for key, events in histories.items():
            for row in evaluate_evicted(meaning, events, now.watermark, now.horizon):
                extent = (row.window.start, row.window.end)
                wanted[Row(key, extent, extent, plain(values_of(self.query.modules[0], row.value)))] += 1
        return wanted


def _is_of_the_dead(history: StreamHistory, step: KeyedChange) -> bool:
    """Return True of a revision of an event that is known to be retracted: such a detour may be refused."""
    change = step.change
    of_event = (other for other in history.accepted.get(step.key, ()) if other.id == change.id)
    is_known = any(other.event.start == change.event.start for other in of_event)
    is_alive = any(event.start == change.event.start for event in history.events(step.key, change.id))
    return isinstance(change, Revision) and is_known and not is_alive


def edges(output: Counter[Row], window: Any) -> Counter[Any]:
    """Return the ticks at which a value begins and ends to be live, so that it does not matter in which pieces it is.

    A window whose extent is not known while it lasts is left out.
    """
    found: Counter[Any] = Counter()
    for row, count in output.items():
        of = None if isinstance(window, WindowKind) and window.ends_move else row.window
        for tick, change in zip(row.lifetime, (count, -count), strict=True):
            found[row._replace(window=of or (0, 0), lifetime=(tick, tick))] += change
    return Counter({row: count for row, count in found.items() if count})


@contextmanager
def with_evaluator(evaluator: Evaluator) -> Iterator[None]:
    """Have another evaluator beside those of the registry, for as long as the context lasts."""
    every = (evaluator, *registry.EVALUATORS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.BY_NAME, evaluator.name, evaluator)
        for module in (registry, planner, queries):
            patch.setattr(module, "EVALUATORS", every)
        yield
