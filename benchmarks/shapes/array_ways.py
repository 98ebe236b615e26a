"""Ways to compute the largest payload of each window, each with parts of the engine: those on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from benchmarks.shapes.largest import LargestOnArrays, Touched
from benchmarks.shapes.rows import Arrival, NumberedRows, rows_of
from benchmarks.shapes.ways import Answers, Outcome
from muntin import tumbling
from muntin.schemas import describe
from muntin.windows import HoppingWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import WindowGrid
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.coding import expanded
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.lifting import lift_rows
from muntin_engine.evaluators.arrays.results import Closed, form_results
from muntin_engine.evaluators.arrays.stores import grid_query
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.progress import ProgressTracker
from muntin_engine.progress.report import InputReport
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores

MOST_COPIES: Final = 1 << 16
"""So many copies of rows are made at a time: about what stays in a processor's cache."""

_LEAST_ROWS: Final = 256
"""But so many rows at least."""

_Pieces: TypeAlias = Callable[[Arrival], Iterator[Arrival]]
"""Cuts a micro-batch into what is lifted at a time."""


def sliced_arrays(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep a partial state per slice, and make all windows of them at once."""
    return _run(SliceGrid.of(windows), rows, _whole)


def tagged_arrays(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep a partial state per run of slices: what the engine does with events that have lifetimes."""
    return _run(SliceGrid.of(windows), rows, _whole, are_runs=True)


def unsliced_arrays(windows: HoppingWindows, rows: NumberedRows) -> Outcome:
    """Keep a partial state per window, and add each row to all of its windows: WID without slices.

    A window is tagged as a run of its own that ends where the window does, so it is complete when it should be.
    """
    lead = windows.size - windows.hop
    of = WindowGrid.of(windows)
    most = max(_LEAST_ROWS, MOST_COPIES * windows.hop // windows.size)

    def copies(arrival: Arrival) -> Iterator[Arrival]:
        for start in range(0, len(arrival.ticks), most):
            some = arrival.since(start, start + most)
            first = of.first_ending_after(some.ticks)
            places, within = expanded(of.last_starting_before(some.ticks + 1) - first + 1)
            ticks = windows.offset + lead + (first[places] + within) * windows.hop
            yield Arrival(ticks, some.keys[places], some.payloads[places], some.progress)

    return _run(SliceGrid.of(tumbling(windows.hop, windows.offset + lead)), rows, copies, lead, are_runs=True)


def _whole(arrival: Arrival) -> Iterator[Arrival]:
    yield arrival


def _run(grid: SliceGrid, rows: NumberedRows, pieces: _Pieces, lead: int = 0, *, are_runs: bool = False) -> Outcome:
    """Run a stream through a bucket.

    Args:
        grid: How rows are numbered along the axis.
        rows: The stream.
        pieces: What to lift of a micro-batch.
        lead: How far the ticks of these lie ahead of the rows.
        are_runs: True if each row is a run of slices, as if it had a lifetime.
    """
    outcome = Outcome({}, Touched())
    form = BoundForm(LargestOnArrays(outcome.touched), "shapes.largest 1.0.0", (0,), (describe(float, "payload"),))

    query, cells, kept = grid_query([grid], lambda: FormEntries([form]), at_end=False), MemoryCells(), KeptStores()
    bucket = ArrayBucket(query, [ProgressTracker()], cells, Codec(), Compatibility({}), kept, "bucket")
    for arrival in rows.arrivals():
        blobs = [
            blob.blob
            for piece in pieces(arrival)
            for blob in lift_rows(grid, [form], rows_of(piece, are_ranges=are_runs))
        ]
        progress = arrival.progress._replace(horizon=arrival.progress.horizon + lead)
        for closed in bucket.run_batch(blobs, [InputReport(progress)]).outcome.output:
            outcome.answers.update(_answers(grid, form, closed))
    return outcome


def _answers(grid: SliceGrid, form: BoundForm, closed: Closed) -> Answers:
    counted = grid.windows.counted
    keys = closed.keys.column("k0").to_pylist()
    windows = ((closed.windows.low - counted.offset) // counted.hop).tolist()
    results = form_results(form, 0, closed.windows).tolist()
    return dict(zip(zip(keys, windows, strict=True), results, strict=True))
