"""Runs of a stream through an evaluator, step by step, with mishaps on the way."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from muntin import EarlyEmission, EmitPolicy, Event, RowOperator
from muntin.changes import Insertion, fold
from muntin.testing import Batch, evaluate_evicted
from muntin.testing.stream_history import StreamHistory
from muntin_engine.evaluators.contracts import InMemory
from muntin_engine.state.cells import Cells, MemoryCells
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.testing.live_results import LiveOutput, LiveResult
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.reference_output import live_output, progress_of
from muntin_engine.time.changes import InputChange, Key, Progress


class Mishap(StrEnum):
    """The mishap of the process that evaluates a stream."""

    NOTHING = "nothing"
    """The process lives as long as the stream."""
    RESTART = "restart"
    """The process ends after a step, and a new one goes on with what was stored."""
    SECOND_RUN = "second run"
    """The process lives as long as the stream, and another one evaluates the stream once more."""
    CRASH = "crash"
    """The process evaluates a step, what it wrote is lost, and it evaluates the step again."""


def run_steps(
    tested: QueryUnderTest, evaluator: str, mishap: Mishap, only_after: int | None = None
) -> Iterator[list[LiveResult]]:
    """Yield the live output after each step.

    Args:
        tested: The query and its stream.
        evaluator: The name of the evaluator.
        mishap: The mishap.
        only_after: The one step after which the mishap happens, or in which a crash does; None for every step.

    Raises:
        Exception: Any exception that the module, or the engine on its behalf, raises.
    """
    cells = MemoryCells()
    output = LiveOutput()
    key_by_number = {number: key for key, number in tested.keys.items()}
    process = new_process(tested, evaluator, cells)
    for place, batch in enumerate(tested.batches):
        rows = list(rows_of(tested, batch))
        reported = progress_of(tested.query.window, batch)

        # A crash loses a first attempt; the step is then run as without a mishap. The attempt gets rows of its own, as
        # a module may change the payloads that it gets.
        has_mishap = only_after in (None, place)
        if has_mishap and mishap is Mishap.CRASH:
            _crash(process, cells, list(rows_of(tested, batch)), reported)
        # The key of an evaluator is the number of a key of the script.
        for (key_number,), change in process.process(rows, reported):
            output.apply(key_number, key_by_number[key_number], change)
        for (key_number,), change in process.evicted:
            output.apply(key_number, key_by_number[key_number], change, is_evicted=True)

        # After a restart, only the cells are left.
        if has_mishap and mishap is Mishap.RESTART:
            process = new_process(tested, evaluator, cells)
        yield output.results()


def reference_steps(tested: QueryUnderTest) -> Iterator[list[LiveResult]]:
    """Yield the live output after each step by the reference evaluator; of early results, the final ones."""
    stream = StreamHistory()
    progress = Progress()
    for batch in tested.batches:
        for step in batch.changes:
            stream.add(step)
        progress = progress.advance(progress_of(tested.query.window, batch))
        results: list[LiveResult] = []
        for key, changes in stream.accepted.items():
            results += _reference_results(tested, key, _in_order(tested, fold(changes)), progress)
        yield results


def _reference_results(
    tested: QueryUnderTest, key: Hashable, events: list[Event[Any]], progress: Progress
) -> Iterator[LiveResult]:
    """Yield the live results of one key by the reference evaluator, then the rows of its second output, if any.

    Args:
        tested: The query.
        key: The key.
        events: The events of the key, with their ends as last revised.
        progress: The progress of the whole input.
    """
    emit = EmitPolicy.FINAL if isinstance(tested.emit, EarlyEmission) else tested.emit
    for row in live_output(tested.reference_query, emit, events, progress):
        yield LiveResult(key, row.window, row.start, row.end, row.value)
    if isinstance(tested.query.computations[0].module, RowOperator):
        for row in evaluate_evicted(tested.reference_query, events, progress.watermark, progress.horizon):
            yield LiveResult(key, row.window, row.start, row.end, row.value, is_evicted=True)


def _in_order(tested: QueryUnderTest, events: Mapping[tuple[Hashable, int], Event[Any]]) -> list[Event[Any]]:
    """Return events as the reference takes them: sorted by their ids if rows have an order, otherwise as they came."""
    if not tested.has_order:
        return list(events.values())
    return [events[name] for name in sorted(events, key=lambda name: tested.ids[name[0]])]


def new_process(tested: QueryUnderTest, evaluator: str, cells: Cells) -> InMemory:
    """Return an evaluator as a new process has it: all that it knows is in the cells that earlier processes wrote."""
    return KEEPS_STATE[evaluator].in_memory(tested.plan(evaluator), cells, tested.codec)


def rows_of(tested: QueryUnderTest, batch: Batch) -> Iterator[tuple[Key, InputChange]]:
    """Yield the rows of a step as evaluators take them, each with its key."""
    for step in batch.changes:
        change = step.change
        payload = (*tested.values(change.event.payload), *tested.read_by_windows(change))
        yield (
            (tested.keys[step.key],),
            InputChange(
                id=tested.ids[change.id] if tested.has_ids else None,
                start=change.event.start,
                end=change.event.end,
                payload=payload,
                new_end=None if isinstance(change, Insertion) else change.new_end,
            ),
        )


def _crash(process: InMemory, cells: MemoryCells, rows: Sequence[tuple[Key, InputChange]], reported: Progress) -> None:
    """Evaluate a micro-batch, and then lose the cells that it wrote, as in a crash before they are committed."""
    committed = dict(cells.cells)
    process.process(rows, reported)
    cells.cells = committed
