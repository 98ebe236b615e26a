"""Sessions, days and rows: windows that not all systems have."""

from __future__ import annotations

from typing import Final

from benchmarks.bars import Measure, Times
from benchmarks.windows import Calendar, Hopping, LastRows, Session
from benchmarks.works.names import (
    COLUMNAR,
    ELSEWHERE,
    FILES_ELSEWHERE,
    GENERAL,
    IN_ORDER,
    SLICED,
    SPARK,
    TWS,
    TWS_PANDAS,
)
from benchmarks.works.work import AUTUMN, Work

SESSIONS: Final = (
    Work(
        name="session-20",
        aggregate="average",
        keys=10_000,
        windows=(Session(20),),
        systems=(COLUMNAR, SLICED, GENERAL, SPARK, *ELSEWHERE),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 3),
            Times(SLICED, SPARK, Measure.END_TO_END, 1),
        ),
        files={GENERAL: 1, SPARK: 3} | FILES_ELSEWHERE,
    ),
    Work(
        name="session-20-zipf",
        aggregate="average",
        keys=10_000,
        windows=(Session(20),),
        systems=(COLUMNAR, SLICED, SPARK, *ELSEWHERE),
        bars=(Times(SLICED, SPARK, Measure.END_TO_END, 1),),
        distribution="zipf",
        files={SPARK: 3} | FILES_ELSEWHERE,
    ),
    Work(
        name="calendar-day",
        aggregate="average",
        keys=10_000,
        windows=(Calendar("Europe/Berlin"), Hopping(86_400, 86_400)),
        systems=(COLUMNAR, SLICED, GENERAL, SPARK, "pyflink"),
        files={COLUMNAR: 2, SLICED: 2, GENERAL: 1, SPARK: 2, "pyflink": 1},
        pace=AUTUMN,
    ),
    Work(
        name="last-100-rows",
        aggregate="average",
        keys=10_000,
        windows=(LastRows(100, 10),),
        systems=(IN_ORDER, TWS, TWS_PANDAS, "pyflink"),
        files={IN_ORDER: 2, TWS: 1, TWS_PANDAS: 1, "pyflink": 1},
    ),
)
