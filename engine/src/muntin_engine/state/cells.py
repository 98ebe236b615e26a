"""The storage of a bucket's state: named cells of bytes, each with a checksum and its origin, checked for damage."""

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
        """Hold no cells."""
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
        origin: The origin of the cell.
        data: The bytes that were put there.
    """

    checksum: int
    origin: Origin
    data: bytes


class CheckedCells:
    """Cells that are sealed with a checksum and their origin when they are written, and checked when they are read.

    The metadata list all other cells by their checksums, and so recognize one that is of another time or place. The
    metadata themselves are recognized by their origin: they are written in every micro-batch in which the bucket is
    evaluated.

    The metadata are read back once they are written: a module that replaces code of the worker, such as `struct.pack`,
    would otherwise leave a checkpoint that nobody can read.

    Cost: a pass of CRC-32 over all bytes read and written, about a millisecond per megabyte, and a copy of them; one
    more read in each micro-batch.

    Attributes:
        written: The number of bytes written so far, without checksums and origins.
    """

    def __init__(
        self,
        cells: Cells,
        owner: str = "",
        origin: Origin | None = None,
        may_lack: Callable[[int], bool] = lambda first_missing: False,
    ) -> None:
        """Check cells.

        Args:
            cells: The cells to check.
            owner: The bucket that they belong to, for errors.
            origin: The origin of the cells that are written now; None where there are no micro-batches, and so nothing
                to compare.
            may_lack: Gets the number of a micro-batch, and returns True if the metadata may lack that one and all later
                ones. It is called if the metadata are older than the last micro-batch.
        """
        self.written = 0
        self._cells = cells
        self._owner = owner
        self._origin = origin
        self._may_lack = may_lack
        self._checksums: dict[str, int] = {}  # of all other cells by name, as the metadata list them

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty.

        Raises:
            StateError: The bytes are not those that were put there, or are of another time or place.
        """
        if name == METADATA:
            return self._get_metadata(self._cells.get(name))
        if name not in self._checksums:
            return None
        sealed = self._cells.get(name)
        if sealed is None:
            raise damaged(name, "the metadata lists it, and it is empty", self._owner)
        cell = unseal(name, sealed, self._owner)
        if cell.checksum != self._checksums[name]:
            raise damaged(name, f"the metadata lists another one than this, which is {cell.origin}", self._owner)
        return cell.data

    def _get_metadata(self, sealed: bytes | None) -> bytes | None:
        """Check that the metadata are those of the micro-batch before, and return them; None if there are none yet.

        The checksums of all other cells, with which the metadata begin, are kept for `get`.
        """
        if sealed is None:
            self._check_origin(None)
            return None
        cell = unseal(METADATA, sealed, self._owner)
        self._check_origin(cell.origin)
        self._checksums, metadata = split(cell)
        return metadata

    def _check_origin(self, origin: Origin | None) -> None:
        """Check that the metadata are those of the micro-batch before.

        Args:
            origin: The origin of the metadata; None if there are none.

        Raises:
            StateError: The metadata are of another query or bucket, of this micro-batch or a later one, or of an
                earlier one although later metadata were written.
        """
        if self._origin is None:
            return
        if origin is not None and (origin.query, origin.bucket) != (self._origin.query, self._origin.bucket):
            raise out_of_place(self._owner, origin, self._origin)
        last_batch = -1 if origin is None else origin.batch
        if last_batch >= self._origin.batch:
            raise out_of_place(self._owner, origin, self._origin)
        # The bucket writes metadata in each micro-batch in which it is evaluated: older metadata are right only if the
        # bucket was evaluated in no micro-batch since then.
        is_batch_before = last_batch == self._origin.batch - 1
        if not is_batch_before and not self._may_lack(last_batch + 1):
            raise out_of_place(self._owner, origin, self._origin)

    def put(self, name: str, data: bytes) -> None:
        """Set a cell; the metadata, which list all other cells, are set last and read back.

        Raises:
            StateError: The metadata are not what is read back.
        """
        self.written += len(data)
        origin = self._origin or Origin()
        if name == METADATA:
            # The list of checksums comes first, behind its length; `split` takes both parts apart.
            listing: bytes = msgpack.packb(self._checksums)
            sealed = seal(name, b"".join((_CHECKSUM.pack(len(listing)), listing, data)), origin)
            self._cells.put(name, sealed)
            if self._cells.get(name) != sealed:
                raise written_wrong(name, self._owner)
            return
        sealed = seal(name, data, origin)
        (self._checksums[name],) = _CHECKSUM.unpack_from(sealed)  # a cell begins with its checksum
        self._cells.put(name, sealed)

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._checksums.pop(name, None)
        self._cells.remove(name)


def seal(name: str, data: bytes, origin: Origin) -> bytes:
    """Return the bytes of a cell behind a head: a checksum of the cell's name and all that follows, and the origin."""
    # The head is packed with a zero in the place of the checksum, and that is cut off.
    head = _HEAD.pack(0, origin.query.encode(), origin.bucket, origin.batch)[_CHECKSUM.size :]
    return b"".join((_CHECKSUM.pack(_checksum(name, head, data)), head, data))


def unseal(name: str, sealed: bytes, owner: str = "") -> SealedCell:
    """Check the checksum of a cell that `seal` made, and return the parts of the cell.

    Raises:
        StateError: The bytes are not those that were put there under this name.
    """
    head = sealed[_CHECKSUM.size : _HEAD.size]
    data = sealed[_HEAD.size :]
    if len(sealed) >= _HEAD.size:
        checksum, query, bucket, batch = _HEAD.unpack_from(sealed)
        if checksum == _checksum(name, head, data):
            return SealedCell(checksum, Origin(query.rstrip(b"\0").decode(), bucket, batch), data)
    raise damaged(name, f"its {len(sealed):,} bytes do not have the checksum that they were written with", owner)


def split(metadata: SealedCell) -> tuple[dict[str, int], bytes]:
    """Return the parts of a metadata cell: the checksums of all other cells by name, and the metadata themselves."""
    (listing_size,) = _CHECKSUM.unpack_from(metadata.data)
    listing_end = _CHECKSUM.size + listing_size
    listing = metadata.data[_CHECKSUM.size : listing_end]
    return msgpack.unpackb(listing), metadata.data[listing_end:]


def _checksum(name: str, head: bytes, data: bytes) -> int:
    """Return the CRC-32 of a cell: of its name, of its head without the checksum, and of its bytes."""
    return zlib.crc32(data, zlib.crc32(head, zlib.crc32(name.encode())))


def damaged(name: str, reason: str, owner: str = "") -> StateError:
    """Return the error that says that a cell does not have the bytes that were written."""
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


def out_of_place(owner: str, stored: Origin | None, present: Origin) -> StateError:
    """Return the error that says that a bucket's state is of another time or place.

    Args:
        owner: The bucket.
        stored: The origin of its state; None if it has none.
        present: The origin of the state that would be written now.
    """
    return StateError(
        f"{owner} has {'no state' if stored is None else f'the state {stored}'}\n"
        f"  expected: that {present._replace(batch=present.batch - 1)}\n"
        "  nothing was computed from it: in the checkpoint's folder `state`, files are gone, or in the place of\n"
        "  those of another partition, micro-batch or checkpoint; query.check(...) says which.\n"
        "  put back all files of the checkpoint as they were at one time, or start with a new checkpoint"
    )
