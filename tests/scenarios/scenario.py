"""One scenario for every evaluator: what a user writes, what arrives, and what goes wrong on the way.

The reference evaluator of `muntin.testing` says what the output must be. Each evaluator of the registry that can run
the query runs it, and nothing here names one: **to add an implementation, register it**, and `make` this room of tests.
While it is not registered, `with_evaluator(...)` adds it for a test:

    with with_evaluator(NEW, NewEvaluator()):
        Scenario(query, stream, Mishaps(seed=3)).check()

After each micro-batch the live output has to be what the reference says of the history so far, if that follows from
what came. Whatever the query is, no output lies behind the output watermark, which never goes back; no id is used
twice; a retraction repeats what is live; a window that did not change emits nothing; and at the end no row has vanished
and no state is left.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from muntin import EARLIEST, INFINITY
from muntin.testing import Batch, Script
from muntin_engine.evaluators.contracts import KeepsState, LiftsRows
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.tasks import evaluator_registry
from muntin_engine.testing import shuffle, smallest_failing, split
from tests.engine.plan import plans
from tests.scenarios import query as queries
from tests.scenarios.expected_output import ExpectedOutput
from tests.scenarios.join import ExpectedJoinOutput, Join
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Mishaps, Run
from tests.scenarios.windows import until_closed

MOST_TRIES: Final = 100
"""After so many runs a stream that fails is small enough."""


@dataclass(frozen=True)
class Scenario:
    """A query, its stream, and the mishaps on the way.

    Attributes:
        query: Query as its writer states it.
        streams: Changes and punctuation of each stream in order of arrival, and the seams between micro-batches.
        mishaps: Mishaps on the way.
    """

    query: Query | Join
    streams: Script | tuple[Script, ...]
    mishaps: Mishaps = Mishaps()  # noqa: RUF009  # it is frozen

    def check(self) -> None:
        """Run each evaluator that can, and compare with the reference; a failure shows the smallest stream.

        Raises:
            AssertionError: An evaluator differs, or its output is not as it must be.
        """
        for evaluator in self.query.evaluators:
            streams = self.arriving
            try:
                self._run_evaluator(evaluator, streams)
            except Exception as error:
                # One stream after the other is made as small as it can be while the evaluator still fails alike.
                tries = itertools.count()
                for place in range(len(streams)):
                    fails = partial(self._fails, evaluator, type(error), tries, streams, place)
                    streams = _with_stream_at(streams, place, smallest_failing(streams[place], fails))
                print(f"\n{self.query}\nevaluator {evaluator}, {self.mishaps}\nthe smallest streams that fail:")
                print(*streams, sep="\n")
                self._run_evaluator(evaluator, streams)  # raises the error of these
                pytest.fail("it fails only now and then")

    def run(self) -> list[str]:
        """Run each evaluator that can, and compare with the reference; `check` also explains a failure.

        Returns:
            The names of the evaluators, all of which agree with the reference.

        Raises:
            AssertionError: An evaluator differs, or its output is not as it must be.
        """
        for evaluator in self.query.evaluators:
            self._run_evaluator(evaluator, self.arriving)
        return list(self.query.evaluators)

    @property
    def size(self) -> tuple[int, int]:
        """The number of its changes, and of its micro-batches."""
        streams = self.arriving
        changes = sum(len(stream.changes()) for stream in streams)
        return changes, max(len(list(stream.batches())) for stream in streams)

    @property
    def arriving(self) -> tuple[Script, ...]:
        """The streams as they arrive: disordered, and cut into micro-batches."""
        return tuple(map(self._arriving, self.scripts))

    @property
    def scripts(self) -> tuple[Script, ...]:
        """Its streams."""
        return self.streams if isinstance(self.streams, tuple) else (self.streams,)

    def _arriving(self, stream: Script) -> Script:
        mishaps = self.mishaps
        if mishaps.disorder:
            stream = until_closed(shuffle(stream, mishaps.seed, early_revisions=mishaps.seed % 3 > 0))
        if mishaps.cuts is not None:
            stream = split(stream, mishaps.seed, cuts=mishaps.cuts, restarts=0)
        return stream

    def _fails(
        self,
        evaluator: str,
        error_type: type[Exception],
        tries: Iterator[int],
        streams: tuple[Script, ...],
        place: int,
        smaller_stream: Script,
    ) -> bool:
        """True if an evaluator fails in the same way with a smaller stream; False after many tries.

        Args:
            evaluator: The evaluator.
            error_type: The type of the error.
            tries: Counter of the tries so far.
            streams: The streams as they arrive.
            place: The place of the stream that is replaced.
            smaller_stream: The stream that replaces it.
        """
        if next(tries) > MOST_TRIES:
            return False
        try:
            self._run_evaluator(evaluator, _with_stream_at(streams, place, smaller_stream))
        except Exception as error:
            return type(error) is error_type
        return False

    def _run_evaluator(self, evaluator: str, streams: tuple[Script, ...]) -> None:
        self.check_run(Run(self.query, self.query.evaluators[evaluator], self.mishaps), streams)

    def check_run(self, run: Run, streams: tuple[Script, ...]) -> None:
        """Process the micro-batches of streams, and compare the output of a run with the reference after each.

        Clock readings, signals and illegal rows are drawn for each micro-batch, as the query and the mishaps ask.

        Raises:
            AssertionError: The output is not as it must be.
        """
        query = self.query
        random = Random(self.mishaps.seed)
        illegal_counts = Counter[str]()  # by the output that must have the rows
        expected_output = query.expected if isinstance(query, Join) else ExpectedOutput(query)
        clock = EARLIEST
        for batches in itertools.zip_longest(*(stream.batches() for stream in streams), fillvalue=Batch(())):
            if query.has_clock and random.random() < 0.5:
                clock = max(clock, 0) + random.randint(0, 20)
            signals = frozenset(signal for signal in sorted(query.signals) if random.random() < 0.2)
            illegal_rows: list[dict[str, Any]] = []
            if random.random() < self.mishaps.illegal:
                for output, row in self.illegal_rows(random, run, expected_output):
                    illegal_counts[output] += 1
                    illegal_rows.append(row)
            arrival = Arrival(batches, clock, signals)
            run.process(arrival, illegal_rows)
            expected_output.check(arrival, run)
        self._check_end(run, expected_output, illegal_counts)

    def _check_end(
        self, run: Run, expected_output: ExpectedOutput | ExpectedJoinOutput, illegal_counts: Counter[str]
    ) -> None:
        """Compare what became of all rows with the reference, and check that a closed stream leaves no state.

        Args:
            run: The run, after its last micro-batch.
            expected_output: The expected output; its input counts what the history makes illegal.
            illegal_counts: Numbers of illegal rows that were added, by the output that must have them.
        """
        reference_input = expected_output.reference_input
        counts = run.counts
        expected_late = illegal_counts["late"] + reference_input.late
        assert counts["late"] == expected_late, f"late: {counts}, not {illegal_counts}, {reference_input.late}"
        assert counts["shed"] == reference_input.shed, f"shed: {counts}, not {reference_input.shed}"

        refused = counts["late"] + counts["shed"] + counts["rejected"]
        expected_refused = illegal_counts.total() + reference_input.late + reference_input.shed
        expected_refused += reference_input.unknown + reference_input.replaced
        illegal_by_history = f"{reference_input.unknown} of unknown events and {reference_input.replaced} replaced"
        assert refused == expected_refused, f"refused: {counts}, not {illegal_counts}, {illegal_by_history}"

        if reference_input.progress.watermark == INFINITY:
            assert run.is_empty, "state is left of a stream that is closed"
        if not reference_input.is_waiting and not self.query.repeats_points:
            accounted = counts["accepted"] + counts["filtered"] + refused
            assert accounted == counts["sent"], f"vanished: {counts}"

    def illegal_rows(
        self, random: Random, run: Run, expected_output: ExpectedOutput | ExpectedJoinOutput
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield rows that must be refused, each with the output that has it; none of them moves the watermark."""
        query = self.query
        assert isinstance(query, Query)
        assert isinstance(expected_output, ExpectedOutput)
        reference_input = expected_output.reference_input
        reach = max(window.reach for window in query.named.values())

        # A row with a column that makes no sense. Such ids are above those of all events.
        row = run.row(random.choice(("a", "b", None)), 10**6 + run.counts["sent"], 0, 1, 1)
        wrong_columns: list[dict[str, Any]] = [
            {"start": None},
            {"change": "grow"},
            {"start": 2**62},  # beyond the axis
            {"start": -(2**62)},
        ]
        if query.lifetimes in ("intervals", "named"):
            wrong_columns += [{"end": 0}, {"end": -1}]  # not after its start
        if query.has_ids:
            wrong_columns += [{"id": None}, {"change": "revise", "new_end": None}]
        yield "rejected", row | random.choice(wrong_columns)

        # A row that is late.
        watermark = reference_input.progress.watermark
        if -(2**61) < watermark < INFINITY:
            # Where output changes at the ends of windows alone, a row is late if one of its windows is complete.
            far = query.longest if steps_of(query.plan()) else 0
            start = watermark - far - random.randint(1, 9)
            # The stream says something about the reach of a late row too, which must not move the horizon here.
            start = min(start, reference_input.progress.horizon - reach - 1)
            yield "late", row | {"start": start, "end": start + 1, "id": 2 * 10**6 + run.counts["sent"]}

        # A revision that is not late itself, of an event that no legal change reaches any more.
        settled_events = list(reference_input.settled_events()) if query.lifetimes == "named" else []
        if settled_events:
            key, id, start = random.choice(settled_events)
            progress = reference_input.progress_of(key)
            ends = range(progress.watermark, progress.horizon - reach + 1)  # later ones would move the horizon
            if ends:
                row = run.row(key, id, start, random.choice(ends), 1)
                yield "rejected", row | {"change": "revise", "new_end": random.choice(ends)}


def _with_stream_at(streams: tuple[Script, ...], place: int, stream: Script) -> tuple[Script, ...]:
    return (*streams[:place], stream, *streams[place + 1 :])


@contextmanager
def with_evaluator(declaration: Declaration, evaluator: KeepsState) -> Iterator[None]:
    """Put another evaluator before all others within the context."""
    declarations = (declaration, *DECLARATIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(evaluator_registry.KEEPS_STATE.makers, declaration.name, lambda: evaluator)
        if isinstance(evaluator, LiftsRows):
            patch.setitem(evaluator_registry.LIFTS_ROWS.makers, declaration.name, lambda: evaluator)
        for module in (queries, plans):
            patch.setattr(module, "DECLARATIONS", declarations)
        yield
