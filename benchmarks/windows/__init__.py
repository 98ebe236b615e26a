"""The kinds of windows that are asked for, each with the plain computation of its answers."""

from benchmarks.windows.band import Band
from benchmarks.windows.calendar import Calendar
from benchmarks.windows.hopping import Hopping
from benchmarks.windows.hot_key import HotKey
from benchmarks.windows.last_rows import LastRows
from benchmarks.windows.lasting import LastingHops
from benchmarks.windows.nexmark import Nexmark
from benchmarks.windows.sessions import Session
from benchmarks.windows.snapshots import Snapshot
from benchmarks.windows.tilt import Tilt
from benchmarks.windows.together import Together
from benchmarks.windows.views import Views
from benchmarks.windows.windows import ANSWERS, Aggregate, Floats, Ints, Rows, Windows

__all__ = [
    "ANSWERS",
    "Aggregate",
    "Band",
    "Calendar",
    "Floats",
    "Hopping",
    "HotKey",
    "Ints",
    "LastRows",
    "LastingHops",
    "Nexmark",
    "Rows",
    "Session",
    "Snapshot",
    "Tilt",
    "Together",
    "Views",
    "Windows",
]
