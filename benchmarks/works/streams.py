"""Streams that meet, follow one another, or are asked several questions."""

from __future__ import annotations

from typing import Final

from benchmarks.bars import Measure, NoLater, Times
from benchmarks.windows import Band, Hopping, Nexmark, Tilt, Together, Views
from benchmarks.windows.tilt import APPLICATIONS
from benchmarks.works.names import ONE_BY_ONE, ONE_PASS, PANDAS, RECORDED, SQL, STREAMS, STREAMS_IN_PROCESS, WRITTEN
from benchmarks.works.work import Work

MEETINGS: Final = (
    Work(
        name="yahoo",
        aggregate="count",
        keys=1_000,
        windows=(Views(10),),
        systems=(STREAMS, SQL),
        bars=(Times(STREAMS, SQL, Measure.END_TO_END, 1), Times(STREAMS, SQL, Measure.WARM_BATCH, 1)),
    ),
    Work(
        name="join",
        aggregate="pairs",
        keys=1_500,
        windows=(Band(20),),
        systems=(STREAMS, SQL),
        bars=(
            Times(STREAMS, SQL, Measure.END_TO_END, 1),
            Times(STREAMS, SQL, Measure.WARM_BATCH, 1),
            Times(STREAMS, SQL, Measure.PROCESSOR, 1),
            NoLater(STREAMS, SQL),
        ),
        files=dict.fromkeys((STREAMS, SQL), 2),
        rows=150_000,
    ),
    Work(
        name="nexmark",
        aggregate="bids",
        keys=1_000,
        windows=tuple(Nexmark(query) for query in (0, 1, 2, 5, 7, 8)),
        systems=(STREAMS, SQL),
        files=dict.fromkeys((STREAMS, SQL), 3),
        rows=200_000,
    ),
    Work(
        name="tilt",
        aggregate="readings",
        keys=50,
        windows=tuple(map(Tilt, APPLICATIONS)),
        systems=(STREAMS, STREAMS_IN_PROCESS, PANDAS),
        distribution="regular",
        rows=50_000,
        batches=2,
    ),
    Work(
        name="recording",
        aggregate="average",
        keys=10_000,
        windows=(Hopping(60, 60),),
        systems=(WRITTEN, RECORDED),
        bars=(
            Times(RECORDED, WRITTEN, Measure.END_TO_END, 0.9),
            Times(RECORDED, WRITTEN, Measure.PROCESSOR, 0.9),
        ),
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
)
