"""Days by the clock of a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.question import Bools, Ints, Question, Rows, answer_table, averages_of_runs, ticks


@dataclass(frozen=True, slots=True)
class CalendarDays(Question):
    """The average over days from midnight to midnight of a zone; of 23 or 25 hours where its clock is set.

    Attributes:
        zone: Its name in the IANA database; one whose clock is never set at midnight.
    """

    zone: str

    def __str__(self) -> str:
        return f"day in {self.zone}"

    def answers(self, rows: Rows) -> pa.Table:
        """Look each row's day up, and sort by key and day."""
        midnights = self._midnights(rows.at)
        day = midnights[np.searchsorted(midnights, rows.at, side="right") - 1]
        order = np.lexsort((day, rows.key))
        key = rows.key[order]
        day = day[order]
        firsts = np.flatnonzero(np.r_[True, (np.diff(key) != 0) | (np.diff(day) != 0)])
        stops = np.r_[firsts[1:], len(key)]
        return answer_table(key[firsts], day[firsts], averages_of_runs(rows.value[order], firsts, stops))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare the next midnight with the watermark."""
        midnights = self._midnights(rows.at)
        following = np.searchsorted(midnights, ticks(answers["start"]), side="right")
        return midnights[np.minimum(following, len(midnights) - 1)] <= watermark

    def _midnights(self, at: Ints) -> Ints:
        """Return all midnights from before the first of some times to after the last."""
        zone = ZoneInfo(self.zone)
        first = _date_of(int(at.min()), zone)
        last = _date_of(int(at.max()), zone)
        midnights = []
        for number in range((last - first).days + 2):
            midnight = datetime.combine(first + timedelta(days=number), time(), zone)
            midnights.append(round(midnight.timestamp()) * SECOND)
        return np.array(midnights, np.int64)


def _date_of(tick: int, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(tick // SECOND, UTC).astimezone(zone).date()
