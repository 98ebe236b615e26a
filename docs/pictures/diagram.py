"""A diagram of the documentation."""

from __future__ import annotations

from dataclasses import dataclass

from muntin_cli.pictures import diagram
from muntin_cli.pictures.diagram import Arrow, Box


@dataclass(frozen=True, slots=True)
class Diagram:
    """Rows of boxes and of arrows under a name.

    Attributes:
        name: The name of its file, without the ending.
        title: What it shows, in a few words.
        rows: What stands beside each other.
        shows: The kinds of windows and the policies that it is a picture of: none.
    """

    name: str
    title: str
    rows: tuple[tuple[Box | Arrow, ...], ...]
    shows: tuple[object, ...] = ()

    def svg(self) -> str:
        """Return it as SVG."""
        return diagram.Diagram(self.title, self.rows).svg()
