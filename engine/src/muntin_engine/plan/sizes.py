"""The bytes of what a bucket holds, in the state store and in the memory of a worker; evaluators have the figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import expm1, log1p
from typing import Final, NamedTuple

from muntin_engine.state.log import MOST_ALIKE, MOST_BYTES, MOST_DEAD

BUCKET: Final = 650
"""Bytes of a bucket's metadata in the state store."""

ENTRY: Final = 1_100
"""Bytes of an entry of a log of arrays, besides what is in it."""

DECODED: Final = 3_000
"""Bytes of a bucket in the memory of a worker, besides what it holds."""

PIECE: Final = 600
"""Bytes of a piece of partial states in memory, besides these."""

LARGE: Final = 1_024
"""From so many bytes on, the decoded state of a key is kept in memory, and not its bytes alone."""

MOST_RECORDS: Final = 8
"""The micro-batches whose rows wait as they came, before all of a key is written anew."""

MOST_PIECES: Final = 8
"""The pieces in which partial states may lie in memory before some are merged."""


class ValuesOf(StrEnum):
    """The values that a partial state, a row or an event has."""

    COMPONENTS = "components of columnar forms"
    """Of several rows: an exact sum of floats has 16 bytes."""

    SINGLE = "components of one event"
    """Of one event: a sum of floats has 8 bytes, too."""

    STATES = "Python states"
    """What modules keep, as it is written; nothing is known of it."""

    ROWS = "columns of rows"


class Bytes(NamedTuple):
    """The bytes of one thing.

    Attributes:
        fixed: Those that each has.
        per_byte: Those for each byte of its values, as `ValueBytes` counts them.
        per_value: Those for each of its values.
    """

    fixed: float = 0
    per_byte: float = 0
    per_value: float = 0

    def of(self, values: ValueBytes) -> float:
        """Return the bytes of one with some values."""
        return self.fixed + self.per_byte * values.size + self.per_value * values.count


@dataclass(frozen=True, slots=True)
class ValueBytes:
    """The values of one thing.

    Attributes:
        size: Their bytes: 8 for a number, the length of a text and 4.
        count: How many they are.
    """

    size: float
    count: int = 1


class StateBytes(NamedTuple):
    """The bytes of what is kept, in one place.

    Attributes:
        key: Of a key; its values are the key columns.
        stretch: Of a key's stretch of the axis, such as a slice: of a partial state, whose values are its components.
        row: Of a row, or an event.
    """

    key: Bytes
    stretch: Bytes = Bytes()
    row: Bytes = Bytes()


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of what one way to evaluate windows keeps.

    Attributes:
        what: What it keeps of a key, in words.
        of: The values of one of these.
        state: In the state store, where everything is there once.
        memory: In the memory of the worker that keeps the bucket.
        decoded: The same of a key that has `LARGE` bytes or more; None if it makes no difference.
        record: The memory of a small key in each further micro-batch that brings it rows, as these wait as they came.
        holds_rows: False if states of modules take the place of rows in windows that follow these.
        is_merged: True of a log whose entries are merged nine at a time; others are rewritten when half of them is
            dead.
    """

    what: str
    of: ValuesOf
    state: StateBytes
    memory: StateBytes
    decoded: StateBytes | None = None
    record: float = 0
    holds_rows: bool = True
    is_merged: bool = False


@dataclass(frozen=True, slots=True)
class BucketContents:
    """What one bucket holds.

    Attributes:
        keys: The keys over which its rows are spread at random.
        rows: The rows that it holds, or that its partial states are made of.
        key: The values of a key.
        values: Those of a row, or of a partial state.
        slices: The slices in which the rows lie; 1 where there are none.
        batches: The micro-batches that brought them.
    """

    keys: float
    rows: float
    key: ValueBytes
    values: ValueBytes
    slices: float = 1
    batches: int = 1

    def keys_in(self, batches: float) -> float:
        """Return the number of keys that some neighbouring micro-batches have rows of."""
        return distinct(self.keys, self._rows_in(batches))

    def stretches_in(self, batches: float) -> float:
        """Return the number of pairs of a key and a slice in some neighbouring micro-batches."""
        slices = self.slices * batches / self.batches
        whole, rest = divmod(slices, 1)
        rows = self.rows / self.slices
        return whole * distinct(self.keys, rows) + distinct(self.keys, rest * rows)

    def bytes_in(self, kept: StateBytes, batches: float) -> float:
        """Return the bytes of what came in some neighbouring micro-batches."""
        return (
            kept.key.of(self.key) * self.keys_in(batches)
            + kept.stretch.of(self.values) * self.stretches_in(batches)
            + kept.row.of(self.values) * self._rows_in(batches)
        )

    def _rows_in(self, batches: float) -> float:
        return self.rows * batches / self.batches


def distinct(keys: float, rows: float) -> float:
    """Return how many of some keys are to be expected among rows whose keys are drawn at random.

    Example:
        >>> round(distinct(10_000, 60_000)), round(distinct(10_000, 1_000)), distinct(1, 5)
        (9975, 952, 1)
    """
    return min(keys, rows) if keys <= 1 else -keys * expm1(rows * log1p(-1 / keys))


def state_bytes(sizes: Sizes, held: BucketContents) -> float:
    """Return the bytes of a bucket in the state store, where nothing is there twice."""
    return BUCKET + (ENTRY if _is_of_arrays(sizes) else 0) + held.bytes_in(sizes.state, held.batches)


def most_state_bytes(sizes: Sizes, held: BucketContents) -> float:
    """Return the most bytes that the log of a bucket has, until it is merged or rewritten."""
    if not sizes.is_merged:
        return 2 * state_bytes(sizes, held) + MOST_DEAD
    return max(logged_bytes(sizes, held, batches) for batches in _fullest(held.batches))


def logged_bytes(sizes: Sizes, held: BucketContents, batches: int) -> float:
    """Return the bytes of a log that is merged, after some of the micro-batches.

    What several entries have of a key and slice is there several times.
    """

    def size(merged: float) -> float:
        return ENTRY + held.bytes_in(sizes.state, merged)

    return BUCKET + sum(map(size, log_entries(batches, size)))


def log_entries(batches: int, size: Callable[[float], float] = lambda batches: 0.0) -> list[int]:
    """Return how many micro-batches each entry of a log is of: nine of a level become one of the next.

    Args:
        batches: The micro-batches so far.
        size: The bytes of an entry of so many. Entries of `MOST_BYTES` are merged no more.

    Example:
        >>> log_entries(8), log_entries(9), log_entries(20)
        ([1, 1, 1, 1, 1, 1, 1, 1], [9], [1, 1, 9, 9])
    """
    entries, merged = list[int](), 1
    while batches and size(merged) < MOST_BYTES:
        batches, count = divmod(batches, MOST_ALIKE + 1)
        entries += [merged] * count
        merged *= MOST_ALIKE + 1
    return entries + [merged] * batches


def _fullest(batches: int) -> list[int]:
    """Return after how many micro-batches, up to some, a log may have most entries."""
    powers = [(MOST_ALIKE + 1) ** level for level in range(20) if (MOST_ALIKE + 1) ** level <= batches]
    return [batches, *(count for power in powers for count in range(power - 1, batches, power) if count)][:10_000]


def memory_bytes(sizes: Sizes, held: BucketContents) -> float:
    """Return the bytes of a bucket in the memory of a worker that keeps it decoded."""
    if sizes.is_merged:
        pieces = memory_pieces(held)
        stretches, rows = (sum(map(count, pieces)) for count in (held.stretches_in, held._rows_in))
        keys = held.keys_in(held.batches)
        kept = sizes.memory
        each = kept.stretch.of(held.values) * stretches + kept.row.of(held.values) * rows
        return DECODED + PIECE * len(pieces) + kept.key.of(held.key) * keys + each
    keys = max(1.0, held.keys_in(held.batches))
    if sizes.decoded is not None and held.bytes_in(sizes.state, held.batches) / keys >= LARGE:
        return DECODED + held.bytes_in(sizes.decoded, held.batches)
    records = held.batches * held.keys_in(1) / keys
    further = (records if records <= MOST_RECORDS else MOST_RECORDS / 2) - 1
    return DECODED + held.bytes_in(sizes.memory, held.batches) + sizes.record * keys * max(0.0, further)


def memory_pieces(held: BucketContents) -> list[int]:
    """Return how many micro-batches each piece of the partial states in memory is of.

    The last two of more than `MOST_PIECES` become one, unless the last is less than half of the other.
    """
    pieces = list[int]()
    for _ in range(held.batches):
        pieces.append(1)
        while len(pieces) > MOST_PIECES and 2 * held.stretches_in(pieces[-1]) >= held.stretches_in(pieces[-2]):
            pieces[-2:] = [pieces[-2] + pieces[-1]]
    return pieces


def _is_of_arrays(sizes: Sizes) -> bool:
    return sizes.decoded is None
