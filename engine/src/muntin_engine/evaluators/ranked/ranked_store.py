"""The rows of a bucket that wait, and the last rows of each key, as arrays; both are written to its log as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.stretch_store import ArrayStore
from muntin_engine.evaluators.arrays.stretches.coding import expanded, stable_order
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED
from muntin_engine.evaluators.arrays.stretches.stretch_codec import ColumnFormat
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, ROWS, StretchTable, concat
from muntin_engine.evaluators.ranked.key_states import KeyStates
from muntin_engine.evaluators.ranked.rank_windows import RANK
from muntin_engine.evaluators.ranked.row_sequence import time_order
from muntin_engine.state.bucket_state import StateSize
from muntin_engine.state.log import Entry, LogEntry, StateLog

MOST_PIECES: Final = 32
"""Pieces are joined into one when there are more."""

_NO_PIECE: Final = -1


class RowsToRelease:
    """The rows that the watermark has not passed, in pieces, each sorted by time.

    Cost: a batch costs the rows that it adds and those that it releases; every `MOST_PIECES` batches, all that wait.
    """

    def __init__(self) -> None:
        self._pieces: list[StretchTable] = []
        self._counts: IntArray = np.empty(0, np.int64)  # of rows, by the code of their key

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return self._counts.nbytes + sum(piece.nbytes for piece in self._pieces)

    @property
    def first_time(self) -> int:
        """The time of the first row; `INFINITY` if none waits."""
        return min((int(piece.low[0]) for piece in self._pieces), default=INFINITY)

    def tables(self) -> Sequence[StretchTable]:
        """Return the rows, in no order."""
        return self._pieces

    def add(self, tables: Sequence[StretchTable]) -> None:
        """Add rows."""
        for table in tables:
            if not len(table):
                continue
            counts = np.bincount(table.keys, minlength=len(self._counts))
            counts[: len(self._counts)] += self._counts
            self._counts = counts
            self._pieces.append(table.take(time_order(table.low)))
        if len(self._pieces) > MOST_PIECES:
            joined = concat(self._pieces)
            self._pieces = [joined.take(time_order(joined.low))]

    def release(self, watermark: int) -> StretchTable:
        """Take out the rows that a watermark has passed."""
        released = [EMPTY]
        waiting: list[StretchTable] = []
        for piece in self._pieces:
            count = int(np.searchsorted(piece.low, watermark, "left"))
            released.append(piece.take(slice(0, count)))
            if count < len(piece):
                waiting.append(piece.take(slice(count, len(piece))))
        self._pieces = waiting
        rows = concat(released)
        self._counts -= np.bincount(rows.keys, minlength=len(self._counts))
        return rows

    def codes(self) -> IntArray:
        """Return the codes of the keys that have such rows, ascending."""
        return np.flatnonzero(self._counts)

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        present = self.codes()
        counts = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
        counts[codes[present]] = self._counts[present]
        self._counts = counts
        self._pieces = [piece.with_keys(codes[piece.keys]) for piece in self._pieces]


class LastRowsOfKeys:
    """The rows in the window of each key, by rank.

    They lie in pieces, each sorted by key and rank; a piece has all rows of a key, and the newest piece that has some
    is right.

    Cost: a batch costs the rows of the keys that it touches. Pieces are joined when they have more dead rows than live
    ones, or are many.

    Attributes:
        count: The number of the rows.
        first_times: For the code of each key the time of the oldest row in its window; `INFINITY` without a window.
    """

    def __init__(self) -> None:
        self._pieces: list[StretchTable] = []
        self._piece_of_key: IntArray = np.empty(0, np.int64)
        self._dead = 0
        self.count = 0
        self.first_times: IntArray = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        by_key = self._piece_of_key.nbytes + self.first_times.nbytes
        return by_key + sum(piece.nbytes for piece in self._pieces)

    def codes(self) -> IntArray:
        """Return the codes of the keys that have such rows, ascending."""
        return np.flatnonzero(self._piece_of_key != _NO_PIECE)

    def of_keys(self, codes: IntArray) -> StretchTable:
        """Return the rows of some keys, sorted by key and rank.

        Args:
            codes: The codes of the keys, ascending.
        """
        self._grow(codes)
        places = self._piece_of_key[codes]
        tables = [EMPTY]
        for place in np.unique(places).tolist():
            if place != _NO_PIECE:
                tables.append(_rows_of_keys(self._pieces[place], codes[places == place]))
        rows = concat(tables)
        return rows.take(stable_order(rows.keys, len(self._piece_of_key))) if len(tables) > 2 else rows

    def replace(self, codes: IntArray, previous: int, rows: StretchTable) -> None:
        """Replace the rows of some keys.

        Args:
            codes: The codes of the keys, ascending.
            previous: The number of rows that they had.
            rows: The rows that they have now, at least one each, sorted by key and rank.
        """
        self._grow(codes)
        self._piece_of_key[codes] = len(self._pieces)
        self._pieces.append(rows)
        firsts = np.searchsorted(rows.keys, codes, "left")
        self.first_times[codes] = rows.low[firsts]
        self.count += len(rows) - previous
        self._dead += previous
        if self._dead > self.count or len(self._pieces) > MOST_PIECES:
            self.table()

    def table(self) -> StretchTable:
        """Return all rows, sorted by key and rank."""
        if len(self._pieces) > 1:
            codes = self.codes()
            whole = self.of_keys(codes)
            self._pieces = [whole]
            self._piece_of_key[codes] = 0
            self._dead = 0
        return self._pieces[0] if self._pieces else EMPTY

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place; codes keep their order."""
        whole = self.table()
        present = self.codes()
        first_times = self.first_times[present]
        size = int(codes.max(initial=-1)) + 1
        self._piece_of_key = np.full(size, _NO_PIECE)
        self.first_times = np.full(size, INFINITY)
        if len(whole):
            self._pieces = [whole.with_keys(codes[whole.keys])]
            self._piece_of_key[codes[present]] = 0
            self.first_times[codes[present]] = first_times

    def _grow(self, codes: IntArray) -> None:
        """Make room for keys."""
        missing = int(codes.max(initial=-1)) + 1 - len(self._piece_of_key)
        if missing > 0:
            missing = max(missing, len(self._piece_of_key))
            self._piece_of_key = np.append(self._piece_of_key, np.full(missing, _NO_PIECE))
            self.first_times = np.append(self.first_times, np.full(missing, INFINITY))


def _rows_of_keys(piece: StretchTable, codes: IntArray) -> StretchTable:
    """Return the rows of some keys of a piece that is sorted by key, and has rows of each of them."""
    firsts = np.searchsorted(piece.keys, codes, "left")
    counts = np.searchsorted(piece.keys, codes, "right") - firsts
    if int(counts.sum()) == len(piece):
        return piece
    owners, within = expanded(counts)
    return piece.take(firsts[owners] + within)


class RankedStore(ArrayStore):
    """The rows of a bucket, those that wait and those in windows.

    A batch writes the rows that it brings, as they came. So what was in windows is found again by the watermark: the
    rows before it were released. When the log is written anew, the rows in windows get their ranks beside them.

    Attributes:
        waiting: The rows that wait.
        in_windows: The rows in the window of each key.
        states: The states of each module whose state goes on from window to window. They are not written: rows make
            them what they are.
        unwritten: The rows that the present batch brought.
    """

    def __init__(self, states: Sequence[KeyStates] = (), *, with_late_rows: bool = False) -> None:
        """Make an empty store.

        Args:
            states: The states of each module whose state goes on from window to window; none of others.
            with_late_rows: True if rows lie beside what arrives, in case they are late.
        """
        super().__init__(ColumnFormat(parts={RANK: COUNTED}), with_rows=with_late_rows)
        self.waiting = RowsToRelease()
        self.in_windows = LastRowsOfKeys()
        self.states = states
        self.unwritten: Sequence[StretchTable] = ()

    def __len__(self) -> int:
        return len(self.waiting) + self.in_windows.count

    @property
    def sizes(self) -> StateSize:
        """The numbers of keys and of rows."""
        return StateSize(keys=len(self.used_codes()), events=len(self))

    @property
    def memory(self) -> int:
        """About how many bytes it takes in memory."""
        objects = sum(states.nbytes for states in self.states)
        return self.waiting.nbytes + self.in_windows.nbytes + objects + self.keys.nbytes

    @property
    def first_start(self) -> int:
        """The least start of a window that may yet be computed."""
        return min(self.waiting.first_time, int(self.in_windows.first_times.min(initial=INFINITY)))

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which it holds something, ascending."""
        return np.union1d(self.waiting.codes(), self.in_windows.codes())

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self.waiting.renumber(codes)
        self.in_windows.renumber(codes)
        for states in self.states:
            states.renumber(codes)

    def read(self, entries: Sequence[LogEntry]) -> tuple[StretchTable, StretchTable]:
        """Return the rows in windows when a log was last written anew, by key and rank, and the rows that came since.

        Args:
            entries: The log.
        """
        in_windows = [EMPTY]
        came_since = [EMPTY]
        for table in self.codec.read_stretches(entries):
            tables = in_windows if RANK in table.parts else came_since
            tables.append(table)
        ranked = concat(in_windows)  # entry by entry, as they were written
        return ranked.take(stable_order(ranked.keys, len(self.keys))), concat(came_since)

    def clear(self) -> None:
        """Forget all rows: the stream has ended."""
        self.waiting = RowsToRelease()
        self.in_windows = LastRowsOfKeys()
        self.unwritten = ()
        for states in self.states:
            states.clear()

    def write(self, log: StateLog) -> None:
        """Write the rows of a batch, and the log anew when more than half of it is garbage."""
        for table in self.unwritten:
            log.append(self.codec.write(table))
        self.unwritten = ()
        log.tidy(self, self.codec.size_of(len(self)), self._whole_entries)

    def compact(self, entries: Sequence[LogEntry], first_live: int = EARLIEST) -> list[Entry]:
        """Merge log entries into as few as possible: those of rows as they came, as others are not merged."""
        del first_live
        return self.codec.write(concat(self.codec.read_stretches(entries)))

    def _whole_entries(self) -> list[Entry]:
        """Encode all rows as log entries, without what is computed of them."""
        entries: list[Entry] = []
        whole = self.in_windows.table()
        if len(whole):
            entries += self.codec.write(replace(whole, parts={part: whole.parts[part] for part in (ROWS, RANK)}))
        waiting = concat([EMPTY, *self.waiting.tables()])
        if len(waiting):
            entries += self.codec.write(waiting)
        return entries
