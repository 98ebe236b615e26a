"""How windows are made of slices, and what a row costs."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.bars import bare, counted, lifetimes
from docs.pictures.picture import Picture
from muntin import hopping, tumbling
from muntin.drawings import Bar
from muntin.testing import Script
from muntin_engine.core.slice_grid import SliceGrid
from muntin_stats import Count


def pictures() -> Iterator[Picture]:
    """Yield one picture of slices of any ratio, and one of a row with many windows."""
    points = Script().point("a", 1).point("b", 3).point("c", 4).point("d", 7).point("e", 10).point("f", 11).close()
    window = hopping(6, 4)
    slices = tumbling(SliceGrid.of(window).cycle)
    dots = [Bar("rows", bar.start, bar.end) for bar in lifetimes(points)]
    rows = [*dots, *counted(points, slices, Count(), "slices"), *counted(points, window, Count())]
    title = "windows of 6 ticks every 4 are made of slices of 2; each row is counted once, in its slice"
    yield Picture("slices", title, rows)
    one, often = Script().point("row", 13).close(), hopping(12, 2)
    slice = bare(counted(one, tumbling(SliceGrid.of(often).cycle), Count(), "slice"))
    title = "a row that is a member of six windows, and is merged into one slice"
    yield Picture("one-row", title, [*lifetimes(one), *slice, *bare(counted(one, often, Count()))])
