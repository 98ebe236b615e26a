"""A drawing as a picture."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import Axis
from muntin.drawings import Bar, Drawing
from muntin.pictures.layout import extent_of
from muntin.pictures.svg import render


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing as SVG that scales to the width it gets and follows a light or dark scheme; a notebook shows it.

    A prompt shows the drawing as text.

    Attributes:
        drawing: The drawing. Its title begins the alternative text.

    Example:
        >>> picture = Picture(Drawing([Bar("a", 1, 4), Bar("b", 3, 8)], "two events"))
        >>> picture.svg().partition(" ")[0], picture.description
        ('<svg', 'a [1, 4); b [3, 8)')
    """

    drawing: Drawing

    @property
    def description(self) -> str:
        """The content in words, for readers who cannot see it."""
        return "; ".join(_spell(row, self.drawing.axis) for row in self.drawing.rows if row)

    def svg(self) -> str:
        """Return the picture; the same drawing gives the same text.

        Letters are readable from 340 pixels of width on.
        """
        return render(self.drawing, self.description)

    def __repr__(self) -> str:
        return str(self.drawing)

    def _repr_svg_(self) -> str:
        return self.svg()


def _spell(row: Bar | str, axis: Axis) -> str:
    """Describe a row of a drawing in words."""
    if isinstance(row, str):
        return row.strip("-= ")
    text = " ".join(part for part in (row.label, extent_of(row, axis)) if part)
    if row.note:
        text += f": {row.note}"
    if row.is_struck:
        text += ", retracted"
    return text
