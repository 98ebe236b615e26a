"""Rows that are late or make no sense: set aside with a reason, counted, and never in the way of the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import EventStream, Query, batch_metrics, events, module
from tests.journeys.running import MemorySink, Outcome, counts_of, read_stream, table_of, write_batches
from tests.modules.members import Count, Farthest, Total

SCHEMA = pa.schema(
    [
        ("what", pa.string()),
        ("key", pa.string()),
        ("id", pa.int64()),
        ("from", pa.int64()),
        ("to", pa.int64()),
        ("new", pa.int64()),
        ("x", pa.float64()),
    ]
)

GOOD: tuple[object, ...] = ("insert", "a", 1, 12, 14, None, 1.0)
BATCHES: list[list[tuple[object, ...]]] = [
    [
        GOOD,
        ("insert", "a", 1, 12, 15, None, 1.0),  # it is alive
        ("insert", "a", 2, None, 15, None, 1.0),
        ("insert", "a", 3, 15, 11, None, 1.0),
        ("insert", "a", None, 12, 15, None, 1.0),
        ("insert", "a", 4, 12, 15, None, None),  # Total wants a float, Count takes anything
        ("upsert", "a", 5, 12, 15, None, 1.0),
        (None, "a", 6, 12, 15, None, 1.0),
        ("revise", "a", 1, 12, 99, 16, None),  # it ends at 14
        ("revise", "a", 1, 12, 14, None, None),
        ("revise", "a", 1, 12, 14, 3, None),
        ("punctuate", None, None, 12, None, None, None),
    ],
    [
        ("insert", "b", 1, 5, 15, None, 1.0),  # before 12
        ("retract", "a", 9, 3, 20, None, None),  # as late, whatever it deletes
        ("revise", "a", 7, 8, 20, 15, None),  # never inserted, and cannot come any more
        ("insert", "a", 8, 13, 15, None, 2.0),
        ("close", None, None, None, None, None, None),
    ],
]


def stream_in(spark: SparkSession, folder: Path) -> EventStream:
    """Return the events of the files in a folder."""
    return events(
        read_stream(spark, folder), key="key", id="id", start="from", end="to", change="what", new_end="new", buckets=2
    )


def query(spark: SparkSession, folder: Path) -> Query:
    return stream_in(spark, folder).window(tumbling(10)).aggregate(n=module(Count), total=module(Total, "x"))


def tables() -> list[pa.Table]:
    return [table_of(SCHEMA, rows) for rows in BATCHES]


def test_bad_rows_go_where_they_can_be_seen_and_the_others_are_evaluated(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "stream", tables())
    sinks: dict[str, Any] = {name: MemorySink() for name in ("results", "late_rows", "rejected_rows")}
    running = query(spark, folder).write(checkpoint=tmp_path / "checkpoint", available_now=True, **sinks)
    running.awaitTermination()

    results = sinks["results"].rows
    late = sinks["late_rows"].rows
    rejected = sinks["rejected_rows"].rows
    assert [(row["key"], row["window"]["start"], row["n"], row["total"]) for row in results] == [("a", 10, 3, 3.0)]
    assert _ids_by_reason(rejected) == {
        "duplicate id": [1],
        "null time": [1, 2],
        "empty lifetime": [1, 3],
        "null id": [None],
        "unknown change": [5, 6],
        "stale revision": [1],
        "unknown event": [7],
    }
    assert _ids_by_reason(late) == {"late": [1, 9]}
    outcome = Outcome(counts=list(counts_of(running)))
    assert (outcome.total("late"), outcome.total("rejected")) == (2, 10)
    assert (outcome.total("accepted"), outcome.total("skipped:total")) == (3, 1)
    assert "skipped:n" not in outcome.counts[0]

    row = next(row for row in late if json.loads(row["row"])["key"] == "b")
    assert "7 ticks behind the watermark 12" in row["message"]
    shown = {"key": "b", "what": "insert", "id": 1, "from": 5, "to": 15, "new": None, "x": 1.0}
    assert json.loads(row["row"]) == shown


def test_a_static_input_says_once_how_many_of_its_rows_were_rejected_or_skipped(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("a", 1, 4, 1.0), ("a", None, 4, 1.0), ("b", 12, 11, 1.0), ("b", 3, 9, None), ("c", 5, None, 1.0)]
    df = spark.createDataFrame(rows, "key string, since bigint, until bigint, km double")
    stream = events(df, key="key", start="since", end="until", buckets=3)
    # one reads a record, one a value
    far = module(Farthest, "since", "km")
    total = module(Total, "km")
    asked = stream.window(tumbling(10)).aggregate(n=module(Count), far=far, total=total).named("rides")
    asked.show()
    assert caplog.messages == [
        "rides: 2 of 5 rows of the static input were rejected: 1 empty lifetime, 1 null time\n"
        "  the query's rejected_rows() returns them, each with its reason",
        "rides: 1 of 5 rows of the static input were skipped by show.farthest 1.0.0: since or km is null\n"
        "  to get them it reads since and km as '... | None'; "
        "to leave them out for all, without a warning: .where('since IS NOT NULL AND km IS NOT NULL')",
    ]
    assert "{0, 10}" in capsys.readouterr().out
    caplog.clear()
    assert asked.rejected_rows().count() == 2
    assert caplog.messages == []


def _ids_by_reason(rows: list[dict[str, Any]]) -> dict[str, list[int | None]]:
    rows_by_name: dict[str, list[int | None]] = {}
    for row in rows:
        rows_by_name.setdefault(row["reason"], []).append(json.loads(row["row"])["id"])
    return {reason: sorted(ids, key=lambda id: id or 0) for reason, ids in rows_by_name.items()}


def test_rows_that_a_key_has_no_room_for_go_to_the_late_rows_and_are_counted_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows_of_a = [("insert", "a", number, 20 + number, 40, None, 1.0) for number in (4, 1, 3, 2)]
    first_batch = table_of(SCHEMA, [*rows_of_a, ("insert", "b", 1, 21, 40, None, 1.0)])
    folder = write_batches(tmp_path / "stream", [first_batch, *tables()[1:]])

    def limited_query(most_held: int, when_full: str = "shed") -> Query:
        limited = stream_in(spark, folder).shedding(most_held=most_held, when_full=when_full)
        return limited.window(tumbling(50)).aggregate(n=module(Count))

    results: list[dict[str, Any]] = []
    late: list[dict[str, Any]] = []
    running = limited_query(2).write(
        results=lambda rows, _: results.extend(row.asDict() for row in rows.collect()),
        late_rows=lambda rows, _: late.extend(row.asDict() for row in rows.collect()),
        checkpoint=tmp_path / "checkpoint",
        available_now=True,
    )
    running.awaitTermination()
    assert {row["key"]: row["n"] for row in results} == {"a": 2, "b": 2}
    metrics = [batch_metrics(progress)["muntin"] for progress in running.recentProgress]
    assert sum(batch.shed or 0 for batch in metrics) == 3
    assert sum(batch.late or 0 for batch in metrics) == 0
    assert sum(batch.accepted or 0 for batch in metrics) == 4
    assert _ids_by_reason(late) == {"shed": [3, 4, 8]}
    assert {row["late_by"] for row in late} == {None}
    limited_query(3).check(tmp_path / "checkpoint")
    assert "a key that holds 2 events takes no new ones" in limited_query(2).plan_text()
    assert "a key that holds 2 events fails the micro-batch" in limited_query(2, when_full="fail").plan_text()
    static = events(spark.createDataFrame([("a", at) for at in range(9)], "key string, at long"), key="key", at="at")
    counted = static.shedding(most_held=1).window(tumbling(50)).aggregate(n=module(Count))
    assert [row["n"] for row in counted.results().collect()] == [9]
