"""All pictures of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from docs.pictures import (
    benchmark,
    changes,
    clips,
    early,
    emission,
    events,
    guides,
    joins,
    late,
    overview,
    progress,
    railroads,
    rows,
    slices,
    timestamps,
    title,
    windows,
)
from docs.pictures.chart import Chart
from docs.pictures.panels import Panels
from docs.pictures.picture import Picture
from docs.pictures.railroads import Railroad

FOLDER: Final = Path(__file__).parent
"""Where they are kept: beside the code that draws them."""


def album() -> Iterator[Picture | Chart | Panels | Railroad]:
    """Yield them all."""
    chapters = (
        title,
        overview,
        benchmark,
        events,
        changes,
        joins,
        windows,
        rows,
        clips,
        timestamps,
        emission,
        progress,
        late,
        early,
        slices,
        guides,
        railroads,
    )
    return chain.from_iterable(chapter.pictures() for chapter in chapters)
