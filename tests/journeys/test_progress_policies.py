"""Progress policies and policies for late rows: each once, through Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin.errors import PolicyError, QueryError
from muntin.progress import bounded_delay, bounded_disorder, ordered, punctuate_every, punctuated
from muntin_engine import EventStream, Query, events, module
from muntin_engine.backends.spark.inputs.clock_source import ClockSource
from tests.journeys.running import MemorySink, Outcome, counts_of, plain, run, run_together, start, stream_of
from tests.modules.members import Members
from tests.modules.progress_policies import Outvoted

SCHEMA = pa.schema(
    [("change", pa.string()), ("link", pa.string()), ("key", pa.string()), ("at", pa.int64()), ("until", pa.int64())]
)
SECOND = 1_000_000


def batch(*rows: dict[str, Any]) -> pa.Table:
    """Return a micro-batch; a row inserts an event of the key "k" unless it says otherwise."""
    return pa.Table.from_pylist([{"change": "insert", "key": "k"} | row for row in rows], SCHEMA)


def row(at: int, key: str = "k", link: str | None = None, **columns: Any) -> dict[str, Any]:
    """Return the row of an event; a link is its source."""
    return {"at": at, "key": key, "link": link, **columns}


def punctuation_row(
    at: int | None, change: str = "punctuate", link: str | None = None, key: str | None = None
) -> dict[str, Any]:
    """Return a row that says up to which time the stream, a source or a key is complete, or that the stream ends."""
    return {"change": change, "at": at, "link": link, "key": key}


def members(stream: EventStream) -> Query:
    """Return the members of each window of ten ticks, as `m`."""
    return stream.window(tumbling(10)).aggregate(m=module(Members, "at"))


Window = tuple[str, int, list[int]]
"""The key, the start and the members of a closed window."""


def windows_of(results: pa.Table) -> list[Window]:
    """Return the windows in a table of results, in order."""
    return sorted((row["key"], row["window"]["start"], row["m"]) for row in plain(results))


def windows_by_batch(batches: dict[int, pa.Table]) -> dict[int, list[Window]]:
    """Return the windows that each micro-batch closes, by its number, without those that close none."""
    closed_windows: dict[int, list[Window]] = {}
    for number, results in batches.items():
        if len(results):
            closed_windows[number] = windows_of(results)
    return closed_windows


def test_a_policy_that_follows_the_rows_closes_the_windows_that_they_leave_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    # windows of 10      0          10         20
    # batch 0             1   5   3
    # batch 1                         12 11     21
    batches = [batch(row(1), row(5), row(3)), batch(row(12), row(11), row(21))]
    df = stream_of(spark, tmp_path / "stream", batches)
    policies = {
        # after all rows the watermark is
        "delay": bounded_delay(2),  # 21 - 2
        "disorder": bounded_disorder(rows=1),  # 12: one row may have overtaken others
        "six rows": punctuate_every(rows=6, delay=2),  # 21 - 2
        "spans": punctuate_every(span=25),  # none: no row has come to 25
        "our own": Outvoted(delay=1, of=3),  # 12 - 1: the middle one of the three newest is at 12
    }
    queries = {name: members(events(df, at="at", watermark=policy)) for name, policy in policies.items()}
    results = run_together(queries, tmp_path / "checkpoint")

    starts_of_closed_windows: dict[str, list[int]] = {}
    for name, rows in results.items():
        starts_of_closed_windows[name] = sorted(row["window"]["start"] for row in rows)
    assert starts_of_closed_windows == {
        "delay": [0],
        "disorder": [0],
        "six rows": [0],
        "spans": [],
        "our own": [0],
    }


@pytest.mark.nightly
def test_the_input_is_as_far_as_the_least_of_its_sources(spark: SparkSession, tmp_path: Path) -> None:
    # batch 0   north: 1, 25     south says nothing            closes nothing
    # batch 1                    south: 2, watermark 20        closes [0, 10)
    # batch 2   north: 26        south: 3 is late; west: 4 is rejected, as nobody declared this source
    # batch 3   a watermark of no source, so of all of them    closes [20, 30)
    batches = [
        batch(row(1, link="north"), row(25, link="north")),
        batch(row(2, link="south"), punctuation_row(20, link="south")),
        batch(row(26, link="north"), row(3, link="south"), row(4, link="west")),
        batch(punctuation_row(30)),
    ]
    stream = events(
        stream_of(spark, tmp_path / "stream", batches),
        key="key",
        at="at",
        change="change",
        buckets=2,
        watermark=ordered(),
        source="link",
        sources=["north", "south"],
    )
    results = MemorySink()
    late_rows = MemorySink()
    running = members(stream).write(
        checkpoint=tmp_path / "checkpoint", results=results, late_rows=late_rows, available_now=True
    )
    running.awaitTermination()

    closed_windows: dict[int, list[tuple[int, list[int]]]] = {}
    for number, rows in results.batches.items():
        if rows:
            closed_windows[number] = [(row["window"]["start"], sorted(row["m"])) for row in rows]
    assert closed_windows == {1: [(0, [1, 2])], 3: [(20, [25, 26])]}

    counts = list(counts_of(running))
    assert [batch["rows_north"] for batch in counts[:4]] == [2, 0, 1, 0]
    assert [batch["rows_south"] for batch in counts[:4]] == [0, 1, 1, 0]
    assert [batch["late"] for batch in counts[:4]] == [0, 0, 1, 0]
    assert [batch["rejected"] for batch in counts[:4]] == [0, 0, 1, 0]
    assert sum(batch["late_south"] for batch in counts) == 1

    (late_row,) = late_rows.rows
    assert late_row["reason"] == "late"
    assert late_row["late_by"] == 17
    assert json.loads(late_row["row"]) == {"change": "insert", "at": 3, "key": "k", "link": "south"}


ROWS_OF_TWO_KEYS = [
    batch(row(1, "a"), row(1, "b"), punctuation_row(10, "punctuate_key", key="a")),
    batch(row(2, "a"), row(2, "b")),  # that of "a" is late
    batch(punctuation_row(None, "close")),
]


def test_a_key_may_punctuate_itself(spark: SparkSession, tmp_path: Path) -> None:
    # batch 0   a: 1, complete up to 10     b: 1
    # batch 1   a: 2, late                  b: 2
    # batch 2   the end
    df = stream_of(spark, tmp_path / "stream", ROWS_OF_TWO_KEYS)
    policy = punctuated().with_key_punctuation()
    stream = events(df, key="key", at="at", change="change", watermark=policy, buckets=2)

    outcome = run(members(stream).results(), tmp_path / "checkpoint")

    assert windows_by_batch(outcome.batches) == {0: [("a", 0, [1])], 2: [("b", 0, [1, 2])]}
    assert outcome.total("late") == 1
    assert outcome.total("rejected") == 0


def test_punctuation_of_a_key_is_rejected_unless_the_policy_says_that_it_comes(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(ROWS_OF_TWO_KEYS))
    stream = events(df, key="key", at="at", change="change", buckets=2)

    rejected_rows = members(stream).rejected_rows().collect()

    assert [row["reason"] for row in rejected_rows] == ["undeclared punctuation"]


@pytest.mark.nightly
def test_punctuation_of_a_part_of_a_key_and_of_ranges_outlasts_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    # batch 0   at 1   eu 1, eu 2, us 12, us 22
    # batch 1          all keys of eu, and the sensors 10 to 20 of all regions, are complete up to 10
    # a restart
    # batch 2   at 2   eu 3, a new key of a complete region, and us 12 are late; us 22 is not
    types = [("change", pa.string()), *((name, pa.int64()) for name in ("at", "sensor", "first", "end"))]
    schema = pa.schema([*types, ("region", pa.string())])
    folder = tmp_path / "stream"

    def insertions(at: int, *keys: tuple[str, int]) -> list[dict[str, Any]]:
        """Return a row of each key, which is a region and a sensor, at one time."""
        return [{"change": "insert", "at": at, "region": region, "sensor": sensor} for region, sensor in keys]

    def punctuation_of_keys(**key: Any) -> dict[str, Any]:
        """Return the row that says that some keys are complete up to 10: of a region, or with a sensor in a range."""
        return {"change": "punctuate_keys", "at": 10, **key}

    batches = [
        insertions(1, ("eu", 1), ("eu", 2), ("us", 12), ("us", 22)),
        [punctuation_of_keys(region="eu"), punctuation_of_keys(first=10, end=20)],
        insertions(2, ("eu", 3), ("us", 12), ("us", 22)),
        [{"change": "close"}],
    ]
    tables = [pa.Table.from_pylist(rows, schema) for rows in batches]
    outcomes: list[Outcome] = []
    for batch_count in (2, 4):
        stream = events(
            stream_of(spark, folder, tables[:batch_count]),
            key=["region", "sensor"],
            at="at",
            change="change",
            watermark=punctuated().with_key_punctuation(),
            key_ranges={"sensor": ("first", "end")},
            buckets=4,
        )
        query = stream.window(tumbling(10)).aggregate(m=module(Members, "at"))
        outcomes.append(run(query.results(), tmp_path / "checkpoint"))

    first_run, second_run = outcomes
    first_results = sorted((row["region"], row["sensor"], row["m"]) for row in first_run.rows)
    second_results = [(row["region"], row["sensor"], row["m"]) for row in second_run.rows]
    assert first_results == [("eu", 1, [1]), ("eu", 2, [1]), ("us", 12, [1])]
    assert second_results == [("us", 22, [1, 2])]
    assert first_run.total("late") == 0
    assert second_run.total("late") == 2
    assert "keys may punctuate themselves, also by ranges of sensor" in query.plan_text()


def test_ranges_that_no_row_of_punctuation_could_give_are_refused(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS at, 'insert' AS change, 2 AS sensor, 3L AS first, 4 AS end, array(1) AS list")
    policy = punctuated().with_key_punctuation()

    def refusal(key: str = "sensor", name: str = "sensor", limits: Any = ("sensor", "end"), **options: Any) -> str:
        """Return the error of events whose punctuation has columns for the limits of the key column with a name."""
        defaults: dict[str, Any] = {"change": "change", "watermark": policy, "key_ranges": {name: limits}}
        with pytest.raises(QueryError) as refused:
            events(df, key=key, at="at", **(defaults | options))
        return str(refused.value)

    assert refusal(name="senser") == "key_ranges bounds 'senser', which is not a key\n  the keys are sensor"
    assert refusal(limits=("first", "end")).startswith(
        "key_ranges bounds 'sensor', which is int, by 'first', which is bigint"
    )
    assert "expected: numbers, text, dates" in refusal("list", "list", ("list", "list"))
    assert refusal(limits=("sensor", "endd")).startswith(
        "key_ranges of 'sensor' reads 'endd', and the input has no such"
    )
    assert "expected two columns: key_ranges={" in refusal(limits="end")
    assert "is not a mapping" in refusal(key_ranges=("first", "end"))
    assert "the progress policy has no key punctuation" in refusal(watermark=punctuated())


def test_the_watermark_may_come_from_another_stream(spark: SparkSession, tmp_path: Path) -> None:
    # batch 0   rows at 1, 12   heartbeat 12 - 2 = 10   closes [0, 10)
    # batch 1   row at 9        heartbeat 22 - 2 = 20   closes [10, 20); the row is late
    rows = [batch(row(1), row(12)), batch(row(9))]
    beats = [pa.table({"sent": pa.array([12], pa.int64())}), pa.table({"sent": pa.array([22], pa.int64())})]
    stream = events(stream_of(spark, tmp_path / "stream", rows), key="key", at="at", buckets=2)
    heartbeat = stream_of(spark, tmp_path / "beats", beats)
    query = members(stream.with_heartbeat(heartbeat, at="sent", delay=2))

    outcome = run(query.results(), tmp_path / "checkpoint")

    assert windows_by_batch(outcome.batches) == {0: [("k", 0, [1])], 1: [("k", 10, [12])]}
    assert outcome.total("late") == 1
    assert "progress    another stream\n" in query.plan_text()


class FileClock(ClockSource):
    """A clock that shows the microseconds that are written in a file."""

    def now(self) -> int:
        return int(Path(self.options["file"]).read_text(encoding="utf-8"))


@pytest.fixture
def clock(spark: SparkSession, tmp_path: Path) -> Callable[[int], DataFrame]:
    """Return a function that sets a clock to some seconds, and returns it as a stream for `with_clock`."""
    spark.dataSource.register(FileClock)
    file = tmp_path / "clock"

    def show(seconds: int) -> DataFrame:
        a_bit_later = seconds * SECOND + 7  # a clock shows any microsecond, and not whole periods
        file.write_text(str(a_bit_later), encoding="utf-8")
        reader = spark.readStream.format(FileClock.name()).option("period", SECOND).option("file", str(file))
        return reader.load()

    return show


def test_with_a_clock_time_passes_without_rows_also_under_available_now(
    spark: SparkSession, tmp_path: Path, clock: Callable[[int], DataFrame]
) -> None:
    # clock 100 s   a row of 95 s comes, in the window [90 s, 100 s)
    # clock 130 s   nothing came for 30 s, so the stream is complete up to 130 - 20 s
    at = pa.array([datetime.fromtimestamp(95, UTC)], pa.timestamp("us", tz="UTC"))
    df = stream_of(spark, tmp_path / "stream", [pa.table({"at": at, "x": [95]})])
    policy = bounded_delay("1 minute").with_idle("30 seconds", lag="20 seconds")

    def run_at(seconds: int) -> Outcome:
        """Start the query when the clock shows some seconds, and stop it when all rows are read."""
        stream = events(df, at="at", watermark=policy).with_clock(clock(seconds))
        query = stream.window(tumbling("10 seconds")).aggregate(m=module(Members, "x"))
        return run(query.results(), tmp_path / "checkpoint")

    assert run_at(100).rows == []
    (result,) = run_at(130).rows
    assert result["window"]["start"] == 90 * SECOND
    assert result["m"] == [95]


@pytest.mark.nightly
def test_a_clock_makes_micro_batches_where_there_are_no_rows(
    spark: SparkSession, tmp_path: Path, clock: Callable[[int], DataFrame]
) -> None:
    df = stream_of(spark, tmp_path / "stream", [batch(row(95))])
    policy = punctuated().with_idle("30 seconds", lag="20 seconds")
    stream = events(df, at=F.timestamp_seconds("at"), watermark=policy).with_clock(clock(100))
    query = stream.window(tumbling("10 seconds")).aggregate(m=module(Members, "at"))
    outcome = Outcome()
    running = start(query.results(), tmp_path / "checkpoint", outcome, {"processingTime": "0 seconds"})
    try:
        running.processAllAvailable()
        clock(130)  # a micro-batch of the clock alone: nothing came for 30 s, so the window of the row is complete
        running.processAllAvailable()
    finally:
        running.stop()

    assert [row["window"]["start"] for row in outcome.rows] == [90 * SECOND]


def test_policies_that_do_not_fit_the_input_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = stream_of(spark, tmp_path / "stream", [batch(row(1))])
    with pytest.raises(PolicyError, match="never says what time it is"):
        members(events(df, at="at", watermark=ordered().with_idle(5, lag=5)))
    with pytest.raises(QueryError, match="late rows are dropped"):
        members(events(df, at="at", watermark=0, late_policy="drop")).late_rows()
    with pytest.raises(QueryError, match="the events' times are bigint, those of the heartbeat are timestamp"):
        members(events(df, at="at").with_heartbeat(df, at=F.timestamp_micros("at")))
    with pytest.raises(QueryError, match="the events are a stream, these are static"):
        events(df, at="at").with_heartbeat(spark.range(3), at="id")
    with pytest.raises(QueryError, match="the heartbeat names sources"):
        events(df, at="at").with_heartbeat(df, at="at", source="link")
    with pytest.raises(QueryError, match="a static input has ended"):
        events(spark.range(3), at="id").with_clock()
