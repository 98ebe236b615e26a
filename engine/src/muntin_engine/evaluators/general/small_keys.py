"""Process keys of a few rows without their indexes: a second, faster evaluator for the most common queries.

An insertion that no other row can be about matters to nothing before a window of a grid closes, and a window is
computed from its members alone. So the rows of most batches are appended to the records of their key as they came, and
the records are read when a window closes. The results are the same as those of `GeneralRun` with indexes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from muntin import EARLIEST, INFINITY, EmitPolicy, TimestampPolicy
from muntin_engine.evaluators.general.emission import FinalEmission
from muntin_engine.evaluators.general.fast_assigners import GridAssigner, shared_assigner
from muntin_engine.evaluators.general.key_state import waiting_columns, waiting_rows
from muntin_engine.evaluators.keyed.event_index import by_start, by_until, stored_event
from muntin_engine.evaluators.keyed.key_store import MOST_RECORDS, KeyStore
from muntin_engine.evaluators.keyed.keyed_run import KeyedRun, KeyWork
from muntin_engine.evaluators.keyed.sweep import sweep
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import InputChange, OutputChange

MOST_ROWS: Final = 16
"""A key gets its indexes if a batch brings more rows of it: its state is likely to be large, and decoded anyway."""


def plain_grid(query: EvaluatorQuery) -> GridAssigner | None:
    """Return the grid of a query whose keys of few rows need no indexes; None if all keys of the query need them.

    No indexes are needed if only insertions come, output is final, windows lie on a grid without gaps, no event is
    filtered or shed, and no key is forgotten.
    """
    assigner = query.once(shared_assigner)
    if not isinstance(assigner, GridAssigner) or assigner.has_gaps:
        return None
    if query.emit is not EmitPolicy.FINAL or query.event_ends_move:
        return None
    if query.keeps is not None or query.most_held is not None or query.forget_keys_after is not None:
        return None
    return assigner.copy()


class SmallKeys:
    """Processes the keys of a micro-batch that have few rows, all of them plain insertions."""

    def __init__(self, run: KeyedRun, grid: GridAssigner, emission: FinalEmission) -> None:
        """Begin a micro-batch.

        Args:
            run: The micro-batch of all keys.
            grid: The windows; the frontier is set for each key anew.
            emission: Computes the rows of windows that close.
        """
        # The run owns this object, and is not kept here: a cycle would hold all results of the batch after it.
        self._held = run.held
        self._metadata = run.metadata
        self._grid = grid
        self._emission = emission
        (self._intake,) = run.intakes
        self._codec = run.codec
        # A key that comes back may not give out serial numbers that it had before it was forgotten: it goes on from the
        # last number of any forgotten key.
        self._serial_of_new_keys = run.metadata.serial
        self._is_at_end = run.query.timestamps is TimestampPolicy.POINT_AT_END

    def process(self, store: KeyStore[Any], name: bytes, work: KeyWork) -> list[OutputChange] | None:
        """Process a key and write its state; return the changes of its output.

        Returns:
            None if the key needs its indexes: then nothing is done.
        """
        rows = work.rows
        key_records = store.find(name)

        # Indexes pay off for a key with many rows, and are needed for rows that another row can be about.
        if len(rows) > MOST_ROWS:
            return None
        if key_records is None and not rows:
            return None  # there is nothing that this class could append to
        if key_records is not None and not key_records.has_few_rows:
            return None
        if not self._are_plain(rows):
            return None
        self._intake.accepted += len(rows)

        # A key with a window that closes is written anew, and so is a key with many records. To any other key, rows are
        # appended.
        watermark = self._intake.progress.watermark
        if key_records is not None:
            closes = key_records.timer.closing <= watermark
            if closes or len(key_records.records) >= MOST_RECORDS:
                return self._close(store, name, work)
            if not rows:
                return []
        self._grid.frontier = EARLIEST  # the grid is shared by all keys: begin anew for this one
        timer = self._timer(min(map(by_start, rows)))
        if timer.closing <= watermark:
            return self._close(store, name, work)

        self._held.add(keys=int(key_records is None), events=len(rows))
        store.append(
            name, timer, len(rows), self._codec.pack(waiting_rows(self._serial_of_new_keys, assigner=[], rows=rows))
        )
        return []

    def _are_plain(self, rows: Sequence[InputChange]) -> bool:
        """Return True if all rows are insertions, none late or empty, with payloads of one length.

        They also have no id, and no new end, so no other row can be about them.
        """
        if not rows:
            return True
        watermark = self._intake.previous.watermark
        width = len(rows[0].payload)
        for id, start, end, payload, new_end, *_ in rows:
            if id is not None or new_end is not None or end is None:
                return False
            if not watermark <= start < end or len(payload) != width:
                return False
        return True

    def _close(self, store: KeyStore[Any], name: bytes, work: KeyWork) -> list[OutputChange]:
        """Emit the windows of a key that close, and write the rows that later windows need as one record."""
        grid = self._grid
        progress = self._intake.progress
        key_records = store.find(name)
        stored_records: list[list[Any]] = []
        if key_records is not None:
            stored_records = [self._codec.unpack(record.data) for record in key_records.records]
        key_rows = waiting_columns(stored_records)
        grid.frontier = key_rows.frontier
        serial = key_rows.serial
        if work.rows:
            serial = max(serial, self._serial_of_new_keys)
        starts = key_rows.starts + [row.start for row in work.rows]
        ends = key_rows.ends + [cast(int, row.end) for row in work.rows]  # an insertion has an end
        payloads = key_rows.payloads + [row.payload for row in work.rows]

        # Nothing here looks at ids: the places of rows will do.
        ids = range(len(starts))
        columns = (ids, starts, ends, payloads, *grid.memberships(starts, ends))
        events = sorted(map(stored_event, zip(*columns, strict=True)), key=by_until)
        windows = grid.ending(events, EARLIEST, progress.watermark, progress.horizon)
        output = self._emission.rows(work.key, sweep(windows, events), serial)
        serial += len(output)

        # The rows that later windows need become the only record of the key.
        grid.close(progress.watermark)
        needed_events = [event for event in events if event.until > grid.frontier]
        previous_count = len(events) - len(work.rows)
        had_key = key_records is not None
        self._held.add(keys=int(bool(needed_events)) - int(had_key), events=len(needed_events) - previous_count)
        store.remove(name)
        if needed_events:
            timer = self._timer(min(map(by_start, needed_events)))
            record = waiting_rows(serial, assigner=grid.to_data(), rows=needed_events)
            store.append(name, timer, len(needed_events), self._codec.pack(record))
        else:
            # Nothing is left of the key but its last serial number, which it must not give out again if it comes back.
            self._metadata.serial = max(self._metadata.serial, serial)
        return output

    def _timer(self, earliest: int) -> KeyTimer:
        """Return the timer of a key by the earliest start of its rows, as `Closing.timer` does for any key."""
        first_open = self._grid.first_open(earliest)
        output_watermark = first_open.end if self._is_at_end else first_open.start
        return KeyTimer(closing=first_open.end, visibility=INFINITY, output_watermark=output_watermark)
