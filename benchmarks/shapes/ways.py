"""Ways to compute the largest payload of each window, each with parts of the engine: those in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from benchmarks.shapes.largest import LargestOfAll, LargestSoFar, Touched
from benchmarks.shapes.rows import Arrival, NumberedRows, group
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import InputChange, Key
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.state_lifting import lift
from muntin_engine.evaluators.slices.states import StateStore
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
    bucket = Bucket(query, MemoryCells(), Codec(), {})
    for arrival in rows.arrivals():
        for (key,), output in bucket.process(_changes(arrival).items(), arrival.progress).output:
            starts = ((change.window.start - windows.offset, change.value[0]) for change in output)
            outcome.answers.update({(key, start // windows.hop): value for start, value in starts})
    return outcome


def sliced_states(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep a Python state per slice, and merge those of each window."""
    outcome = Outcome({}, Touched())
    binding = Binding(LargestSoFar(outcome.touched), itemgetter(0))
    query = SlicedQuery.of([SliceGrid.of(windows)], [binding], 1, Codec())
    bucket: SliceBucket[WindowRuns] = SliceBucket(
        query.grids, lambda: StateStore(query), MemoryCells(), query.codec, Compatibility({}), KeptStores(), "bucket"
    )
    for arrival in rows.arrivals():
        blobs = [lift(query, group(query.grids[0], arrival))] if len(arrival.ticks) else []
        for runs in bucket.process(blobs, arrival.progress).output:
            outcome.answers.update({(key, window): value for (key,), window, (value,) in runs.rows()})
    return outcome


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
