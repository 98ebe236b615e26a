"""The result of a measurement: figures over one axis, as a table and for a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_FEW: Final = 10


@dataclass(frozen=True)
class Panel:
    """Figures over one axis.

    Attributes:
        title: Above them.
        across: What the axis is.
        up: What the figures are.
        places: The values of the axis.
        series: For each line a figure for each place.
        levels: Figures to compare with, by what they are.
        log_axes: Which axes are logarithmic: "x", "xy" or neither.
        is_drawn: False if it is only for the table.
    """

    title: str
    across: str
    up: str
    places: Sequence[int | str]
    series: Mapping[str, Sequence[float]]
    levels: Mapping[str, float] = field(default_factory=dict)
    log_axes: str = ""
    is_drawn: bool = True

    def table(self) -> str:
        """Return the figures as a table in Markdown."""
        return "\n".join([f"{self.title}: {self.up}", "", *self._lines(), *self._footer()])

    def _lines(self) -> Iterator[str]:
        yield _line([self.across, *self.series])
        yield _line(["---:"] * (len(self.series) + 1))
        for number, place in enumerate(self.places):
            yield _line([str(place), *(show(figures[number]) for figures in self.series.values())])

    def _footer(self) -> Iterator[str]:
        for name, figure in self.levels.items():
            yield f"\n{name}: {show(figure)}"


def show(figure: float) -> str:
    """Return a figure with three digits or more."""
    return f"{figure:,.{0 if figure >= _FEW**2 else 1 if figure >= _FEW else 2 if figure >= 1 else 3}f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
