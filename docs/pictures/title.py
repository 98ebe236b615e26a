"""The picture of the first page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.pictures.bars import counted
from docs.pictures.modules import Range
from docs.pictures.picture import Picture
from muntin import snapshot
from muntin.drawings import Bar
from muntin.testing import Script

RIDES: Final = Script().insert("ride 1", 0, 20, 3.0).insert("ride 2", 5, 15, 1.5).insert("ride 3", 10, 30, 4.0).close()


def pictures() -> Iterator[Picture]:
    """Yield it."""
    rides = [
        Bar(str(id), event.start, event.end, f"{event.payload} km") for (id, _), event in RIDES.history()[None].items()
    ]
    windows = counted(RIDES, snapshot(), Range())
    yield Picture("title", "three rides, and their spread in every snapshot window", [*rides, "", *windows])
