"""Cells with a checksum each, so that damage is found before anything is made of it."""

from __future__ import annotations

import zlib
from typing import Final

from muntin_engine.errors import StateError
from muntin_engine.state.cells import Cells

CHECKSUM_BYTES: Final = 4
"""A cell begins with so many bytes: a CRC-32 of its name and of what follows."""


class CheckedCells:
    """Other cells.

    Cost: a pass of CRC-32 over what is read and written, about a millisecond per megabyte, and a copy of it.
    """

    def __init__(self, cells: Cells, owner: str = "") -> None:
        """Check some cells.

        Args:
            cells: They.
            owner: Whose they are, for an error to say.
        """
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
        """Set a cell."""
        self._cells.put(name, seal(name, data))

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._cells.remove(name)


def seal(name: str, data: bytes) -> bytes:
    """Return the bytes of a cell with their checksum, in which the name counts: a cell is not another's."""
    return _checksum(name, data) + data


def unseal(name: str, sealed: bytes, owner: str = "") -> bytes:
    """Return the bytes that `seal` was given.

    Raises:
        StateError: They are not what was sealed under this name.
    """
    data = sealed[CHECKSUM_BYTES:]
    if len(sealed) < CHECKSUM_BYTES or _checksum(name, data) != sealed[:CHECKSUM_BYTES]:
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
