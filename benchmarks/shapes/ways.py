"""Ways to compute the largest payload of each window, each with parts of the engine: those in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from benchmarks.shapes.largest import LargestOfAll, LargestSoFar, Touched
from benchmarks.shapes.rows import Arrival, NumberedRows, rows_of
from muntin import IncrementalAggregate
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import InputChange, Key
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_modules import StateModules, lift_states
from muntin_engine.evaluators.arrays.stores import GridStore, grid_query
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.progress import ProgressTracker
from muntin_engine.progress.report import InputReport
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores

Answers: TypeAlias = dict[tuple[int, int], float]
"""The largest payload of each window, by key and number of the window."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a way on a stream.

    Attributes:
        answers: Its results.
        touched: The work of the modules.
    """

    answers: Answers
    touched: Touched


Way: TypeAlias = Callable[[HoppingWindows, NumberedRows], Outcome]
"""Computes the largest payload of each window."""


def buffered(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep the rows, and compute each window from all its members: the general evaluator with a plain aggregate."""
    outcome = Outcome({}, Touched())
    query = EvaluatorQuery(windows, (Binding(LargestOfAll(outcome.touched), itemgetter(0)),), has_ids=False)
    bucket = KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {})
    for arrival in rows.arrivals():
        for (key,), output in bucket.process(_changes(arrival).items(), arrival.progress).output:
            starts = ((change.window.start - windows.offset, change.value[0]) for change in output)
            outcome.answers.update({(key, start // windows.hop): value for start, value in starts})
    return outcome


def sliced_states(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep a Python state per slice, and merge those of each window."""
    touched = Touched()
    return Outcome(run_states(windows, LargestSoFar(touched), rows.arrivals()), touched)


def run_states(
    windows: HoppingWindows,
    module: IncrementalAggregate[Any, Any, Any],
    arrivals: Iterable[Arrival],
    make_store: Callable[[Sequence[SliceGrid], Entries], GridStore] = GridStore,
) -> Answers:
    """Return the results of a module whose states are kept per slice.

    Args:
        windows: The windows.
        module: The module.
        arrivals: The micro-batches.
        make_store: Makes an empty store.
    """
    grids, codec, answers = SliceGrid.shared([windows]), Codec.of([module]), Answers()
    modules = StateModules([Binding(module, itemgetter(0))], codec)
    cells, kept = MemoryCells(), KeptStores()

    def entries() -> StateEntries:
        return StateEntries(modules, grids)

    query = grid_query(grids, entries, at_end=False)._replace(make_store=lambda: make_store(grids, entries()))
    bucket = ArrayBucket(query, [ProgressTracker()], cells, codec, Compatibility({}), kept, "bucket")
    for arrival in arrivals:
        blobs = [blob.blob for blob in lift_states(modules, grids, rows_of(arrival))]
        for closed in bucket.run_batch(blobs, [InputReport(arrival.progress)]).outcome.output:
            numbers = ((closed.windows.low - windows.offset) // windows.hop).tolist()
            ((values,), keys) = closed.values or ((),), closed.keys.column("k0").to_pylist()
            each = zip(keys, numbers, map(values.__getitem__, closed.results.tolist()), strict=True)
            answers.update({(key, number): value for key, number, value in each})
    return answers


def check_alike(outcomes: Sequence[Outcome]) -> None:
    """See that all ways gave the same.

    Raises:
        AssertionError: They did not.
    """
    first, *others = (outcome.answers for outcome in outcomes)
    assert first, "there is no answer"
    assert all(answers == first for answers in others), "two ways gave different answers"


def _changes(arrival: Arrival) -> dict[Key, list[InputChange]]:
    changes: dict[Key, list[InputChange]] = defaultdict(list)
    columns = arrival.keys.tolist(), arrival.ticks.tolist(), arrival.payloads.tolist()
    for key, tick, payload in zip(*columns, strict=True):
        changes[(key,)].append(InputChange(None, tick, tick + 1, (payload,)))
    return changes
