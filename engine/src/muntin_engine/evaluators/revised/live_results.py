"""Results of windows that are not complete: emitted, and not retracted yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgpack
import numpy as np

from muntin import EARLIEST, INFINITY, Window
from muntin.columnar.arrays import IntArray
from muntin_engine.core.changes import Key, canonical
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.frozen_values import freeze
from muntin_engine.errors import StateError
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.lifting import NO_KEYS
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.intake import tuples_of
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import Entry

Place: TypeAlias = tuple[int, int]
"""The code of a key, and the start of a window."""

_MARK: Final = b"\x93"
"""The first byte of an entry of results: it has three parts, and one of events has two."""


class KeptResult(NamedTuple):
    """The result of a window of a key.

    Attributes:
        serial: The number of the batch that emitted it, or retracted it.
        id: Its number as an event of the output; None for a result that was retracted.
        end: The end of the window.
        values: The results of the modules.
    """

    serial: int
    id: int | None
    end: int
    values: Sequence[Any]


class LiveResults:
    """The live results of a bucket.

    A change is written once, by the batch that made it; of the changes of a window the last one holds. An entry of the
    log is dead when the last of its windows has ended.

    Attributes:
        by_key: For the code of each key its live results, by the starts of their windows.
    """

    def __init__(self, query: EvaluatorQuery, codec: Codec) -> None:
        """Hold nothing."""
        self.by_key: dict[int, dict[int, KeptResult]] = {}
        self._query, self._codec = query, codec
        self._written = self._records = self._count = 0
        self._first_end = INFINITY

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """About how many bytes they take in the log."""
        return len(self) * self._written // max(self._records, 1)

    def put(self, code: int, start: int, result: KeptResult) -> None:
        """Set the result of a window; one that was retracted is held no more."""
        some = self.by_key.setdefault(code, {})
        before = len(some)
        if result.id is not None:
            some[start] = result
            self._first_end = min(self._first_end, result.end)
        else:
            del some[start]
        self._count += len(some) - before
        if not some:
            del self.by_key[code]

    def same(self, code: int, start: int, values: Sequence[Any]) -> bool:
        """Return True if a window has that live result."""
        live = self.by_key.get(code, {}).get(start)
        return live is not None and freeze(list(live.values)) == freeze(list(values))

    def forget(self, watermark: int) -> int:
        """Drop the results of the windows that a watermark completes; return how many there were.

        Cost: nothing unless it completes any; then a pass over all of them.
        """
        if watermark < self._first_end:
            return 0
        kept = {
            code: {start: result for start, result in some.items() if result.end > watermark}
            for code, some in self.by_key.items()
        }
        self.by_key = {code: some for code, some in kept.items() if some}
        before, self._count = self._count, sum(map(len, self.by_key.values()))
        self._first_end = min(
            (result.end for some in self.by_key.values() for result in some.values()), default=INFINITY
        )
        return before - self._count

    def keys(self) -> IntArray:
        """Return the codes of their keys."""
        return np.fromiter(self.by_key, np.int64, len(self.by_key))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self.by_key = {int(places[code]): some for code, some in self.by_key.items()}

    def write(self, keys: KeyTable, changes: Mapping[Place, KeptResult], watermark: int = EARLIEST) -> list[Entry]:
        """Encode results of windows, by code and start.

        Args:
            keys: The keys.
            changes: The results.
            watermark: Windows that end at it or before are complete, and left out.

        Raises:
            StateError: A result cannot be stored.
        """
        some = {place: result for place, result in changes.items() if result.end > watermark}
        if not some:
            return []
        codes, starts = np.array(list(some), np.int64).T
        distinct, numbers = np.unique(codes, return_inverse=True)
        serials, ids, ends, values = map(list, zip(*some.values(), strict=True))
        try:
            packed = self._codec.pack(values)
        except StateError as error:
            raise next(filter(None, self._unstorable(keys, some)), error) from error
        plain = [numbers.tolist(), starts.tolist(), serials, ids, ends]
        data = msgpack.packb([shuffle.to_blob(keys.take(distinct)), plain, packed])
        self._written, self._records = self._written + len(data), self._records + len(some)
        return [Entry(min(ends), max(ends), data)]

    def write_whole(self, keys: KeyTable) -> list[Entry]:
        """Encode all live results."""
        return self.write(keys, {(code, at): one for code, some in self.by_key.items() for at, one in some.items()})

    def restore(self, blobs: Iterable[bytes], keys: KeyTable, watermark: int) -> None:
        """Take the results that entries say, but those of windows that a watermark completes."""
        for (code, start), result in self._latest(blobs, keys).items():
            if result.id is not None and result.end > watermark:
                self.put(code, start, result)

    def merged(self, blobs: Sequence[bytes], keys: KeyTable) -> list[Entry]:
        """Merge entries of the log into one."""
        return self.write(keys, self._latest(blobs, keys))

    def _latest(self, blobs: Iterable[bytes], keys: KeyTable) -> dict[Place, KeptResult]:
        found: dict[Place, KeptResult] = {}
        for blob in blobs:
            named, (numbers, starts, *plain), packed = msgpack.unpackb(blob)
            codes = keys.codes(shuffle.from_blob(named)).tolist()
            self._written, self._records = self._written + len(blob), self._records + len(numbers)
            for number, start, *rest in zip(numbers, starts, *plain, self._codec.unpack(packed), strict=True):
                place, result = (codes[number], start), KeptResult(*rest)
                if place not in found or found[place].serial < result.serial:
                    found[place] = result
        return found

    def _unstorable(self, keys: KeyTable, some: Mapping[Place, KeptResult]) -> Iterator[StateError | None]:
        """Yield for each result an error that names its module, if it cannot be stored."""
        serializer = StateSerializer(self._query, self._codec)
        for (code, start), result in some.items():
            (key,) = named_keys(keys, np.array([code]))
            yield serializer.why_unstorable(result.values, key, Window(start, result.end))


def named_keys(keys: KeyTable, codes: IntArray) -> list[Key]:
    """Return the keys that have some codes, as Python values."""
    if not len(codes):
        return []
    table = keys.take(codes)
    return [canonical(key) for key in tuples_of(table, [name for name in table.column_names if name != NO_KEYS])]


def are_results(data: bytes) -> bool:
    """Return True if an entry of the log has results in it, and no events."""
    return data[:1] == _MARK
