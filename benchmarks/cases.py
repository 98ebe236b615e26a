"""All cases, in the order in which they run.

To add a case, add an entry. To add a system that Spark runs, write a function from a stream, a question and the delay
of its watermark to results, make it a `StreamSystem`, and name it in the cases where it takes part.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from benchmarks.case import Case
from benchmarks.data import Pace
from benchmarks.floors import (
    CPU,
    END_TO_END,
    FIRST_BATCH,
    PROCESSES,
    PROCESSOR_SECONDS,
    WARM_BATCH,
    WARM_RATE,
    WORKER,
    WRITTEN_PER_SLICE,
    WRITTEN_SHARE,
    Growth,
    Limit,
    NoLater,
    TimesBetter,
)
from benchmarks.questions.band import Band
from benchmarks.questions.calendar_days import CalendarDays
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.hot_key import HotKey
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.lasting import LastingHops
from benchmarks.questions.nexmark import Nexmark
from benchmarks.questions.sessions import Session
from benchmarks.questions.snapshots import Snapshot
from benchmarks.questions.views import Views
from benchmarks.systems.elsewhere import ELSEWHERE
from benchmarks.systems.from_start import DUCKDB_SCRIPT, MUNTIN_SCRIPT, POLARS_SCRIPT
from benchmarks.systems.in_process import (
    GENERAL_COMBINE,
    GENERAL_WHOLE,
    HOT_KEY,
    IN_PROCESS,
    METERED,
    OPEN_WINDOW,
    UNMETERED,
)
from benchmarks.systems.muntin import (
    COLUMNAR,
    GENERAL,
    IN_ORDER,
    RANKED,
    REVISED,
    SLICED,
    TABLE,
    TABLE_KINDS,
    WHOLE_CLASS,
    WHOLE_FUNCTION,
)
from benchmarks.systems.muntin_joins import MUNTIN_JOINS
from benchmarks.systems.on_cores import ON_CORES
from benchmarks.systems.over_tables import (
    DUCKDB,
    IN_A_LOOP,
    MUNTIN_LOCAL,
    ONE_WORKER,
    PANDAS,
    POLARS,
    POLARS_DYNAMIC,
    TWO_WORKERS,
    WITH_CLASS,
    WITH_COMBINE,
    WITH_FUNCTION,
    WITH_REMOVE,
)
from benchmarks.systems.recorded import RECORDED, WRITTEN
from benchmarks.systems.spark_sql import PANDAS_UDF, SPARK_SQL, SPARK_TABLE, SPARK_WINDOW
from benchmarks.systems.state_by_hand import BY_HAND

_ONE_FILE_ELSEWHERE: Final = {system.name: 1 for system in ELSEWHERE}

_AUTUMN: Final = Pace(round(datetime(2024, 10, 24, 9, tzinfo=UTC).timestamp()), 2 * 86_400)
"""Two days in a file; in the second one summer time ends in Europe."""

_QUARTERS: Final = Pace(span=900)
"""A quarter of an hour in a file: in four files of half a million rows, 10,000 keys have 3.3 rows in a minute."""

HOPPING_AND_TUMBLING: Final = (
    Case(
        name="hopping-600-10",
        questions=(Hopping(600, 10),),
        systems=(COLUMNAR, SLICED, WHOLE_CLASS, WHOLE_FUNCTION, IN_PROCESS, SPARK_WINDOW),
        floors=(
            TimesBetter("muntin columnar", "spark window", END_TO_END, 9),
            TimesBetter("muntin columnar", "spark window", WARM_BATCH, 25),
        ),
        quick=(COLUMNAR, SPARK_WINDOW),
        files_read={"spark window": 2, "muntin class": 1, "muntin function": 1},
    ),
    Case(
        name="hopping-600-60",
        questions=(Hopping(600, 60),),
        systems=(COLUMNAR, SPARK_WINDOW),
        floors=(
            TimesBetter("muntin columnar", "spark window", END_TO_END, 2.2),
            TimesBetter("muntin columnar", "spark window", WARM_BATCH, 4),
        ),
    ),
    Case(
        name="tumbling-60",
        questions=(Hopping(60, 60),),
        systems=(
            COLUMNAR,
            SLICED,
            GENERAL,
            WHOLE_CLASS,
            WHOLE_FUNCTION,
            IN_PROCESS,
            SPARK_WINDOW,
            BY_HAND,
            *ELSEWHERE,
        ),
        floors=(
            TimesBetter("muntin columnar", "spark window", END_TO_END, 1),
            TimesBetter("muntin columnar", "spark window", WARM_BATCH, 1.3),
            TimesBetter("muntin sliced", "transformWithState", END_TO_END, 3),
            TimesBetter("muntin class", "muntin general", END_TO_END, 2),
        ),
        quick=(COLUMNAR, SLICED, SPARK_WINDOW, BY_HAND),
        files_read={"muntin general": 2, "transformWithState": 2} | _ONE_FILE_ELSEWHERE,
    ),
    Case(
        name="tumbling-60-many-keys",
        questions=(Hopping(60, 60),),
        systems=(COLUMNAR, SLICED, SPARK_WINDOW, BY_HAND),
        keys=100_000,
        floors=(
            TimesBetter("muntin columnar", "spark window", END_TO_END, 3.5),
            TimesBetter("muntin sliced", "transformWithState", END_TO_END, 3),
        ),
        files_read={"spark window": 3, "transformWithState": 1},
    ),
    Case(
        name="max-hopping-600-10",
        questions=(Hopping(600, 10, "max"),),
        systems=(COLUMNAR, SPARK_WINDOW),
        floors=(TimesBetter("muntin columnar", "spark window", END_TO_END, 8),),
        files_read={"spark window": 1},
    ),
    Case(
        name="smaller-hops",
        questions=(Hopping(600, 600), Hopping(600, 60), Hopping(600, 10), Hopping(600, 1)),
        systems=(COLUMNAR,),
        keys=100,
        floors=(Growth("muntin columnar", WARM_BATCH, 1.5),),
        files=3,
    ),
    # A slice is 10 s long whatever the window, and windows are from 1 to 600 hops long: what a micro-batch writes for a
    # slice may not depend on that.
    Case(
        name="state-written",
        questions=(Hopping(10, 10), Hopping(60, 10), Hopping(600, 10), Hopping(6000, 10)),
        systems=(COLUMNAR,),
        floors=(Growth("muntin columnar", WRITTEN_PER_SLICE, 1.5),),
    ),
)

OTHER_WINDOWS: Final = (
    Case(
        name="session-20",
        questions=(Session(20),),
        systems=(COLUMNAR, SLICED, GENERAL, IN_PROCESS, SPARK_WINDOW, *ELSEWHERE),
        floors=(
            TimesBetter("muntin columnar", "spark window", END_TO_END, 3),
            TimesBetter("muntin sliced", "spark window", END_TO_END, 1),
        ),
        files_read={"muntin general": 1, "spark window": 3} | _ONE_FILE_ELSEWHERE,
    ),
    Case(
        name="session-20-zipf",
        questions=(Session(20),),
        systems=(COLUMNAR, SLICED, SPARK_WINDOW),
        floors=(TimesBetter("muntin sliced", "spark window", END_TO_END, 1),),
        files_read={"spark window": 3},
        distribution="zipf",
    ),
    Case(
        name="calendar-day",
        questions=(CalendarDays("Europe/Berlin"), Hopping(86_400, 86_400)),
        systems=(COLUMNAR, SPARK_WINDOW),
        files=2,
        pace=_AUTUMN,
    ),
    Case(
        name="last-100-rows",
        questions=(LastRows(100, 10),),
        systems=(RANKED, IN_ORDER, BY_HAND),
        floors=(TimesBetter("muntin ranked", "transformWithState", END_TO_END, 5),),
        files_read={"muntin in order": 1, "transformWithState": 1},
    ),
)

# A revised event is two rows of Muntin's input, and counts once here.
LIFETIMES: Final = (
    Case(
        name="snapshots",
        questions=(Snapshot(),),
        systems=(COLUMNAR, GENERAL, IN_PROCESS),
        keys=1_000,
        floors=(
            TimesBetter("muntin columnar", "muntin general", WARM_BATCH, 8),
            Limit("muntin columnar", WARM_RATE, 400_000),
            Limit("muntin in process", END_TO_END, 1_000_000),
        ),
        quick=(COLUMNAR, GENERAL),
        files_read={"muntin general": 2},
    ),
    Case(
        name="snapshots-many-keys",
        questions=(Snapshot(),),
        systems=(COLUMNAR, IN_PROCESS),
        keys=100_000,
        floors=(
            Limit("muntin columnar", WARM_RATE, 400_000),
            Limit("muntin in process", END_TO_END, 1_000_000),
        ),
    ),
    Case(
        name="snapshots-revised",
        questions=(Snapshot(is_revised=True),),
        systems=(COLUMNAR, GENERAL, IN_PROCESS),
        keys=1_000,
        floors=(
            TimesBetter("muntin columnar", "muntin general", WARM_BATCH, 5),
            Limit("muntin columnar", WARM_RATE, 125_000),
            Limit("muntin in process", END_TO_END, 500_000),
        ),
        files_read={"muntin general": 2},
    ),
    Case(
        name="hopping-revised",
        questions=(LastingHops(600, 60, is_revised=True),),
        systems=(REVISED, IN_PROCESS),
        keys=1_000,
        floors=(
            Limit("muntin", WARM_RATE, 150_000),
            Limit("muntin in process", END_TO_END, 300_000),
        ),
        rows=500_000,
        files=3,
    ),
    Case(
        name="hopping-revised-speculative",
        questions=(LastingHops(600, 60, is_revised=True, is_speculative=True),),
        systems=(REVISED,),
        keys=1_000,
        floors=(Limit("muntin", WARM_RATE, 75_000),),
        rows=500_000,
        files=3,
    ),
    Case(
        name="tumbling-lasting",
        questions=(LastingHops(60, 60),),
        systems=(GENERAL,),
        keys=1_000,
        floors=(Limit("muntin general", WARM_RATE, 150_000),),
        files=2,
    ),
    Case(
        name="general-in-process",
        questions=(LastingHops(60, 60),),
        systems=(GENERAL_WHOLE, GENERAL_COMBINE),
        keys=100,
        floors=(
            Limit("general in process, class", END_TO_END, 250_000),
            Limit("general in process, combine", END_TO_END, 250_000),
        ),
        quick=(GENERAL_WHOLE, GENERAL_COMBINE),
        files=1,
    ),
    # A window of 2,000 s stays open for as long as a measured run, whose micro-batches cover 1,200 s.
    Case(
        name="open-window",
        questions=(LastingHops(2_000, 2_000),),
        systems=(OPEN_WINDOW,),
        keys=200,
        floors=(Limit("general in process, open window", WRITTEN_SHARE, 2),),
        files=2,
    ),
    Case(
        name="hot-key-tumbling",
        questions=(HotKey(40_000, is_snapshot=False), HotKey(400_000, is_snapshot=False)),
        systems=(HOT_KEY,),
        floors=(
            Limit("general in process, hot key", WARM_BATCH, 0.005),
            Growth("general in process, hot key", WARM_BATCH, 2),
        ),
        quick=(HOT_KEY,),
    ),
    Case(
        name="hot-key-snapshot",
        questions=(HotKey(40_000, is_snapshot=True), HotKey(400_000, is_snapshot=True)),
        systems=(HOT_KEY,),
        floors=(
            Limit("general in process, hot key", WARM_BATCH, 0.005),
            Growth("general in process, hot key", WARM_BATCH, 2),
        ),
    ),
)

JOINS_AND_OTHERS: Final = (
    Case(
        name="yahoo",
        questions=(Views(10),),
        systems=(MUNTIN_JOINS, SPARK_SQL),
        keys=1_000,
        floors=(
            TimesBetter("muntin", "spark sql", END_TO_END, 1),
            TimesBetter("muntin", "spark sql", WARM_BATCH, 1),
        ),
    ),
    Case(
        name="join",
        questions=(Band(20),),
        systems=(MUNTIN_JOINS, SPARK_SQL),
        keys=1_500,
        floors=(
            TimesBetter("muntin", "spark sql", END_TO_END, 1),
            TimesBetter("muntin", "spark sql", WARM_BATCH, 1),
            TimesBetter("muntin", "spark sql", CPU, 1),
            NoLater("muntin", "spark sql"),
        ),
        rows=150_000,
        files=2,
    ),
    Case(
        name="nexmark",
        questions=tuple(Nexmark(query) for query in (0, 1, 2, 5, 7, 8)),
        systems=(MUNTIN_JOINS, SPARK_SQL),
        keys=1_000,
        rows=200_000,
        files=3,
    ),
    Case(
        name="recording",
        questions=(Hopping(60, 60),),
        systems=(WRITTEN, RECORDED),
        floors=(
            TimesBetter("muntin recorded", "muntin written", END_TO_END, 0.9),
            TimesBetter("muntin recorded", "muntin written", CPU, 0.9),
        ),
    ),
    # Windows of two rows each: a call of a module is never shorter, so measuring it is never dearer.
    Case(
        name="metering",
        questions=(Hopping(10, 10),),
        systems=(UNMETERED, METERED),
        keys=1_000,
        floors=(TimesBetter("general in process, metered", "general in process, unmetered", CPU, 0.96),),
        rows=200_000,
        files=1,
    ),
)

UNUSUAL_SIZES: Final = (
    Case(
        name="million-keys",
        questions=(Hopping(60, 60),),
        systems=(COLUMNAR, SLICED, GENERAL),
        keys=1_000_000,
        floors=(
            Limit("muntin columnar", WARM_BATCH, 3),
            Limit("muntin sliced", WARM_BATCH, 4),
            Limit("muntin general", FIRST_BATCH, 12),
            Limit("muntin columnar", WORKER, 600e6),
            Limit("muntin sliced", WORKER, 600e6),
            Limit("muntin general", WORKER, 600e6),
        ),
        distribution="each once",
        files_read={"muntin general": 1},
        files=3,
    ),
    # At most 1.25 times the time of what is written by hand: 0.8 times its speed.
    Case(
        name="one-row",
        questions=(Hopping(60, 60),),
        systems=(COLUMNAR, SPARK_WINDOW, BY_HAND),
        keys=1_000,
        floors=(TimesBetter("muntin columnar", "transformWithState", WARM_BATCH, 0.8),),
        quick=(COLUMNAR, BY_HAND),
        rows=1,
        files=16,
    ),
    Case(
        name="thousand-rows",
        questions=(Hopping(60, 60),),
        systems=(COLUMNAR, SPARK_WINDOW, BY_HAND),
        keys=1_000,
        rows=1_000,
        files=16,
    ),
    Case(
        name="static-600-10",
        questions=(Hopping(600, 10),),
        systems=(TABLE, SPARK_TABLE),
        floors=(TimesBetter("muntin static", "spark static window", END_TO_END, 20),),
        files_read={"spark static window": 2},
    ),
    Case(
        name="static-60",
        questions=(Hopping(60, 60),),
        systems=(TABLE, *TABLE_KINDS, SPARK_TABLE, PANDAS_UDF),
        floors=(TimesBetter("muntin static", "spark static window", END_TO_END, 0.9),),
        files_read={"pandas_udf": 1},
    ),
    Case(
        name="static-50-million",
        questions=(Hopping(60, 60), Hopping(600, 10)),
        systems=(TABLE,),
        floors=(Limit("muntin static", WORKER, 1e9),),
        files=50,
        is_long=True,
    ),
    Case(
        name="cores-60",
        questions=(Hopping(60, 60),),
        systems=tuple(ON_CORES.values()),
        floors=(TimesBetter("muntin columnar, 2 cores", "muntin columnar, 1 core", WARM_BATCH, 1.7),),
        files=3,
    ),
    Case(
        name="cores-600-10",
        questions=(Hopping(600, 10),),
        systems=(ON_CORES["muntin columnar", 1], ON_CORES["muntin columnar", 2]),
        floors=(TimesBetter("muntin columnar, 2 cores", "muntin columnar, 1 core", WARM_BATCH, 1.7),),
        files=3,
    ),
)

WITHOUT_SPARK: Final = (
    Case(
        name="local-600-10",
        questions=(Hopping(600, 10),),
        systems=(MUNTIN_LOCAL, POLARS_DYNAMIC, DUCKDB),
        floors=(
            Limit("muntin local", END_TO_END, 5_000_000),
            TimesBetter("muntin local", "polars, group_by_dynamic", END_TO_END, 3),
        ),
        quick=(MUNTIN_LOCAL, POLARS_DYNAMIC),
        files_read={"duckdb": 1},
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-60",
        questions=(Hopping(60, 60),),
        systems=(MUNTIN_LOCAL, POLARS, POLARS_DYNAMIC, DUCKDB, PANDAS),
        floors=(
            Limit("muntin local", END_TO_END, 8_000_000),
            TimesBetter("muntin local", "polars", END_TO_END, 1),
        ),
        quick=(MUNTIN_LOCAL, POLARS, DUCKDB),
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-session-20",
        questions=(Session(20),),
        systems=(MUNTIN_LOCAL, POLARS, DUCKDB),
        floors=(TimesBetter("muntin local", "duckdb", END_TO_END, 1),),
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-class",
        questions=(Hopping(60, 60, "spread"),),
        systems=WITH_CLASS,
        floors=(
            Limit("muntin local, class", END_TO_END, 1_500_000),
            TimesBetter("muntin local, class", "pandas, class", END_TO_END, 10),
        ),
        files_read={"pandas, class": 1, "polars, class": 1},
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-function",
        questions=(Hopping(60, 60),),
        systems=WITH_FUNCTION,
        floors=(
            Limit("muntin local, function", END_TO_END, 500_000),
            TimesBetter("muntin local, function", "pandas, function", END_TO_END, 3),
        ),
        files_read={"pandas, function": 1, "polars, function": 1, "duckdb, function": 1},
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-combine",
        questions=(Hopping(60, 60),),
        systems=WITH_COMBINE,
        floors=(Limit("muntin local, combine", END_TO_END, 3_000_000),),
        files_read={"pandas, combine": 1, "polars, combine": 1},
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-last-100",
        questions=(LastRows(100, 1),),
        systems=(MUNTIN_LOCAL, WITH_REMOVE, IN_A_LOOP, POLARS, DUCKDB, PANDAS),
        floors=(
            TimesBetter("muntin local", "by hand", END_TO_END, 4),
            TimesBetter("muntin local, remove", "by hand", END_TO_END, 1),
            Limit("muntin local", END_TO_END, 1_500_000),
        ),
        quick=(MUNTIN_LOCAL, WITH_REMOVE, IN_A_LOOP),
        rows=500_000,
        files=4,
        pace=_QUARTERS,
    ),
    Case(
        name="local-lifetimes",
        questions=(Snapshot(), Snapshot(is_revised=True), LastingHops(600, 60, is_revised=True)),
        systems=(MUNTIN_LOCAL,),
        keys=1_000,
        rows=250_000,
        files=2,
        pace=_QUARTERS,
    ),
    Case(
        name="local-start",
        questions=(Hopping(60, 60, "spread"),),
        systems=(MUNTIN_SCRIPT, POLARS_SCRIPT, DUCKDB_SCRIPT),
        keys=10,
        floors=(
            Limit("muntin local script", PROCESSOR_SECONDS, 0.7),
            Limit("muntin local script", PROCESSES, 200e6),
        ),
        quick=(MUNTIN_SCRIPT, POLARS_SCRIPT, DUCKDB_SCRIPT),
        rows=1_000,
        files=1,
    ),
    Case(
        name="local-start-million",
        questions=(Hopping(60, 60, "spread"),),
        systems=(MUNTIN_SCRIPT, POLARS_SCRIPT, DUCKDB_SCRIPT),
        floors=(
            Limit("muntin local script", PROCESSOR_SECONDS, 2),
            Limit("muntin local script", PROCESSES, 400e6),
        ),
        files=1,
    ),
    Case(
        name="local-workers",
        questions=(Hopping(60, 60),),
        systems=(ONE_WORKER, TWO_WORKERS),
        floors=(TimesBetter("muntin local, 2 workers", "muntin local, 1 worker", END_TO_END, 1.7),),
        files=8,
    ),
    Case(
        name="local-50-million",
        questions=(Hopping(60, 60),),
        systems=(ONE_WORKER, TWO_WORKERS),
        floors=(
            Limit("muntin local, 1 worker", PROCESSES, 1e9),
            Limit("muntin local, 2 workers", PROCESSES, 1e9),
        ),
        files=50,
        is_long=True,
    ),
)
"""Queries without Spark, beside libraries of tables."""

CASES: Final = (*HOPPING_AND_TUMBLING, *OTHER_WINDOWS, *LIFETIMES, *JOINS_AND_OTHERS, *UNUSUAL_SIZES, *WITHOUT_SPARK)
