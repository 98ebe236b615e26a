"""The rows of a bucket that wait for others of their event."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import msgpack
import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.live_events import HashArray, Identities
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.keyed.key_events import Identity
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange
from muntin_engine.wire.arrow_arrays import empty_table
from muntin_engine.wire.blobs import from_blob, to_blob


class WaitingRows:
    """The rows of a bucket that wait. There are few, if senders keep the order of an event's rows.

    Attributes:
        by_key: For the code of each key with such rows, these by event.
    """

    def __init__(self) -> None:
        self.by_key: dict[int, dict[Identity, PendingRows]] = {}

    @property
    def rows(self) -> list[InputChange]:
        """The rows, in no order."""
        rows: list[InputChange] = []
        for events in self.by_key.values():
            for pending in events.values():
                rows += pending.rows
        return rows

    @property
    def codes(self) -> IntArray:
        """The codes of the keys."""
        return np.array(sorted(self.by_key), np.int64)

    def put(self, code: int, events: Mapping[Identity, PendingRows]) -> None:
        """Set the rows of a key."""
        self.by_key.pop(code, None)
        if events:
            self.by_key[code] = dict(events)

    def hashes(self, *, is_whole: bool) -> HashArray:
        """Hash the identities of the events; `is_whole` says that their ids are whole numbers."""
        names = [(code, *identity) for code, events in self.by_key.items() for identity in events]
        return identities_of(names, is_whole=is_whole).hashes()

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self.by_key = {int(codes[code]): events for code, events in self.by_key.items()}

    def to_bytes(self, keys: KeyTable, codec: Codec, schema: pa.Schema) -> bytes:
        """Return all rows as bytes, with the schema of the columns of events."""
        named: list[list[object]] = []
        for events in self.by_key.values():
            of_key: list[object] = []
            for identity, pending in events.items():
                rows = [list(row[2:]) for row in pending.rows]
                of_key.append([*identity, rows, list(pending.base) if pending.base else None])
            named.append(of_key)
        codes = np.array(list(self.by_key), np.int64)
        blobs = map(to_blob, (keys.take(codes), empty_table(schema)))
        packed: bytes = msgpack.packb([*blobs, codec.pack(named)])
        return packed

    def restore(self, data: bytes, keys: KeyTable, codec: Codec) -> pa.Schema:
        """Take the rows that `to_bytes` wrote, and return the schema."""
        blob, of_events, packed = msgpack.unpackb(data)
        codes = keys.codes(from_blob(blob)).tolist()
        for code, events in zip(codes, codec.unpack(packed), strict=True):
            of_key = self.by_key.setdefault(code, {})
            for id, start, rows, base in events:
                waiting = tuple(InputChange(id, start, end, tuple(payload), *more) for end, payload, *more in rows)
                base_state = EventState(base[0], base[1], tuple(base[2])) if base else None
                of_key[id, start] = PendingRows(waiting, base_state)
        schema: pa.Schema = from_blob(of_events).schema
        return schema


def identities_of(names: Sequence[tuple[int, Hashable, int]], *, is_whole: bool) -> Identities:
    """Return identities as arrays.

    Args:
        names: The code of the key, the id and the start of each.
        is_whole: True if ids are whole numbers.
    """
    codes, ids, starts = zip(*names, strict=True) if names else ((), (), ())
    typed_ids = np.fromiter(ids, np.int64 if is_whole else np.object_, len(ids))
    return Identities(np.array(codes, np.int64), typed_ids, np.array(starts, np.int64))
