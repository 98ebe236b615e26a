"""Cells that say how much is written to them."""

from __future__ import annotations

from muntin_engine.state.cells import Cells


class MeasuredCells:
    """Other cells.

    Attributes:
        written: How many bytes were written since these were made.
    """

    def __init__(self, cells: Cells) -> None:
        self.written = 0
        self._cells = cells

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty."""
        return self._cells.get(name)

    def put(self, name: str, data: bytes) -> None:
        """Set a cell."""
        self.written += len(data)
        self._cells.put(name, data)

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._cells.remove(name)
