"""Rows of keys in slices, and how they are written: one format for what travels and for what is stored.

A blob is a list of keys and any number of chunks, each of some two thousand groups in order of their slices. A chunk
says of which slices it is, so one that is late, dead or of no use is not even decoded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, Final, NamedTuple

from muntin_engine.core.changes import Key
from muntin_engine.core.window_grid import NEVER
from muntin_engine.errors import StateError
from muntin_engine.evaluators.slices.key_names import names_of
from muntin_engine.state.codec import Codec
from muntin_engine.state.unstorable import find_unstorable
from muntin_engine.state.value_columns import ValueColumn

CHUNK_GROUPS: Final = 2048
"""Most groups of a chunk."""

CHUNK_BYTES: Final = 2**20
"""A chunk larger than this is cut, if it has several groups."""


class UnstorableError(Exception):
    """A state cannot be stored. It never leaves evaluation over slices.

    Attributes:
        module: The place of its module.
        key: The place of its key among the blob's.
        slice: Its slice.
        reason: Why it cannot be stored.
    """

    def __init__(self, module: int, key: int, slice: int, reason: StateError) -> None:
        super().__init__(reason)
        self.module = module
        self.key = key
        self.slice = slice
        self.reason = reason


class EntryKind(IntEnum):
    """The content of a group."""

    STATES = 0
    """The state of each module."""
    ROWS = 1
    """The rows themselves, with the columns of all inputs."""
    GAPS = 2
    """Nothing but their number: no window has them."""


@dataclass(frozen=True, slots=True)
class SliceGroups:
    """Groups of rows, each of a key and a slice, in order of their slices.

    Attributes:
        kind: What there is of them.
        slices: Their slices, each once.
        sizes: How many groups each slice has.
        places: The place of each group's key among the blob's.
        counts: How many rows each group has.
        columns: By module the state of each group, or by input the value of each row, or nothing.

    Each column is written for itself: the states of one module may be of an older version than those of another.
    """

    kind: EntryKind
    slices: list[int]
    sizes: list[int]
    places: list[int]
    counts: list[int]
    columns: list[list[Any]]

    @classmethod
    def of(
        cls, kind: EntryKind, numbers: Iterable[int], places: list[int], counts: list[int], columns: list[list[Any]]
    ) -> SliceGroups:
        """Return groups whose slices are given one by one."""
        runs = [(number, sum(1 for _ in run)) for number, run in groupby(numbers)]
        return cls(kind, [number for number, _ in runs], [size for _, size in runs], places, counts, columns)

    @property
    def bounds(self) -> list[int]:
        """The places between the groups among their rows."""
        return [0, *accumulate(self.counts)]

    def since(self, first: int) -> SliceGroups:
        """Return them without slices below a first one."""
        late = sum(size for number, size in zip(self.slices, self.sizes, strict=True) if number < first)
        return self.cut(late, len(self.places))

    @property
    def numbers(self) -> list[int]:
        """The slice of each group."""
        return [number for number, size in zip(self.slices, self.sizes, strict=True) for _ in range(size)]

    def cut(self, start: int, stop: int) -> SliceGroups:
        """Return the groups from one up to another."""
        numbers = self.numbers
        low, high = start, stop
        if self.kind is EntryKind.ROWS:
            low, high = sum(self.counts[:start]), sum(self.counts[:stop])
        columns = [column[low:high] for column in self.columns]
        return SliceGroups.of(self.kind, numbers[start:stop], self.places[start:stop], self.counts[start:stop], columns)

    def encode(self, codec: Codec) -> Iterator[Chunk]:
        """Yield them as chunks.

        Raises:
            UnstorableError: A state is no plain data.
        """
        packed: list[bytes] = []
        for place, column in enumerate(self.columns):
            try:
                packed.append(codec.pack(ValueColumn(column)))
            except StateError as error:
                found = find_unstorable(column, codec)
                if found is None or self.kind is not EntryKind.STATES:
                    raise
                raise UnstorableError(place, self.places[found[0]], self.numbers[found[0]], found[1]) from error
        body = codec.pack([self.slices, self.sizes, self.places, self.counts, *packed])
        if len(body) <= CHUNK_BYTES or len(self.places) == 1:
            yield Chunk(self.slices[0], self.slices[-1], sum(self.counts), int(self.kind), body)
        else:
            half = len(self.places) // 2
            yield from self.cut(0, half).encode(codec)
            yield from self.cut(half, len(self.places)).encode(codec)


class Chunk(NamedTuple):
    """Some groups as bytes.

    Attributes:
        first: Their first slice.
        last: The last one.
        rows: How many rows they stand for.
        kind: What there is of them.
        body: The rest.
    """

    first: int
    last: int
    rows: int
    kind: int
    body: bytes

    def decode(self, codec: Codec, readers: Mapping[int, Codec] | None = None) -> SliceGroups:
        """Return the groups.

        Args:
            codec: Reads them.
            readers: What reads some of the columns instead, by their places.
        """
        slices, sizes, places, counts, *packed = codec.unpack(self.body)
        columns = [(readers or {}).get(place, codec).unpack(column) for place, column in enumerate(packed)]
        return SliceGroups(EntryKind(self.kind), slices, sizes, places, counts, columns)


class Blob:
    """Keys, and chunks of their groups.

    Attributes:
        data: All of it as bytes.
        chunks: The chunks.
    """

    def __init__(self, data: bytes, codec: Codec) -> None:
        self.data = data
        self._keys, chunks = codec.unpack(data)
        self.chunks = [Chunk(*chunk) for chunk in chunks]
        self._codec = codec

    @cached_property
    def names(self) -> Sequence[Hashable]:
        """The names of its keys, for dictionaries."""
        return names_of(self._codec.unpack(self._keys))

    @cached_property
    def first(self) -> int:
        """The first slice that it says more of than a number of rows; `NEVER` if there is none."""
        return min((chunk.first for chunk in self.chunks if chunk.kind != EntryKind.GAPS), default=NEVER)

    @cached_property
    def last(self) -> int:
        """The last such slice; below `-NEVER` if there is none."""
        return max((chunk.last for chunk in self.chunks if chunk.kind != EntryKind.GAPS), default=-NEVER - 1)


def encode_blob(keys: Sequence[Key], chunks: Sequence[Chunk], codec: Codec) -> bytes:
    """Return keys and chunks as bytes."""
    return codec.pack([codec.pack(ValueColumn(list(keys))), [list(chunk) for chunk in chunks]])
