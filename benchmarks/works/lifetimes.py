"""Events that last, and that are revised."""

from __future__ import annotations

from typing import Final

from benchmarks.bars import AtMost, Growth, Measure, Rate, Times
from benchmarks.windows import Hopping, HotKey, LastingHops, Snapshot
from benchmarks.works.names import COLUMNAR, GENERAL, HOPS, HOT, INCREMENTAL, OPEN, SNAPSHOTS, STREAMS, WHOLE
from benchmarks.works.work import Work

LIFETIMES: Final = (
    Work(
        name="snapshots",
        aggregate="average",
        keys=1_000,
        windows=(Snapshot(30),),
        systems=(COLUMNAR, GENERAL, SNAPSHOTS),
        bars=(
            Times(COLUMNAR, GENERAL, Measure.WARM_BATCH, 8),
            Rate(COLUMNAR, 400_000, is_warm=True),
            Rate(SNAPSHOTS, 1_000_000),
        ),
        quick=(COLUMNAR, GENERAL),
        files={GENERAL: 2},
    ),
    Work(
        name="snapshots-many-keys",
        aggregate="average",
        keys=100_000,
        windows=(Snapshot(30),),
        systems=(COLUMNAR, SNAPSHOTS),
        bars=(Rate(COLUMNAR, 400_000, is_warm=True), Rate(SNAPSHOTS, 1_000_000)),
    ),
    Work(
        name="snapshots-revised",
        aggregate="average",
        keys=1_000,
        windows=(Snapshot(30, is_revised=True),),
        systems=(COLUMNAR, GENERAL, SNAPSHOTS),
        bars=(
            Times(COLUMNAR, GENERAL, Measure.WARM_BATCH, 5),
            Rate(COLUMNAR, 125_000, is_warm=True),
            Rate(SNAPSHOTS, 500_000),
        ),
        files={GENERAL: 2},
    ),
    Work(
        name="hopping-revised",
        aggregate="average",
        keys=1_000,
        windows=(LastingHops(600, 60, 30, is_revised=True),),
        systems=(STREAMS, HOPS),
        bars=(Rate(STREAMS, 150_000, is_warm=True), Rate(HOPS, 300_000)),
        rows=500_000,
        batches=3,
    ),
    Work(
        name="hopping-revised-speculative",
        aggregate="average",
        keys=1_000,
        windows=(LastingHops(600, 60, 30, is_revised=True, is_speculative=True),),
        systems=(STREAMS,),
        bars=(Rate(STREAMS, 75_000, is_warm=True),),
        rows=500_000,
        batches=3,
    ),
    Work(
        name="tumbling-lasting",
        aggregate="average",
        keys=1_000,
        windows=(LastingHops(60, 60, 30),),
        systems=(GENERAL,),
        bars=(Rate(GENERAL, 150_000, is_warm=True),),
        batches=2,
    ),
    Work(
        name="general-in-process",
        aggregate="average",
        keys=100,
        windows=(Hopping(60, 60),),
        systems=(WHOLE, INCREMENTAL),
        bars=(Rate(WHOLE, 250_000), Rate(INCREMENTAL, 250_000)),
        quick=(WHOLE, INCREMENTAL),
        files=dict.fromkeys((WHOLE, INCREMENTAL), 1),
    ),
    Work(
        name="open-window",
        aggregate="average",
        keys=200,
        windows=(Hopping(2_000, 2_000),),
        systems=(OPEN,),
        bars=(AtMost(OPEN, Measure.WRITTEN_SHARE, 2),),
        batches=2,
    ),
    Work(
        name="hot-key-tumbling",
        aggregate="average",
        keys=10_000,
        windows=(HotKey(40_000, is_snapshot=False), HotKey(400_000, is_snapshot=False)),
        systems=(HOT,),
        bars=(AtMost(HOT, Measure.WARM_BATCH, 0.005), Growth(HOT, Measure.WARM_BATCH, 2)),
        quick=(HOT,),
    ),
    Work(
        name="hot-key-snapshot",
        aggregate="average",
        keys=10_000,
        windows=(HotKey(40_000, is_snapshot=True), HotKey(400_000, is_snapshot=True)),
        systems=(HOT,),
        bars=(AtMost(HOT, Measure.WARM_BATCH, 0.005), Growth(HOT, Measure.WARM_BATCH, 2)),
    ),
)
"""A revised event is two rows of Muntin's input, and counts once here: the bars are half of those in rows.

A window of 2,000 s stays open for as long as a measured run, whose batches cover 1,200 s, and closes in the check.
"""
