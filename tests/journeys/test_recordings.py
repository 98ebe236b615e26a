"""Queries that are recorded on Spark, through failures and restarts, and replayed without it."""

from __future__ import annotations

import json
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
    shown = [
        {
            "station": station,
            "leaves": MORNING + timedelta(minutes=minutes),
            "km": km,
            "fare": None if km is None else Decimal(f"{km:.2f}"),
        }
        for station, minutes, km in rows
    ]
    return pa.Table.from_pylist(shown, RIDES)


BATCHES = [
    rides(("north", 5, 3.0), ("north", 40, 1.5), ("south", 10, 4.0), (None, 20, 1.0)),
    rides(("north", 70, 2.5), ("south", 75, None), ("south", 90, 8.0)),
    rides(("north", 2, 9.0), ("north", 130, 1.0), ("west", 110, 5.0)),
    rides(("south", 200, 2.0), ("west", 190, 7.0), ("north", 260, 1.0)),
]


@dataclass
class Written:
    """A sink that keeps rows by micro-batch, and fails once after it has those of one."""

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


def per_hour(stream: DataFrame, **policies: Any) -> Query:
    hours = events(stream, key="station", at="leaves", watermark="10 minutes", buckets=3).window(
        tumbling("1 hour"), **policies
    )
    return hours.aggregate(km=module("stats.sum", "km"), fare=module("stats.maximum", "fare"))


def members(stream: DataFrame) -> Query:
    hours = events(stream, key="station", at="leaves", watermark="10 minutes", buckets=2)
    return hours.window(tumbling("1 hour"), emit="speculative").aggregate(
        km=module(Members, F.col("km").cast("bigint")), n=module("stats.count")
    )


def joined(stream: DataFrame) -> Query:
    left = events(stream.where("km < 5"), key="station", at="leaves", watermark="10 minutes", buckets=2)
    right = events(stream.where("km >= 2"), key="station", at="leaves", watermark="10 minutes", buckets=2)
    return left.set_duration("1 hour").join(
        right.set_duration("1 hour"), left_columns=["km"], right_columns={"other": "km"}, how="left"
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("build", [per_hour, members, joined])
def test_a_replay_is_what_the_sink_holds(
    spark: SparkSession, tmp_path: Path, build: Callable[[DataFrame], Query]
) -> None:
    sink = Written(fails_in=1)
    checkpoint = tmp_path / "checkpoint"
    record = tmp_path / "recording"

    def run(count: int) -> None:
        stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES[:count]))
        build(stream).write(checkpoint=checkpoint, results=sink, record=record, available_now=True).awaitTermination()

    with pytest.raises(Exception, match="after it has written"):
        run(2)
    run(4)
    recording = Recording(record)
    assert [(batch.number, batch.run) for batch in recording.batches] == [(0, 0), (1, 1), (2, 1), (3, 1)]
    for evaluator in (None, *recording.evaluators):
        replayed = recording.replay(evaluator)
        for batch in replayed.batches:
            assert exact_row_differences(batch.changes, sink.rows[batch.number]) == []
    recording.check_evaluators()
    assert recording.differences == ()
    assert sink.all(), "there are results to compare"


@pytest.mark.nightly
def test_a_recording_begins_with_the_state_of_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    sink = Written()
    checkpoint = tmp_path / "checkpoint"
    record = tmp_path / "recording"

    def run(count: int, **options: Any) -> None:
        stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES[:count]))
        per_hour(stream).write(checkpoint=checkpoint, results=sink, available_now=True, **options).awaitTermination()

    run(2)
    run(3, record=record)
    for commit in (checkpoint / "commits").glob("*2*"):  # as if killed after the recording, and before the checkpoint
        commit.unlink()
    run(4, record=record, on_end="close")
    recording = Recording(record)
    batches = [(batch.number, batch.run, batch.is_end) for batch in recording.batches]
    assert batches == [(2, 1, False), (3, 1, False), (4, 1, True)]
    for batch in recording.replay().batches:
        assert exact_row_differences(batch.changes, sink.rows[batch.number]) == []
    with pytest.raises(RecordingError, match="begins with a state of the sliced evaluator"):
        recording.replay("general")
    again = per_hour(read_stream(spark, tmp_path / "stream"))
    with pytest.raises(RecordingError, match="has the recording of another query"):
        again.write(checkpoint=tmp_path / "other", results=sink, record=record)


@pytest.mark.nightly
def test_each_query_of_a_pass_has_its_own_recording(spark: SparkSession, tmp_path: Path) -> None:
    stream = read_stream(spark, write_batches(tmp_path / "stream", BATCHES))
    sinks = {"hours": Written(), "kms": Written()}
    total = events(stream, at="leaves", watermark="10 minutes", buckets=1, rows="km > 2").window(tumbling("1 hour"))
    asked = one_pass(hours=per_hour(stream), kms=total.aggregate(km=module(Total, "km")))
    record = Recorder(tmp_path / "recording", keys=["north"])
    running = asked.write(
        checkpoint=tmp_path / "checkpoint",
        results=sinks,
        record={"hours": record, "kms": tmp_path / "kms"},
        available_now=True,
    )
    running.awaitTermination()
    north = [row for row in sinks["hours"].all() if row["station"] == "north"]
    Recording(tmp_path / "recording").replay().check(changes=north)
    Recording(tmp_path / "kms").replay().check(changes=sinks["kms"].all())
    assert 0 < len(north) < len(sinks["hours"].all())


@pytest.mark.nightly
def test_a_recording_that_cannot_be_written_ends_and_the_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    sink = Written()
    record = tmp_path / "recording"
    (record / "rows").mkdir(parents=True)
    (record / "rows/00000001").write_text("in the way of a folder")
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
    asked = one_pass(n=days.aggregate(n=module("stats.count")), km=days.aggregate(km=module("stats.sum", "km")))
    with pytest.raises(QueryError, match="share the results of another"):
        asked.write(checkpoint=tmp_path / "c", results={"n": Written(), "km": Written()}, record=tmp_path / "recording")
    with pytest.raises(QueryError, match="is no place for a recording"):
        per_hour(stream).write(checkpoint=tmp_path / "c", results=Written(), record=7)  # type: ignore[arg-type]
    assert json.dumps(sorted(tmp_path.iterdir()), default=lambda path: path.name) == '["stream"]'
