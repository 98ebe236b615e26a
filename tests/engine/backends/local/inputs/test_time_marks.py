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


def marks_of(stream: EventStream) -> list[tuple[str, Any]]:
    query = stream.window(tumbling((stream.unit and f"10 {stream.unit}") or 10)).aggregate(n=module("stats.count"))
    query.results()
    rows = pa.table(query.source.df).to_pylist()
    return [(row["change"], row["start"]) for row in rows]


@pytest.mark.parametrize(
    ("times", "delay", "expected"),
    [
        (pa.array([1, 12], pa.int32()), 2, 10),
        (pa.array([Decimal("1.5"), Decimal("12.5")]), Decimal("0.5"), Decimal("12.0")),
    ],
)
def test_the_rows_of_a_heartbeat_are_punctuation_before_their_time(times: pa.Array, delay: Any, expected: Any) -> None:
    beats = pa.table({"at": times}).slice(1)
    stream = events(pa.table({"at": times}), at="at").with_heartbeat(beats, at="at", delay=delay)
    assert marks_of(stream) == [("insert", times[0].as_py()), ("insert", times[1].as_py()), ("punctuate", expected)]


def test_the_times_of_a_heartbeat_may_be_timestamps() -> None:
    table = pa.table({"at": [MOMENT]})
    stream = events(table, at="at").with_heartbeat(table, at="at", delay="1 second")
    query = stream.window(tumbling("1 hour")).aggregate(n=module("stats.count"))
    *_, mark = pa.table(query.source.df).to_pylist()
    assert (mark["change"], mark["start"].timestamp()) == ("punctuate", 0)


def test_the_times_of_a_heartbeat_are_those_of_the_events() -> None:
    stream = events(pa.table({"at": [1]}), at="at").with_heartbeat(pa.table({"at": [MOMENT]}), at="at")
    message = "the events' times are bigint, those of the heartbeat are timestamp\n  cast them to the same type"
    with pytest.raises(QueryError, match=message):
        marks_of(stream)


def test_nothing_is_late_in_a_table_but_what_comes_after_its_punctuation() -> None:
    beats = pa.table({"at": [100]})
    query = events(pa.table({"at": [1]}), at="at").with_heartbeat(beats, at="at").window(tumbling(10))
    assert query.aggregate(n=module("stats.count")).late_rows().num_rows == 0


def test_a_table_of_readings_is_a_clock() -> None:
    clock = pa.table({"reading": [MOMENT]})
    stream = events(pa.table({"at": [1]}), at="at", unit="ms").with_clock(clock)
    assert marks_of(stream) == [("insert", 1), ("clock", 1_000)]
    with pytest.raises(QueryError, match="the readings of a clock are moments, and 'reading' is of type bigint"):
        marks_of(events(pa.table({"at": [1]}), at="at").with_clock(pa.table({"reading": [1]})))


def test_a_table_has_no_clock_of_the_machine() -> None:
    with pytest.raises(QueryError, match="a static input has ended, so no time passes for it: leave the clock out"):
        events(pa.table({"at": [1]}), at="at").with_clock()
