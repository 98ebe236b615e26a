"""Heartbeats and clocks of tables: rows of their own among the events."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, events, module

MOMENT = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def changes_of(stream: EventStream) -> list[tuple[str, Any]]:
    """Run a query over a stream, and return the change and the time of each row that it reads."""
    size = 10 if stream.unit is None else f"10 {stream.unit}"
    query = stream.window(tumbling(size)).aggregate(n=module("stats.count"))
    query.results()
    rows = pa.table(query.source.df).to_pylist()
    return [(row["change"], row["start"]) for row in rows]


@pytest.mark.parametrize(
    ("times", "delay", "time_of_mark"),  # the later time, less the delay
    [
        (pa.array([1, 12], pa.int32()), 2, 10),
        (pa.array([Decimal("1.5"), Decimal("12.5")]), Decimal("0.5"), Decimal("12.0")),
    ],
)
def test_the_rows_of_a_heartbeat_are_punctuation_before_their_time(
    times: pa.Array, delay: Any, time_of_mark: Any
) -> None:
    rows = pa.table({"at": times})
    beats = rows.slice(1)
    stream = events(rows, at="at").with_heartbeat(beats, at="at", delay=delay)
    first, second = times.to_pylist()
    assert changes_of(stream) == [("insert", first), ("insert", second), ("punctuate", time_of_mark)]


def test_the_times_of_a_heartbeat_may_be_timestamps() -> None:
    table = pa.table({"at": [MOMENT]})
    stream = events(table, at="at").with_heartbeat(table, at="at", delay="1 second")
    query = stream.window(tumbling("1 hour")).aggregate(n=module("stats.count"))
    mark = pa.table(query.source.df).to_pylist()[-1]
    assert mark["change"] == "punctuate"
    assert mark["start"].timestamp() == 0  # a second before the moment


def test_the_times_of_a_heartbeat_are_of_the_type_of_those_of_the_events() -> None:
    stream = events(pa.table({"at": [1]}), at="at").with_heartbeat(pa.table({"at": [MOMENT]}), at="at")
    message = "the events' times are bigint, those of the heartbeat are timestamp\n  cast them to the same type"
    with pytest.raises(QueryError, match=message):
        changes_of(stream)


def test_a_row_of_a_table_is_not_late_behind_the_heartbeat_of_another_table() -> None:
    beats = pa.table({"at": [100]})
    query = events(pa.table({"at": [1]}), at="at").with_heartbeat(beats, at="at").window(tumbling(10))
    assert query.aggregate(n=module("stats.count")).late_rows().num_rows == 0


def test_a_table_of_readings_is_a_clock() -> None:
    clock = pa.table({"reading": [MOMENT]})
    stream = events(pa.table({"at": [1]}), at="at", unit="ms").with_clock(clock)
    assert changes_of(stream) == [("insert", 1), ("clock", 1_000)]


def test_readings_of_a_clock_that_are_no_moments_are_refused() -> None:
    with pytest.raises(QueryError, match="the readings of a clock are moments, and 'reading' is of type bigint"):
        changes_of(events(pa.table({"at": [1]}), at="at").with_clock(pa.table({"reading": [1]})))


def test_the_clock_of_the_machine_is_refused_for_a_table() -> None:
    with pytest.raises(QueryError, match="a static input has ended, so no time passes for it: leave the clock out"):
        events(pa.table({"at": [1]}), at="at").with_clock()
