"""What Kafka Streams gives on small streams, by its developer guide and API, and what the recipes on our page give.

Times are whole numbers, which stand for milliseconds in Kafka Streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin_stats as stats
from muntin import (
    Aggregate,
    IncrementalAggregate,
    Lateness,
    StreamOperator,
    correct,
    early,
    hopping,
    landmark,
    session,
    trailing,
    tumbling,
)
from muntin.progress import ordered
from muntin.triggers import every_count
from muntin_adapters.combinators import catching
from muntin_engine import EventStream, Query, events, module, union
from muntin_engine.testing.streaming import StartsJob
from tests.journeys.recipes.recipe import KAFKA_STREAMS, READINGS, columns_of, readings, recipe, rows_of, table


class TestTimeAndLateRecords:
    @recipe(
        KAFKA_STREAMS,
        "`TimeWindows.ofSizeAndGrace(size, grace)`",
        "a record after the grace is dropped, logged and counted in `dropped-records-total`",
        "`EmitStrategy.onWindowClose()`",
        "`suppress(untilWindowCloses(unbounded()))`",
    )
    def test_a_window_closes_after_its_size_and_the_grace(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=5).window(tumbling(10)).aggregate(n=stats.count())

        # [0, 10) closes when stream time reaches 10 + 5.
        running = streaming(job, READINGS)
        assert running.feed(*readings(3, 14)) == []
        assert running.feed(*readings(8)) == []
        assert columns_of(running.feed(*readings(15)), "start", "n") == [(0, 2)]
        assert running.feed(*readings(8)) == []
        assert len(running.late_rows) == 1

    @pytest.mark.nightly
    @recipe(KAFKA_STREAMS, "`ofSizeWithNoGrace(size)`")
    def test_without_grace_a_window_closes_with_the_first_record_after_it(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=ordered()).window(tumbling(10)).aggregate(n=stats.count())

        running = streaming(job, READINGS)
        assert running.feed(*readings(3, 9)) == []
        assert columns_of(running.feed(*readings(10)), "start", "n") == [(0, 2)]

    @pytest.mark.nightly
    @recipe(KAFKA_STREAMS, "a late record still counts in those of its hopping windows that are open")
    def test_a_late_record_is_late_in_all_its_hopping_windows(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=ordered()).window(hopping(10, 5)).aggregate(n=stats.count())

        running = streaming(job, READINGS)
        running.feed(*readings(1, 12))  # closes [-5, 5) and [0, 10)
        running.feed(*readings(7))  # of [0, 10), which is closed, and of [5, 15), which is open

        # Kafka Streams counts it in [5, 15), which is then 2. Here it is late in both, as the page says.
        assert columns_of(running.feed(*readings(20)), "start", "n") == [(5, 1), (10, 1)]
        assert len(running.late_rows) == 1

    @pytest.mark.nightly
    @recipe(
        KAFKA_STREAMS,
        "a record for sessions is dropped when it is late by more than the grace *and the gap*; an older one is merged "
        "into a session that is still open",
    )
    def test_a_late_record_of_a_session_needs_a_delay_or_a_correction(self, streaming: StartsJob) -> None:
        def sessions(delay: int, late_policy: Lateness | Literal["side"] = "side") -> Callable[[DataFrame], Query]:
            """Return a job that counts the records of sessions."""

            def job(rows: DataFrame) -> Query:
                stream = events(rows, key="k", at="at", watermark=delay, late_policy=late_policy)
                return stream.window(session(10)).aggregate(n=stats.count())

            return job

        # Without grace. Kafka Streams drops what is behind 7 - 10, so it has a session of two.
        running = streaming(sessions(0), READINGS)
        running.feed(*readings(7))
        running.feed(*readings(3))
        assert len(running.late_rows) == 1
        # The page has two recipes: to correct results for the gap, or to wait for it.
        for recipe_of_page in (sessions(0, correct(10)), sessions(0 + 10)):
            patient = streaming(recipe_of_page, READINGS)
            patient.feed(*readings(7))
            patient.feed(*readings(3))
            assert columns_of(patient.close(), "n") == [(2,)]
            assert patient.late_rows == []

    @recipe(KAFKA_STREAMS, "a record with a null key is dropped")
    def test_null_keys_are_a_key_unless_they_are_filtered(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 1.0), (None, 2, 2.0))
        stream = events(rows, key="k", at="at")
        assert rows_of(stream.window(tumbling(10)).aggregate(n=stats.count()), "k", "n") == [("a", 1), (None, 1)]
        with_key = stream.where("k IS NOT NULL").window(tumbling(10)).aggregate(n=stats.count())
        assert rows_of(with_key, "k", "n") == [("a", 1)]

    @pytest.mark.nightly
    @recipe(
        KAFKA_STREAMS, "one stream time per partition", "final results of a silent partition wait for its next record"
    )
    def test_the_slowest_partition_decides_for_all_keys(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", source="part", sources=["0", "1"], watermark=ordered())
            return stream.window(tumbling(10)).aggregate(n=stats.count())

        # Partition 1 is at 12 and closes its own window there. Here the slowest partition decides for all keys.
        running = streaming(job, "k string, at bigint, part string")
        assert running.feed(("a", 3, "0"), ("b", 4, "1")) == []
        assert running.feed(("b", 12, "1")) == []
        assert sorted(columns_of(running.feed(("a", 10, "0")), "k", "start", "n")) == [("a", 0, 1), ("b", 0, 1)]


class TestWindows:
    @recipe(
        KAFKA_STREAMS, "`TimeWindows`", "`TimeWindows` with `.advanceBy(hop)`", "`UnlimitedWindows.of().startOn(start)`"
    )
    def test_time_windows_hop_and_unlimited_windows_grow(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 0, 1.0), ("a", 7, 2.0), ("a", 12, 4.0))
        stream = events(rows, key="k", at="at")
        tumbled = stream.window(tumbling(10)).aggregate(x=stats.sum("x"))
        assert rows_of(tumbled, "start", "x") == [(0, 3.0), (10, 4.0)]

        # windowsFor(7) of size 10 and advance 5: starts 0 and 5. Kafka's windows do not start before 0.
        hopped = stream.window(hopping(10, 5)).aggregate(x=stats.sum("x"))
        assert rows_of(hopped, "start", "x") == [(-5, 1.0), (0, 3.0), (5, 6.0), (10, 4.0)]

        # UnlimitedWindows from 5 on: 2.0, then 6.0
        unlimited = stream.window(landmark(5, since=5)).aggregate(x=stats.sum("x"))
        assert rows_of(unlimited, "start", "end", "x") == [(5, 10, 2.0), (5, 15, 6.0)]

    @recipe(KAFKA_STREAMS, "`SlidingWindows.ofTimeDifferenceAndGrace(d, grace)`")
    def test_sliding_windows_end_with_a_record(self, spark: SparkSession) -> None:
        # Of a time difference of 5: the windows that end with a record are [-4, 1], [1, 6] and [3, 8].
        rows = table(spark, READINGS, ("a", 1, 1.0), ("a", 6, 2.0), ("a", 8, 4.0))
        query = events(rows, key="k", at="at").window(trailing(5 + 1)).aggregate(x=stats.sum("x"))
        assert [(end - 1, x) for end, x in rows_of(query, "end", "x")] == [(1, 1.0), (6, 3.0), (8, 6.0)]

    @recipe(KAFKA_STREAMS, "`SessionWindows.ofInactivityGapAndGrace(gap, grace)`")
    def test_sessions_have_records_at_most_a_gap_apart(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, *readings(0, 5, 11))
        query = events(rows, key="k", at="at").window(session(5)).aggregate(n=stats.count())

        # [0, 5] with two records and [11, 11] with one; a session ends with its last record there
        sessions = [(start, end - 5, n) for start, end, n in rows_of(query, "start", "end", "n")]
        assert sessions == [(0, 5, 2), (11, 11, 1)]


class TestJoins:
    """The windows include both ends: records match that are at most 10 apart."""

    @pytest.fixture
    def sides(self, spark: SparkSession) -> tuple[EventStream, EventStream]:
        """Views l1 to l3 and clicks r1 to r4, of which r1 and r2 are exactly 10 before and after l1."""
        views = table(spark, "k string, at bigint, l string", ("x", 100, "l1"), ("x", 150, "l2"), ("y", 100, "l3"))
        clicks = table(
            spark,
            "k string, at bigint, r string",
            *(("x", 90, "r1"), ("x", 110, "r2"), ("x", 139, "r3"), ("y", 111, "r4")),
        )
        return events(views, key="k", at="at"), events(clicks, key="k", at="at")

    @recipe(KAFKA_STREAMS, "`join` with `JoinWindows.ofTimeDifferenceWithNoGrace(d)`")
    def test_an_inner_join_has_records_at_most_a_difference_apart(self, sides: tuple[EventStream, EventStream]) -> None:
        left, right = sides
        d = 10
        joined = left.extend(d).join(right.extend(d), left_columns=["l"], right_columns=["r"])
        assert rows_of(joined, "l", "r") == [("l1", "r1"), ("l1", "r2")]

    @recipe(KAFKA_STREAMS, "`leftJoin` with the same windows", "`outerJoin` with the same windows")
    def test_an_outer_join_is_a_left_join_and_an_anti_join(self, sides: tuple[EventStream, EventStream]) -> None:
        left, right = sides
        d = 10
        joined = left.join(right.shift(-d).extend(2 * d), "left", left_columns=["l"], right_columns=["r"])
        assert rows_of(joined, "l", "r") == [("l1", "r1"), ("l1", "r2"), ("l2", None), ("l3", None)]
        alone = right.join(left.shift(-d).extend(2 * d), "anti", left_columns=["r"])
        assert rows_of(alone, "r") == [("r3",), ("r4",)]

    @recipe(KAFKA_STREAMS, "`JoinWindows` with `.before(a)` and `.after(b)`")
    def test_a_join_may_look_further_back_than_ahead(self, sides: tuple[EventStream, EventStream]) -> None:
        # The other record is at most 10 before and at most 9 after: r2, which is 10 after l1, is out.
        left, right = sides
        a = 10
        b = 9
        inner = left.extend(b).join(right.extend(a), left_columns=["l"], right_columns=["r"])
        assert rows_of(inner, "l", "r") == [("l1", "r1")]
        outer = left.join(right.shift(-b).extend(a + b), "left", left_columns=["l"], right_columns=["r"])
        assert rows_of(outer, "l", "r") == [("l1", "r1"), ("l2", None), ("l3", None)]

    @pytest.mark.nightly
    def test_a_left_join_over_a_stream_gives_each_left_record_once(self, streaming: StartsJob) -> None:
        def job(lefts: DataFrame, rights: DataFrame) -> Query:
            left = events(lefts, key="k", at="at", watermark=5)
            right = events(rights, key="k", at="at", watermark=5)
            return left.join(right.shift(-10).extend(20), "left", left_columns=["l"], right_columns=["r"])

        running = streaming(job, lefts="k string, at bigint, l string", rights="k string, at bigint, r string")
        rows = running.feed(lefts=[("x", 100, "l1"), ("x", 150, "l2")], rights=[("x", 90, "r1")])
        rows += running.feed(lefts=[("x", 300, "l9")], rights=[("x", 110, "r2"), ("x", 300, "r9")])
        rows += running.close()
        assert sorted(columns_of(rows, "l", "r"), key=str) == [("l1", "r1"), ("l1", "r2"), ("l2", None), ("l9", "r9")]

    @recipe(KAFKA_STREAMS, "a stream joined with a `KTable`, or a versioned one")
    def test_a_stream_and_a_table_are_joined_by_the_version_of_the_time_of_each_record(
        self, spark: SparkSession
    ) -> None:
        clicks = table(spark, "k string, at bigint, l string", ("x", 5, "l0"), ("x", 10, "l1"), ("x", 15, "l2"))
        users = table(spark, "k string, at bigint, r string", ("x", 10, "v1"), ("x", 12, "v2"))
        left = events(clicks, key="k", at="at")
        right = events(users, key="k", at="at", edge=True)
        joined = left.join(right, left_columns=["l"], right_columns=["r"])

        # A versioned table gives the version of the stream record's own timestamp; an inner join drops l0.
        assert rows_of(joined, "l", "r") == [("l1", "v1"), ("l2", "v2")]


class SumOfRecords(IncrementalAggregate[float, list[float], float]):
    """An `Initializer`, an `Aggregator` and a `Merger`."""

    name, version = "recipes.sum_of_records", "1.0.0"

    def create_state(self) -> list[float]:
        return [0.0]

    def add_events(self, state: list[float], payloads: Sequence[float]) -> list[float]:
        return [state[0] + sum(payloads)]

    def combine(self, state: list[float], other: list[float]) -> list[float]:
        return [state[0] + other[0]]

    def compute_result(self, state: list[float]) -> float:
        return state[0]


class InverseOf(Aggregate[float, float]):
    """A function that fails for zero."""

    name, version = "recipes.inverse_of", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return 1 / sum(payloads)


class CountEvery(StreamOperator[float, list[int], int]):
    """Count records, and forward the count at each multiple of 10."""

    name, version = "recipes.count_every", "1.0.0"

    def create_state(self) -> list[int]:
        return [0, 0]

    def on_event(self, state: list[int], payload: float, time: int) -> list[int]:
        state[0] += 1
        state[1] = time - time % 10 + 10
        return []

    def next_time(self, state: list[int]) -> int:
        return state[1]

    def on_time(self, state: list[int], time: int) -> list[int]:
        state[1] = time + 10
        return [state[0]]

    def is_empty(self, state: list[int]) -> bool:
        return state[1] > 30


class TestAggregatesAndResults:
    @recipe(KAFKA_STREAMS, "`groupByKey().windowedBy(...).aggregate(...)`", "`Initializer`, `Aggregator`, `Merger`")
    def test_a_record_merges_two_sessions_and_their_aggregates(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 0, 1.0), ("a", 8, 2.0), ("a", 4, 4.0), ("a", 30, 8.0))
        query = events(rows, key="k", at="at").window(session(5)).aggregate(x=module(SumOfRecords, "x"))

        # The record at 4 merges the sessions of 0 and 8.
        assert rows_of(query, "k", "start", "x") == [("a", 0, 7.0), ("a", 30, 8.0)]

    @pytest.mark.nightly
    @recipe(KAFKA_STREAMS, "`EmitStrategy.onWindowUpdate()`, the default")
    def test_each_record_updates_its_window(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=ordered())
            return stream.window(tumbling(10), emit=early(every_count(1))).aggregate(x=stats.sum("x"))

        # Each record forwards the updated sum: 1, 3 and 7.
        running = streaming(job, READINGS)
        assert columns_of(running.feed(("a", 0, 1.0)), "x") == [(1.0,)]
        assert columns_of(running.feed(("a", 1, 2.0)), "x") == [(3.0,)]
        assert columns_of(running.feed(("a", 2, 4.0)), "x") == [(7.0,)]

    @pytest.mark.nightly
    @recipe(KAFKA_STREAMS, "a `KTable` as a changelog")
    def test_a_changelog_retracts_the_result_that_it_replaces(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=ordered())
            return stream.window(tumbling(10), emit="eager").aggregate(x=stats.sum("x"))

        # With sendOldValues the second change is (old 1, new 3).
        running = streaming(job, READINGS)
        assert columns_of(running.feed(("a", 0, 1.0)), "change", "x") == [("insert", 1.0)]
        assert sorted(columns_of(running.feed(("a", 1, 2.0)), "change", "x")) == [("insert", 3.0), ("retract", 1.0)]

    @pytest.mark.nightly
    @recipe(KAFKA_STREAMS, "`suppress(untilTimeLimit(d, ...))`")
    def test_suppressed_results_come_once_in_a_period(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", change="change", watermark=5)
            return stream.window(tumbling(100), emit=early(every=10)).aggregate(x=stats.sum("x"))

        # One updated result after each period, not one for each record.
        running = streaming(job, "change string, k string, at bigint, x double")
        assert running.feed(("clock", None, 0, None), ("insert", "a", 1, 1.0)) == []
        assert running.feed(("insert", "a", 2, 2.0)) == []
        assert columns_of(running.feed(("clock", None, 10, None)), "x") == [(3.0,)]

    @recipe(KAFKA_STREAMS, "`cogroup(...)`")
    def test_a_cogroup_is_an_aggregate_of_a_union(self, spark: SparkSession) -> None:
        carts = table(spark, "k string, at bigint, x double", ("a", 1, 2.0), ("a", 3, 3.0))
        orders = table(spark, "k string, at bigint, x double", ("a", 4, 1.0), ("b", 5, 8.0))
        both = union(carts=events(carts, key="k", at="at"), orders=events(orders, key="k", at="at"))

        # One aggregate of both groups, which an aggregator of each updates
        query = both.window(tumbling(10)).aggregate(x=module(SumOfRecords, "x"))
        assert rows_of(query, "k", "x") == [("a", 6.0), ("b", 8.0)]

    @pytest.mark.nightly
    @recipe(KAFKA_STREAMS, "a `GlobalKTable`")
    def test_a_global_table_is_joined_by_spark_before_the_events(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 1.0), ("b", 2, 2.0))
        countries = table(spark, "k string, country string", ("a", "NZ"))
        inner = events(rows.join(countries, "k"), key="country", at="at").window(tumbling(10))
        assert rows_of(inner.aggregate(x=stats.sum("x")), "country", "x") == [("NZ", 1.0)]
        left = events(rows.join(countries, "k", "left"), key="country", at="at").window(tumbling(10))
        assert rows_of(left.aggregate(x=stats.sum("x")), "country", "x") == [("NZ", 1.0), (None, 2.0)]

    @recipe(KAFKA_STREAMS, "a `Processor` with a state store and a punctuator of stream time")
    def test_a_processor_with_a_punctuator_is_a_stream_operator(self, spark: SparkSession) -> None:
        # A punctuator every 10 of stream time forwards the counts in its store, as the developer guide's does.
        rows = table(spark, READINGS, *readings(1, 4, 25))
        query = events(rows, key="k", at="at", watermark=0).apply(module(CountEvery, "x"))
        assert rows_of(query, "start", "value")[:2] == [(10, 2), (20, 2)]

    @recipe(KAFKA_STREAMS, "a `ProcessingExceptionHandler`")
    def test_a_failure_of_one_key_is_a_result_beside_those_of_the_others(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 0.0), ("b", 2, 4.0))
        query = events(rows, key="k", at="at").window(tumbling(10)).aggregate(x=module(catching(InverseOf), "x"))
        results = {row.k: row.x for row in query.results().collect()}
        assert results["b"].result == 0.25
        assert "ZeroDivisionError" in str(results["a"].error)
