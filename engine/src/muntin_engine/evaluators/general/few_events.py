"""Evaluate keys of a few events from their records, without the indexes of a key.

Where insertions without ids alone may come, an event matters to nothing before a window of a grid closes, and a window
is computed from its members and from nothing else. So the insertions of a batch are appended to the records of their
key as they came; when a window closes, the events are read back, and those that later windows need are written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import add
from typing import Any, Final, TypeAlias

from muntin import EARLIEST, INFINITY, TimestampPolicy, Window
from muntin_engine.core.changes import InputChange, OutputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment.assigner import GridAssigner
from muntin_engine.evaluators.general.closing import FinalEmission
from muntin_engine.evaluators.general.key_state import KeyState, few_events
from muntin_engine.evaluators.keyed.bucket import KeyedRun
from muntin_engine.evaluators.keyed.computation import sweep
from muntin_engine.evaluators.keyed.event_index import stored_event
from muntin_engine.evaluators.keyed.key_store import KeyStore, StoredKey
from muntin_engine.state.bucket_state import NEVER, KeyTimer

MOST_ROWS: Final = 16
"""A key that a batch brings more rows of is evaluated with its indexes."""

MOST_RECORDS: Final = 8
"""The records of a key are so many at most; then they are written as one."""

Columns: TypeAlias = Sequence[list[Any]]
"""The starts, the ends and the payloads of events."""


def takes_few_events(query: EvaluatorQuery, assigner: GridAssigner) -> bool:
    """Return True if keys of a query with final output may be evaluated from their records.

    Insertions alone may come, none is filtered or shed, no key is forgotten, and each event is a member of the windows
    of a grid that overlap it, of at least one.
    """
    others = query.keeps, query.most_held, query.forget_keys_after
    return not query.event_ends_move and not assigner.has_gaps and others == (None, None, None)


class FewEvents:
    """Evaluates the keys of a micro-batch that have a few events and get a few.

    Cost: for a key none of whose windows closes, packing its new rows; otherwise linear in its events.
    """

    def __init__(
        self, run: KeyedRun, assigner: GridAssigner, emission: FinalEmission, before: Progress, now: Progress
    ) -> None:
        """Prepare for a batch of a query that `takes_few_events`."""
        self._run, self._new_serial, self._codec = run, run.metadata.serial, run.codec
        self._open, self._still_open = assigner, assigner.copy()
        self._open.close(before.watermark)
        self._still_open.close(now.watermark)
        self._emission, self._least, self._now = emission, before.watermark, now
        self._is_at_end = run.query.timestamps is TimestampPolicy.POINT_AT_END

    def process(
        self, store: KeyStore[KeyState], name: bytes, key: object, rows: Sequence[InputChange]
    ) -> list[OutputChange] | None:
        """Evaluate a key, and return its output; None, with nothing done, if that takes its indexes."""
        stored, least, limit = store.find(name), self._least, self._now.watermark
        if len(rows) > MOST_ROWS or (stored is not None and not stored.has_few_events):
            return None
        new: Columns = [], [], []
        first = None
        if rows:
            for id, start, end, _, new_end, *_ in rows:
                if id is not None or new_end is not None or end is None or not least <= start < end:
                    return None
            _, *new, _, _, _ = map(list, zip(*rows, strict=True))
            starts, _, payloads = new
            first = self._open.first_open(min(starts))
            if first is None or len(set(map(len, payloads))) > 1:
                return None
        is_due = stored is not None and (stored.timer.closing <= limit or len(stored.records) >= MOST_RECORDS)
        if is_due or (first is not None and first.end <= limit):
            return self._close(store, name, key, stored, new)
        if first is not None:
            packed = self._packed(self._new_serial, new)
            self._run.hold(store.append(name, self._timer(first), len(rows), packed), len(rows))
        return []

    def _close(
        self, store: KeyStore[KeyState], name: bytes, key: object, stored: StoredKey[KeyState] | None, new: Columns
    ) -> list[OutputChange]:
        """Return the rows of the windows of a key that close, and write the events that later ones need."""
        limit, before, serial = self._now.watermark, 0, self._new_serial
        starts, ends, payloads = new
        if stored is not None:
            serial, columns = few_events([self._codec.unpack(record.data) for record in stored.records])
            before = len(columns[0])
            starts, ends, payloads = map(add, columns, new)
        memberships = self._open.memberships(starts, ends)
        events = list(map(stored_event, zip(range(len(starts)), starts, ends, payloads, *memberships, strict=True)))
        members = [event for event in events if event.since < limit]
        output: list[OutputChange] = []
        if members:
            windows = self._open.ending(members, EARLIEST, limit, self._now.horizon)
            output = self._emission.rows_of(key, sweep(windows, members), serial)
        serial += len(output)
        frontier = self._still_open.frontier
        kept = [event for event in events if event.until > frontier]
        if kept:
            _, starts, ends, payloads, since, _ = map(list, zip(*kept, strict=True))
            first = self._still_open.first_open(min(since))
            timer = NEVER if first is None else self._timer(first)
            store.replace(name, timer, len(kept), self._packed(serial, (starts, ends, payloads)))
        else:
            self._run.forget_key(store, name, serial)
        self._run.hold(bool(kept) - (stored is not None), len(kept) - before)
        return output

    def _packed(self, serial: int, columns: Columns) -> bytes:
        """Return events as a record."""
        starts, ends, payloads = columns
        values = list(chain.from_iterable(payloads))
        return self._codec.pack([self._still_open.frontier, serial, starts, ends, len(payloads[0]), values])

    def _timer(self, first: Window) -> KeyTimer:
        """Return the timer of a key by its first open window, as `Closing.timer` does for any key."""
        return KeyTimer(first.end, INFINITY, first.end if self._is_at_end else first.start)
