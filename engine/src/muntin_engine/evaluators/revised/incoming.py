"""The rows of a micro-batch as columns, and which of them need no look at each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.revised.events import HashArray, LiveEvents, are_same, hashes_of, ids_of
from muntin_engine.time.changes import InputChange
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.key_buckets import by_bucket
from muntin_engine.wire.python_values import changes_of
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.value_flags import flags


def blobs_of(task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
    """Yield the rows for each bucket that has any, as they are: which of them are legal is known there alone."""
    needless = [name for name in ("problem", "change") if name in rows.column_names]
    own = by_bucket(rows, task.key_names, task.plan.buckets)
    return (BucketBlob(place, to_blob(some.drop_columns(needless))) for place, some in own)


@dataclass(frozen=True, slots=True)
class IncomingRows:
    """n rows: insertions, and revisions of events.

    Attributes:
        codes: The codes of their keys.
        ids: The ids of their events.
        starts: The starts of their events.
        hashes: The numbers of their events' identities.
        ends: Of an insertion the end, of a revision the end that it expects.
        new_ends: Of a revision the new end.
        is_insertion: True for an insertion.
        is_blind: True for a revision that expects no end.
        table: All of their columns.
    """

    codes: IntArray
    ids: Array
    starts: IntArray
    hashes: HashArray
    ends: IntArray
    new_ends: IntArray
    is_insertion: BoolArray
    is_blind: BoolArray
    table: pa.Table

    @classmethod
    def of(cls, table: pa.Table, codes: IntArray) -> IncomingRows:
        """Return the rows of a table, given the codes of their keys."""
        starts, ends = table.column("start").to_numpy(), table.column("end")
        new_ends, is_insertion = np.zeros(len(table), np.int64), np.ones(len(table), np.bool_)
        if "new_end" in table.column_names:
            is_insertion = flags(table.column("new_end").is_null())
            new_ends = table.column("new_end").fill_null(0).to_numpy()
        is_blind = flags(ends.is_null()) & ~is_insertion
        ids = ids_of(table.column("id"))
        hashes = hashes_of(codes, ids, starts)
        return cls(codes, ids, starts, hashes, ends.fill_null(0).to_numpy(), new_ends, is_insertion, is_blind, table)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def payload_names(self) -> list[str]:
        """The names of the columns that make the payload."""
        return [name for name in self.table.column_names if name != "id" and name[0] == "i"]

    def changes(self, places: IntArray) -> dict[int, list[InputChange]]:
        """Return some of the rows by the codes of their keys, as the general evaluator takes them."""
        found: dict[int, list[InputChange]] = {}
        rows = changes_of(self.table.take(pa.array(places)), self.payload_names)
        for code, change in zip(self.codes[places].tolist(), rows, strict=True):
            found.setdefault(code, []).append(change)
        return found

    def have_no_payload(self) -> BoolArray:
        """Return for each row whether it has no payload."""
        nulls = (flags(pc.is_null(self.table.column(name))) for name in self.payload_names)
        found: BoolArray = np.logical_and.reduce([np.ones(len(self), np.bool_), *nulls])
        return found


class PlainChanges(NamedTuple):
    """The changes of a batch that are plain, and the other rows.

    Attributes:
        inserted: The rows that insert a new event.
        ends: The ends of these events, after a revision in the same batch, too.
        moved: The places of the live events that end elsewhere now.
        new_ends: Their ends.
        deleted: The places of the live events that are deleted.
        others: The rows that are not plain.
    """

    inserted: IntArray
    ends: IntArray
    moved: IntArray
    new_ends: IntArray
    deleted: IntArray
    others: IntArray


NOTHING: Final = PlainChanges(*(np.empty(0, np.int64) for _ in range(6)))
"""No changes."""


def classify(rows: IncomingRows, live: LiveEvents, waiting: HashArray, watermark: int) -> PlainChanges:
    """Return the plain changes among the rows of a batch.

    Plain are the insertion of an event that is not there, its only revision, and both together, if they are in time
    and the revision expects the end that the event has, or none. All that the rows of one event do depends on these and
    on the event alone; so nothing else has a part in it.

    Cost: a sort of the rows, a search for each event, and a few passes.

    Args:
        rows: The rows.
        live: The events before them.
        waiting: The numbers of the events that rows wait for.
        watermark: The watermark of the batches before; a row that changes anything before it is late.
    """
    order = np.argsort(rows.hashes, kind="stable")
    hashes, is_insertion = rows.hashes[order], rows.is_insertion[order]
    is_first = np.empty(len(order), np.bool_)
    is_first[:1] = True
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    groups, leads = np.cumsum(is_first) - 1, order[is_first]
    insertions, revisions = (np.full(len(leads), -1) for _ in range(2))
    insertions[groups[is_insertion]] = order[is_insertion]
    revisions[groups[~is_insertion]] = order[~is_insertion]
    is_new, is_revised = insertions >= 0, revisions >= 0
    is_plain = np.bincount(groups, minlength=len(leads)) == is_new.astype(np.int64) + is_revised
    follows = np.flatnonzero(~is_first)
    is_alike = are_same(
        *((rows.codes[at], rows.ids[at], rows.starts[at]) for at in (order[follows], order[follows - 1]))
    )
    is_plain[groups[follows[~is_alike]]] = False
    if len(waiting):
        is_plain &= ~np.isin(hashes[is_first], waiting)
    starts = rows.starts[leads]
    places = live.find(rows.codes[leads], rows.ids[leads], starts, hashes[is_first])
    is_plain &= is_new == (places < 0)
    ends = rows.ends[insertions]
    if len(live):
        ends = np.where(is_new, ends, live.held.high[places])
    is_plain &= (ends > starts) & (~is_new | (starts >= watermark))
    new_ends = np.where(is_revised, rows.new_ends[revisions], ends)
    fits = rows.is_blind[revisions] | (rows.ends[revisions] == ends)
    is_in_time = np.minimum(ends, new_ends) >= watermark
    is_plain &= ~is_revised | (fits & is_in_time & (new_ends >= starts))
    is_deleted = new_ends == starts
    if (is_plain & is_deleted).any():
        is_plain &= ~is_deleted | (~is_new & rows.have_no_payload()[revisions])
    stays = is_plain & ~is_deleted
    inserted, moved = np.flatnonzero(stays & is_new), np.flatnonzero(stays & ~is_new & (new_ends != ends))
    return PlainChanges(
        insertions[inserted],
        new_ends[inserted],
        places[moved],
        new_ends[moved],
        places[is_plain & is_deleted],
        np.sort(order[~is_plain[groups]]),
    )
