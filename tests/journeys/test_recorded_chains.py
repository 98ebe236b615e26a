"""A chain of queries, recorded on Spark: what one passes on is what the next one is given, row for row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin_engine import Query, Recording, events, module, union
from muntin_engine.recording.row_differences import exact_row_differences
from muntin_engine.recording.story import Story
from tests.engine.recording.live import live_results
from tests.journeys.running import read_stream, write_batches
from tests.journeys.test_recordings import BATCHES, Written, per_hour, rides

pytestmark = pytest.mark.nightly

LATER = rides(("north", 400, 1.0))


def half_days(stream: DataFrame) -> Query:
    """The longest ride or hour of two hours of each station, and the sum of these of half a day of all."""
    hours = per_hour(stream).as_events(buckets=2).select(km=F.col("km") * 2)
    rides = events(stream, key="station", at="leaves", watermark="10 minutes", buckets=2)
    united = union(hours=hours, rides=rides.select("km")).window(tumbling("2 hours"))
    longest = united.aggregate(km=module("stats.maximum", "km"))
    return longest.as_events(key=None, buckets=1).window(tumbling("4 hours")).aggregate(km=module("stats.sum", "km"))


def test_a_chain_is_recorded_with_its_state_and_a_result_leads_through_all_queries(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = Written()
    checkpoint = tmp_path / "checkpoint"
    record = tmp_path / "recording"

    def run(count: int, **options: Any) -> None:
        stream = read_stream(spark, write_batches(tmp_path / "stream", [*BATCHES, LATER][:count]))
        half_days(stream).write(checkpoint=checkpoint, results=sink, available_now=True, **options).awaitTermination()

    run(1, record=record)
    run(4, record=record)
    run(5, record=tmp_path / "later")
    later = Recording(tmp_path / "later")
    for part in (*later.before, later):
        assert part.runs[0].cells_file is not None
        assert [batch.number for batch in part.batches] == [4]
    assert exact_row_differences(later.replay().changes, sink.rows.pop(4)) == []
    assert {row["km"] for row in later.before[1].replay().changes} == {2.0}
    recording = Recording(record)
    for part in (*recording.before, recording):
        assert [(batch.number, batch.run) for batch in part.batches] == [(0, 0), (1, 1), (2, 1), (3, 1)]
    replayed_rows: list[Any] = []
    for batch in recording.replay().batches:
        assert exact_row_differences(batch.changes, sink.rows[batch.number]) == []
        replayed_rows += batch.changes
    assert sink.all() == replayed_rows
    assert [part.runs[0].reads for part in (*recording.before, recording)] == [(), (0,), (1,)]
    first, second = recording.before
    last_story = recording.story()
    first_story, second_story = last_story.before
    assert len(first.replay().changes) == _rows_from(second_story, 0)
    assert len(second.replay().changes) == _rows_from(last_story, 1)

    # From the only result of the last query to the rows of the first one.
    (result,) = live_results(last_story)
    longest = [second_story.changes[last_story.rows[number].origin[1]] for number in result.members]  # type: ignore[index]
    assert sorted(change.values["km"] for change in longest) == [2, 2, 4, 9, 10, 14, 16]
    (south,) = (change for change in longest if change.values["km"] == 16)
    rows_of_south = [second_story.rows[number] for number in south.members]
    first_hour, second_hour = (first_story.changes[row.origin[1]] for row in rows_of_south if row.origin is not None)
    assert first_hour.values["km"] == 4.0
    assert second_hour.values["km"] == 8.0
    assert [first_story.rows[number].values["km"] for number in first_hour.members] == [4.0]
    assert [first_story.rows[number].values["km"] for number in second_hour.members] == [None, 8.0]


def _rows_from(story: Story, place: int) -> int:
    """Return how many rows of a query are results of the upstream query at a place."""
    return sum(row.origin is not None and row.origin[0] == place for row in story.rows)
