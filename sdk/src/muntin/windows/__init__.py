"""Windows: a contract that says how the axis is cut, and a file for each kind that Muntin has.

Windowing divides the axis, it never rewrites the lifetimes of events. An event belongs to every window that its
lifetime overlaps; count windows ask for its start or its end instead (StreamInsight paper, section III.B).
"""

from muntin.windows.calendar import CalendarWindows, calendar
from muntin.windows.context import WindowContext
from muntin.windows.count import CountWindows, count_by_end, count_by_start
from muntin.windows.extent import Window
from muntin.windows.growing import (
    CumulateWindows,
    GlobalWindows,
    LandmarkWindows,
    cumulate,
    global_windows,
    landmark,
)
from muntin.windows.hopping import HoppingWindows, hopping, tumbling
from muntin.windows.kind import WindowKind
from muntin.windows.periods import Periods, PeriodWindows
from muntin.windows.regular import RegularWindows
from muntin.windows.scheduled import ScheduledWindows
from muntin.windows.session import SessionWindows, session
from muntin.windows.settling import first_open_window, next_frontier
from muntin.windows.snapshot import SnapshotWindows, snapshot
from muntin.windows.specification import WindowSpecification
from muntin.windows.stretches import Stretches
from muntin.windows.trailing import TrailingWindows, trailing
from muntin.windows.unwindowed import Unwindowed

__all__ = [
    "CalendarWindows",
    "CountWindows",
    "CumulateWindows",
    "GlobalWindows",
    "HoppingWindows",
    "LandmarkWindows",
    "PeriodWindows",
    "Periods",
    "RegularWindows",
    "ScheduledWindows",
    "SessionWindows",
    "SnapshotWindows",
    "Stretches",
    "TrailingWindows",
    "Unwindowed",
    "Window",
    "WindowContext",
    "WindowKind",
    "WindowSpecification",
    "calendar",
    "count_by_end",
    "count_by_start",
    "cumulate",
    "first_open_window",
    "global_windows",
    "hopping",
    "landmark",
    "next_frontier",
    "session",
    "snapshot",
    "trailing",
    "tumbling",
]
