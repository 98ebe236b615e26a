"""All pictures of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from pictures import clips, early, emission, events, guides, late, progress, slices, timestamps, windows
from pictures.picture import Picture

FOLDER: Final = Path(__file__).parents[1] / "docs" / "pictures"
"""Where they are kept."""


def album() -> Iterator[Picture]:
    """Yield them all."""
    chapters = (events, windows, clips, timestamps, emission, progress, late, early, slices, guides)
    return chain.from_iterable(chapter.pictures() for chapter in chapters)
