"""Rows, states, or whichever is less (thesis, figure 6-19 a): memory over data sets of growing skew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, Protocol

from benchmarks.shapes.packet_modules import LengthHistogram, TotalLength
from benchmarks.shapes.packets import DATA_SETS, Packets
from benchmarks.shapes.panels import Panel
from benchmarks.shapes.rows import Arrival, group
from benchmarks.shapes.stopwatch import cpu_seconds
from muntin import IncrementalAggregate, hopping, tumbling
from muntin.windows import HoppingWindows
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket
from muntin_engine.evaluators.arrays.slice_store import Taken
from muntin_engine.evaluators.slices.adaptive import Mode
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.state_lifting import lift
from muntin_engine.evaluators.slices.states import Delta, StateStore
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores

MODES: Final[tuple[Mode, ...]] = ("lazy", "eager", "adaptive")
SECOND: Final = 1000
"""A second in ticks."""

_UNITS: Final = {
    "held": "most memory that waits for windows, KB",
    "closing": "most memory right after windows were made, KB",
    "stored": "most state in cells, KB",
    "seconds": "processor seconds",
}


class Figures(NamedTuple):
    """The cost of a mode, in kilobytes and seconds."""

    held: float
    closing: float
    stored: float
    seconds: float


@dataclass(frozen=True)
class Case:
    """A question about packets, by host.

    Attributes:
        title: It in words.
        windows: Its windows.
        module: What is computed.
    """

    title: str
    windows: HoppingWindows
    module: IncrementalAggregate[Any, Any, Any]

    def packets(self, data_set: str, per_window: int) -> Packets:
        """Return the packets of a data set."""
        return Packets(DATA_SETS[data_set], per_window, self.windows.size, windows=3, batches=10)


CASES: Final = (
    Case("histogram, 1 s", tumbling(SECOND), LengthHistogram()),
    Case("histogram, 10 s every 1 s", hopping(10 * SECOND, SECOND), LengthHistogram()),
    Case("sum, 10 s every 1 s", hopping(10 * SECOND, SECOND), TotalLength()),
)


class Arriving(Protocol):
    """A stream."""

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the micro-batches."""
        ...


@dataclass
class Peak:
    """The most there was at any time.

    Attributes:
        held: Bytes of rows and states after a batch was taken.
        closing: The same after windows were made, before they are forgotten.
        stored: Bytes of the cells of the bucket.
        answers: The results, by key and window.
    """

    held: int = 0
    closing: int = 0
    stored: int = 0
    answers: dict[tuple[Any, int], Any] = field(default_factory=dict)


class WatchedStore(StateStore):
    """A store that takes note of how much it held."""

    def __init__(self, query: SlicedQuery, peak: Peak) -> None:
        super().__init__(query)
        self._peak = peak

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Delta]:
        """Merge a batch."""
        taken = super().take(blobs, first_legal)
        self._peak.held = max(self._peak.held, sum(self.memory()))
        return taken

    def close(self, place: int, first: int, last: int) -> list[WindowRuns]:
        """Return windows."""
        closed = super().close(place, first, last)
        self._peak.closing = max(self._peak.closing, sum(self.memory()))
        return closed


def run(case: Case, packets: Arriving, mode: Mode, *, is_watched: bool = True) -> Peak:
    """Run packets through a bucket; to watch its memory takes time."""
    peak, cells = Peak(), MemoryCells()
    query = SlicedQuery.of([SliceGrid.of(case.windows)], [Binding(case.module, itemgetter(0))], 1, Codec(), mode)
    make_store = partial(WatchedStore, query, peak) if is_watched else partial(StateStore, query)
    bucket: SliceBucket[WindowRuns] = SliceBucket(
        query.grids, make_store, cells, query.codec, Compatibility({}), KeptStores(), "bucket"
    )
    for arrival in packets.arrivals():
        blobs = [lift(query, group(query.grids[0], arrival))] if len(arrival.ticks) else []
        for runs in bucket.process(blobs, arrival.progress).output:
            peak.answers.update({(key, window): values for key, window, values in runs.rows()})
        peak.stored = max(peak.stored, sum(map(len, cells.cells.values())))
    return peak


def measure(*, is_quick: bool) -> Iterator[Panel]:
    """Yield the figures of each question over the data sets; those that wait for their windows are drawn."""
    per_window = 3000 if is_quick else 30_000
    for case in CASES:
        found = {name: _compare(case, case.packets(name, per_window)) for name in DATA_SETS}
        for up in Figures._fields:
            figures: dict[str, list[float]] = {
                mode: [getattr(found[name][mode], up) for name in DATA_SETS] for mode in MODES
            }
            yield Panel(case.title, "data set", _UNITS[up], list(DATA_SETS), figures, is_drawn=up == "held")


def _compare(case: Case, packets: Packets) -> dict[Mode, Figures]:
    """Return the figures of each mode, and see that all give the same."""
    peaks = {mode: run(case, packets, mode) for mode in MODES}
    first, *others = (peak.answers for peak in peaks.values())
    assert all(answers == first for answers in others), "two modes gave different answers"
    return {mode: _figures(peak, partial(run, case, packets, mode, is_watched=False)) for mode, peak in peaks.items()}


def _figures(peak: Peak, again: Callable[[], Peak]) -> Figures:
    seconds, _ = cpu_seconds(again, 1)
    return Figures(peak.held / 1e3, peak.closing / 1e3, peak.stored / 1e3, seconds)
