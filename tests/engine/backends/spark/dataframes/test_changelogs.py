"""What changelogs add up to, against the fold of the SDK."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import INFINITY, Event
from muntin.changes import fold as fold_changes
from muntin.errors import QueryError
from muntin_engine import final_rows, fold, net_changes
from muntin_engine.backends.spark.dataframes.changelogs import settled
from muntin_engine.sinks.net_changes_on_driver import net_changes_on_driver
from tests.engine.backends.random_changes import Change, finite, random_changes, row_of
from tests.journeys.running import collect, stream_of

EXTENT = pa.struct([("start", pa.int64()), ("end", pa.int64())])
SCHEMA = pa.schema(
    [
        ("batch", pa.int64()),
        ("key", pa.string()),
        ("window", EXTENT),
        ("lifetime", EXTENT),
        ("change", pa.string()),
        ("event_id", pa.int64()),
        ("new_end", pa.int64()),
        ("value", pa.float64()),
    ]
)
KEYS = ("a", "b", None)
SEED = 20_130_101

Row: TypeAlias = tuple[Any, ...]


def row(key: str | None, batch: int, change: Change) -> dict[str, Any]:
    """Return a change as a row of `SCHEMA`; its window is the one of ten ticks in which its event starts."""
    window_start = change.event.start // 10 * 10
    return {"window": {"start": window_start, "end": window_start + 10}, **row_of(key, batch, change)}


@pytest.fixture(scope="module")
def histories() -> Mapping[str | None, list[Change]]:
    """Random changes by key."""
    draw = random.Random(SEED)
    return {key: list(random_changes(draw)) for key in KEYS}


@pytest.fixture(scope="module")
def changelog(spark: SparkSession, histories: Mapping[str | None, list[Change]]) -> DataFrame:
    """All histories as one changelog, with five changes of a key in each micro-batch, in random order."""
    rows: list[dict[str, Any]] = []
    for key, changes in histories.items():
        rows += [row(key, place // 5, change) for place, change in enumerate(changes)]
    random.Random(SEED).shuffle(rows)
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA))


def live_rows(history: Mapping[tuple[Hashable, int], Event[float]]) -> list[Row]:
    """Return (id, start, end, payload) of the events of a history, in order."""
    return sorted((id, event.start, finite(event.end), event.payload) for (id, _), event in history.items())


def test_a_fold_is_the_history_that_the_changes_mean(
    changelog: DataFrame, histories: Mapping[str | None, list[Change]]
) -> None:
    table = fold(changelog.drop("batch"), key="key")
    assert table.columns == ["key", "window", "lifetime", "value"]

    folded_rows: Counter[str] = Counter()
    for row in collect(table):
        start = row["lifetime"]["start"]
        assert row["window"]["start"] == start // 10 * 10
        folded_rows[str((row["key"], start, row["lifetime"]["end"], row["value"]))] += 1

    expected: Counter[str] = Counter()
    for key, changes in histories.items():
        for _, start, end, value in live_rows(fold_changes(changes)):
            expected[str((key, start, end, value))] += 1
    assert folded_rows == expected
    assert expected.total() > 20  # else few changes would have been compared


def test_net_changes_of_each_micro_batch_keep_a_keyed_table_up_to_date(
    changelog: DataFrame, histories: Mapping[str | None, list[Change]]
) -> None:
    nets = net_changes(changelog, key=["batch", "key"])
    assert nets.columns == ["batch", "key", "window", "lifetime", "change", "event_id", "value"]
    rows = collect(nets)
    assert {net_change["change"] for net_change in rows} == {"upsert", "delete"}

    # There is one net change of an event in a micro-batch, where it may have had several changes.
    names = {(net_change["batch"], net_change["key"], net_change["event_id"]) for net_change in rows}
    assert len(names) == len(rows) < changelog.count()

    # Apply them to a table by key and id, micro-batch by micro-batch.
    table: dict[tuple[str | None, int], Row] = {}
    for net_change in sorted(rows, key=lambda net_change: net_change["batch"]):
        name = (net_change["key"], net_change["event_id"])
        if net_change["change"] == "delete":
            del table[name]
        else:
            table[name] = (net_change["event_id"], *net_change["lifetime"].values(), net_change["value"])

    for key, changes in histories.items():
        table_rows = sorted(row for (row_key, _), row in table.items() if row_key == key)
        assert table_rows == live_rows(fold_changes(changes))


def test_net_changes_on_the_driver_are_those_that_spark_computes(changelog: DataFrame) -> None:
    by_spark = net_changes(changelog, key=["batch", "key"])
    on_driver = net_changes_on_driver(changelog.toArrow(), ["batch", "key", "event_id"])
    assert on_driver.column_names == by_spark.columns
    assert sorted(map(str, on_driver.to_pylist())) == sorted(map(str, by_spark.toArrow().to_pylist()))


def test_a_changelog_without_revisions_needs_no_lifetimes(changelog: DataFrame) -> None:
    revised = changelog.where("change = 'revise'").select("key", "event_id")
    unrevised = changelog.join(revised, ["key", "event_id"], "left_anti").where("key is not null")
    without_lifetimes = unrevised.select("change", "event_id", "key", "value")
    table = fold(without_lifetimes, key="key")
    assert table.columns == ["key", "value"]

    # What is left of such a changelog: the inserted rows that were not retracted.
    retracted_names = {(row.key, row.event_id) for row in without_lifetimes.where("change = 'retract'").collect()}
    expected: list[tuple[Any, ...]] = []
    for row in without_lifetimes.where("change = 'insert'").collect():
        if (row.key, row.event_id) not in retracted_names:
            expected.append((row.key, row.value))
    assert sorted((row.key, row.value) for row in table.collect()) == sorted(expected)
    assert retracted_names
    assert expected


def test_a_fold_leaves_out_rows_that_are_no_changes_of_a_result(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("insert", 1, 5), ("punctuate", None, None)], "change string, event_id long, n int")
    assert fold(rows, key=()).collect() == [(5,)]


def test_a_changelog_without_key_columns_is_refused(changelog: DataFrame) -> None:
    for function in (fold, net_changes):
        with pytest.raises(QueryError, match=r"does not say what its key columns are.*\n.*\n  .*as in key='station'"):
            function(changelog)


def test_a_row_is_final_where_no_later_change_can_reach_it(spark: SparkSession) -> None:
    """
    watermark              10
    1    0 ---- 9          |
    2    0 --------------- 10       may get another end, as it has not ended before the watermark
    3    0 -------------------->    the same
    4                      10 -- 12 may still be taken away
    """
    rows = [(1, (0, 9)), (2, (0, 10)), (3, (0, None)), (4, (10, 12))]
    ticks = spark.createDataFrame(rows, "n int, lifetime struct<start: long, end: long>")

    # The same rows with bounds of other types.
    micros = "named_struct('start', timestamp_micros({0}.start), 'end', timestamp_micros({0}.end)) AS {0}"
    times = ticks.selectExpr("n", micros.format("lifetime"))
    zoneless_times = times.selectExpr(
        "n", "CAST(lifetime AS struct<start: timestamp_ntz, end: timestamp_ntz>) AS lifetime"
    )
    windows = ticks.selectExpr("n", "lifetime AS window")
    tenths = "CAST(lifetime.{0} / 10 AS decimal(19, 1))"
    bounds = ", ".join(f"{tenths.format(bound)} AS {bound}" for bound in ("start", "end"))
    decimals = ticks.selectExpr("n", f"struct({bounds}) AS lifetime")

    def final_numbers(table: DataFrame, watermark: int | None, *, is_revisable: bool) -> set[int]:
        """Return the numbers of the rows that are final; if they are revisable, a row may get another end."""
        return {row.n for row in settled(table, watermark, is_revisable=is_revisable).collect()}

    for table in (ticks, times, zoneless_times, windows, decimals):
        assert final_numbers(table, 10, is_revisable=True) == {1}
        assert final_numbers(table, 10, is_revisable=False) == {1, 2, 3}
        assert final_numbers(table, INFINITY, is_revisable=True) == {1, 2, 3, 4}
        assert final_numbers(table, None, is_revisable=True) == set()


def test_rows_are_final_by_what_kind_of_results_they_are(spark: SparkSession) -> None:
    # Rows 1 and 2 are the results of [0, 10) and of [10, 20).
    final = spark.createDataFrame([(1, (0, 10)), (2, (10, 20))], "n int, window struct<start: long, end: long>")
    early = final.selectExpr("*", "'early' AS timing", "0L AS firing")
    changes = final.selectExpr("*", "'insert' AS change", "CAST(n AS long) AS event_id")
    retractions = changes.where("n = 1").withColumn("change", F.lit("retract"))

    def final_numbers(rows: DataFrame, watermark: int) -> set[int]:
        return {row.n for row in final_rows(rows, watermark, key=()).collect()}

    # Final results are final at once, early ones when the watermark has passed their window.
    assert final_numbers(final, 10) == {1, 2}
    assert final_numbers(final, INFINITY) == {1, 2}
    assert final_numbers(early, 10) == {1}
    assert final_numbers(early, INFINITY) == {1, 2}

    # So are changes; row 1, which is retracted in the second changelog, is none of its final rows.
    assert final_numbers(changes, 10) == {1}
    assert final_numbers(changes, INFINITY) == {1, 2}
    assert final_numbers(changes.union(retractions), 10) == set()
    assert final_numbers(changes.union(retractions), INFINITY) == {2}

    with pytest.raises(QueryError, match="final by their lifetimes, and these have none: they have n, timing"):
        final_rows(early.select("n", "timing"), 10)


@pytest.mark.parametrize("column", ["change", "lifetime", "key"])
def test_a_column_that_a_fold_needs_and_does_not_find_is_named(changelog: DataFrame, column: str) -> None:
    with pytest.raises(QueryError, match=f"this one has no '{column}'"):
        fold(changelog.drop(column), key="key")


def test_a_fold_of_a_stream_is_refused(spark: SparkSession, tmp_path: Any) -> None:
    batch = pa.table({"change": ["insert"], "event_id": [1], "n": [5]})
    with pytest.raises(QueryError, match="needs a changelog as a whole, and this one is a stream"):
        fold(stream_of(spark, tmp_path, [batch]), key=())
