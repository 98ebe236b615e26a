"""Rows that wait for others of their event, key by key."""

from __future__ import annotations

from collections.abc import Mapping

import msgpack
import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.core.changes import InputChange
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.keyed.key_events import Identity
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows
from muntin_engine.evaluators.revised.identities import HashArray, hashes_of
from muntin_engine.exchange import shuffle
from muntin_engine.state.codec import Codec


class WaitingRows:
    """The rows of a bucket that wait. There are few, if senders keep the order of an event's rows.

    Attributes:
        by_key: For the code of each key with such rows, these by event.
    """

    def __init__(self) -> None:
        self.by_key: dict[int, dict[Identity, PendingRows]] = {}

    @property
    def rows(self) -> list[InputChange]:
        """All of them, in no order."""
        return [row for events in self.by_key.values() for some in events.values() for row in some.rows]

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
        """Return the numbers of the events' identities; `is_whole` says that their ids are whole numbers."""
        names = [(code, *identity) for code, events in self.by_key.items() for identity in events]
        codes, ids, starts = zip(*names, strict=True) if names else ((), (), ())
        of_type = np.fromiter(ids, np.int64 if is_whole else np.object_, len(ids))
        return hashes_of(np.array(codes, np.int64), of_type, np.array(starts, np.int64))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self.by_key = {int(places[code]): events for code, events in self.by_key.items()}

    def to_bytes(self, keys: KeyTable, codec: Codec, schema: pa.Schema) -> bytes:
        """Return all rows as bytes, with the schema of the columns of events."""
        named = [
            [
                [*identity, [list(row[2:]) for row in some.rows], list(some.base) if some.base else None]
                for identity, some in events.items()
            ]
            for events in self.by_key.values()
        ]
        codes = np.array(list(self.by_key), np.int64)
        blobs = map(shuffle.to_blob, (keys.take(codes), schema.empty_table()))
        packed: bytes = msgpack.packb([*blobs, codec.pack(named)])
        return packed

    def restore(self, data: bytes, keys: KeyTable, codec: Codec) -> pa.Schema:
        """Take the rows that `to_bytes` wrote, and return the schema."""
        blob, of_events, packed = msgpack.unpackb(data)
        codes = keys.codes(shuffle.from_blob(blob)).tolist()
        for code, events in zip(codes, codec.unpack(packed), strict=True):
            found = self.by_key.setdefault(code, {})
            for id, start, rows, base in events:
                waiting = tuple(InputChange(id, start, end, tuple(payload), *more) for end, payload, *more in rows)
                before = EventState(base[0], base[1], tuple(base[2])) if base else None
                found[id, start] = PendingRows(waiting, before)
        schema: pa.Schema = shuffle.from_blob(of_events).schema
        return schema
