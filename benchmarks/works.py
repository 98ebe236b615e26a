"""The works: what is computed of what, by whom, and what has to come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from benchmarks.bars import Bar, Growth, Measure, NoLater, Rate, Times
from benchmarks.data import USUAL, Data, Distribution, Pace
from benchmarks.question import Question
from benchmarks.windows import (
    Aggregate,
    Band,
    Calendar,
    Hopping,
    LastRows,
    Nexmark,
    Session,
    Snapshot,
    Tilt,
    Together,
    Windows,
)
from benchmarks.windows.tilt import APPLICATIONS

COLUMNAR: Final = "muntin columnar"
SLICED: Final = "muntin sliced"
GENERAL: Final = "muntin general"
IN_ORDER: Final = "muntin in order"
SPARK: Final = "spark window"
TWS: Final = "transformWithState"
TWS_PANDAS: Final = "transformWithStateInPandas"
GROUP_STATE: Final = "applyInPandasWithState"
WHOLE: Final = "general, non-incremental"
STREAMS: Final = "muntin"
SQL: Final = "spark sql"
PANDAS: Final = "pandas"
ONE_PASS: Final = "muntin one pass"
ONE_BY_ONE: Final = "muntin one by one"
SNAPSHOTS: Final = "columnar snapshots"
INCREMENTAL: Final = "general, incremental"
ELSEWHERE: Final = ("bytewax", "pathway", "beam", "pyflink")

FULL_ROWS: Final = 1_000_000
"""Rows per file of a full run. A run with fewer has fewer keys in the same ratio."""

FILES: Final = 5
"""How many files a system reads unless the work says fewer."""

AUTUMN: Final = Pace(round(datetime(2024, 10, 24, 9, tzinfo=UTC).timestamp()), 2 * 86_400)
"""Two days in a file; in the second one summer time ends in Europe."""


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the table of bars, or several that measure the same.

    Attributes:
        name: On the command line.
        aggregate: What is computed.
        keys: How many keys a full run has.
        windows: Of one or several questions.
        systems: Who is compared, by name.
        bars: What has to be reached.
        quick: Who takes part in a quick run; nobody: the work is left out of it.
        distribution: Of rows over keys.
        files: How many files a slow system reads, by its name. Rates stay comparable, totals do not.
        pace: How event time passes.
    """

    name: str
    aggregate: Aggregate
    keys: int
    windows: tuple[Windows, ...]
    systems: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    quick: tuple[str, ...] = ()
    distribution: Distribution = "uniform"
    files: Mapping[str, int] = field(default_factory=dict)
    pace: Pace = USUAL

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, one for each kind of windows."""
        return tuple(Question(self.aggregate, windows, self.pace) for windows in self.windows)

    def data(self, rows: int, files: int = FILES) -> Data:
        """Return the stream of a run with so many rows per file."""
        keys = max(10, self.keys * rows // FULL_ROWS)
        return Data(keys, rows, files, self.distribution, pace=self.pace)

    def title(self, rows: int) -> str:
        """Return the work in words."""
        zipf = "Zipf " if self.distribution == "zipf" else ""
        windows = str(self.windows[0]) if len(self.windows) == 1 else f"{len(self.windows)} windows"
        return f"{self.aggregate}, {self.data(rows).keys:,} {zipf}keys, {windows}"


WORKS: Final = (
    Work(
        name="hopping-600-10",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(600, 10),),
        systems=(COLUMNAR, SPARK),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 9),
            Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 25),
        ),
        quick=(COLUMNAR, SPARK),
        files={SPARK: 3},
    ),
    Work(
        name="hopping-600-60",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(600, 60),),
        systems=(COLUMNAR, SPARK),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 2.2),
            Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 4),
        ),
    ),
    Work(
        name="tumbling-60",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60),),
        systems=(COLUMNAR, SLICED, GENERAL, SPARK, TWS, TWS_PANDAS, GROUP_STATE, *ELSEWHERE),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 1),
            Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 1.3),
            Times(SLICED, TWS, Measure.END_TO_END, 3),
        ),
        quick=(COLUMNAR, SLICED, SPARK, TWS),
        files={GENERAL: 3, TWS_PANDAS: 3, GROUP_STATE: 3} | dict.fromkeys(ELSEWHERE, 1),
    ),
    Work(
        name="tumbling-60-many-keys",
        aggregate="average",
        keys=100_000,
        windows=(Hopping(60, 60),),
        systems=(COLUMNAR, SLICED, SPARK, TWS),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 3.5),
            Times(SLICED, TWS, Measure.END_TO_END, 3),
        ),
        files={TWS: 2},
    ),
    Work(
        name="tumbling-60-zipf",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60),),
        systems=(COLUMNAR, SLICED, SPARK),
        distribution="zipf",
    ),
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
        files={GENERAL: 1, SPARK: 3} | dict.fromkeys(ELSEWHERE, 1),
    ),
    Work(
        name="session-20-zipf",
        aggregate="average",
        keys=10_000,
        windows=(Session(20),),
        systems=(COLUMNAR, SLICED, SPARK, *ELSEWHERE),
        bars=(Times(SLICED, SPARK, Measure.END_TO_END, 1),),
        distribution="zipf",
        files={SPARK: 3} | dict.fromkeys(ELSEWHERE, 1),
    ),
    Work(
        name="calendar-day",
        aggregate="average",
        keys=10_000,
        windows=(Calendar("Europe/Berlin"), Hopping(86_400, 86_400)),
        systems=(COLUMNAR, SLICED, GENERAL, SPARK, "pyflink"),
        files={COLUMNAR: 3, SLICED: 3, GENERAL: 1, SPARK: 3, "pyflink": 1},
        pace=AUTUMN,
    ),
    Work(
        name="last-100-rows",
        aggregate="average",
        keys=10_000,
        windows=(LastRows(100, 10),),
        systems=(IN_ORDER, TWS, TWS_PANDAS, "pyflink"),
        files={IN_ORDER: 2, TWS: 2, TWS_PANDAS: 2, "pyflink": 1},
    ),
    Work(
        name="snapshots",
        aggregate="average",
        keys=1_000,
        windows=(Snapshot(30),),
        systems=(COLUMNAR, GENERAL, SNAPSHOTS),
        bars=(Times(COLUMNAR, GENERAL, Measure.WARM_BATCH, 8), Rate(SNAPSHOTS, 1_000_000)),
        quick=(COLUMNAR, GENERAL),
        files={GENERAL: 2},
    ),
    Work(
        name="snapshots-many-keys",
        aggregate="average",
        keys=100_000,
        windows=(Snapshot(30),),
        systems=(COLUMNAR, SNAPSHOTS),
        bars=(Rate(SNAPSHOTS, 1_000_000),),
    ),
    Work(
        name="snapshots-revised",
        aggregate="average",
        keys=1_000,
        windows=(Snapshot(30, is_revised=True),),
        systems=(COLUMNAR, GENERAL, SNAPSHOTS),
        bars=(Times(COLUMNAR, GENERAL, Measure.WARM_BATCH, 5), Rate(SNAPSHOTS, 500_000)),
        files={GENERAL: 2},
    ),
    Work(
        name="max-hopping-600-10",
        aggregate="max",
        keys=10_000,
        windows=(Hopping(600, 10),),
        systems=(COLUMNAR, SPARK),
        bars=(Times(COLUMNAR, SPARK, Measure.END_TO_END, 8),),
        files={SPARK: 3},
    ),
    Work(
        name="smaller-hops",
        aggregate="average",
        keys=100,
        windows=(Hopping(600, 600), Hopping(600, 60), Hopping(600, 10), Hopping(600, 1)),
        systems=(COLUMNAR,),
        bars=(Growth(COLUMNAR, Measure.WARM_BATCH, 1.5),),
    ),
    Work(
        name="state-written",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(10, 10), Hopping(60, 10), Hopping(600, 10), Hopping(6000, 10)),
        systems=(COLUMNAR,),
        bars=(Growth(COLUMNAR, Measure.WRITTEN, 1.5),),
    ),
    Work(
        name="join",
        aggregate="pairs",
        keys=10_000,
        windows=(Band(20),),
        systems=(STREAMS, SQL),
        bars=(
            Times(STREAMS, SQL, Measure.END_TO_END, 1),
            Times(STREAMS, SQL, Measure.WARM_BATCH, 1),
            Times(STREAMS, SQL, Measure.PROCESSOR, 1),
            NoLater(STREAMS, SQL),
        ),
        files=dict.fromkeys((STREAMS, SQL), 2),
    ),
    Work(
        name="nexmark",
        aggregate="bids",
        keys=1_000,
        windows=tuple(Nexmark(query) for query in (0, 1, 2, 5, 7, 8)),
        systems=(STREAMS, SQL),
        files=dict.fromkeys((STREAMS, SQL), 3),
    ),
    Work(
        name="tilt",
        aggregate="readings",
        keys=1_000,
        windows=tuple(map(Tilt, APPLICATIONS)),
        systems=(STREAMS, PANDAS),
        distribution="regular",
        files=dict.fromkeys((STREAMS, PANDAS), 2),
    ),
    Work(
        name="one-pass",
        aggregate="average",
        keys=10_000,
        windows=(Together(),),
        systems=(ONE_PASS, ONE_BY_ONE),
        bars=(Times(ONE_PASS, ONE_BY_ONE, Measure.END_TO_END, 1), Times(ONE_PASS, ONE_BY_ONE, Measure.PROCESSOR, 1)),
        files=dict.fromkeys((ONE_PASS, ONE_BY_ONE), 3),
    ),
    Work(
        name="general-in-process",
        aggregate="average",
        keys=100,
        windows=(Hopping(60, 60),),
        systems=(WHOLE, INCREMENTAL),
        bars=(Rate(WHOLE, 60_000), Rate(INCREMENTAL, 100_000)),
        quick=(WHOLE, INCREMENTAL),
        files=dict.fromkeys((WHOLE, INCREMENTAL), 1),
    ),
)
"""In the order of the issue's table.

In `state-written` a slice is 10 s long whatever the window, and windows are from 1 to 600 hops long: what a batch
writes for a slice may not depend on that.
"""
