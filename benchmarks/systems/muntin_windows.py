"""The windows of questions as Muntin writes them, on Spark and without it."""

from __future__ import annotations

from benchmarks.questions.calendar_days import CalendarDays
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.lasting import LastingHops
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.questions.snapshots import Snapshot
from muntin import calendar, hopping, session, snapshot
from muntin.rows import last
from muntin.windows import WindowSpecification


def window_of(question: Question) -> WindowSpecification:
    """Return the windows of a question as Muntin writes them."""
    match question:
        case Hopping(size, hop) | LastingHops(size, hop):
            return hopping(f"{size} seconds", f"{hop} seconds")
        case Session(gap):
            return session(f"{gap} seconds")
        case CalendarDays(zone):
            return calendar("day", zone=zone)
        case LastRows(size, every):
            return last(size).trigger(every)
        case Snapshot():
            return snapshot()
    raise TypeError(f"there are no windows for {question}")
