"""Runs a stream through a bucket batch by batch, and checks after each batch what must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from random import Random
from typing import Any, Final, TypeVar

import pytest

from muntin import EARLIEST, INFINITY, EmitPolicy, Event
from muntin.changes import Insertion, fold
from muntin.testing.batches import Batch, KeyedChange
from muntin.testing.scripts import Script
from muntin.testing.stream_history import StreamHistory
from muntin.testing.streams import smallest_failing
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import HeldState, MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.testing.meaning import progress_of
from tests.core.build import stored_states
from tests.differential.cases import Case, Described
from tests.differential.meaning import Row, Table, expected_table, least_promise

CaseT = TypeVar("CaseT", bound=Described)

_COUNTED: Final = 0.15
"""How many of the micro-batches, chosen at random, are followed by a count of all that is stored, which takes long."""


class Run:
    """A stream on its way through a bucket, with what the bucket has said so far.

    Attributes:
        before: The output before the last batch.
        since: The progress before the last batch.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.cells = MemoryCells()
        self.progress = self.since = Progress()
        self.promised = EARLIEST
        self.before: Table = {}
        self._came = self._accepted = 0
        self._rows: dict[Hashable, dict[int, Row]] = {}
        self._version = 0
        self._used: set[tuple[Hashable, int]] = set()
        self._stream = StreamHistory()
        self._known: dict[tuple[bytes, ...], KeyState] = {}
        self._random, self._counts = Random(case.seed), Random(case.seed)
        self._bucket = self._start()

    @property
    def query(self) -> EvaluatorQuery:
        """The query as it is evaluated now."""
        return self.case.query

    @property
    def is_determined(self) -> bool:
        """True if what must stand follows from what came; while rows of an event are missing, what is final does."""
        return not self._stream.waiting or self.case.emit is EmitPolicy.FINAL

    @property
    def identity(self) -> dict[str, Any]:
        """What the state depends on."""
        return {"query": str(self.case)}

    def _start(self) -> Bucket:
        return Bucket(
            self.query, self.cells, Codec(), self.identity, kept=KeptStores(), make_version=self._make_version
        )

    def _make_version(self) -> bytes:
        self._version += 1
        return str(self._version).encode()

    def take(self, batch: Batch) -> BatchResult:
        """Run a batch and check what must hold whatever the query is."""
        if batch.restart_before:
            self._bucket = self._start()
            self._known.clear()
        for step in batch.changes:
            self._stream.take(step)
        self._came += len(batch.changes)
        arrived = self._arrived(batch)
        self.before, self.since, self.progress = self.table(), self.progress, self.progress.advance(arrived)
        result = self._evaluate(batch, arrived)
        assert not result.rejections, f"refused {result.rejections}"
        assert result.accepted >= 0
        self._accepted += result.accepted
        for (key,), changes in result.output:
            for change in changes:
                assert change.sync_time >= self.promised, f"{change} breaks the output watermark {self.promised}"
                self._apply(key, change)
        self._check_net(result)
        if self._stream.waiting:
            self.promised = max(self.promised, result.watermark)
        else:
            self._check_promise(result)
        if self._counts.random() < _COUNTED:
            self._check_held(result)
            self.check_accepted()
        if self.progress.watermark == INFINITY:
            self._check_forgotten()
        return result

    def expected(self) -> Table:
        """Return what must stand, according to the reference."""
        return expected_table(self.case, self.histories(), self.progress)

    def _arrived(self, batch: Batch) -> Progress:
        """Return the progress by which windows close, as a batch moves it on."""
        return progress_of(self.case.query.window, batch)

    def _evaluate(self, batch: Batch, arrived: Progress) -> BatchResult:
        return self._bucket.process(by_key(self.case, batch, self._random), arrived)

    def table(self) -> Table:
        """Return the output as it stands."""
        return {key: Counter(rows.values()) for key, rows in self._rows.items() if rows}

    def histories(self) -> Mapping[Hashable, list[Event[Any]]]:
        """Return the input as it stands."""
        histories = {key: list(fold(changes).values()) for key, changes in self._stream.accepted.items()}
        return {key: joined(events) for key, events in histories.items()} if self.case.is_edge else histories

    def check_accepted(self) -> None:
        """Check that each row so far is accepted, or left out by a filter, unless one waits for others of its event."""
        if not self._stream.waiting:
            keeps, changes = self.query.keeps, list(chain(*self._stream.accepted.values()))
            payloads = [change.event.payload for change in changes if isinstance(change, Insertion)]
            left_out = [] if keeps is None else [payload for payload in payloads if not keeps((payload,))]
            assert self._accepted + len(left_out) == len(changes)
            assert self._came == len(changes)

    def _apply(self, key: Hashable, change: OutputChange) -> None:
        rows = self._rows.setdefault(key, {})
        row = (change.window, change.start, change.end, change.value)
        if change.kind is OutputKind.INSERT:
            assert (key, change.id) not in self._used, f"the id of {change} is used twice"
            self._used.add((key, change.id))
            rows[change.id] = row
            return
        assert rows.get(change.id) == row, f"{change} changes {rows.get(change.id)}"
        del rows[change.id]
        if change.kind is OutputKind.REVISE:
            assert change.new_end is not None
            assert change.start < change.new_end
            rows[change.id] = (change.window, change.start, change.new_end, change.value)

    def _check_net(self, result: BatchResult) -> None:
        """Check that a window whose result did not change puts out nothing."""
        after = self.table()
        for (key,), changes in result.output:
            assert changes
            gone = {row_of(change) for change in changes if change.kind is OutputKind.RETRACT}
            come = {row_of(change) for change in changes if change.kind is OutputKind.INSERT}
            assert not gone & come, f"retracted and inserted again: {gone & come}"
            for window in {change.window for change in changes}:
                old, new = (
                    sorted(map(repr, (row for row in table.get(key, Counter()).elements() if row[0] == window)))
                    for table in (self.before, after)
                )
                assert old != new, f"{changes} change nothing of {window}"

    def _check_promise(self, result: BatchResult) -> None:
        """Check that the output watermark never goes back, and comes as far as it can."""
        least = max(self.promised, least_promise(self.case, self.histories(), self.progress))
        assert result.watermark >= least, f"the output watermark is {result.watermark}, it could be {least}"
        self.promised = result.watermark

    def _check_held(self, result: BatchResult) -> None:
        """Check that what a bucket says it holds is what lies in its cells."""
        states = stored_states(self.query, self.cells, Codec(), self.identity, known=self._known)
        assert result.held == HeldState(
            sum(map(len, self.cells.cells.values())),
            len(states),
            sum(len(state.events) for state in states),
            sum(len(state.windows) for state in states),
        )

    def _check_forgotten(self) -> None:
        """Check that nothing is left of a stream that was closed."""
        assert list(self.cells.cells) == ["metadata"]
        assert stored_states(self.query, self.cells, Codec(), self.identity) == []


def run(case: Case, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ, or the output is not as it must be.
    """
    follow(Run(case), stream)


def follow(running: Run, stream: Script) -> None:
    """Run a stream in some way and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ, or the output is not as it must be.
    """
    for batch in stream.batches():
        running.take(batch)
        if running.is_determined:
            got, wanted = running.table(), running.expected()
            assert got == wanted, difference(got, wanted)
    running.check_accepted()


def check(case: CaseT, stream: Script, run: Callable[[CaseT, Script], None]) -> None:
    """Run a stream; if that fails, fail with the smallest stream that does.

    Raises:
        AssertionError: It fails.
    """
    try:
        run(case, stream)
    except Exception as error:
        kind = type(error)
        small = smallest_failing(stream, lambda candidate: failure(case, candidate, run) is kind)
        print(f"\n{case}\nseed {case.seed}; the smallest stream that fails:\n{small}")
        run(case, small)
        pytest.fail("it fails only now and then")


def failure(case: CaseT, stream: Script, run: Callable[[CaseT, Script], None]) -> type[Exception] | None:
    """Return how a run fails, or None."""
    try:
        run(case, stream)
    except Exception as error:
        return type(error)
    return None


def difference(got: Table, wanted: Table) -> str:
    missing = {key: rows - got.get(key, Counter()) for key, rows in wanted.items()}
    surplus = {key: rows - wanted.get(key, Counter()) for key, rows in got.items()}
    return f"missing {missing}\nsurplus {surplus}"


def row_of(change: OutputChange) -> Row:
    return change.window, change.start, change.end, change.value


def by_key(case: Case, batch: Batch, random: Random) -> list[tuple[Key, list[InputChange]]]:
    """Return the rows of a batch as the evaluator takes them, in any order."""
    rows: dict[Key, list[InputChange]] = {}
    for step in random.sample(batch.changes, len(batch.changes)):
        rows.setdefault((step.key,), []).append(input_change(case, step))
    return list(rows.items())


def input_change(case: Case, step: KeyedChange) -> InputChange:
    change = step.change
    new_end = None if isinstance(change, Insertion) else change.new_end
    id = change.id if case.has_ids and not case.is_edge else None
    return InputChange(id, change.event.start, change.event.end, (change.event.payload,), new_end)


def joined(samples: list[Event[Any]]) -> list[Event[Any]]:
    """Let each sample last until the next."""
    ordered = sorted(samples, key=lambda event: event.start)
    ends = [*(event.start for event in ordered[1:]), INFINITY]
    return [Event(event.start, end, event.payload) for event, end in zip(ordered, ends, strict=True)]
