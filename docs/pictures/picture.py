"""A picture of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.drawings import Bar, Drawing
from muntin_cli import pictures


@dataclass(frozen=True)
class Picture:
    """A drawing under a name, with the kinds of windows and the policies that it is a picture of.

    Attributes:
        name: The name of its file, without the ending.
        title: What it shows, in a few words.
        rows: From top to bottom.
        shows: Functions of `muntin.windows`, kinds of plugins, and members of policies.
    """

    name: str
    title: str
    rows: Sequence[Bar | str]
    shows: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def svg(self) -> str:
        """Return it as SVG."""
        return pictures.Picture(Drawing(self.rows, self.title)).svg()
