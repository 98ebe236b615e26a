"""Row windows on Spark: a query by names, streams with restarts, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
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
from tests.journeys.running import collect, read_stream, run, run_together, table_of, write_batches
from tests.modules.row_operators import HandlerCalls
from tests.modules.rows import Listed, Sliding

SCHEMA = pa.schema(
    [("at", pa.int64()), ("seq", pa.int64()), ("key", pa.string()), ("x", pa.int64()), ("kind", pa.string())]
)
ROWS = [(number // 2, number, "b" if number % 3 == 0 else "a", number * 7 % 10, "row") for number in range(1, 25)]
"""Two rows per tick, from 0 to 12: every third is of the key "b", and x goes up and down."""

WATERMARK = 12 - 4
"""The watermark after all rows: their newest time less the delay of `stream`."""


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return table_of(SCHEMA, rows)


def stream(df: DataFrame, **options: Any) -> EventStream:
    """Return rows as events by key and in the order of `seq`, unless the options say otherwise."""
    defaults: dict[str, Any] = {"key": "key", "at": "at", "order": "seq", "watermark": 4, "buckets": 2}
    return events(df, **(defaults | options))


def rows_by_key(results: list[dict[str, Any]]) -> dict[str, list[list[int]]]:
    """Return the rows of each key's windows, in the order in which these ended."""
    ordered = sorted(results, key=lambda row: (row["window"]["end"], row["rows"]))
    rows: dict[str, list[list[int]]] = {"a": [], "b": []}
    for result in ordered:
        rows[result["key"]].append(result["rows"])
    return rows


def test_a_stream_in_any_order_with_restarts_gives_the_last_rows(spark: SparkSession, tmp_path: Path) -> None:
    # Rows of a tick, and of neighbouring ticks, arrive out of order; the first one arrives again, late.
    arrivals = [ROWS[3], ROWS[0], ROWS[1], ROWS[2], *reversed(ROWS[4:10]), *ROWS[10:16], *reversed(ROWS[16:]), ROWS[0]]
    batches = [table(arrivals[place : place + 7]) for place in range(0, len(arrivals), 7)]

    def queries(batch_count: int) -> dict[str, Query]:
        """Return the queries over the first micro-batches."""
        source = stream(read_stream(spark, write_batches(tmp_path / "in", batches[:batch_count])))
        return {
            "last": source.window(last(3).trigger(2)).aggregate(rows=module(Listed, "seq"), s=module(Sliding, "seq")),
            "batch": source.window(batch(elapsed(5)).partition("x % 2")).aggregate(rows=module(Listed, "seq")),
            "time": source.window(tumbling(4)).aggregate(rows=module(Listed, "x"), newest=module("stats.last", "x")),
        }

    first_run = run_together(queries(2), tmp_path / "checkpoint")
    second_run = run_together(queries(len(batches)), tmp_path / "checkpoint")
    results = {name: [*first_run[name], *second_run[name]] for name in first_run}

    # last(3).trigger(2): after every second row of a key, its last three.
    assert first_run["last"]
    assert second_run["last"]
    assert all(row["s"] == sum(row["rows"]) for row in results["last"])
    for key, windows in rows_by_key(results["last"]).items():
        complete = [seq for at, seq, row_key, *_ in ROWS if row_key == key and at < WATERMARK]
        assert windows == [complete[max(0, end - 3) : end] for end in range(2, len(complete) + 1, 2)]

    # batch(elapsed(5)) by partition: the rows of five ticks; the second five are not over at the watermark.
    assert results["batch"]
    for row in results["batch"]:
        start = row["window"]["start"]
        end = row["window"]["end"]
        assert (start, end) == (0, 5)
        expected = []
        for at, seq, key, x, _ in ROWS:
            if start <= at < end and (key, x % 2) == (row["key"], row["partition"]):
                expected.append(seq)
        assert row["rows"] == expected

    # tumbling(4), in the same query of Spark: windows of time have the rows in order, too.
    for row in results["time"]:
        start = row["window"]["start"]
        end = row["window"]["end"]
        assert row["rows"] == [x for at, _, key, x, _ in ROWS if start <= at < end and key == row["key"]]
        assert row["newest"] == row["rows"][-1]
    windows_of_time = sorted((row["window"]["start"], row["key"]) for row in results["time"])
    assert windows_of_time == [(0, "a"), (0, "b"), (4, "a"), (4, "b")]


def static(spark: SparkSession, rows: list[tuple[Any, ...]] = ROWS, **options: Any) -> EventStream:
    return stream(spark.createDataFrame(table(rows)), **options)


def windows_of(query: Query) -> list[list[int]]:
    """Return the rows of each window, in order."""
    return sorted(row["rows"] for row in collect(query.results()))


SEQS = list(range(1, 25))
"""The numbers of the rows."""


def test_a_marker_ends_a_batch_and_is_in_none(spark: SparkSession) -> None:
    every_sixth_marked = [(*row[:4], "end" if row[1] % 6 == 0 else "row") for row in ROWS]
    source = static(spark, every_sixth_marked, key=None)

    query = source.window(batch(marker("kind = 'end'"))).aggregate(rows=module(Listed, "seq"))

    assert windows_of(query) == [SEQS[0:5], SEQS[6:11], SEQS[12:17], SEQS[18:23]]


def test_a_batch_ends_where_a_column_has_grown_by_more_than_a_difference(spark: SparkSession) -> None:
    query = static(spark, key=None).window(batch(delta("seq", 9))).aggregate(rows=module(Listed, "seq"))

    assert windows_of(query) == [SEQS[:10], SEQS[10:20], SEQS[20:]]


def test_windows_between_conditions_end_at_a_row_or_after_a_time(spark: SparkSession) -> None:
    kinds = {2: "in", 3: "in", 9: "out", 12: "out", 13: "in"}
    rows_of_device = [(seq, seq, "a", seq, kinds.get(seq, "row")) for seq in SEQS]
    windows = between("kind = 'in'", "kind = 'out'", within=10)

    query = static(spark, rows_of_device).window(windows).aggregate(rows=module(Listed, "seq"))

    assert windows_of(query) == [[*range(2, 10)], [*range(13, 23)]]


def test_rows_that_are_filtered_out_are_in_no_window(spark: SparkSession) -> None:
    query = static(spark, key=None).where("x > 4").window(last(2)).aggregate(rows=module(Listed, "x"))

    assert all(x > 4 for rows in windows_of(query) for x in rows)


def test_a_module_follows_rows_and_what_they_give_when_they_leave_is_a_second_output(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [table([*reversed(ROWS[:10])]), table(ROWS[10:])]
    source = stream(read_stream(spark, write_batches(tmp_path / "in", batches)))
    query = source.window(last(3).partition("x % 2")).apply(module(HandlerCalls, "seq"))
    outputs: dict[str, list[dict[str, Any]]] = {"results": [], "evicted": []}

    def collector(output: str) -> Any:
        """Return a sink that adds the rows of each micro-batch to an output."""
        return lambda rows, _: outputs[output].extend(row.asDict(recursive=True) for row in rows.collect())

    running = query.write(
        results=collector("results"),
        evicted_rows=collector("evicted"),
        checkpoint=tmp_path / "checkpoint",
        available_now=True,
    )
    running.awaitTermination()

    # Each partition keeps its last three rows: all others have left, each when the third one after it came.
    complete_rows = [row for row in ROWS if row[0] < WATERMARK]
    times = {seq: at for at, seq, *_ in ROWS}
    for key, parity in {(key, x % 2) for _, _, key, x, _ in complete_rows}:
        seqs = [seq for _, seq, row_key, x, _ in complete_rows if (row_key, x % 2) == (key, parity)]
        evicted_rows = [row for row in outputs["evicted"] if (row["key"], row["partition"]) == (key, parity)]
        evicted_rows.sort(key=lambda row: row["place"])
        evictions = [row["text"].partition(" of ")[0] for row in evicted_rows]
        assert evictions == [f"evict {seq}" for seq in seqs[:-3]]
        assert sorted(row["window"]["start"] for row in evicted_rows) == [times[seq] for seq in seqs[3:]]
    insertions = [row for row in outputs["results"] if row["text"].startswith("insert")]
    assert len(insertions) == len(complete_rows)
    with pytest.raises(QueryError, match="gives nothing when rows leave"):
        source.window(last(3)).aggregate(rows=module(Listed, "seq")).evicted_rows()
    assert "rows.handler_calls 1.0.0: told of each row that comes" in query.plan_text()


@pytest.mark.nightly
def test_what_rows_give_when_they_leave_is_the_input_of_another_query(spark: SparkSession, tmp_path: Path) -> None:
    """Each trade that leaves the last three of its key is counted where it leaves, per ten ticks and over all keys."""
    batches = [table([*reversed(ROWS[:10])]), table(ROWS[10:])]
    source = stream(read_stream(spark, write_batches(tmp_path / "in", batches)))
    query = source.window(last(3)).apply(module(HandlerCalls, "seq"))
    second_query = (
        query.as_events(key=None, buckets=2, output="evicted_rows")
        .window(tumbling(4))
        .aggregate(lines=module(Listed, "place"))
    )
    outcome = run(second_query.named("second").results(), tmp_path / "checkpoint", "second")

    # A row leaves when the third one of its key after it comes.
    evictions_by_start: Counter[int] = Counter()
    for key in {row[2] for row in ROWS}:
        times = [at for at, _, row_key, *_ in sorted(ROWS) if row_key == key and at < WATERMARK]
        evictions_by_start.update(time // 4 * 4 for time in times[3:])
    counts = {row["window"]["start"]: len(row["lines"]) for row in outcome.rows}
    assert counts == {start: count for start, count in evictions_by_start.items() if start + 4 <= WATERMARK}
    assert counts
    assert outcome.total("late") == 0
    assert "up to where the results of the query before are settled" in second_query.plan_text()
    with pytest.raises(QueryError, match=r"output='late' has no rows that can be events\n  there are 'results' and"):
        query.as_events(output="late")
    with pytest.raises(QueryError, match="gives nothing when rows leave"):
        source.window(last(3)).aggregate(rows=module(Listed, "seq")).as_events(output="evicted_rows")


def test_times_are_timestamps_and_lengths_are_written_as_time(spark: SparkSession) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [(start + timedelta(seconds=20 * number), number) for number in range(9)]
    df = spark.createDataFrame(rows, "at timestamp, seq long")
    source = events(df, at="at", order=F.col("at"))
    query = source.window(last("1 minute").trigger("1 minute")).aggregate(rows=module(Listed, "seq"))
    assert "last('1 minute').trigger('1 minute')" in query.plan_text()
    assert [row["rows"] for row in collect(query.results())] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    by_time = source.window(batch(delta("at", "1 minute"))).aggregate(rows=module(Listed, "seq"))
    assert sorted(row["rows"] for row in collect(by_time.results())) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_a_row_that_comes_behind_the_watermark_is_late(spark: SparkSession, tmp_path: Path) -> None:
    batches = [table(ROWS[8:]), table(ROWS[:1])]
    source = stream(read_stream(spark, write_batches(tmp_path / "in", batches)))
    query = source.window(last(2)).aggregate(rows=module(Listed, "seq"))
    late_rows = run(query.late_rows(), tmp_path / "checkpoint").rows
    assert [(row["late_by"], json.loads(row["row"])) for row in late_rows] == [(8, {"at": 0, "key": "a", "seq": 1})]


class Refusal(NamedTuple):
    """Windows over a stream of a DataFrame that are refused, with the error and its message."""

    windows: Callable[[DataFrame], WindowedStream]
    error: type[MuntinError]
    message: str


REFUSALS: dict[str, Refusal] = {
    "no order": Refusal(lambda df: stream(df, order=None).window(last(2)), QueryError, "no column says it"),
    "ends": Refusal(
        lambda df: stream(df, at=None, start="at", end="x").window(last(2)), QueryError, "an end of their own"
    ),
    "samples": Refusal(lambda df: stream(df, edge=True).window(last(2)), QueryError, "these are samples"),
    "eager": Refusal(
        lambda df: stream(df).window(last(2), emit="eager"), PolicyError, "emit='eager' would be before that"
    ),
    "early": Refusal(
        lambda df: stream(df).window(last(2), emit=early(every="1 minute")),
        PolicyError,
        "would be before that",
    ),
    "late": Refusal(lambda df: stream(df, late_policy="adjust").window(last(2)), PolicyError, "have followed already"),
    "clip": Refusal(lambda df: stream(df).window(last(2), clip="full"), PolicyError, "nothing to clip"),
    "lifetimes": Refusal(
        lambda df: stream(df).window(last(2), timestamps="clip"),
        PolicyError,
        "returns no lifetimes|is not for",
    ),
    "several": Refusal(
        lambda df: stream(df).windows(a=last(2), b=batch(2)), QueryError, "several windows of a query share"
    ),
    "evaluator": Refusal(
        lambda df: stream(df).window(last(2), evaluator="general"), QueryError, "follows rows in their order"
    ),
    "rows alone": Refusal(
        lambda df: stream(df).window(tumbling(5), evaluator="in_order"), QueryError, "does not follow rows"
    ),
    "a float": Refusal(lambda df: stream(df).window(last(2).partition("x / 2")), PolicyError, "is of type double"),
    "an order": Refusal(lambda df: stream(df, order=F.col("x") / 2).window(last(2)), PolicyError, "is of type double"),
    "text": Refusal(
        lambda df: stream(df).window(batch(delta("kind", 2))), PolicyError, "expected: a number or a timestamp"
    ),
    "a marker": Refusal(lambda df: stream(df).window(batch(marker("kind"))), PolicyError, "expected: a condition"),
    "no condition": Refusal(lambda df: stream(df).window(between("x", "x > 2")), PolicyError, "expected: a condition"),
    "unknown": Refusal(lambda df: stream(df).window(batch(delta("y", 2))), QueryError, "reads .*y.*no such column"),
    "time": Refusal(lambda df: stream(df).window(last("1 minute")), QueryError, "integers without a unit"),
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
