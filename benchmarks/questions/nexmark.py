"""Queries of Nexmark over rows that are bids: `key` is the auction and `value` the price."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.question import Bools, Question, Rows, answer_table, ticks

EURO: Final = 0.89
SKIP: Final = 123
SIZE: Final = 10
PERIOD: Final = 5
"""The windows, in seconds, as Beam has them."""

ARE_PEOPLE: Final = "value < 70"
ARE_AUCTIONS: Final = "value >= 70 AND value < 78"
"""For query 8: a row is a person, about one of 44, or an auction that the person opens, about one of 20, or neither."""


@dataclass(frozen=True, slots=True)
class Nexmark(Question):
    """A query of Nexmark, as its answers in the form of `ANSWERS`.

    Attributes:
        query: 0: all rows; 1: with the price in euros; 2: those of some auctions; 5: the auctions with the most rows of
            each window of 10 s, every 5 s, and how many; 7: the row with the highest price of each 10 s; 8: auctions of
            people who came in the same 10 s.
    """

    counts_may_differ: ClassVar[bool] = True

    query: int

    @property
    def reads(self) -> int:
        """Query 8 joins people and auctions; the others read all rows once."""
        return 2 if self.query == 8 else 1

    def __str__(self) -> str:
        return f"Nexmark query {self.query}"

    def answers(self, rows: Rows) -> pa.Table:
        """Compute the answers the plain way."""
        match self.query:
            case 0:
                return answer_table(rows.key, rows.at, rows.value)
            case 1:
                return answer_table(rows.key, rows.at, rows.value * EURO)
            case 2:
                of_auctions = rows.where(rows.key % SKIP == 0)
                return answer_table(of_auctions.key, of_auctions.at, of_auctions.value)
            case 5:
                return _hot(rows)
            case 7:
                return _highest(rows)
        return _new_sellers(rows)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare times, or the ends of windows, with the watermark; a pair of query 8 is there when its rows are."""
        if self.query == 8:
            return np.ones(len(answers), np.bool_)
        has_windows = self.query in (5, 7)
        duration = SIZE * SECOND if has_windows else 1
        return ticks(answers["start"]) + duration <= watermark


def _hot(rows: Rows) -> pa.Table:
    """Count the rows of each auction and window, and keep the auctions with the most of each window."""
    period = PERIOD * SECOND
    windows_of_a_row = SIZE // PERIOD
    newest = rows.at // period
    starts = np.concatenate([newest - back for back in range(windows_of_a_row)])
    bids = np.stack([starts, np.tile(rows.key, windows_of_a_row)])
    (start, auction), counts = np.unique(bids, axis=1, return_counts=True)
    windows, window = np.unique(start, return_inverse=True)
    most = np.zeros(len(windows), np.int64)
    np.maximum.at(most, window, counts)
    is_hot = counts == most[window]
    return answer_table(auction[is_hot], start[is_hot] * period, counts[is_hot].astype(np.float64))


def _highest(rows: Rows) -> pa.Table:
    """Sort by window and price, and keep the last row of each window; of equal prices, the one of the last auction."""
    size = SIZE * SECOND
    start = rows.at // size * size
    order = np.lexsort((rows.key, rows.value, start))
    is_last_of_window = np.r_[start[order][1:] != start[order][:-1], True]
    highest = order[is_last_of_window]
    return answer_table(rows.key[highest], start[highest], rows.value[highest])


def _new_sellers(rows: Rows) -> pa.Table:
    """Join the people and the auctions of each key and window; a person who came twice joins an auction twice."""
    size = SIZE * SECOND
    people = rows.where(rows.value < 70)
    auctions = rows.where((rows.value >= 70) & (rows.value < 78))
    arrivals = Counter(zip(people.key.tolist(), (people.at // size * size).tolist(), strict=True))
    start = auctions.at // size * size
    counts = [arrivals[key_and_window] for key_and_window in zip(auctions.key.tolist(), start.tolist(), strict=True)]
    return answer_table(np.repeat(auctions.key, counts), np.repeat(start, counts), np.repeat(auctions.value, counts))
