"""Unusual sizes: a million keys, a batch of one row and of a thousand, an input that is all there, one core."""

from __future__ import annotations

from typing import Final

from benchmarks.bars import AtMost, Measure, Times
from benchmarks.windows import Hopping
from benchmarks.works.names import (
    COLUMNAR,
    GENERAL,
    ONE_CORE,
    PANDAS_UDF,
    SLICED,
    SPARK,
    SPARK_ONE_CORE,
    SPARK_STATIC,
    SPARK_TWO_CORES,
    STATIC,
    STATIC_KINDS,
    TWO_CORES,
    TWS,
)
from benchmarks.works.work import Work

_EVALUATORS: Final = (COLUMNAR, SLICED, GENERAL)

SIZES: Final = (
    Work(
        name="million-keys",
        aggregate="average",
        keys=1_000_000,
        windows=(Hopping(60, 60),),
        systems=_EVALUATORS,
        bars=(
            AtMost(COLUMNAR, Measure.WARM_BATCH, 3),
            AtMost(SLICED, Measure.WARM_BATCH, 4),
            AtMost(GENERAL, Measure.FIRST_BATCH, 12),
            *(AtMost(system, Measure.WORKER, 600e6) for system in _EVALUATORS),
        ),
        distribution="each once",
        files={GENERAL: 1},
        batches=3,
    ),
    Work(
        name="one-row",
        aggregate="average",
        keys=1_000,
        windows=(Hopping(60, 60),),
        systems=(COLUMNAR, SPARK, TWS),
        bars=(Times(COLUMNAR, TWS, Measure.WARM_BATCH, 0.8),),
        quick=(COLUMNAR, TWS),
        rows=1,
        batches=16,
    ),
    Work(
        name="thousand-rows",
        aggregate="average",
        keys=1_000,
        windows=(Hopping(60, 60),),
        systems=(COLUMNAR, SPARK, TWS),
        rows=1_000,
        batches=16,
    ),
    Work(
        name="static-600-10",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(600, 10),),
        systems=(STATIC, SPARK_STATIC),
        bars=(Times(STATIC, SPARK_STATIC, Measure.END_TO_END, 20),),
        files={SPARK_STATIC: 2},
    ),
    Work(
        name="static-60",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60),),
        systems=(STATIC, *STATIC_KINDS, SPARK_STATIC, PANDAS_UDF),
        bars=(Times(STATIC, SPARK_STATIC, Measure.END_TO_END, 0.9),),
        files={PANDAS_UDF: 1},
    ),
    Work(
        name="static-50-million",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60), Hopping(600, 10)),
        systems=(STATIC,),
        bars=(AtMost(STATIC, Measure.WORKER, 1e9),),
        batches=50,
        is_long=True,
    ),
    Work(
        name="cores-60",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60),),
        systems=(ONE_CORE, TWO_CORES, SPARK_ONE_CORE, SPARK_TWO_CORES),
        bars=(Times(TWO_CORES, ONE_CORE, Measure.WARM_BATCH, 1.7),),
        batches=3,
    ),
    Work(
        name="cores-600-10",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(600, 10),),
        systems=(ONE_CORE, TWO_CORES),
        bars=(Times(TWO_CORES, ONE_CORE, Measure.WARM_BATCH, 1.7),),
        batches=3,
    ),
)
"""A batch of one row has the bar of 1.25 times the hand-written one's time: 0.8 times its speed."""
