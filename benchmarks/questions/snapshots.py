"""Snapshots: stretches between neighbouring starts and ends of a key's rows, which last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.questions.lasting import ends_of
from benchmarks.questions.question import Bools, Floats, Ints, Question, Rows, answer_table, are_named


class _Snapshots(NamedTuple):
    """The snapshots that have a row."""

    key: Ints
    start: Ints
    end: Ints
    average: Floats


@dataclass(frozen=True, slots=True)
class Snapshot(Question):
    """The average over snapshots of rows that last for a pseudo-random time, which follows from their start.

    Attributes:
        longest: Most seconds that a row lasts.
        is_revised: True if a row is inserted without an end, which a second row then says.
    """

    counts_may_differ: ClassVar[bool] = True

    longest: int = 30
    is_revised: bool = False

    def __str__(self) -> str:
        revised = ", known from revisions" if self.is_revised else ""
        return f"snapshots, rows last up to {self.longest} s{revised}"

    def answers(self, rows: Rows) -> pa.Table:
        """Add up what starts and what ends, from edge to edge."""
        snapshots = self._snapshots(rows)
        return answer_table(snapshots.key, snapshots.start, snapshots.average)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Leave out the answers whose snapshots a row could still cut."""
        snapshots = self._snapshots(rows)
        is_open = snapshots.end >= watermark
        return ~are_named(answers, snapshots.key[is_open], snapshots.start[is_open])

    def _snapshots(self, rows: Rows) -> _Snapshots:
        """Return all snapshots with their averages, by key and start; sums are of 80 bits."""
        keys = np.tile(rows.key, 2)
        edges = np.concatenate([rows.at, ends_of(rows.at, self.longest)])
        signs = np.repeat([1, -1], len(rows.key))
        changes = signs * np.tile(rows.value, 2)

        order = np.lexsort((edges, keys))
        keys = keys[order]
        edges = edges[order]
        counts = np.cumsum(signs[order])
        totals = np.cumsum(changes[order].astype(np.longdouble))

        # Several edges may lie at one time: the last of them has the count and the total from there on.
        is_last_of_edge = np.r_[(keys[1:] != keys[:-1]) | (edges[1:] != edges[:-1]), True]
        lasts = np.flatnonzero(is_last_of_edge)
        starts = lasts[:-1][counts[lasts[:-1]] > 0]  # after the last edge of a key nothing is left
        averages = (totals[starts] / counts[starts]).astype(np.float64)
        return _Snapshots(keys[starts], edges[starts], edges[starts + 1], averages)
