"""A store: the decoded state of a bucket, as it is opened from the cache or the log, and closed again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.stretch_codec import StretchCodec
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.stretch_format import StretchFormat
from muntin_engine.state.bucket_state import NEVER, BucketState
from muntin_engine.state.cells import HeldState


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
            stretch_format: The format of its stretches.
            with_rows: True if rows lie beside what arrives of them, in case they are late.
        """
        self.keys = KeyTable()
        self.codec = StretchCodec(stretch_format, self.keys, with_rows=with_rows)
        self.last_event_id = 0

    @property
    def sizes(self) -> HeldState:
        """The numbers of what it holds, where these are reported; its bytes are those that lie beside the log."""
        return HeldState()

    @property
    @abstractmethod
    def memory(self) -> int:
        """About how many bytes it takes in memory."""

    @abstractmethod
    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which it holds something, ascending."""

    @abstractmethod
    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""

    def close(self, state: BucketState, first_start: int = INFINITY) -> HeldState:
        """Write the metadata, and keep the store in the cache; return the sizes of the state.

        Args:
            state: The state of the bucket, whose log has been written.
            first_start: The least start of an open window, where each key has its own; `INFINITY` if there is none.
        """
        metadata = state.metadata
        metadata.serial = self.last_event_id
        metadata.held = self.sizes
        metadata.timer = NEVER._replace(output_watermark=first_start)
        state.keep(self, max(self.memory, state.log.size))
        return write_metadata(state)


StoreT = TypeVar("StoreT", bound=ArrayStore)


def write_metadata(state: BucketState) -> HeldState:
    """Write the metadata of a bucket, and return the sizes of its state."""
    sizes = state.metadata.held
    return sizes._replace(bytes=sizes.bytes + state.write())
