"""A chain of queries, recorded on Spark: what one passes on is what the next one is given, row for row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin_engine import Query, Recording, events, module, union
from muntin_engine.recording.row_differences import exact_row_differences
from muntin_engine.recording.story import Story, StoryChange, StoryRow
from tests.engine.recording.live import live_results
from tests.journeys.running import read_stream, write_batches
from tests.journeys.test_recordings import BATCHES, Written, per_hour, rides

pytestmark = pytest.mark.nightly

FIFTH_BATCH = rides(("north", 400, 1.0))
"""A ride that comes after `BATCHES`; it closes the hour of the last of these, and the two hours around it."""


def sums_of_the_longest(stream: DataFrame) -> Query:
    """Return a chain of three queries.

    The first one has the kilometres of each station and hour. The second one has the most of two hours of a station,
    among the rides and twice the sums of the first one. The third one adds these up over four hours and all stations.
    """
    hours = per_hour(stream).as_events(buckets=2).select(km=F.col("km") * 2)
    rides = events(stream, key="station", at="leaves", watermark="10 minutes", buckets=2)
    united = union(hours=hours, rides=rides.select("km")).window(tumbling("2 hours"))
    longest = united.aggregate(km=module("stats.maximum", "km"))
    return longest.as_events(key=None, buckets=1).window(tumbling("4 hours")).aggregate(km=module("stats.sum", "km"))


class RecordedChain(NamedTuple):
    """What three runs of the chain left behind: of micro-batch 0, of micro-batches 1 to 3, and of micro-batch 4.

    Attributes:
        first: The recording of the first two runs.
        later: The recording of the third run.
        sink: The results of all runs.
    """

    first: Recording
    later: Recording
    sink: Written


@pytest.fixture(scope="module")
def recorded_chain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> RecordedChain:
    """The chain, run three times from one checkpoint."""
    folder = tmp_path_factory.mktemp("chain")
    sink = Written()

    def run(file_count: int, record: Path) -> None:
        files = write_batches(folder / "stream", [*BATCHES, FIFTH_BATCH][:file_count])
        running = sums_of_the_longest(read_stream(spark, files)).write(
            checkpoint=folder / "checkpoint", results=sink, record=record, available_now=True
        )
        running.awaitTermination()

    run(1, folder / "first")
    run(4, folder / "first")
    run(5, folder / "later")
    return RecordedChain(Recording(folder / "first"), Recording(folder / "later"), sink)


def queries_of(recording: Recording) -> list[Recording]:
    """Return the recordings of the three queries of the chain, in the order in which rows pass them."""
    return [*recording.upstream, recording]


def test_each_query_of_a_chain_has_a_recording_with_all_micro_batches(recorded_chain: RecordedChain) -> None:
    for query in queries_of(recorded_chain.first):
        assert [(batch.number, batch.run) for batch in query.batches] == [(0, 0), (1, 1), (2, 1), (3, 1)]

    assert [query.runs[0].reads for query in queries_of(recorded_chain.first)] == [(), (0,), (1,)]


def test_a_recorded_chain_replays_what_the_sink_holds(recorded_chain: RecordedChain) -> None:
    replayed_batches = recorded_chain.first.replay().batches

    replayed_rows: list[Any] = []
    written_rows: list[Any] = []
    for batch in replayed_batches:
        rows_of_batch = recorded_chain.sink.rows[batch.number]
        assert exact_row_differences(batch.changes, rows_of_batch) == []
        replayed_rows += batch.changes
        written_rows += rows_of_batch

    assert [batch.number for batch in replayed_batches] == [0, 1, 2, 3]
    assert replayed_rows == written_rows
    assert written_rows, "there are results to compare"


def test_a_recording_of_a_chain_that_begins_later_has_the_state_of_each_query(recorded_chain: RecordedChain) -> None:
    later = recorded_chain.later
    for query in queries_of(later):
        assert query.runs[0].cells_file is not None
        assert [batch.number for batch in query.batches] == [4]

    _, longest, sums = queries_of(later)
    assert {row["km"] for row in longest.replay().changes} == {2.0}, "twice the ride of the last hour"
    assert exact_row_differences(sums.replay().changes, recorded_chain.sink.rows[4]) == []


def test_all_results_of_a_query_of_a_chain_are_rows_of_the_next_one(recorded_chain: RecordedChain) -> None:
    hours, longest, sums = queries_of(recorded_chain.first)
    story_of_sums = sums.story()
    _, story_of_longest = story_of_sums.upstream

    assert len(hours.replay().changes) == count_of_rows_from(story_of_longest, place=0)
    assert len(longest.replay().changes) == count_of_rows_from(story_of_sums, place=1)


def count_of_rows_from(story: Story, place: int) -> int:
    """Return how many rows of a query are results of the query at a place among those before it."""
    return sum(row.origin is not None and row.origin[0] == place for row in story.rows)


def test_the_story_of_a_chain_leads_from_the_last_result_to_the_rows_of_the_first_query(
    recorded_chain: RecordedChain,
) -> None:
    story_of_sums = recorded_chain.first.story()
    story_of_hours, story_of_longest = story_of_sums.upstream

    # The only result of the last query is the sum of seven results of the query before.
    (result,) = live_results(story_of_sums)
    rows_of_result = [story_of_sums.rows[number] for number in result.members]
    longest = [origin_of(row, story_of_longest) for row in rows_of_result]
    assert sorted(change.values["km"] for change in longest) == [2, 2, 4, 9, 10, 14, 16]

    # One of these, that of the station "south", was computed from two hours, and from rides.
    (south,) = (change for change in longest if change.values["km"] == 16)
    rows_of_south = [story_of_longest.rows[number] for number in south.members]
    first_hour, second_hour = (origin_of(row, story_of_hours) for row in rows_of_south if row.origin is not None)
    assert first_hour.values["km"] == 4.0
    assert second_hour.values["km"] == 8.0

    # Each hour was computed from rides, which are the rows of the stream.
    assert [story_of_hours.rows[number].values["km"] for number in first_hour.members] == [4.0]
    assert [story_of_hours.rows[number].values["km"] for number in second_hour.members] == [None, 8.0]


def origin_of(row: StoryRow, upstream: Story) -> StoryChange:
    """Return the result of the upstream query that a row is."""
    assert row.origin is not None
    _, change_number = row.origin
    return upstream.changes[change_number]
