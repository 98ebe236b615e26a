"""Windows: a contract that says how the axis is cut, and a file for each kind that Muntin has.

Windowing divides the axis, it never rewrites the lifetimes of events. An event belongs to every window that its
lifetime overlaps; count windows ask for its start or its end instead (StreamInsight paper, section III.B).
"""

from muntin.windows.calendar import CalendarWindows
from muntin.windows.count import CountWindows
from muntin.windows.growing import CumulateWindows, GlobalWindows, LandmarkWindows
from muntin.windows.hopping import HoppingWindows
from muntin.windows.kind import WindowKind
from muntin.windows.regular import GrowingSteps, Periods, PeriodWindows
from muntin.windows.scheduled import ScheduledWindows
from muntin.windows.session import SessionWindows
from muntin.windows.snapshot import SnapshotWindows
from muntin.windows.specification import WindowContext, WindowSpecification
from muntin.windows.stretches import Stretches
from muntin.windows.trailing import TrailingWindows

__all__ = [
    "CalendarWindows",
    "CountWindows",
    "CumulateWindows",
    "GlobalWindows",
    "GrowingSteps",
    "HoppingWindows",
    "LandmarkWindows",
    "PeriodWindows",
    "Periods",
    "ScheduledWindows",
    "SessionWindows",
    "SnapshotWindows",
    "Stretches",
    "TrailingWindows",
    "WindowContext",
    "WindowKind",
    "WindowSpecification",
]
