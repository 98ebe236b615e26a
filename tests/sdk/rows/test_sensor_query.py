"""SensorQuery, the worked example of IBM's document (IB-35), against the document's own program over a list."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from random import Random
from typing import Any, NamedTuple

from muntin import Event, RowOperator
from muntin.rows import MemberRow, RowsInWindow, last
from muntin.testing import Computation, RowOperatorLaws, WindowedQuery, evaluate, evaluate_evicted


class Seen(NamedTuple):
    """A row of the stream: a reading of a sensor, or a query for readings within a distance; the rest is None."""

    x: float
    y: float
    sensor_id: int | None
    value: float | None
    query_id: int | None
    distance: float | None


class Match(NamedTuple):
    """A reading that matches a query."""

    query_id: int
    sensor_id: int
    value: float


class Reading(NamedTuple):
    """A reading that matched many queries."""

    sensor_id: int
    x: float
    y: float
    value: float


class FindReadings(RowOperator[Seen, dict[int, int], Match, Reading]):
    """Yields the readings in the window that match a query, and those that leave with enough matches.

    Its state has the number of matches of each reading, by the number of its row, if there are any.
    """

    name, version = "sensors.find_readings", "1.0.0"

    def __init__(self, threshold: int = 3) -> None:
        self._threshold = threshold

    def create_state(self) -> dict[int, int]:
        return {}

    def on_pass(self, state: dict[int, int], row: MemberRow[Seen], window: RowsInWindow[Seen]) -> Iterable[Match]:
        query = row.payload
        if query.query_id is None or query.distance is None:
            return
        for member in window.rows:
            reading = member.payload
            distance = hypot(reading.x - query.x, reading.y - query.y)
            if reading.sensor_id is None or reading.value is None or distance > query.distance:
                continue
            state[member.number] = state.get(member.number, 0) + 1
            yield Match(query.query_id, reading.sensor_id, reading.value)

    def on_evict(
        self, state: dict[int, int], rows: Sequence[MemberRow[Seen]], window: RowsInWindow[Seen]
    ) -> Iterable[Reading]:
        for row in rows:
            reading = row.payload
            match_count = state.pop(row.number, 0)
            if match_count >= self._threshold and reading.sensor_id is not None and reading.value is not None:
                yield Reading(reading.sensor_id, reading.x, reading.y, reading.value)


WINDOW_SIZE = 10
THRESHOLD = 3


def random_rows(count: int) -> list[Seen]:
    """Return rows of the document's two Beacons, of readings and of queries, in random turns."""
    random = Random(7)
    rows = list[Seen]()
    for number in range(count):
        x = random.random()
        y = random.random()
        if random.random() < 0.5:
            sensor_id = random.randrange(100)
            value = 1000 * random.random()
            rows.append(Seen(x, y, sensor_id, value, query_id=None, distance=None))
        else:
            rows.append(Seen(x, y, sensor_id=None, value=None, query_id=number, distance=0.3))
    return rows


@dataclass
class CountedReading:
    """A reading in the window of the document's program, with the number of queries that it matched."""

    row: Any
    match_count: int = 0


def output_by_the_document(rows: list[Seen]) -> tuple[list[Match], list[Reading]]:
    """Run the program of the document: a window of readings with counts of matches, and two ports to submit to.

    Returns what it submits to the one port and to the other: matches, and readings that leave with enough of them.
    """
    window: deque[CountedReading] = deque()
    matches = list[Match]()
    popular_readings = list[Reading]()
    for row in rows:
        is_reading = row.sensor_id is not None
        if is_reading:
            if len(window) == WINDOW_SIZE:
                oldest = window.popleft()
                if oldest.match_count >= THRESHOLD:
                    reading = oldest.row
                    popular_readings.append(Reading(reading.sensor_id, reading.x, reading.y, reading.value))
            window.append(CountedReading(row))
            continue

        assert row.query_id is not None
        assert row.distance is not None
        for counted in window:
            reading = counted.row
            if ((reading.x - row.x) ** 2 + (reading.y - row.y) ** 2) ** 0.5 <= row.distance:
                counted.match_count += 1
                matches.append(Match(row.query_id, reading.sensor_id, reading.value))
    return matches, popular_readings


def test_sensor_query_finds_the_matches_and_the_popular_readings_of_the_program_in_the_document() -> None:
    rows = random_rows(300)
    matches, popular_readings = output_by_the_document(rows)
    assert len(matches) > 100
    assert len(popular_readings) > 10

    find_readings = Computation(FindReadings(THRESHOLD), select=lambda payload: payload["seen"])
    query = WindowedQuery(last(WINDOW_SIZE).admit("is_reading"), [find_readings])
    events: list[Event[Any]] = []
    for time, row in enumerate(rows):
        events.append(Event.point(time, {"seen": row, "is_reading": row.query_id is None}))
    assert [row.value for row in evaluate(query, events)] == matches
    assert [row.value for row in evaluate_evicted(query, events)] == popular_readings


class TestFindReadings(RowOperatorLaws):
    module = FindReadings(1)
    windows = (last(2).admit("is_reading"), last(3))
