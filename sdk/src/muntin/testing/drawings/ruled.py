"""Drawings in ASCII: lifetimes, windows and streams as one would sketch them on paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from muntin.testing.drawings.bar import Bar

_COLUMNS: Final = 60
_GAP: Final = 10


def ruled(rows: Iterable[Bar | str]) -> str:
    """Return bars drawn below a ruler of ticks; text stays as it is."""
    lines = list(rows)
    bars = [row for row in lines if isinstance(row, Bar)]
    if not bars:
        return "\n".join(map(str, lines))
    ruler = _Ruler.over(bars)
    indent = max(len(bar.label) for bar in bars) + 2
    drawn = [ruler.draw(row, indent) if isinstance(row, Bar) else row for row in lines]
    return "\n".join([(" " * indent + ruler.labels()).rstrip(), *drawn])


@dataclass(frozen=True, slots=True)
class _Ruler:
    low: int
    high: int
    scale: int

    @classmethod
    def over(cls, bars: Sequence[Bar]) -> _Ruler:
        ends = [bar.end for bar in bars if not bar.is_open]
        starts = [bar.start for bar in bars if not bar.has_no_start] or [0]
        low, high = min(starts), max([*ends, *(start + 1 for start in starts)])
        return cls(low, high, max(1, -(-(high - low) // _COLUMNS)))

    def column(self, tick: int) -> int:
        return (max(tick, self.low) - self.low) // self.scale

    def labels(self) -> str:
        gap = max(_GAP, len(str(self.high)) + 2)
        ticks = range(self.low, self.high + 1, gap * self.scale)
        return "".join(str(tick).ljust(gap) for tick in ticks)

    def draw(self, bar: Bar, indent: int) -> str:
        width = self.column(self.high) + 2
        body = " " * self.column(bar.start) + self._shape(bar)
        return f"{bar.label.ljust(indent)}{body.ljust(width)}  {bar.note}".rstrip()

    def _shape(self, bar: Bar) -> str:
        if bar.is_mark:
            return "!"
        length = self.column(self.high if bar.is_open else bar.end) - self.column(bar.start) - 1
        return "[" + "-" * max(0, length) + (">" if bar.is_open else ")")
