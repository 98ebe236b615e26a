"""Windows of one length: hopping, and tumbling."""

from __future__ import annotations

from typing import Final

from benchmarks.bars import Growth, Measure, Times
from benchmarks.windows import Hopping
from benchmarks.works.names import (
    CLASS,
    COLUMNAR,
    ELSEWHERE,
    FILES_ELSEWHERE,
    FUNCTION,
    GENERAL,
    GROUP_STATE,
    GROUPED,
    SLICED,
    SPARK,
    TWS,
    TWS_PANDAS,
)
from benchmarks.works.work import Work

GRIDS: Final = (
    Work(
        name="hopping-600-10",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(600, 10),),
        systems=(COLUMNAR, SLICED, CLASS, FUNCTION, SPARK),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 9),
            Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 25),
        ),
        quick=(COLUMNAR, SPARK),
        files={SPARK: 2, CLASS: 1, FUNCTION: 1},
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
        systems=(COLUMNAR, SLICED, GROUPED, GENERAL, CLASS, FUNCTION, SPARK, TWS, TWS_PANDAS, GROUP_STATE, *ELSEWHERE),
        bars=(
            Times(COLUMNAR, SPARK, Measure.END_TO_END, 1),
            Times(COLUMNAR, SPARK, Measure.WARM_BATCH, 1.3),
            Times(SLICED, TWS, Measure.END_TO_END, 3),
            Times(GROUPED, GENERAL, Measure.END_TO_END, 2),
        ),
        quick=(COLUMNAR, SLICED, SPARK, TWS),
        files={GENERAL: 2, TWS: 2, TWS_PANDAS: 1, GROUP_STATE: 1} | FILES_ELSEWHERE,
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
        files={SPARK: 3, TWS: 1},
    ),
    Work(
        name="tumbling-60-zipf",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60),),
        systems=(COLUMNAR, SLICED, SPARK, *ELSEWHERE),
        distribution="zipf",
        files=FILES_ELSEWHERE,
    ),
    Work(
        name="max-hopping-600-10",
        aggregate="max",
        keys=10_000,
        windows=(Hopping(600, 10),),
        systems=(COLUMNAR, SPARK),
        bars=(Times(COLUMNAR, SPARK, Measure.END_TO_END, 8),),
        files={SPARK: 1},
    ),
    Work(
        name="smaller-hops",
        aggregate="average",
        keys=100,
        windows=(Hopping(600, 600), Hopping(600, 60), Hopping(600, 10), Hopping(600, 1)),
        systems=(COLUMNAR,),
        bars=(Growth(COLUMNAR, Measure.WARM_BATCH, 1.5),),
        batches=3,
    ),
    Work(
        name="state-written",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(10, 10), Hopping(60, 10), Hopping(600, 10), Hopping(6000, 10)),
        systems=(COLUMNAR,),
        bars=(Growth(COLUMNAR, Measure.WRITTEN, 1.5),),
    ),
)
"""In `state-written` a slice is 10 s long whatever the window, and windows are from 1 to 600 hops long: what a batch
writes for a slice may not depend on that."""
