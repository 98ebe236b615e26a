"""The works: what is computed of what, by whom, and what has to come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.bars import Bar, Growth, Measure, Rate, Times
from benchmarks.data import Data, Distribution
from benchmarks.question import Aggregate, Question

COLUMNAR: Final = "muntin columnar"
SLICED: Final = "muntin sliced"
GENERAL: Final = "muntin general"
SPARK: Final = "spark window"
TWS: Final = "transformWithState"
TWS_PANDAS: Final = "transformWithStateInPandas"
GROUP_STATE: Final = "applyInPandasWithState"
WHOLE: Final = "general, non-incremental"
INCREMENTAL: Final = "general, incremental"
ELSEWHERE: Final = ("bytewax", "pathway", "beam", "pyflink")

FULL_ROWS: Final = 1_000_000
"""Rows per file of a full run. A run with fewer has fewer keys in the same ratio."""

FILES: Final = 5
"""How many files a system reads unless the work says fewer."""


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the table of bars, or several that measure the same.

    Attributes:
        name: On the command line.
        aggregate: What is computed.
        keys: How many keys a full run has.
        windows: Size and hop in seconds, of one or several questions; the gap and 0 for sessions.
        systems: Who is compared, by name.
        bars: What has to be reached.
        quick: Who takes part in a quick run; nobody: the work is left out of it.
        distribution: Of rows over keys.
        files: How many files a slow system reads, by its name. Rates stay comparable, totals do not.
    """

    name: str
    aggregate: Aggregate
    keys: int
    windows: tuple[tuple[int, int], ...]
    systems: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    quick: tuple[str, ...] = ()
    distribution: Distribution = "uniform"
    files: Mapping[str, int] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, one for each window."""
        return tuple(Question(self.aggregate, size, hop) for size, hop in self.windows)

    def data(self, rows: int, files: int = FILES) -> Data:
        """Return the stream of a run with so many rows per file."""
        keys = max(10, self.keys * rows // FULL_ROWS)
        return Data(keys, rows, files, self.distribution)

    def title(self, rows: int) -> str:
        """Return the work in words."""
        zipf = "Zipf " if self.distribution == "zipf" else ""
        windows = self.questions[0].window if len(self.windows) == 1 else f"{len(self.windows)} windows"
        return f"{self.aggregate}, {self.data(rows).keys:,} {zipf}keys, {windows}"


WORKS: Final = (
    Work(
        name="hopping-600-10",
        aggregate="average",
        keys=10_000,
        windows=((600, 10),),
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
        windows=((600, 60),),
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
        windows=((60, 60),),
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
        windows=((60, 60),),
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
        windows=((60, 60),),
        systems=(COLUMNAR, SLICED, SPARK),
        distribution="zipf",
    ),
    Work(
        name="session-20",
        aggregate="average",
        keys=10_000,
        windows=((20, 0),),
        systems=(COLUMNAR, GENERAL, SPARK),
        bars=(Times(COLUMNAR, SPARK, Measure.END_TO_END, 3),),
        files={GENERAL: 1, SPARK: 3},
    ),
    Work(
        name="session-20-zipf",
        aggregate="average",
        keys=10_000,
        windows=((20, 0),),
        systems=(COLUMNAR, SPARK),
        distribution="zipf",
        files={SPARK: 3},
    ),
    Work(
        name="max-hopping-600-10",
        aggregate="max",
        keys=10_000,
        windows=((600, 10),),
        systems=(COLUMNAR, SPARK),
        bars=(Times(COLUMNAR, SPARK, Measure.END_TO_END, 8),),
        files={SPARK: 3},
    ),
    Work(
        name="smaller-hops",
        aggregate="average",
        keys=100,
        windows=((600, 600), (600, 60), (600, 10), (600, 1)),
        systems=(COLUMNAR,),
        bars=(Growth(COLUMNAR, Measure.WARM_BATCH, 1.5),),
    ),
    Work(
        name="state-written",
        aggregate="average",
        keys=10_000,
        windows=((10, 10), (60, 10), (600, 10), (6000, 10)),
        systems=(COLUMNAR,),
        bars=(Growth(COLUMNAR, Measure.WRITTEN, 1.5),),
    ),
    Work(
        name="general-in-process",
        aggregate="average",
        keys=100,
        windows=((60, 60),),
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
