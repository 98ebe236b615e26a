"""Events with ids as bytes, as they lie in a checkpoint: what each was when a batch had changed it.

A record has the number of the batch that wrote it. Of the records of an event the last one holds, in whatever order
they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgpack
import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.revised.events import Events, joined
from muntin_engine.evaluators.revised.identities import are_same, hashes_of, ids_of
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.numbers import codes_array, narrow_table, numbers_of

_ENDLESS: Final = -1
"""The length of an event that never ends."""


class Records(NamedTuple):
    """n records.

    Attributes:
        events: The events.
        serials: The numbers of the batches that wrote the records.
    """

    events: Events
    serials: IntArray


def to_bytes(keys: KeyTable, records: Records) -> bytes:
    """Return records as bytes."""
    events, serials = records
    codes, numbers = np.unique(events.codes, return_inverse=True)
    lengths = np.where(events.ends == INFINITY, _ENDLESS, events.ends - events.starts)
    table = narrow_table(
        {"serial": serials, "start": events.starts, "since": events.since - events.starts, "length": lengths},
        {
            "key": codes_array(numbers, len(codes)),
            **dict(zip(events.rows.column_names, events.rows.columns, strict=True)),
        },
    )
    packed: bytes = msgpack.packb([shuffle.to_blob(keys.take(codes)), shuffle.to_blob(table)])
    return packed


def from_bytes(blobs: Iterable[bytes], keys: KeyTable) -> Records:
    """Return the records that `to_bytes` wrote."""
    events, serials = [], []
    for blob in blobs:
        own, table = map(shuffle.from_blob, msgpack.unpackb(blob))
        numbers = numbers_of(table)
        codes = keys.codes(own)[table.column("key").to_numpy()]
        starts, lengths = numbers["start"], numbers["length"]
        ends = np.where(lengths == _ENDLESS, INFINITY, starts + lengths)
        rows = table.select([name for name in table.column_names if name[0] == "i"]).replace_schema_metadata(None)
        events.append(Events(codes, starts, starts + numbers["since"], ends, rows))
        serials.append(numbers["serial"])
    return Records(joined(events), np.concatenate(serials))


def latest(records: Records) -> Records:
    """Return the last record of each event.

    Cost: a sort; where different identities have one number, a look at each of their records.
    """
    events, serials = records
    ids = ids_of(events.rows.column("id"))
    hashes = hashes_of(events.codes, ids, events.starts)
    order = np.lexsort((serials, hashes))
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = hashes[order][1:] != hashes[order][:-1]
    kept = order[is_last]
    same: IntArray = np.cumsum(is_last) - is_last
    alike = kept[same]
    is_other = ~are_same(*((events.codes[at], ids[at], events.starts[at]) for at in (order, alike)))
    if is_other.any():
        clashing = np.isin(same, same[is_other])
        last = {(events.codes[at], ids[at], events.starts[at]): at for at in order[clashing].tolist()}
        kept = np.concatenate([order[is_last & ~clashing], np.array([*last.values()], np.int64)])
    return Records(events.take(kept), serials[kept])
