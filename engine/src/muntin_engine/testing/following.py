"""A stream on its way through an evaluator, step by step, and what goes wrong on the way."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from muntin import EarlyEmission, EmitPolicy, Event, RowOperator, Window
from muntin.changes import Insertion, fold
from muntin.testing import Batch, equal, evaluate_evicted
from muntin.testing.stream_history import StreamHistory
from muntin_engine.evaluators.contracts import InMemory
from muntin_engine.state.cells import Cells, MemoryCells
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.testing.meaning import live_output, progress_of
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Progress, Timing


class Mishap(StrEnum):
    """The mishap of the process that evaluates a stream."""

    NOTHING = "nothing"
    """It lives as long as the stream."""
    RESTART = "restart"
    """It ends after a step, and a new one goes on with what was stored."""
    SECOND_RUN = "second run"
    """It lives as long, and another one evaluates the stream once more."""
    CRASH = "crash"
    """It evaluates a step, what it wrote is lost, and it evaluates the step again."""


class LiveResult(NamedTuple):
    """A live result: emitted, and not retracted; or a row of the second output."""

    key: Hashable
    window: Window
    start: int
    end: int
    value: Any
    timing: Timing = Timing.FINAL
    firing: int = 0
    is_evicted: bool = False


@dataclass
class LiveOutput:
    """The live output."""

    _lines: list[tuple[int, int, LiveResult]] = field(default_factory=list)

    def apply(self, key: int, named: Hashable, change: OutputChange, *, is_evicted: bool = False) -> None:
        """Take a change of an output. A retraction of a row that was never emitted has no effect."""
        lifetime, when = (change.start, change.end), (change.timing, change.firing)
        line = LiveResult(named, change.window, *lifetime, change.value, *when, is_evicted)
        known = (key, change.id, line)
        if change.kind is OutputKind.INSERT:
            self._lines.append(known)
            return
        place = next((place for place, other in enumerate(self._lines) if equal(other, known)), None)
        if place is None:
            return
        del self._lines[place]
        if change.kind is OutputKind.REVISE and change.new_end is not None:
            self._lines.append((key, change.id, line._replace(end=change.new_end)))

    def lines(self) -> list[LiveResult]:
        """Return the live output."""
        return [line for _, _, line in self._lines]


def follow(
    tested: QueryUnderTest, evaluator: str, mishap: Mishap, only_after: int | None = None
) -> Iterator[list[LiveResult]]:
    """Yield the live output after each step.

    Args:
        tested: The query and its stream.
        evaluator: What evaluates it.
        mishap: What happens.
        only_after: The step after which it happens, or which crashes; None for every one.

    Raises:
        Exception: Whatever the module, or the engine on its behalf, raises.
    """
    cells, live = MemoryCells(), LiveOutput()
    names = {number: key for key, number in tested.keys.items()}
    process = start(tested, evaluator, cells)
    for place, batch in enumerate(tested.batches):
        arrived = progress_of(tested.query.window, batch)
        happens = only_after in (None, place)
        if happens and mishap is Mishap.CRASH:
            _crash(process, cells, list(rows_of(tested, batch)), arrived)
        for (key,), change in process.process(list(rows_of(tested, batch)), arrived):
            live.apply(key, names[key], change)
        for (key,), change in process.evicted:
            live.apply(key, names[key], change, is_evicted=True)
        if happens and mishap is Mishap.RESTART:
            process = start(tested, evaluator, cells)
        yield live.lines()


def meant(tested: QueryUnderTest) -> Iterator[list[LiveResult]]:
    """Yield the live output after each step, by the reference evaluator; of early results, the final ones."""
    stream, progress = StreamHistory(), Progress()
    for batch in tested.batches:
        for step in batch.changes:
            stream.add(step)
        progress = progress.advance(progress_of(tested.query.window, batch))
        events = {key: _in_order(tested, fold(changes)) for key, changes in stream.accepted.items()}
        yield [line for key, some in events.items() for line in _meant(tested, key, some, progress)]


def _meant(tested: QueryUnderTest, key: Hashable, events: list[Event[Any]], progress: Progress) -> Iterator[LiveResult]:
    emit = EmitPolicy.FINAL if isinstance(tested.emit, EarlyEmission) else tested.emit
    for row in live_output(tested.meaning, emit, events, progress):
        yield LiveResult(key, row.window, row.start, row.end, row.value)
    if isinstance(tested.query.computations[0].module, RowOperator):
        for row in evaluate_evicted(tested.meaning, events, progress.watermark, progress.horizon):
            yield LiveResult(key, row.window, row.start, row.end, row.value, is_evicted=True)


def _in_order(tested: QueryUnderTest, found: Mapping[tuple[Hashable, int], Event[Any]]) -> list[Event[Any]]:
    """Return events as they came; rows of one time follow one another in the order of their ids."""
    if not tested.has_order:
        return list(found.values())
    return [found[name] for name in sorted(found, key=lambda name: tested.ids[name[0]])]


def start(tested: QueryUnderTest, evaluator: str, cells: Cells) -> InMemory:
    """Return a new process that finds in the cells what those before it wrote."""
    return KEEPS_STATE[evaluator].in_memory(tested.plan(evaluator), cells, tested.codec)


def rows_of(tested: QueryUnderTest, batch: Batch) -> Iterator[tuple[Key, InputChange]]:
    """Yield the rows of a step as evaluators take them."""
    for step in batch.changes:
        change = step.change
        yield (
            (tested.keys[step.key],),
            InputChange(
                tested.ids[change.id] if tested.has_ids else None,
                change.event.start,
                change.event.end,
                (*tested.values(change.event.payload), *tested.read_by_windows(change)),
                None if isinstance(change, Insertion) else change.new_end,
            ),
        )


def _crash(process: InMemory, cells: MemoryCells, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> None:
    """Evaluate a micro-batch that is not committed."""
    before = dict(cells.cells)
    process.process(rows, arrived)
    cells.cells = before
