"""WID against buffering (thesis, figure 6-10): the largest payload of 4000 rows, every 1 to 4000 rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from benchmarks.shapes.array_ways import sliced_arrays, tagged_arrays, unsliced_arrays
from benchmarks.shapes.negative import negative_tuples
from benchmarks.shapes.panels import Panel
from benchmarks.shapes.rows import NumberedRows
from benchmarks.shapes.shared import base_intervals, paired_windows
from benchmarks.shapes.stopwatch import cpu_seconds
from benchmarks.shapes.ways import Outcome, Way, buffered, check_alike, sliced_states
from muntin import hopping, tumbling

RANGE: Final = 4000
SLIDES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000)
QUICK_SLIDES: Final = (100, 400, 1000, 4000)
AWKWARD_SLIDES: Final = (3, 30, 300, 1999)
"""Those that do not divide RANGE, so that slices are narrower than they are."""

WAYS: Final[dict[str, Way]] = {
    "buffering": buffered,
    "WID without slices": unsliced_arrays,
    "slices, Python states": sliced_states,
    "slices, arrays": sliced_arrays,
    "range tags, arrays": tagged_arrays,
}

COUNTED: Final[dict[str, Way]] = {
    "buffering": buffered,
    "negative tuples": negative_tuples,
    "paired windows": paired_windows,
    "base intervals": base_intervals,
    "WID without slices": unsliced_arrays,
    "slices, Python states": sliced_states,
}
"""Those of which the work is counted, row by row and merge by merge."""
COUNTED_SLIDES: Final = (100, 400, 1000, 4000)


def measure(*, is_quick: bool) -> Iterator[Panel]:
    """Yield processor seconds over SLIDE."""
    outcomes(NumberedRows(1000, 500), 10, 5)  # loads what is loaded at first use
    rows, repeats = NumberedRows(count=3 * RANGE if is_quick else 10 * RANGE, batch=RANGE), 1 if is_quick else 5
    title = f"largest of RANGE {RANGE} rows, {rows.count:,} rows"
    reading, _ = cpu_seconds(lambda: sliced_arrays(tumbling(rows.count), rows), repeats)
    levels = {"one window over all rows, arrays": reading}
    yield _over_slides(title, rows, QUICK_SLIDES if is_quick else SLIDES, repeats, levels)
    yield _over_slides(f"{title}, SLIDE no divisor", rows, AWKWARD_SLIDES[is_quick:], repeats)
    yield touches(NumberedRows(3 * RANGE, RANGE))


def touches(rows: NumberedRows, size: int = RANGE, slides: Sequence[int] = COUNTED_SLIDES) -> Panel:
    """Return how often each way touches a row, or merges a state, per row of the stream."""
    series: dict[str, list[float]] = {name: [] for name in COUNTED}
    for slide in slides:
        found = {name: way(hopping(size, slide), rows) for name, way in COUNTED.items()}
        check_alike(list(found.values()))
        for name, outcome in found.items():
            series[name].append((outcome.touched.payloads + outcome.touched.merges) / rows.count)
    return Panel(
        f"work of RANGE {size} rows", "SLIDE, rows", "touches and merges per row", slides, series, is_drawn=False
    )


def outcomes(rows: NumberedRows, size: int, slide: int) -> dict[str, Outcome]:
    """Return the outcome of each way on a stream."""
    return {name: way(hopping(size, slide), rows) for name, way in WAYS.items()}


def _over_slides(
    title: str, rows: NumberedRows, slides: Sequence[int], repeats: int, levels: Mapping[str, float] | None = None
) -> Panel:
    columns = [_seconds(rows, slide, repeats) for slide in slides]
    series = {name: [column[name] for column in columns] for name in WAYS}
    return Panel(
        title, "SLIDE, rows", "processor seconds", slides, series, levels or {}, log_axes="xy", is_drawn=bool(levels)
    )


def _seconds(rows: NumberedRows, slide: int, repeats: int) -> dict[str, float]:
    """Return the seconds that each way takes, and see that all give the same."""
    windows = hopping(RANGE, slide)
    timed = {name: cpu_seconds(partial(way, windows, rows), repeats) for name, way in WAYS.items()}
    check_alike([outcome for _, outcome in timed.values()])
    return {name: seconds for name, (seconds, _) in timed.items()}
