"""The storage of a bucket's state: named cells of bytes, with a checksum each, and their sizes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple, Protocol

import msgpack

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


METADATA: Final = "metadata"
"""The name of the cell that holds a bucket's metadata; it is read first and written last, in every micro-batch."""

_HEAD: Final = Struct("<I36siq")
"""A cell begins with a CRC-32 of its name and of what follows, and its origin."""

_CHECKSUM: Final = Struct("<I")


class Origin(NamedTuple):
    """The place and the time that a cell belongs to.

    Attributes:
        query: The id that Spark gave the query, which it keeps in the checkpoint wherever that is copied to.
        bucket: The id of the bucket.
        batch: The micro-batch that wrote the cell.
    """

    query: str = ""
    bucket: int = -1
    batch: int = -1

    def __str__(self) -> str:
        return f"of bucket {self.bucket} in micro-batch {self.batch} of the Spark query {self.query or '(none)'}"


class SealedCell(NamedTuple):
    """A cell as it was written.

    Attributes:
        checksum: The checksum of its name, origin and bytes.
        origin: Its origin.
        data: Its bytes.
    """

    checksum: int
    origin: Origin
    data: bytes


class CheckedCells:
    """Other cells, each with a checksum and its origin.

    The metadata list all other cells by their checksums, so one that is of another time or place is told by them, and
    the metadata themselves by their origin: they are written in every micro-batch in which the bucket is evaluated.

    The metadata are read back once they are written: a module that replaces code of the worker, such as `struct.pack`,
    would otherwise leave a checkpoint that nobody can read.

    Cost: a pass of CRC-32 over what is read and written, about a millisecond per megabyte, and a copy of it; one more
    read in each micro-batch.

    Attributes:
        written: How many bytes were written since these were made, without checksums and origins.
    """

    def __init__(
        self,
        cells: Cells,
        owner: str = "",
        origin: Origin | None = None,
        was_idle: Callable[[int], bool] = lambda first: False,
    ) -> None:
        """Check some cells.

        Args:
            cells: They.
            owner: Whose they are, for an error to say.
            origin: That of what is written now; None where there are no micro-batches, and so nothing to compare.
            was_idle: Says of a micro-batch whether the bucket was evaluated neither in it nor in one since. It is
                asked if the metadata are not of the micro-batch before.
        """
        self.written = 0
        self._cells = cells
        self._owner = owner
        self._origin = origin
        self._was_idle = was_idle
        self._listed: dict[str, int] = {}

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty.

        Raises:
            StateError: They are not what was put there, or are of another time or place.
        """
        if name == METADATA:
            return self._get_metadata(self._cells.get(name))
        if name not in self._listed:
            return None
        sealed = self._cells.get(name)
        if sealed is None:
            raise damaged(name, "the metadata lists it, and it is empty", self._owner)
        cell = unseal(name, sealed, self._owner)
        if cell.checksum != self._listed[name]:
            raise damaged(name, f"the metadata lists another one than this, which is {cell.origin}", self._owner)
        return cell.data

    def _get_metadata(self, sealed: bytes | None) -> bytes | None:
        cell = None if sealed is None else unseal(METADATA, sealed, self._owner)
        now, origin = self._origin, None if cell is None else cell.origin
        if now is not None:
            last = -1 if origin is None else origin.batch
            is_its_own = origin is None or origin[:2] == now[:2]
            if last >= now.batch or not is_its_own or (last < now.batch - 1 and not self._was_idle(last + 1)):
                raise out_of_place(self._owner, origin, now)
        if cell is None:
            return None
        self._listed, metadata = split(cell)
        return metadata

    def put(self, name: str, data: bytes) -> None:
        """Set a cell.

        Raises:
            StateError: The metadata are not what is read back.
        """
        self.written += len(data)
        if name == METADATA:
            listing: bytes = msgpack.packb(self._listed)
            data = _CHECKSUM.pack(len(listing)) + listing + data
        sealed = seal(name, data, self._origin or Origin())
        if name != METADATA:
            (self._listed[name],) = _CHECKSUM.unpack_from(sealed)
        self._cells.put(name, sealed)
        if name == METADATA and self._cells.get(name) != sealed:
            raise written_wrong(name, self._owner)

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._listed.pop(name, None)
        self._cells.remove(name)


def seal(name: str, data: bytes, origin: Origin) -> bytes:
    """Return the bytes of a cell with their origin, and a checksum in which its name counts."""
    head = _HEAD.pack(0, origin.query.encode(), origin.bucket, origin.batch)[_CHECKSUM.size :]
    return b"".join((_CHECKSUM.pack(_checksum(name, head, data)), head, data))


def unseal(name: str, sealed: bytes, owner: str = "") -> SealedCell:
    """Return a cell as it was sealed.

    Raises:
        StateError: They are not what was put there under this name.
    """
    head, data = sealed[_CHECKSUM.size : _HEAD.size], sealed[_HEAD.size :]
    if len(sealed) >= _HEAD.size:
        checksum, query, bucket, batch = _HEAD.unpack_from(sealed)
        if checksum == _checksum(name, head, data):
            return SealedCell(checksum, Origin(query.rstrip(b"\0").decode(), bucket, batch), data)
    raise damaged(name, f"its {len(sealed):,} bytes do not have the checksum that they were written with", owner)


def split(metadata: SealedCell) -> tuple[dict[str, int], bytes]:
    """Return the checksums of all other cells by name, which the metadata begin with, and the metadata themselves."""
    (size,) = _CHECKSUM.unpack_from(metadata.data)
    first = _CHECKSUM.size + size
    return msgpack.unpackb(metadata.data[_CHECKSUM.size : first]), metadata.data[first:]


def _checksum(name: str, head: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(head, zlib.crc32(name.encode())))


def damaged(name: str, reason: str, owner: str = "") -> StateError:
    """Return the error that says that a cell is not what it was."""
    return StateError(
        f"the state in the checkpoint is damaged: the cell {name!r}{f' of {owner}' if owner else ''}: {reason}\n"
        "  nothing was computed from it: restore the checkpoint from a copy, or start with a new checkpoint;\n"
        "  before that, look at the disk, or whatever keeps the checkpoint, and whether a module replaces code of\n"
        "  others, such as struct.pack, so that the cell was written wrong"
    )


def written_wrong(name: str, owner: str = "") -> StateError:
    """Return the error that says that a cell cannot be read back as it was written."""
    return StateError(
        f"the cell {name!r}{f' of {owner}' if owner else ''} was written wrong: other bytes are read back\n"
        "  nothing was committed: the state in the checkpoint is as it was before this micro-batch\n"
        "  look for a module that replaces code of others, such as struct.pack or pickle.dumps, and leave that as it is"
    )


def out_of_place(owner: str, found: Origin | None, now: Origin) -> StateError:
    """Return the error that says that a bucket's state is of another time or place.

    Args:
        owner: The bucket.
        found: The origin of its state; None if it has none.
        now: That of what would be written now.
    """
    return StateError(
        f"{owner} has {'no state' if found is None else f'the state {found}'}\n"
        f"  expected: that {now._replace(batch=now.batch - 1)}\n"
        "  nothing was computed from it: in the checkpoint's folder `state`, files are gone, or in the place of\n"
        "  those of another partition, micro-batch or checkpoint; query.check(...) says which.\n"
        "  put back all files of the checkpoint as they were at one time, or start with a new checkpoint"
    )


class HeldState(NamedTuple):
    """The sizes of the state of a bucket, or of a part of one.

    Attributes:
        bytes: The size of its cells.
        keys: The number of keys with state.
        events: The number of their events.
        windows: The number of windows that have been emitted and may still change; of row windows, of partitions.
    """

    bytes: int = 0
    keys: int = 0
    events: int = 0
    windows: int = 0
