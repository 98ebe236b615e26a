"""The storage of a bucket's state: named cells of bytes."""

from __future__ import annotations

from typing import Protocol


class Cells(Protocol):
    """Named cells of bytes, as a state store offers them. Every call costs, so the evaluator makes few."""

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Set a cell."""
        ...

    def remove(self, name: str) -> None:
        """Empty a cell."""
        ...


class MemoryCells:
    """Cells in memory, for static data and tests."""

    def __init__(self) -> None:
        self.cells: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty."""
        return self.cells.get(name)

    def put(self, name: str, data: bytes) -> None:
        """Set a cell."""
        self.cells[name] = data

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self.cells.pop(name, None)
