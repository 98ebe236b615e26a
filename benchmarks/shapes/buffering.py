"""WID against buffering (thesis, figure 6-10): the largest payload of 4000 rows, every 1 to 4000 rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from benchmarks.shapes.array_ways import sliced_arrays, tagged_arrays, unsliced_arrays
from benchmarks.shapes.panels import Panel
from benchmarks.shapes.rows import NumberedRows
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


def measure(*, is_quick: bool) -> Iterator[Panel]:
    """Yield processor seconds over SLIDE."""
    outcomes(NumberedRows(1000, 500), 10, 5)  # loads what is loaded at first use
    rows, repeats = NumberedRows(count=3 * RANGE if is_quick else 10 * RANGE, batch=RANGE), 1 if is_quick else 5
    title = f"largest of RANGE {RANGE} rows, {rows.count:,} rows"
    reading, _ = cpu_seconds(lambda: sliced_arrays(tumbling(rows.count), rows), repeats)
    levels = {"one window over all rows, arrays": reading}
    yield _over_slides(title, rows, QUICK_SLIDES if is_quick else SLIDES, repeats, levels)
    yield _over_slides(f"{title}, SLIDE no divisor", rows, AWKWARD_SLIDES[is_quick:], repeats)


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
