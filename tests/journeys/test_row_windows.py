"""Row windows on Spark: a query by names, streams with restarts, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import early, tumbling
from muntin.errors import MuntinError, PolicyError, QueryError
from muntin.rows import batch, between, delta, elapsed, last, marker
from muntin_engine import EventStream, Query, events, module
from muntin_engine.api.query import WindowedStream
from tests.journeys.running import MemorySink, collect, read_stream, run, run_together, table_of, write_batches
from tests.modules.row_operators import HandlerCalls
from tests.modules.rows import Listed, Sliding

SCHEMA = pa.schema(
    [("at", pa.int64()), ("seq", pa.int64()), ("key", pa.string()), ("x", pa.int64()), ("kind", pa.string())]
)


class Row(NamedTuple):
    """A row of the stream."""

    at: int
    seq: int
    key: str
    x: int
    kind: str


def row_with(seq: int) -> Row:
    """Return the row with a number: two rows have one tick, every third is of the key "b", and x goes up and down."""
    return Row(at=seq // 2, seq=seq, key="b" if seq % 3 == 0 else "a", x=seq * 7 % 10, kind="row")


SEQS = list(range(1, 25))
"""The numbers of the rows."""

ROWS = [row_with(seq) for seq in SEQS]
"""The rows in order, at the ticks 0 to 12."""

DELAY = 4
"""The delay of `stream`."""

WATERMARK = 12 - DELAY
"""The watermark after all rows."""

COMPLETE_ROWS = [row for row in ROWS if row.at < WATERMARK]
"""The rows whose order is known after all rows came."""


def table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a micro-batch."""
    return table_of(SCHEMA, rows)


def stream(df: DataFrame, **options: Any) -> EventStream:
    """Return rows as events by key and in the order of `seq`, unless the options say otherwise."""
    defaults: dict[str, Any] = {"key": "key", "at": "at", "order": "seq", "watermark": DELAY, "buckets": 2}
    return events(df, **(defaults | options))


class Results(NamedTuple):
    """The results of three queries over rows that came out of order, by a query of Spark that was started twice.

    Attributes:
        last_rows: The results of `last(3).trigger(2)`, by key: their `rows` are numbers of rows.
        last_rows_of_first_run: Those of the first run.
        batches: The results of `batch(elapsed(5))`, by key and partition.
        times: The results of windows of four ticks: their `rows` are values of `x`.
    """

    last_rows: list[dict[str, Any]]
    last_rows_of_first_run: list[dict[str, Any]]
    batches: list[dict[str, Any]]
    times: list[dict[str, Any]]


@pytest.fixture(scope="module")
def results(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The results of three queries, run together twice from one checkpoint."""
    folder = tmp_path_factory.mktemp("rows")
    # Rows of a tick, and of neighbouring ticks, arrive out of order; the first one arrives again, late.
    arrivals = [ROWS[3], ROWS[0], ROWS[1], ROWS[2], *reversed(ROWS[4:10]), *ROWS[10:16], *reversed(ROWS[16:]), ROWS[0]]
    batches = [table(arrivals[place : place + 7]) for place in range(0, len(arrivals), 7)]

    def run_over(batch_count: int) -> dict[str, list[dict[str, Any]]]:
        """Run the queries over the first micro-batches, and return the results that this adds."""
        source = stream(read_stream(spark, write_batches(folder / "in", batches[:batch_count])))
        last_rows = source.window(last(3).trigger(2))
        batches_of_rows = source.window(batch(elapsed(5)).partition("x % 2"))
        times = source.window(tumbling(4))
        queries = {
            "last": last_rows.aggregate(rows=module(Listed, "seq"), s=module(Sliding, "seq")),
            "batch": batches_of_rows.aggregate(rows=module(Listed, "seq")),
            "time": times.aggregate(rows=module(Listed, "x"), newest=module("stats.last", "x")),
        }
        return run_together(queries, folder / "checkpoint")

    first_run = run_over(2)
    second_run = run_over(len(batches))
    return Results(
        last_rows=first_run["last"] + second_run["last"],
        last_rows_of_first_run=first_run["last"],
        batches=first_run["batch"] + second_run["batch"],
        times=first_run["time"] + second_run["time"],
    )


@pytest.mark.parametrize("key", ["a", "b"])
def test_last_rows_are_those_in_order_whatever_the_order_in_which_rows_come(results: Results, key: str) -> None:
    results_of_key = [result for result in results.last_rows if result["key"] == key]
    results_of_key.sort(key=lambda result: (result["window"]["end"], result["rows"]))
    windows = [result["rows"] for result in results_of_key]

    # after every second row of the key, its last three, of which the first window has only two
    seqs = [row.seq for row in COMPLETE_ROWS if row.key == key]
    assert windows == [seqs[max(0, end - 3) : end] for end in range(2, len(seqs) + 1, 2)]
    assert [result["s"] for result in results_of_key] == [sum(rows) for rows in windows]


def test_last_rows_go_on_after_a_restart(results: Results) -> None:
    assert 0 < len(results.last_rows_of_first_run) < len(results.last_rows)


def test_a_batch_of_a_time_has_the_rows_of_its_key_and_partition(results: Results) -> None:
    assert results.batches
    for result in results.batches:
        # the second five ticks are not over at the watermark
        assert result["window"] == {"start": 0, "end": 5}
        expected_seqs = []
        for row in COMPLETE_ROWS:
            if row.at < 5 and row.key == result["key"] and row.x % 2 == result["partition"]:
                expected_seqs.append(row.seq)
        assert result["rows"] == expected_seqs


def test_windows_of_time_have_their_rows_in_order(results: Results) -> None:
    windows = sorted((result["window"]["start"], result["key"]) for result in results.times)
    assert windows == [(0, "a"), (0, "b"), (4, "a"), (4, "b")]
    for result in results.times:
        start = result["window"]["start"]
        end = result["window"]["end"]
        assert result["rows"] == [row.x for row in ROWS if start <= row.at < end and row.key == result["key"]]
        assert result["newest"] == result["rows"][-1]


def static(spark: SparkSession, rows: Sequence[Row] = ROWS, **options: Any) -> EventStream:
    """Return rows of a table as events."""
    return stream(spark.createDataFrame(table(rows)), **options)


def windows_of(query: Query) -> list[list[int]]:
    """Return the rows of each window, in order."""
    return sorted(row["rows"] for row in collect(query.results()))


def test_a_marker_ends_a_batch_and_is_in_none(spark: SparkSession) -> None:
    every_sixth_marked = [row._replace(kind="end") if row.seq % 6 == 0 else row for row in ROWS]
    source = static(spark, every_sixth_marked, key=None)

    query = source.window(batch(marker("kind = 'end'"))).aggregate(rows=module(Listed, "seq"))

    # without 6, 12, 18 and 24
    assert windows_of(query) == [[1, 2, 3, 4, 5], [7, 8, 9, 10, 11], [13, 14, 15, 16, 17], [19, 20, 21, 22, 23]]


def test_a_batch_ends_where_a_column_has_grown_by_more_than_a_difference(spark: SparkSession) -> None:
    query = static(spark, key=None).window(batch(delta("seq", 9))).aggregate(rows=module(Listed, "seq"))

    assert windows_of(query) == [SEQS[:10], SEQS[10:20], SEQS[20:]]


def test_windows_between_conditions_end_at_a_row_or_after_a_time(spark: SparkSession) -> None:
    # in at 2 and 3, out at 9 and 12, in at 13 and never out
    kinds = {2: "in", 3: "in", 9: "out", 12: "out", 13: "in"}
    rows_of_device = [Row(at=seq, seq=seq, key="a", x=seq, kind=kinds.get(seq, "row")) for seq in SEQS]
    windows = between("kind = 'in'", "kind = 'out'", within=10)

    query = static(spark, rows_of_device).window(windows).aggregate(rows=module(Listed, "seq"))

    assert windows_of(query) == [[*range(2, 10)], [*range(13, 23)]]


def test_rows_that_are_filtered_out_are_in_no_window(spark: SparkSession) -> None:
    query = static(spark, key=None).where("x > 4").window(last(2)).aggregate(rows=module(Listed, "x"))

    windows = windows_of(query)
    assert windows
    for xs in windows:
        assert min(xs) > 4


def stream_of_rows(spark: SparkSession, folder: Path) -> EventStream:
    """Return a stream of two micro-batches, the first of which has its ten rows in the opposite order."""
    batches = [table([*reversed(ROWS[:10])]), table(ROWS[10:])]
    return stream(read_stream(spark, write_batches(folder, batches)))


def test_what_a_module_gives_when_rows_leave_is_a_second_output(spark: SparkSession, tmp_path: Path) -> None:
    # the module gives "insert 5 of 2 4 5" for each row that comes, and "evict 2 of 4 5" for each one that leaves
    source = stream_of_rows(spark, tmp_path / "in")
    query = source.window(last(3).partition("x % 2")).apply(module(HandlerCalls, "seq"))
    results = MemorySink()
    evicted_rows = MemorySink()

    running = query.write(
        results=results, evicted_rows=evicted_rows, checkpoint=tmp_path / "checkpoint", available_now=True
    )
    running.awaitTermination()

    insertions = [row for row in results.rows if row["text"].startswith("insert")]
    assert len(insertions) == len(COMPLETE_ROWS)

    # Each partition keeps its last three rows: all others have left, each when the third one after it came.
    for key, partition in {(row.key, row.x % 2) for row in COMPLETE_ROWS}:
        rows = [row for row in COMPLETE_ROWS if (row.key, row.x % 2) == (key, partition)]
        evictions = [row for row in evicted_rows.rows if (row["key"], row["partition"]) == (key, partition)]
        evictions.sort(key=lambda eviction: eviction["place"])
        texts = [eviction["text"].partition(" of ")[0] for eviction in evictions]
        assert texts == [f"evict {row.seq}" for row in rows[:-3]]
        assert sorted(eviction["window"]["start"] for eviction in evictions) == [row.at for row in rows[3:]]


def test_the_plan_says_that_a_module_is_told_of_each_row_that_comes(spark: SparkSession) -> None:
    query = static(spark).window(last(3)).apply(module(HandlerCalls, "seq"))

    assert "rows.handler_calls 1.0.0: told of each row that comes" in query.plan_text()


@pytest.mark.nightly
def test_what_rows_give_when_they_leave_is_the_input_of_another_query(spark: SparkSession, tmp_path: Path) -> None:
    """Each row that leaves the last three of its key is counted where it leaves, per four ticks and over all keys."""
    query = stream_of_rows(spark, tmp_path / "in").window(last(3)).apply(module(HandlerCalls, "seq"))
    evictions = query.as_events(key=None, buckets=2, output="evicted_rows")
    second_query = evictions.window(tumbling(4)).aggregate(lines=module(Listed, "place"))

    outcome = run(second_query.named("second").results(), tmp_path / "checkpoint", "second")

    # A row leaves when the third one of its key after it comes.
    expected_counts: Counter[int] = Counter()
    for key in ("a", "b"):
        times = [row.at for row in COMPLETE_ROWS if row.key == key]
        for time in times[3:]:
            window_start = time // 4 * 4
            if window_start + 4 <= WATERMARK:
                expected_counts[window_start] += 1
    counts = {row["window"]["start"]: len(row["lines"]) for row in outcome.rows}
    assert counts == expected_counts
    assert counts
    assert outcome.total("late") == 0
    assert "up to where the results of the query before are settled" in second_query.plan_text()


def test_outputs_that_a_query_does_not_have_are_refused(spark: SparkSession) -> None:
    query = static(spark).window(last(3)).apply(module(HandlerCalls, "seq"))
    query_without_evictions = static(spark).window(last(3)).aggregate(rows=module(Listed, "seq"))

    with pytest.raises(QueryError, match=r"output='late' has no rows that can be events\n  there are 'results' and"):
        query.as_events(output="late")
    with pytest.raises(QueryError, match="gives nothing when rows leave"):
        query_without_evictions.as_events(output="evicted_rows")
    with pytest.raises(QueryError, match="gives nothing when rows leave"):
        query_without_evictions.evicted_rows()


def test_over_timestamps_the_lengths_of_row_windows_are_written_as_time(spark: SparkSession) -> None:
    # a row every 20 seconds, from number 0 to number 8
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [(start + timedelta(seconds=20 * number), number) for number in range(9)]
    df = spark.createDataFrame(rows, "at timestamp, seq long")
    source = events(df, at="at", order=F.col("at"))

    minutes = source.window(last("1 minute").trigger("1 minute")).aggregate(rows=module(Listed, "seq"))
    batches = source.window(batch(delta("at", "1 minute"))).aggregate(rows=module(Listed, "seq"))

    assert [row["rows"] for row in collect(minutes.results())] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert "last('1 minute').trigger('1 minute')" in minutes.plan_text()
    # a batch has the rows up to one minute after its first one, inclusive
    assert windows_of(batches) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_a_row_that_comes_behind_the_watermark_is_late(spark: SparkSession, tmp_path: Path) -> None:
    first_row = ROWS[0]
    batches = [table(ROWS[8:]), table([first_row])]
    source = stream(read_stream(spark, write_batches(tmp_path / "in", batches)))
    query = source.window(last(2)).aggregate(rows=module(Listed, "seq"))

    (late_row,) = run(query.late_rows(), tmp_path / "checkpoint").rows

    assert late_row["late_by"] == WATERMARK - first_row.at
    assert json.loads(late_row["row"]) == {"at": first_row.at, "key": first_row.key, "seq": first_row.seq}


class Refusal(NamedTuple):
    """Windows over a stream of a DataFrame that are refused, with the error and its message."""

    windows: Callable[[DataFrame], WindowedStream]
    error: type[MuntinError]
    message: str


REFUSALS: dict[str, Refusal] = {
    "no order of rows": Refusal(lambda df: stream(df, order=None).window(last(2)), QueryError, "no column says it"),
    "events with ends": Refusal(
        lambda df: stream(df, at=None, start="at", end="x").window(last(2)), QueryError, "an end of their own"
    ),
    "samples": Refusal(lambda df: stream(df, edge=True).window(last(2)), QueryError, "these are samples"),
    "eager results": Refusal(
        lambda df: stream(df).window(last(2), emit="eager"), PolicyError, "emit='eager' would be before that"
    ),
    "early results": Refusal(
        lambda df: stream(df).window(last(2), emit=early(every="1 minute")),
        PolicyError,
        "would be before that",
    ),
    "late rows that are moved": Refusal(
        lambda df: stream(df, late_policy="adjust").window(last(2)), PolicyError, "have followed already"
    ),
    "clipped events": Refusal(lambda df: stream(df).window(last(2), clip="full"), PolicyError, "nothing to clip"),
    "lifetimes of results": Refusal(
        lambda df: stream(df).window(last(2), timestamps="clip"),
        PolicyError,
        "returns no lifetimes|is not for",
    ),
    "several windows": Refusal(
        lambda df: stream(df).windows(a=last(2), b=batch(2)), QueryError, "several windows of a query share"
    ),
    "another evaluator": Refusal(
        lambda df: stream(df).window(last(2), evaluator="general"), QueryError, "follows rows in their order"
    ),
    "windows of time in order": Refusal(
        lambda df: stream(df).window(tumbling(5), evaluator="in_order"), QueryError, "does not follow rows"
    ),
    "a partition by a float": Refusal(
        lambda df: stream(df).window(last(2).partition("x / 2")), PolicyError, "is of type double"
    ),
    "an order by a float": Refusal(
        lambda df: stream(df, order=F.col("x") / 2).window(last(2)), PolicyError, "is of type double"
    ),
    "a difference of text": Refusal(
        lambda df: stream(df).window(batch(delta("kind", 2))), PolicyError, "expected: a number or a timestamp"
    ),
    "a marker without a condition": Refusal(
        lambda df: stream(df).window(batch(marker("kind"))), PolicyError, "expected: a condition"
    ),
    "a beginning without a condition": Refusal(
        lambda df: stream(df).window(between("x", "x > 2")), PolicyError, "expected: a condition"
    ),
    "an unknown column": Refusal(
        lambda df: stream(df).window(batch(delta("y", 2))), QueryError, "reads .*y.*no such column"
    ),
    "a time over integers": Refusal(
        lambda df: stream(df).window(last("1 minute")), QueryError, "integers without a unit"
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_windows_that_do_not_suit_the_stream_are_refused_with_what_to_write(spark: SparkSession, name: str) -> None:
    refusal = REFUSALS[name]
    with pytest.raises(refusal.error, match=refusal.message) as raised:
        refusal.windows(spark.createDataFrame(table(ROWS))).aggregate(s=module(Sliding, "x"))
    assert isinstance(raised.value, MuntinError)
    assert len(str(raised.value).splitlines()) >= 2, "the second line says what to write"


def test_explain_says_how_rows_are_ordered_and_when_windows_are_complete(spark: SparkSession) -> None:
    query = static(spark).window(last(3).trigger(2).partition("x % 2", most=9)).aggregate(s=module(Sliding, "x"))
    plan = query.plan_text()
    assert "last(3).trigger(2).partition('x % 2', most=9), clip none, timestamps align, emit final" in plan
    assert "order       by time, and at one time by seq; a row is released when the watermark passes it" in plan
    assert "evaluator   in_order: " in plan
    assert "s = rows.sliding 1.0.0: its state follows the rows that come and go" in plan
    assert "any key's oldest row is in a window" in plan
