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

BATCHES: list[list[tuple[object, ...]]] = [
    [
        # what, key, id, from, to, new, x
        ("insert", "a", 1, 12, 14, None, 1.0),  # as it should be
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
    """Return the events of the files in a folder, each file a micro-batch."""
    return events(
        read_stream(spark, folder), key="key", id="id", start="from", end="to", change="what", new_end="new", buckets=2
    )


def query(spark: SparkSession, folder: Path) -> Query:
    """Return the number of members of each window, and the sum of `x`, which skips rows without it."""
    return stream_in(spark, folder).window(tumbling(10)).aggregate(n=module(Count), total=module(Total, "x"))


def tables() -> list[pa.Table]:
    """Return the rows of each micro-batch."""
    return [table_of(SCHEMA, rows) for rows in BATCHES]


def test_bad_rows_go_where_they_can_be_seen_and_the_others_are_evaluated(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "stream", tables())
    sinks: dict[str, Any] = {name: MemorySink() for name in ("results", "late_rows", "rejected_rows")}
    running = query(spark, folder).write(checkpoint=tmp_path / "checkpoint", available_now=True, **sinks)
    running.awaitTermination()

    # The ids 1, 4 and 8 are left.
    (result,) = sinks["results"].rows
    assert (result["key"], result["window"]["start"]) == ("a", 10)
    assert result["n"] == 3
    assert result["total"] == 3.0
    assert _ids_by_reason(sinks["rejected_rows"].rows) == {
        "duplicate id": [1],
        "null time": [1, 2],
        "empty lifetime": [1, 3],
        "null id": [None],
        "unknown change": [5, 6],
        "stale revision": [1],
        "unknown event": [7],
    }
    assert _ids_by_reason(sinks["late_rows"].rows) == {"late": [1, 9]}

    metrics = Outcome(counts=list(counts_of(running)))
    assert metrics.total("late") == 2
    assert metrics.total("rejected") == 10
    assert metrics.total("accepted") == 3
    assert metrics.total("skipped:total") == 1, "Total skips the row with a null"
    assert "skipped:n" not in metrics.counts[0], "Count skips none"

    (late_row_of_b,) = (row for row in sinks["late_rows"].rows if json.loads(row["row"])["key"] == "b")
    assert "7 ticks behind the watermark 12" in late_row_of_b["message"]
    columns = {"key": "b", "what": "insert", "id": 1, "from": 5, "to": 15, "new": None, "x": 1.0}
    assert json.loads(late_row_of_b["row"]) == columns


def test_a_static_input_says_once_how_many_of_its_rows_were_rejected_or_skipped(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        # key, since, until, km
        ("a", 1, 4, 1.0),
        ("a", None, 4, 1.0),  # rejected: no time
        ("b", 12, 11, 1.0),  # rejected: it ends before it starts
        ("b", 3, 9, None),  # skipped by Farthest, which reads `since` and `km`, and by Total, which reads `km`
        ("c", 5, None, 1.0),
    ]
    df = spark.createDataFrame(rows, "key string, since bigint, until bigint, km double")
    windows = events(df, key="key", start="since", end="until", buckets=3).window(tumbling(10))
    query = windows.aggregate(n=module(Count), far=module(Farthest, "since", "km"), total=module(Total, "km"))

    query.named("rides").show()

    assert caplog.messages == [
        "rides: 2 of 5 rows of the static input were rejected: 1 empty lifetime, 1 null time\n"
        "  the query's rejected_rows() returns them, each with its reason",
        "rides: 1 of 5 rows of the static input were skipped by show.farthest 1.0.0: since or km is null\n"
        "  to get them it reads since and km as '... | None'; "
        "to leave them out for all, without a warning: .where('since IS NOT NULL AND km IS NOT NULL')",
    ]
    assert "{0, 10}" in capsys.readouterr().out

    caplog.clear()
    assert query.rejected_rows().count() == 2
    assert caplog.messages == [], "who asks for the rejected rows is not warned of them"


def _ids_by_reason(rows: list[dict[str, Any]]) -> dict[str, list[int | None]]:
    """Return the sorted ids of rows that were set aside, by the reason."""
    ids_by_reason: dict[str, list[int | None]] = {}
    for row in rows:
        ids_by_reason.setdefault(row["reason"], []).append(json.loads(row["row"])["id"])
    for ids in ids_by_reason.values():
        ids.sort(key=lambda id: id or 0)
    return ids_by_reason


def query_with_a_limit(spark: SparkSession, folder: Path, most_held: int, when_full: str = "shed") -> Query:
    """Return the counts of a query of which no key holds more than some events."""
    limited = stream_in(spark, folder).shedding(most_held=most_held, when_full=when_full)
    return limited.window(tumbling(50)).aggregate(n=module(Count))


def test_rows_that_a_key_has_no_room_for_go_to_the_late_rows_and_are_counted_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    # Four events of "a" in one micro-batch, of which the two that start first are taken; in the next one, of `BATCHES`,
    # comes another of "a", and one of "b", for which there is room.
    rows_of_a = [("insert", "a", id, 20 + id, 40, None, 1.0) for id in (4, 1, 3, 2)]
    first_batch = table_of(SCHEMA, [*rows_of_a, ("insert", "b", 1, 21, 40, None, 1.0)])
    folder = write_batches(tmp_path / "stream", [first_batch, *tables()[1:]])
    results = MemorySink()
    late_rows = MemorySink()

    running = query_with_a_limit(spark, folder, most_held=2).write(
        results=results, late_rows=late_rows, checkpoint=tmp_path / "checkpoint", available_now=True
    )
    running.awaitTermination()

    assert {row["key"]: row["n"] for row in results.rows} == {"a": 2, "b": 2}
    assert _ids_by_reason(late_rows.rows) == {"shed": [3, 4, 8]}
    assert {row["late_by"] for row in late_rows.rows} == {None}
    metrics = [batch_metrics(progress)["muntin"] for progress in running.recentProgress]
    assert sum(batch.shed or 0 for batch in metrics) == 3
    assert sum(batch.late or 0 for batch in metrics) == 0
    assert sum(batch.accepted or 0 for batch in metrics) == 4

    # A query with another limit goes on from the same checkpoint.
    query_with_a_limit(spark, folder, most_held=3).check(tmp_path / "checkpoint")


def test_the_plan_says_what_becomes_of_rows_that_a_key_has_no_room_for(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "stream", tables())

    shedding = query_with_a_limit(spark, folder, most_held=2)
    failing = query_with_a_limit(spark, folder, most_held=2, when_full="fail")

    assert "a key that holds 2 events takes no new ones" in shedding.plan_text()
    assert "a key that holds 2 events fails the micro-batch" in failing.plan_text()


def test_a_key_of_a_table_has_room_for_all_its_rows(spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", at) for at in range(9)], "key string, at long")
    limited = events(table, key="key", at="at").shedding(most_held=1)

    counts = limited.window(tumbling(50)).aggregate(n=module(Count)).results()

    assert [row["n"] for row in counts.collect()] == [9]
