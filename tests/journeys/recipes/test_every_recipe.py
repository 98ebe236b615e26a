"""Every row of the tables on the pages for users of other systems has a test, or a reason why it has no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT
from tests.journeys.recipes.recipe import (
    BYTEWAX_PATHWAY_AND_QUIX,
    FLINK_AND_BEAM,
    IBM_STREAMS,
    KAFKA_STREAMS,
    PAGES,
    STREAMINSIGHT,
    recipes_of,
    tested_recipes,
)

TESTED_ELSEWHERE: Final[Mapping[str, Mapping[str, str]]] = {
    FLINK_AND_BEAM: {
        "`AfterProcessingTime(d)`, `Repeatedly`, `AfterAny`, `AfterAll`, "
        "`AfterEach`": "tests/scenarios/test_composed_triggers.py",
        "`TABLE(TUMBLE(...))`, `HOP`, `CUMULATE`, `SESSION` in SQL": "tests/engine/sql_text/test_flink.py",
        "`TestStream`": "tests/scenarios/test_scripts.py",
        "a `WindowAssigner` of your own": "tests/sdk/rows/test_windows_of_ones_own.py",
        "a `WindowFn` of your own": "tests/sdk/rows/test_windows_of_ones_own.py",
        "a state schema that evolves": "tests/scenarios/test_schema_versions.py",
        "a timer whose time has passed": "tests/engine/evaluators/ordered/test_stream_operator.py",
        "timers at the end of a bounded input": "tests/engine/evaluators/ordered/test_stream_operator.py",
        "`Trigger.onMerge`, `canMerge`": "tests/scenarios/test_triggers.py",
        "a window join, `LEFT JOIN ... WHERE r.id IS NULL`, `FOR SYSTEM_TIME AS OF`": (
            "tests/engine/sql_text/test_joins.py"
        ),
        "an interval join, `o.placed BETWEEN s.shipped - INTERVAL '4' HOUR AND s.shipped` "
        "in `ON` or `WHERE`": "tests/engine/sql_text/test_joins.py",
    },
    KAFKA_STREAMS: {
        "`TopologyTestDriver`": "tests/engine/testing/test_streaming.py",
        "a subclass of `Windows`": "tests/sdk/rows/test_windows_of_ones_own.py",
    },
    BYTEWAX_PATHWAY_AND_QUIX: {
        "`TestingSource`, `run_main`": "tests/engine/testing/test_streaming.py",
        "a `Windower` and a `WindowerLogic`": "tests/sdk/rows/test_windows_of_ones_own.py",
        "`stateful_batch` with `notify_at`": "tests/journeys/recipes/test_from_flink.py",
        "`sdf.apply(..., stateful=True)`": "tests/journeys/recipes/test_from_flink.py",
        "`common_behavior(delay=d)`": "tests/journeys/recipes/test_from_kafka_streams.py",
    },
    STREAMINSIGHT: {},
    IBM_STREAMS: {
        "`OperatorDefined` selection": "tests/sdk/rows/test_ibm_streams.py",
        "`afterTupleInsertionEvent`, `afterTupleEvictionEvent`, `onWindowTriggerEvent`, `beforeWindowFlushEvent`,"
        " `onWindowInitialFullEvent`, `onWindowPartitionEviction`": "tests/sdk/rows/test_row_operator.py",
        "an operator with two input ports, one of them a window": "tests/sdk/rows/test_sensor_query.py",
        "a `Custom` operator with state": "tests/journeys/recipes/test_from_flink.py",
        "`window.aggregate(function)`": "tests/journeys/recipes/test_from_flink.py",
        "a `TumblingWindowSummarizer`": "tests/journeys/recipes/test_from_flink.py",
    },
}
"""Recipes whose values are in a test that is about the thing itself."""

WITHOUT_A_VALUE: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "it is about operating a query": {
        FLINK_AND_BEAM: (
            "`uid(...)` of an operator",
            "`withWatermarkAlignment(...)`, which pauses sources that are ahead",
            "a savepoint",
            "a state backend, RocksDB or heap",
            "back pressure",
            "exactly-once sinks, two-phase commit",
            "metrics and reporters",
            "the checkpointing interval",
            "the maximum parallelism",
            "to rescale from a savepoint",
        ),
        KAFKA_STREAMS: (
            "`processing.guarantee=exactly_once_v2`",
            "stores in RocksDB with changelog topics",
            "`maxRecords(n).shutDownWhenFull()`, `.emitEarlyWhenFull()`",
        ),
        BYTEWAX_PATHWAY_AND_QUIX: (
            "`commit()` of a connector",
            '`processing_guarantee="at-least-once"`, the default, or `"exactly-once"`',
            "`group_by(column)`, over a repartition topic",
            "persistence",
            "recovery partitions, with pickled state",
            "state in RocksDB with changelog topics",
        ),
        IBM_STREAMS: ("a consistent region",),
    },
    "it depends on the clock of a machine": {
        FLINK_AND_BEAM: ("a time to live of state", "timers of processing time", "windows of processing time"),
        BYTEWAX_PATHWAY_AND_QUIX: ("`SystemClock()`", "`now_getter`, for tests", "a window closes with a message"),
    },
    "it says that there is none": {
        FLINK_AND_BEAM: (
            "a side output for anything else, `ctx.output(tag, ...)`",
            "asynchronous I/O",
            "broadcast state",
        ),
        KAFKA_STREAMS: ("`TimeWindows.of(size)` with 24 hours of grace, gone since 4.0",),
        BYTEWAX_PATHWAY_AND_QUIX: ("`keep_results=False`",),
    },
    "it names a parameter, a column or a class": {
        FLINK_AND_BEAM: ("`Trigger`", "the test harness of an operator"),
        KAFKA_STREAMS: (
            "`TimestampExtractor`; by default the timestamp of the record",
            "stream time, the largest timestamp that a task has seen",
        ),
        BYTEWAX_PATHWAY_AND_QUIX: (
            "`pw.debug.compute_and_print`",
            "`pw.io.subscribe(table, on_change)`, with `is_addition`",
            "`timestamp_extractor` of `app.topic`; by default the timestamp of the message",
            '`{"start": ..., "end": ..., "mean": ...}`, with the start as its timestamp',
            "the stream `meta`: `WindowMetadata`",
            "the time of the operator: the largest of all instances",
        ),
        STREAMINSIGHT: (
            "`AdvanceTimeImportSettings`",
            "a UDF, a method called in a query",
            "a tick",
            "an extension method with `CepUserDefinedAggregate`, an assembly on the server",
            "window types",
            "window-based and time-bound output intervals of the paper",
        ),
    },
}


@pytest.fixture(scope="module", autouse=True)
def _imported_tests() -> None:
    """Import the tests of all pages, which declare what they test."""
    for file in Path(__file__).parent.glob("test_from_*.py"):
        import_module(f"tests.journeys.recipes.{file.stem}")


def untested_on(page: str) -> set[str]:
    """Return the rows of a page that have a reason not to be tested here."""
    cells = set(TESTED_ELSEWHERE[page])
    for rows_by_page in WITHOUT_A_VALUE.values():
        cells.update(rows_by_page.get(page, ()))
    return cells


@pytest.mark.parametrize("page", PAGES)
def test_every_recipe_of_a_page_is_tested_or_has_no_value(page: str) -> None:
    rows = {row.theirs for row in recipes_of(page)}
    tested = {row.theirs for row in tested_recipes if row.page == page}
    assert len(tested) > 15
    assert rows - tested - untested_on(page) == set()


@pytest.mark.parametrize("page", PAGES)
def test_a_row_that_is_excused_is_on_its_page_and_not_tested(page: str) -> None:
    rows = {row.theirs for row in recipes_of(page)}
    tested = {row.theirs for row in tested_recipes if row.page == page}
    assert untested_on(page) - rows == set()
    assert untested_on(page) & tested == set()


def test_files_of_recipes_that_are_tested_elsewhere_exist() -> None:
    for rows in TESTED_ELSEWHERE.values():
        for file in rows.values():
            assert (ROOT / file).is_file(), file
