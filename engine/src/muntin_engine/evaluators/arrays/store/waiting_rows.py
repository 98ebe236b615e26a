"""The rows of a bucket that wait for others of their event."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import msgpack
import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.live_events import HashArray, Identities
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.keyed.key_events import Identity, pending_from_data, pending_to_data
from muntin_engine.evaluators.keyed.row_chain import PendingRows
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange
from muntin_engine.wire.arrow_arrays import empty_table
from muntin_engine.wire.blobs import from_blob, to_blob


class IdentityInBucket(NamedTuple):
    """What tells an event apart from all others of a bucket; `Identities` is the same of many, as arrays.

    Attributes:
        code: The code of the event's key.
        id: The id of the event.
        start: The start that the event was inserted with.
    """

    code: int
    id: Hashable
    start: int


class WaitingRows:
    """The rows of a bucket that wait. There are few, if senders keep the order of an event's rows.

    Attributes:
        by_key: For the code of each key with such rows, these by event.
    """

    def __init__(self) -> None:
        """Hold no rows."""
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
        """Return the hash of the identity of each event that rows wait for.

        Args:
            is_whole: True if ids are whole numbers.
        """
        identities: list[IdentityInBucket] = []
        for code, events in self.by_key.items():
            identities += [IdentityInBucket(code, id, start) for id, start in events]
        return identities_of(identities, is_whole=is_whole).hashes()

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.by_key = {int(new_codes[code]): events for code, events in self.by_key.items()}

    def to_bytes(self, keys: KeyTable, codec: Codec, schema: pa.Schema) -> bytes:
        """Encode all rows, with their keys and with the schema of the columns of events.

        For each key there is a list of its events. An event is a list of its id, its start, its rows, and the state
        that the rows apply to, or None.
        """
        lists_of_keys: list[list[object]] = []
        for events in self.by_key.values():
            lists_of_keys.append([pending_to_data(identity, pending) for identity, pending in events.items()])
        codes = np.array(list(self.by_key), np.int64)
        key_blob = to_blob(keys.take(codes))
        schema_blob = to_blob(empty_table(schema))
        packed: bytes = msgpack.packb([key_blob, schema_blob, codec.pack(lists_of_keys)])
        return packed

    def restore(self, data: bytes, keys: KeyTable, codec: Codec) -> pa.Schema:
        """Add the rows that `to_bytes` encoded, and return the schema of the columns of events."""
        key_blob, schema_blob, packed = msgpack.unpackb(data)
        codes = keys.codes(from_blob(key_blob)).tolist()
        for code, events in zip(codes, codec.unpack(packed), strict=True):
            pending_by_id = self.by_key.setdefault(code, {})
            for id, start, rows, base in events:  # `base` is the state that the rows apply to, or None
                pending_by_id[id, start] = pending_from_data(id, start, rows, base)
        schema: pa.Schema = from_blob(schema_blob).schema
        return schema


def identities_of(identities: Sequence[IdentityInBucket], *, is_whole: bool) -> Identities:
    """Return identities as arrays.

    Args:
        identities: The identities.
        is_whole: True if ids are whole numbers.
    """
    codes = np.array([identity.code for identity in identities], np.int64)
    starts = np.array([identity.start for identity in identities], np.int64)
    id_type = np.int64 if is_whole else np.object_
    ids = np.fromiter((identity.id for identity in identities), id_type, len(identities))
    return Identities(codes, ids, starts)
