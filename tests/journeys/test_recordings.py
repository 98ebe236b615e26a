"""Queries that are recorded on Spark, through failures and restarts, and replayed without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, Recorder, Recording, RecordingError, events, module, one_pass
from muntin_engine.recording.row_differences import exact_row_differences
from tests.journeys.running import read_stream, write_batches
from tests.modules.members import Members, Total

RIDES = pa.schema(
    [
        ("station", pa.string()),
        ("leaves", pa.timestamp("us", tz="UTC")),
        ("km", pa.float64()),
        ("fare", pa.decimal128(9, 2)),
    ]
)
MORNING = datetime(2024, 5, 1, 8, tzinfo=UTC)


def rides(*rows: tuple[str | None, int, float | None]) -> pa.Table:
    """Return a micro-batch of rides, each given as station, minutes after eight, and km; a fare is as many as these."""
    records = []
    for station, minutes, km in rows:
        fare = None if km is None else Decimal(f"{km:.2f}")
        records.append({"station": station, "leaves": MORNING + timedelta(minutes=minutes), "km": km, "fare": fare})
    return pa.Table.from_pylist(records, RIDES)


BATCHES = [
    # station, minutes, km; the watermark follows ten minutes behind the newest ride
    rides(("north", 5, 3.0), ("north", 40, 1.5), ("south", 10, 4.0), (None, 20, 1.0)),
    rides(("north", 70, 2.5), ("south", 75, None), ("south", 90, 8.0)),
    rides(("north", 2, 9.0), ("north", 130, 1.0), ("west", 110, 5.0)),  # the first one is late
    rides(("south", 200, 2.0), ("west", 190, 7.0), ("north", 260, 1.0)),
]


@dataclass
class Written:
    """A sink that keeps rows by micro-batch.

    Attributes:
        rows: The rows of each micro-batch, by its number.
        fails_in: The number of a micro-batch after whose rows the sink fails, once; None if it never does.
    """

    rows: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    fails_in: int | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        self.rows[number] = batch.toArrow().to_pylist()
        if number == self.fails_in:
            self.fails_in = None
            raise OSError("the sink fails after it has written")

    def all(self) -> list[dict[str, Any]]:
        """Return all rows, in order of their micro-batches."""
        all_rows: list[dict[str, Any]] = []
        for _, rows in sorted(self.rows.items()):
            all_rows += rows
        return all_rows


def per_hour(stream: DataFrame) -> Query:
    """Return sums of each station and hour, which are merged before the shuffle."""
    rides = events(stream, key="station", at="leaves", watermark="10 minutes", buckets=3)
    return rides.window(tumbling("1 hour")).aggregate(
        km=module("stats.sum", "km"), fare=module("stats.maximum", "fare")
    )


def speculative_members(stream: DataFrame) -> Query:
    """Return the rides themselves of each station and hour, with results that are retracted."""
    rides = events(stream, key="station", at="leaves", watermark="10 minutes", buckets=2)
    return rides.window(tumbling("1 hour"), emit="speculative").aggregate(
        km=module(Members, F.col("km").cast("bigint")), n=module("stats.count")
    )


def joined(stream: DataFrame) -> Query:
    """Return short rides beside the longer ones of the same station and hour."""
    left = events(stream.where("km < 5"), key="station", at="leaves", watermark="10 minutes", buckets=2)
    right = events(stream.where("km >= 2"), key="station", at="leaves", watermark="10 minutes", buckets=2)
    return left.set_duration("1 hour").join(
        right.set_duration("1 hour"), left_columns=["km"], right_columns={"other": "km"}, how="left"
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("build", [per_hour, speculative_members, joined])
def test_a_replay_by_any_evaluator_is_what_the_sink_holds_after_a_failure_and_a_restart(
    spark: SparkSession, tmp_path: Path, build: Callable[[DataFrame], Query]
) -> None:
    sink = Written(fails_in=1)
    checkpoint = tmp_path / "checkpoint"
    record = tmp_path / "recording"

    def run(batch_count: int) -> None:
        stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES[:batch_count]))
        build(stream).write(checkpoint=checkpoint, results=sink, record=record, available_now=True).awaitTermination()

    with pytest.raises(Exception, match="after it has written"):
        run(2)
    run(4)

    # Micro-batch 1 is that of the second run: in the first one it was written, and not committed.
    recording = Recording(record)
    assert [(batch.number, batch.run) for batch in recording.batches] == [(0, 0), (1, 1), (2, 1), (3, 1)]
    assert sink.all(), "there are results to compare"
    for evaluator in (None, *recording.evaluators):
        replayed = recording.replay(evaluator)
        for batch in replayed.batches:
            assert exact_row_differences(batch.changes, sink.rows[batch.number]) == []
    recording.check_evaluators()
    assert recording.differences == ()


@pytest.mark.nightly
def test_a_recording_begins_with_the_state_of_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    sink = Written()
    checkpoint = tmp_path / "checkpoint"
    record = tmp_path / "recording"

    def run(batch_count: int, **options: Any) -> None:
        stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES[:batch_count]))
        per_hour(stream).write(checkpoint=checkpoint, results=sink, available_now=True, **options).awaitTermination()

    run(2)
    run(3, record=record)
    # as if the query had been killed after the recording had micro-batch 2, and before the checkpoint had it
    for commit in (checkpoint / "commits").glob("*2*"):
        commit.unlink()
    run(4, record=record, on_end="close")

    recording = Recording(record)
    batches = [(batch.number, batch.run, batch.is_end) for batch in recording.batches]
    assert batches == [(2, 1, False), (3, 1, False), (4, 1, True)]
    for batch in recording.replay().batches:
        assert exact_row_differences(batch.changes, sink.rows[batch.number]) == []

    # No other evaluator can read that state, and no query of another checkpoint goes on with the recording.
    with pytest.raises(RecordingError, match="begins with a state of the sliced evaluator"):
        recording.replay("general")
    query = per_hour(read_stream(spark, tmp_path / "stream"))
    with pytest.raises(RecordingError, match="has the recording of another query"):
        query.write(checkpoint=tmp_path / "other", results=sink, record=record)


@pytest.mark.nightly
def test_each_query_of_a_pass_has_its_own_recording(spark: SparkSession, tmp_path: Path) -> None:
    stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES))
    sinks = {"hours": Written(), "long rides": Written()}
    long_rides = events(stream, at="leaves", watermark="10 minutes", buckets=1, rows="km > 2")
    totals = long_rides.window(tumbling("1 hour")).aggregate(km=module(Total, "km"))
    queries = {"hours": per_hour(stream), "long rides": totals}
    recorder_of_one_key = Recorder(tmp_path / "hours", keys=["north"])
    running = one_pass(**queries).write(
        checkpoint=tmp_path / "checkpoint",
        results=sinks,
        record={"hours": recorder_of_one_key, "long rides": tmp_path / "long rides"},
        available_now=True,
    )
    running.awaitTermination()

    rows = sinks["hours"].all()
    rows_of_north = [row for row in rows if row["station"] == "north"]
    assert 0 < len(rows_of_north) < len(rows)
    Recording(tmp_path / "hours").replay().check(changes=rows_of_north)
    Recording(tmp_path / "long rides").replay().check(changes=sinks["long rides"].all())


@pytest.mark.nightly
def test_a_recording_that_cannot_be_written_ends_and_the_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    sink = Written()
    record = tmp_path / "recording"
    (record / "rows").mkdir(parents=True)
    (record / "rows/00000001").write_text("a file in the way of the folder of micro-batch 1")

    stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES))
    per_hour(stream).write(
        checkpoint=tmp_path / "c", results=sink, record=record, available_now=True
    ).awaitTermination()

    assert sorted(sink.rows) == [0, 1, 2, 3]
    recording = Recording(record)
    assert [batch.number for batch in recording.batches] == [0]
    assert "micro-batch 1" in recording.stopped


def test_what_cannot_be_recorded_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES[:1]))
    days = per_hour(stream).as_events().window(tumbling("1 day"))
    two_queries = one_pass(n=days.aggregate(n=module("stats.count")), km=days.aggregate(km=module("stats.sum", "km")))
    sinks = {"n": Written(), "km": Written()}
    with pytest.raises(QueryError, match="share the results of another"):
        two_queries.write(checkpoint=tmp_path / "c", results=sinks, record=tmp_path / "recording")
    with pytest.raises(QueryError, match="is no place for a recording"):
        per_hour(stream).write(checkpoint=tmp_path / "c", results=Written(), record=7)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["stream"], "nothing was begun"
