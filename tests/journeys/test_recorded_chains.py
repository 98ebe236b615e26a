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

    def run(count: int, **given: Any) -> None:
        stream = read_stream(spark, write_batches(tmp_path / "stream", [*BATCHES, LATER][:count]))
        half_days(stream).write(checkpoint=checkpoint, results=sink, available_now=True, **given).awaitTermination()

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
    for batch in recording.replay().batches:
        assert exact_row_differences(batch.changes, sink.rows[batch.number]) == []
    assert sink.all() == [row for batch in recording.replay().batches for row in batch.changes]
    assert [part.runs[0].reads for part in (*recording.before, recording)] == [(), (0,), (1,)]
    first, second = recording.before
    last = recording.story()
    passed = [len(row) for row in (first.replay().changes, second.replay().changes)]
    of_first, of_second = last.before
    assert passed == [_read(of_second, 0), _read(last, 1)]
    (result,) = live_results(last)
    longest = [of_second.changes[last.rows[number].origin[1]] for number in result.members]  # type: ignore[index]
    assert sorted(change.values["km"] for change in longest) == [2, 2, 4, 9, 10, 14, 16]
    (south,) = (change for change in longest if change.values["km"] == 16)
    made_of = [of_second.rows[number] for number in south.members]
    hours = [of_first.changes[row.origin[1]] for row in made_of if row.origin is not None]
    assert [hour.values["km"] for hour in hours] == [4.0, 8.0]
    assert [[of_first.rows[number].values["km"] for number in hour.members] for hour in hours] == [[4.0], [None, 8.0]]


def _read(story: Story, place: int) -> int:
    """Return how many rows of a query are results of another one."""
    return sum(row.origin is not None and row.origin[0] == place for row in story.rows)
