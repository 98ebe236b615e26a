"""A drawing, and its two forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.testing.drawings.bar import Bar
from muntin.testing.drawings.ruled import ruled
from muntin.testing.drawings.svg import render


@dataclass(frozen=True)
class Drawing:
    """Bars and lines of text along one axis, from top to bottom.

    `str(drawing)` is the drawing in ASCII, `drawing.svg()` a picture of the same; a notebook shows the picture.

    Attributes:
        rows: Bars, and text between them. An empty text is a gap.
        title: The subject, in a few words; a picture's alternative text begins with it.

    Example:
        >>> drawing = Drawing([Bar("a", 1, 4), Bar("b", 3, 8)], "two events")
        >>> print(drawing)
           1
        a  [--)
        b    [----)
        >>> drawing.svg().partition(" ")[0]
        '<svg'
        >>> drawing.description
        'a [1, 4); b [3, 8)'
    """

    rows: Sequence[Bar | str]
    title: str = "a time line"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def __str__(self) -> str:
        return ruled(self.rows)

    @property
    def description(self) -> str:
        """The content in words, for readers who cannot see it."""
        return "; ".join(_spell(row) for row in self.rows if row)

    def svg(self) -> str:
        """Return a picture: SVG that scales to the width it gets and follows a light or dark scheme.

        The same drawing gives the same text. Letters are readable from 340 pixels of width on.
        """
        return render(self.rows, self.title, self.description)

    def _repr_svg_(self) -> str:
        return self.svg()


def _spell(row: Bar | str) -> str:
    if isinstance(row, str):
        return row.strip("-= ")
    where = " ".join(part for part in (row.label, row.extent) if part)
    said = f"{where}: {row.note}" if row.note else where
    return f"{said}, retracted" if row.is_struck else said
