"""All works, in the order in which they run."""

from __future__ import annotations

from typing import Final

from benchmarks.works.grids import GRIDS
from benchmarks.works.lifetimes import LIFETIMES
from benchmarks.works.sessions import SESSIONS
from benchmarks.works.sizes import SIZES
from benchmarks.works.streams import MEETINGS
from benchmarks.works.work import Work

WORKS: Final[tuple[Work, ...]] = (*GRIDS, *SESSIONS, *LIFETIMES, *MEETINGS, *SIZES)
