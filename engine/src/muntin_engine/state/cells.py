"""The storage of a bucket's state: named cells of bytes, with a checksum each, and their sizes."""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple, Protocol

from muntin_engine.errors import StateError


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


CHECKSUM_BYTES: Final = 4
"""A cell begins with so many bytes: a CRC-32 of its name and of what follows."""


class CheckedCells:
    """Other cells, with a checksum each.

    Cost: a pass of CRC-32 over what is read and written, about a millisecond per megabyte, and a copy of it.

    Attributes:
        written: How many bytes were written since these were made, without checksums.
    """

    def __init__(self, cells: Cells, owner: str = "") -> None:
        """Check some cells.

        Args:
            cells: They.
            owner: Whose they are, for an error to say.
        """
        self.written = 0
        self._cells = cells
        self._owner = owner

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty.

        Raises:
            StateError: They are not what was put there.
        """
        sealed = self._cells.get(name)
        return None if sealed is None else unseal(name, sealed, self._owner)

    def put(self, name: str, data: bytes) -> None:
        """Set a cell, with a checksum in which its name counts: a cell is not another's."""
        self.written += len(data)
        self._cells.put(name, _checksum(name, data) + data)

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._cells.remove(name)


def unseal(name: str, sealed: bytes, owner: str = "") -> bytes:
    """Return the bytes of a cell without their checksum.

    Raises:
        StateError: They are not what was put there under this name.
    """
    data = sealed[CHECKSUM_BYTES:]
    if sealed[:CHECKSUM_BYTES] != _checksum(name, data):
        raise damaged(name, f"its {len(sealed):,} bytes do not have the checksum that they were written with", owner)
    return data


def _checksum(name: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(name.encode())).to_bytes(CHECKSUM_BYTES, "little")


def damaged(name: str, reason: str, owner: str = "") -> StateError:
    """Return the error that says that a cell is not what it was."""
    return StateError(
        f"the state in the checkpoint is damaged: the cell {name!r}{f' of {owner}' if owner else ''}: {reason}\n"
        "  nothing was computed from it: restore the checkpoint from a copy, or start with a new checkpoint;\n"
        "  look at the disk, or whatever keeps the checkpoint, before"
    )


class HeldState(NamedTuple):
    """The sizes of the state of a bucket, or of a part of one.

    Attributes:
        bytes: The size of its cells.
        keys: The number of keys with state.
        events: The number of their events.
        windows: The number of windows that have been emitted and may still change.
    """

    bytes: int = 0
    keys: int = 0
    events: int = 0
    windows: int = 0
