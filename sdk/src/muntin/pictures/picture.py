"""A drawing as a picture."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import Axis
from muntin.drawings import Bar, Drawing
from muntin.pictures.layout import extent_of
from muntin.pictures.svg import render


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing as SVG, which scales with the width of its page and follows a light or dark scheme.

    A notebook shows the picture, and a prompt of Python shows the drawing as text.

    Attributes:
        drawing: The drawing. Its title is the alternative text of the picture.

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
        """Return the picture as SVG; the same drawing always gives the same text.

        Letters are readable if the picture is at least 340 pixels wide.
        """
        return render(self.drawing, self.description)

    def __repr__(self) -> str:
        return str(self.drawing)

    def _repr_svg_(self) -> str:
        return self.svg()


def _spell(row: Bar | str, axis: Axis) -> str:
    """Describe a row of a drawing in words."""
    if isinstance(row, str):
        return row.strip("-= ")  # without the line beside a text such as "------- batch"
    extent = extent_of(row, axis)
    text = f"{row.label} {extent}" if row.label else extent
    if row.note:
        text += f": {row.note}"
    if row.is_struck:
        text += ", retracted"
    return text
