"""Docstrings as griffe reads them for the pages of names."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import griffe

from docs.website.cross_links import targets_of, with_cross_links
from docs.website.names import entries_of

_PAGES: Final = Path(__file__).parents[1] / "reference"

_EXAMPLE: Final = re.compile(r"^( *)Example:$", re.MULTILINE)


class HouseDocstrings(griffe.Extension):
    """Read docstrings in the layout of the house."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, when an object has been read."""
        if obj.docstring is not None:
            obj.docstring.value = with_cross_links(as_read(obj.docstring.value), _targets())


def as_read(docstring: str) -> str:
    r"""Return a docstring with `Example:` as the section that it is.

    Example:
        >>> as_read("Return one.\n\nExample:")
        'Return one.\n\nExamples:'
    """
    return _EXAMPLE.sub(r"\1Examples:", docstring)


@cache
def _targets() -> dict[str, str]:
    texts = (page.read_text(encoding="utf-8") for page in sorted(_PAGES.glob("*.md")))
    return targets_of(entry.name for text in texts for entry in entries_of(text) if not entry.is_command)
