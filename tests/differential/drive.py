"""Runs a stream through a bucket batch by batch, and compares after each batch with the reference evaluator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from random import Random
from typing import Any

from muntin import EARLIEST, INFINITY, EmitPolicy, Event, HoppingWindows, Insertion, Window, fold
from muntin.testing import reference
from muntin.testing.batches import Batch, KeyedChange
from muntin.testing.ledger import Ledger as StreamLedger
from muntin.testing.scripts import Script
from muntin_engine.core.bucket import BatchResult, Bucket
from muntin_engine.core.keys import Key
from muntin_engine.core.cells import MemoryCells
from muntin_engine.core.changes import InputChange, OutputChange, OutputKind, Progress
from muntin_engine.core.codec import Codec
from muntin_engine.core.ledger import Ledger
from muntin_engine.core.rows import freeze
from tests.differential.cases import Case

Row = tuple[Window, int, int, Hashable]
Table = dict[Hashable, Counter[Row]]


class Run:
    """A stream on its way through a bucket, with what the bucket has said so far."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.cells = MemoryCells()
        self.progress = Progress()
        self.promised = EARLIEST
        self.rows: dict[Hashable, dict[int, Row]] = {}
        self.used: set[tuple[Hashable, int]] = set()
        self._stream = StreamLedger()
        self._bucket = self._start()
        self._random = Random(case.seed)

    def _start(self) -> Bucket:
        return Bucket(self.case.query, self.cells, Codec(), {"query": str(self.case)})

    def take(self, batch: Batch) -> BatchResult:
        """Run a batch and check all that must hold whatever the query is."""
        if batch.restart_before:
            self._bucket = self._start()
        for change in batch.changes:
            self._stream.take(change)
        arrived = progress_of(self.case, batch)
        before = self.table()
        result = self._bucket.process(by_key(batch, self._random), arrived)
        self.progress = self.progress.advance(arrived)
        self._take_output(result)
        assert not result.refusals, f"refused {result.refusals}"
        assert result.punctuation >= self.promised, f"output punctuation {self.promised} went to {result.punctuation}"
        self._check_net(before, result)
        self.promised = result.punctuation
        return result

    def table(self) -> Table:
        """Return the output as it stands."""
        return {key: Counter(rows.values()) for key, rows in self.rows.items() if rows}

    def histories(self) -> dict[Hashable, list[Event[Any]]]:
        """Return the input as it stands."""
        return {key: list(fold(changes).values()) for key, changes in self._stream.accepted.items()}

    def _take_output(self, result: BatchResult) -> None:
        for (key,), changes in result.output:
            for change in changes:
                assert change.sync_time >= self.promised, f"{change} breaks the output punctuation {self.promised}"
                self._apply(key, change)

    def _apply(self, key: Hashable, change: OutputChange) -> None:
        rows = self.rows.setdefault(key, {})
        row = (change.window, change.start, change.end, freeze(change.value))
        if change.kind is OutputKind.INSERT:
            assert (key, change.id) not in self.used, f"the id of {change} is used twice"
            self.used.add((key, change.id))
            rows[change.id] = row
            return
        assert rows.get(change.id) == row, f"{change} changes {rows.get(change.id)}"
        del rows[change.id]
        if change.kind is OutputKind.REVISE:
            assert change.new_end is not None
            assert change.start < change.new_end
            rows[change.id] = (change.window, change.start, change.new_end, row[3])

    def _check_net(self, before: Table, result: BatchResult) -> None:
        after = self.table()
        for (key,), changes in result.output:
            assert changes
            for window in {change.window for change in changes}:
                old, new = (only(table.get(key, Counter()), window) for table in (before, after))
                assert old != new, f"{changes} change nothing of {window}"
        for (key,), changes in result.output:
            kinds = (OutputKind.RETRACT, OutputKind.INSERT)
            gone, come = ({(c.window, c.start, c.end, freeze(c.value)) for c in changes if c.kind is k} for k in kinds)
            assert not gone & come, f"retracted and inserted again: {gone & come}"

    def check_forgotten(self) -> None:
        """Check that nothing is left of a stream that was closed."""
        assert list(self.cells.cells) == ["ledger"]
        identity = {"query": str(self.case), "shelves": 64}
        assert Ledger.from_bytes(self.cells.cells["ledger"], identity, Codec()).dues == {}


def run(case: Case, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ, or the output is not as it must be.
    """
    running = Run(case)
    for batch in stream.batches():
        running.take(batch)
        compare(running)
    if running.progress.punctuation == INFINITY:
        running.check_forgotten()


def compare(running: Run) -> None:
    """Compare the output as it stands with what the reference says of the input as it stands."""
    wanted = {key: bag for key, events in running.histories().items() if (bag := expected(running, events))}
    got = running.table()
    missing = {key: bag - got.get(key, Counter()) for key, bag in wanted.items()}
    surplus = {key: bag - wanted.get(key, Counter()) for key, bag in got.items()}
    assert got == wanted, f"missing {missing}\nsurplus {surplus}"


def expected(running: Run, events: Sequence[Event[Any]]) -> Counter[Row]:
    """Return the rows that must stand for a key."""
    query, progress = running.case.reference, running.progress
    if running.case.emit is EmitPolicy.FINAL:
        return bag(reference.evaluate(query, events, progress.punctuation, progress.horizon))
    output: list[reference.OutputEvent] = []
    for window in reference.windows(query.window, events, progress.horizon):
        members = [event for event in events if reference.belongs(query.window, event, window)]
        if members and (running.case.emit is EmitPolicy.EAGER or window.end <= progress.watermark):
            output += reference.evaluate_window(query, window, members)
    return bag(output)


def bag(output: Iterable[reference.OutputEvent]) -> Counter[Row]:
    return Counter((row.window, row.start, row.end, freeze(row.value)) for row in output)


def only(rows: Counter[Row], window: Window) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if row[0] == window})


def progress_of(case: Case, batch: Batch) -> Progress:
    """Return what a batch says of the progress of the whole input."""
    window = case.query.window
    reach = window.reach if isinstance(window, HoppingWindows) else 0
    starts = [step.change.event.start for step in batch.changes]
    ends = [end + reach for step in batch.changes for end in ends_of(step) if end != INFINITY]
    punctuation = EARLIEST if batch.punctuation is None else batch.punctuation
    finite = [punctuation] if punctuation != INFINITY else []
    horizon = max([start + 1 for start in starts] + ends + finite, default=EARLIEST)
    return Progress(punctuation, horizon, max(starts, default=EARLIEST))


def ends_of(step: KeyedChange) -> list[int]:
    change = step.change
    return [change.event.end] if isinstance(change, Insertion) else [change.event.end, change.new_end]


def by_key(batch: Batch, random: Random) -> list[tuple[Key, list[InputChange]]]:
    """Return the rows of a batch as the evaluator takes them, in any order."""
    rows: dict[Key, list[InputChange]] = {}
    for step in random.sample(batch.changes, len(batch.changes)):
        rows.setdefault((step.key,), []).append(input_change(step))
    return list(rows.items())


def input_change(step: KeyedChange) -> InputChange:
    change = step.change
    new_end = None if isinstance(change, Insertion) else change.new_end
    return InputChange(change.id, change.event.start, change.event.end, (change.event.payload,), new_end)
