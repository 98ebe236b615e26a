"""The store of a bucket: its decoded state, as it is opened from the cache or the log, and closed again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.stretch_codec import StretchCodec, StretchFormat
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable
from muntin_engine.evaluators.arrays.values.sliding_windows import SlidingWindows
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.state.bucket_state import NO_TIMER, BucketState, StateSize


class ArrayStore(ABC):
    """The decoded state of a bucket: all of it can be rebuilt from the log.

    Attributes:
        keys: The keys of the bucket.
        codec: Reads and writes its stretches.
        last_event_id: The largest id of an output event so far.
    """

    def __init__(self, stretch_format: StretchFormat, *, with_rows: bool = False) -> None:
        """Make an empty store.

        Args:
            stretch_format: The format of the stretches in blobs and log entries.
            with_rows: True if blobs have the rows beside their stretches, because late rows are kept.
        """
        self.keys = KeyTable()
        self.codec = StretchCodec(stretch_format, self.keys, with_rows=with_rows)
        self.last_event_id = 0

    @property
    def sizes(self) -> StateSize:
        """The numbers of keys and events, where they are reported, and the bytes of the state beside the log."""
        return StateSize()

    @property
    @abstractmethod
    def memory(self) -> int:
        """The bytes that the store takes in memory, roughly."""

    @abstractmethod
    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which the store holds something, ascending."""

    @abstractmethod
    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""

    def close(self, state: BucketState, first_start: int = INFINITY) -> StateSize:
        """Put the store into the cache, and write the metadata, with its version; return the sizes of the state.

        Args:
            state: The state of the bucket, whose log has been written.
            first_start: The least start of an open session or snapshot; `INFINITY` if there is none.
        """
        metadata = state.metadata
        metadata.serial = self.last_event_id
        metadata.held = self.sizes
        # Of a timer, arrays need only this field: a batch without rows gets the output watermark from it.
        metadata.timer = NO_TIMER._replace(output_watermark=first_start)
        # A store counts in the cache by its memory, and by the bytes of its log if these are more.
        state.keep(self, size=max(self.memory, state.log.size))
        return write_metadata(state)


StoreT = TypeVar("StoreT", bound=ArrayStore)


def write_metadata(state: BucketState) -> StateSize:
    """Write the metadata of a bucket, and return the sizes of its state."""
    sizes = state.metadata.held
    # These bytes are those of the state beside log and metadata. `write` returns the bytes of log and metadata.
    return sizes._replace(bytes=sizes.bytes + state.write())


class StretchPieces:
    """Stretches, in the pieces in which batches brought them; the geometry merges pieces as it sees fit.

    Attributes:
        tables: The pieces, from the oldest to the newest.
    """

    def __init__(self) -> None:
        """Hold no stretches."""
        self.tables: list[StretchTable] = []

    def __len__(self) -> int:
        """The number of stretches."""
        return sum(map(len, self.tables))

    @property
    def rows(self) -> int:
        """The number of rows that the stretches are made of."""
        return sum(int(piece.weight.sum()) for piece in self.tables)

    @property
    def nbytes(self) -> int:
        """The bytes that the stretches take in memory, roughly."""
        return sum(piece.nbytes for piece in self.tables)

    def replace(self, *pieces: StretchTable) -> None:
        """Hold these pieces in place of the present ones; empty ones are left out."""
        self.tables = [piece for piece in pieces if len(piece)]

    def used_codes(self) -> IntArray:
        """Return the codes of the keys that have stretches, ascending."""
        if not self.tables:
            return np.empty(0, np.int64)
        return np.unique(np.concatenate([piece.keys for piece in self.tables]))

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.tables = [piece.with_keys(new_codes[piece.keys]) for piece in self.tables]


class StretchStore(ArrayStore):
    """The stretches of a bucket.

    Attributes:
        stretches: The stretches.
        sliding: The makers of windows from one to the next, for each specification; none if windows are merged.
        unwritten: The stretches that the present batch added; None if it added none.
        rewritten_bytes: The size of the log when it was last written anew, where no entry dies by itself.
    """

    def __init__(self, values: StretchValues) -> None:
        """Make an empty store for stretches with values of one kind, such as Python states."""
        super().__init__(values, with_rows=values.with_late_rows)
        self.stretches = StretchPieces()
        self.window_makers: Sequence[SlidingWindows] = values.sliding_windows(self.keys)
        self.unwritten: StretchTable | None = None
        self.rewritten_bytes = 0
        self._values = values

    def take_unwritten(self) -> StretchTable | None:
        """Return the stretches that the present batch added, for the caller to write; None if it added none."""
        unwritten = self.unwritten
        self.unwritten = None
        return unwritten

    @property
    def memory(self) -> int:
        """The bytes that the store takes in memory, roughly."""
        objects = self._values.bytes_of_objects(self.codec.size_of(len(self.stretches)))
        return self.stretches.nbytes + self.keys.nbytes + objects

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which the store holds something, ascending."""
        codes = [self.stretches.used_codes(), *(windows.used_codes() for windows in self.window_makers)]
        return np.unique(np.concatenate(codes))

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.stretches.renumber(new_codes)
        for windows in self.window_makers:
            windows.renumber(new_codes)
