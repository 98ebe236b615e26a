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
"""Stands in for the place of a piece where a key has no rows."""


class RowsToRelease:
    """The rows that the watermark has not passed, in pieces, each sorted by time.

    Cost: a batch costs the rows that it adds and those that it releases; every `MOST_PIECES` batches, all that wait.
    """

    def __init__(self) -> None:
        """Hold no rows."""
        self._pieces: list[StretchTable] = []
        self._counts: IntArray = np.empty(0, np.int64)
        """For the code of each key its number of rows."""

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take in memory, roughly."""
        return self._counts.nbytes + sum(piece.nbytes for piece in self._pieces)

    @property
    def first_time(self) -> int:
        """The time of the first row; `INFINITY` if none waits."""
        return min((int(piece.low[0]) for piece in self._pieces), default=INFINITY)

    def tables(self) -> Sequence[StretchTable]:
        """Return the rows, in no order."""
        return self._pieces

    def add(self, tables: Sequence[StretchTable]) -> None:
        """Add rows, in any order."""
        for table in tables:
            if not len(table):
                continue
            # New keys may have larger codes: the array of counts grows with them.
            counts = np.bincount(table.keys, minlength=len(self._counts))
            counts[: len(self._counts)] += self._counts
            self._counts = counts
            self._pieces.append(table.take(time_order(table.low)))
        if len(self._pieces) > MOST_PIECES:
            joined = concat(self._pieces)
            self._pieces = [joined.take(time_order(joined.low))]

    def release(self, watermark: int) -> StretchTable:
        """Remove the rows before a watermark, and return them."""
        released_parts = [EMPTY]  # `concat` needs a table, even if no row waits
        waiting_parts: list[StretchTable] = []
        for piece in self._pieces:  # sorted by time: released rows come first
            count = int(np.searchsorted(piece.low, watermark, "left"))
            released_parts.append(piece.take(slice(0, count)))
            if count < len(piece):
                waiting_parts.append(piece.take(slice(count, len(piece))))
        self._pieces = waiting_parts
        released = concat(released_parts)
        self._counts -= np.bincount(released.keys, minlength=len(self._counts))
        return released

    def codes(self) -> IntArray:
        """Return the codes of the keys that have rows to release, ascending."""
        return np.flatnonzero(self._counts)

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        present = self.codes()
        counts = np.zeros(int(new_codes.max(initial=-1)) + 1, np.int64)
        counts[new_codes[present]] = self._counts[present]
        self._counts = counts
        self._pieces = [piece.with_keys(new_codes[piece.keys]) for piece in self._pieces]


class LastRowsOfKeys:
    """The rows in the window of each key, by rank.

    They lie in pieces, each sorted by key and rank. A batch adds a piece that has all rows of the keys that it touches:
    of these keys, the rows of older pieces are dead.

    Cost: a batch costs the rows of the keys that it touches. Pieces are joined when they have more dead rows than live
    ones, or are many.

    Attributes:
        count: The number of the rows.
        first_times: For the code of each key the time of the oldest row in its window; `INFINITY` without a window.
    """

    def __init__(self) -> None:
        """Hold no rows."""
        self._pieces: list[StretchTable] = []
        self._piece_of_key: IntArray = np.empty(0, np.int64)
        """For the code of each key the place of the piece with its rows, or `_NO_PIECE`."""
        self._dead_count = 0
        """The number of rows of pieces that a later piece has replaced."""
        self.count = 0
        self.first_times: IntArray = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take in memory, roughly."""
        by_key = self._piece_of_key.nbytes + self.first_times.nbytes
        return by_key + sum(piece.nbytes for piece in self._pieces)

    def codes(self) -> IntArray:
        """Return the codes of the keys that have rows in a window, ascending."""
        return np.flatnonzero(self._piece_of_key != _NO_PIECE)

    def of_keys(self, codes: IntArray) -> StretchTable:
        """Return the rows of some keys, sorted by key and rank.

        Args:
            codes: The codes of the keys, ascending.
        """
        self._grow(codes)
        pieces_of_keys = self._piece_of_key[codes]
        tables: list[StretchTable] = []
        for place in np.unique(pieces_of_keys).tolist():
            if place != _NO_PIECE:
                tables.append(_rows_of_keys(self._pieces[place], codes[pieces_of_keys == place]))
        rows = concat([EMPTY, *tables])
        if len(tables) > 1:  # each table is sorted by key and rank; sorted by key, all of them are
            return rows.take(stable_order(rows.keys, len(self._piece_of_key)))
        return rows

    def replace(self, codes: IntArray, previous_count: int, rows: StretchTable) -> None:
        """Replace the rows of keys.

        Args:
            codes: The codes of the keys, ascending.
            previous_count: The number of rows that these keys had.
            rows: The rows that they have now, at least one each, sorted by key and rank.
        """
        self._grow(codes)
        self._piece_of_key[codes] = len(self._pieces)
        self._pieces.append(rows)
        firsts = np.searchsorted(rows.keys, codes, "left")
        self.first_times[codes] = rows.low[firsts]
        self.count += len(rows) - previous_count
        self._dead_count += previous_count
        # If most rows of the pieces are dead, or there are many pieces, `table` joins them into one.
        if self._dead_count > self.count or len(self._pieces) > MOST_PIECES:
            self.table()

    def table(self) -> StretchTable:
        """Return all rows, sorted by key and rank, as the only piece from now on."""
        if len(self._pieces) > 1:
            codes = self.codes()
            rows = self.of_keys(codes)
            self._pieces = [rows]
            self._piece_of_key[codes] = 0
            self._dead_count = 0
        return self._pieces[0] if self._pieces else EMPTY

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`; the order of keys stays the same."""
        rows = self.table()
        present_codes = self.codes()
        present_new_codes = new_codes[present_codes]
        first_times = self.first_times[present_codes]
        size = int(new_codes.max(initial=-1)) + 1
        self._piece_of_key = np.full(size, _NO_PIECE)
        self.first_times = np.full(size, INFINITY)
        if len(rows):
            self._pieces = [rows.with_keys(new_codes[rows.keys])]
            self._piece_of_key[present_new_codes] = 0
            self.first_times[present_new_codes] = first_times

    def _grow(self, codes: IntArray) -> None:
        """Make room for the codes of keys. Room is at least doubled, so that this is rarely done."""
        room = len(self._piece_of_key)
        missing = int(codes.max(initial=-1)) + 1 - room
        if missing > 0:
            added = max(missing, room)
            self._piece_of_key = np.append(self._piece_of_key, np.full(added, _NO_PIECE))
            self.first_times = np.append(self.first_times, np.full(added, INFINITY))


def _rows_of_keys(piece: StretchTable, codes: IntArray) -> StretchTable:
    """Return the rows of selected keys.

    Args:
        piece: A piece, which is sorted by key.
        codes: The codes of the keys, each of which has rows in the piece.
    """
    firsts = np.searchsorted(piece.keys, codes, "left")
    counts = np.searchsorted(piece.keys, codes, "right") - firsts
    if int(counts.sum()) == len(piece):
        return piece
    owners, within = expanded(counts)
    return piece.take(firsts[owners] + within)


class RankedStore(ArrayStore):
    """The rows of a bucket, those that wait and those in windows.

    A batch writes the rows that it brings to the log, as they came. When the log is read, the rows before the watermark
    are released once more: so the same rows are in windows again. When the log is written anew, the rows in windows are
    written with their ranks.

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
            states: The states of each module, which go on from window to window; none if windows are computed by forms.
            with_late_rows: True if blobs have the rows beside their stretches, because late rows are kept.
        """
        # Ranks are whole numbers, which are never merged. The columns of rows are no part that must be named.
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
        """The bytes that the store takes in memory, roughly."""
        objects = sum(states.nbytes for states in self.states)
        return self.waiting.nbytes + self.in_windows.nbytes + objects + self.keys.nbytes

    @property
    def first_start(self) -> int:
        """The least start of a window that may yet be computed."""
        return min(self.waiting.first_time, int(self.in_windows.first_times.min(initial=INFINITY)))

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which the store holds something, ascending."""
        return np.union1d(self.waiting.codes(), self.in_windows.codes())

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.waiting.renumber(new_codes)
        self.in_windows.renumber(new_codes)
        for states in self.states:
            states.renumber(new_codes)

    def read(self, entries: Sequence[LogEntry]) -> tuple[StretchTable, StretchTable]:
        """Read the rows of a log.

        Args:
            entries: The log.

        Returns:
            The rows that were in windows when the log was last written anew, by key and rank; and the rows that came
            since then, or waited then.
        """
        in_windows = [EMPTY]
        came_since = [EMPTY]
        for table in self.codec.read_stretches(entries):
            if RANK in table.parts:
                in_windows.append(table)
            else:
                came_since.append(table)
        ranked = concat(in_windows)
        # A key's rows may lie in several entries, which were written in the order of ranks: the sort keeps that order.
        by_key = stable_order(ranked.keys, len(self.keys))
        return ranked.take(by_key), concat(came_since)

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
        log.tidy(self, live_bytes=self.codec.size_of(len(self)), whole=self._all_entries)

    def merge(self, entries: Sequence[LogEntry], first_live: int = EARLIEST) -> list[Entry]:
        """Merge the log entries of batches into as few as possible.

        All of them have rows as they came, without ranks. Entries with ranks, from when the log was written anew, are
        marked as full and are never merged.
        """
        del first_live
        return self.codec.write(concat(self.codec.read_stretches(entries)))

    def _all_entries(self) -> list[Entry]:
        """Encode all rows as log entries, to write the log anew."""
        entries: list[Entry] = []
        in_windows = self.in_windows.table()
        if len(in_windows):
            # Rows are written without their lifted components, which `restore` computes again.
            parts = {part: in_windows.parts[part] for part in (ROWS, RANK)}
            entries += self.codec.write(replace(in_windows, parts=parts))
        waiting = concat([EMPTY, *self.waiting.tables()])
        if len(waiting):
            entries += self.codec.write(waiting)
        return entries
