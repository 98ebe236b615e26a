"""Days by the clock of a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.windows import Aggregate, Bools, Ints, Rows, Windows, reduce_runs, table_of, ticks


@dataclass(frozen=True, slots=True)
class Calendar(Windows):
    """Days from midnight to midnight of a time zone; of 23 or 25 hours where its clock is set.

    Attributes:
        zone: Its name in the IANA database; one whose clock is never set at midnight.
    """

    zone: str

    def __str__(self) -> str:
        return f"day in {self.zone}"

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Look each row's day up, and sort by key and day."""
        starts = self._midnights(rows.at)
        day = starts[np.searchsorted(starts, rows.at, side="right") - 1]
        order = np.lexsort((day, rows.key))
        key, day = rows.key[order], day[order]
        firsts = np.flatnonzero(np.r_[True, (np.diff(key) != 0) | (np.diff(day) != 0)])
        stops = np.r_[firsts[1:], len(key)]
        return table_of(key[firsts], day[firsts], reduce_runs(aggregate, rows.value[order], firsts, stops))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare the next midnight with the watermark."""
        midnights = self._midnights(rows.at)
        following = np.searchsorted(midnights, ticks(answers["start"]), side="right")
        return midnights[np.minimum(following, len(midnights) - 1)] <= watermark

    def _midnights(self, at: Ints) -> Ints:
        """Return all midnights from before the first of some times to after the last."""
        zone = ZoneInfo(self.zone)
        first, last = (_date_of(int(tick), zone) for tick in (at.min(), at.max()))
        days = (first + timedelta(days=number) for number in range((last - first).days + 2))
        midnights = [datetime.combine(day, time(), zone) for day in days]
        return np.array([round(midnight.timestamp()) * MICROSECONDS for midnight in midnights], np.int64)


def _date_of(tick: int, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(tick // MICROSECONDS, UTC).astimezone(zone).date()
