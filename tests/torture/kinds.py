"""The kinds of torture that `make torture` knows. To add one, write a `Trial` and a line here, or give `KINDS=`."""

from __future__ import annotations

from typing import Final

from tests.torture.kind import Kind, Lane

KINDS: Final = (
    Kind(
        "streams",
        "Any window, module and policy over random streams, with restarts: after each batch as the reference.",
        Lane.PYTHON,
        6,
        "tests.torture.streams:general",
    ),
    Kind(
        "time-bound",
        "The same, time-bound: no output before its cause, and the output is as complete as the input.",
        Lane.PYTHON,
        2,
        "tests.torture.streams:time_bound",
    ),
    Kind(
        "triggers",
        "Random compositions of triggers: early and final results are those that a look at the whole history gives.",
        Lane.PYTHON,
        2,
        "tests.torture.streams:early",
    ),
    Kind(
        "lives",
        "Queries that forget keys: whatever is joined, split and cut, each life gives what the reference gives for it.",
        Lane.PYTHON,
        2,
        "tests.torture.streams:lives",
    ),
    Kind(
        "joins",
        "Joins of two random streams, with revisions, samples and restarts: after each batch as their definition says.",
        Lane.PYTHON,
        3,
        "tests.torture.joins:joins",
    ),
    Kind(
        "lifetimes",
        "Random changes of lifetimes, and unions: after each batch as if the events had come with these lifetimes.",
        Lane.PYTHON,
        2,
        "tests.torture.lifetimes:lifetimes",
    ),
    Kind(
        "window-kinds",
        "Muntin's kinds of windows without their fast assigners: the general one says what the reference says.",
        Lane.PYTHON,
        3,
        "tests.torture.streams:without_special_assigners",
    ),
    Kind(
        "slices",
        "Columnar evaluation over random grids, calendars and snapshots, on several tasks; batches fail and run again.",
        Lane.PYTHON,
        3,
        "tests.torture.streams:sliced",
    ),
    Kind(
        "evaluators",
        "Modules of the plugins through every evaluator that can run them, with a restart and a crash at each step.",
        Lane.PYTHON,
        4,
        "tests.torture.evaluators:crashing",
        seconds=300,
    ),
    Kind(
        "row-windows",
        "Random row windows over random rows, with a restart and a crash at each step: what their definitions say.",
        Lane.PYTHON,
        3,
        "tests.torture.rows:row_windows",
    ),
    Kind(
        "stream-operators",
        "Random operators that follow random streams, in any cuts, with restarts and crashes: what the reference says.",
        Lane.PYTHON,
        2,
        "tests.torture.operators:operators",
    ),
    Kind(
        "illegal-rows",
        "Streams that break every rule: no row vanishes, and neither the order of a batch nor restarts change a thing.",
        Lane.PYTHON,
        3,
        "tests.torture.illegal:illegal",
    ),
    Kind(
        "flipped-bytes",
        "A state that was damaged between two batches is refused, or makes no difference; it never changes a result.",
        Lane.PYTHON,
        2,
        "tests.torture.damage:flipped",
    ),
    Kind(
        "hostile-modules",
        "Modules that raise, exit or keep what cannot be kept: the error names them, cut to size.",
        Lane.PYTHON,
        1,
        "tests.torture.hostile:hostile",
    ),
    Kind(
        "bad-plugins",
        "Packages that are broken in every way beside good ones: the good ones work, the bad ones are named.",
        Lane.PYTHON,
        1,
        "tests.torture.plugins:bad_plugins",
    ),
    Kind(
        "spark",
        "Random streams through Spark, in micro-batches and as a table: what stands is what the reference says.",
        Lane.SPARK,
        2,
        "tests.torture.spark_streams:through_spark",
        seconds=400,
    ),
    Kind(
        "bad-rows",
        "Rows with nulls, huge times and broken text: every evaluator takes and rejects the same rows.",
        Lane.SPARK,
        1,
        "tests.torture.bad_rows:bad_rows",
        seconds=400,
    ),
    Kind(
        "kills",
        "A query with all sinks whose JVM, worker or driver is killed, again and again: every sink has each row once.",
        Lane.SPARK,
        4,
        "tests.torture.kills:kills",
        seconds=900,
    ),
    Kind(
        "damaged-checkpoints",
        "A checkpoint with a damaged or missing file: the query refuses it or goes on as it should.",
        Lane.SPARK,
        2,
        "tests.torture.checkpoints:damaged",
        seconds=600,
    ),
)
