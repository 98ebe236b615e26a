"""SensorQuery, the worked example of IBM's document (IB-35), against the document's own program over a list."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import hypot
from random import Random
from typing import Any, NamedTuple

from muntin import Event, RowOperator
from muntin.rows import MemberRow, RowsInWindow, last
from muntin.testing import Computation, RowOperatorLaws, WindowedQuery, evaluate, evaluate_evicted


class Seen(NamedTuple):
    """A row of the stream: a reading of a sensor, or a query."""

    x: float
    y: float
    sensor_id: int | None
    value: float | None
    query_id: int | None
    distance: float | None


class Match(NamedTuple):
    """A reading that a query found."""

    query_id: int
    sensor_id: int
    value: float


class Reading(NamedTuple):
    """A reading that many queries found."""

    sensor_id: int
    x: float
    y: float
    value: float


class FindReadings(RowOperator[Seen, dict[int, int], Match, Reading]):
    """Matches queries with the last readings; its state has the number of matches of those that were found."""

    name, version = "sensors.find_readings", "1.0.0"

    def __init__(self, threshold: int = 3) -> None:
        self._threshold = threshold

    def create_state(self) -> dict[int, int]:
        return {}

    def on_pass(self, state: dict[int, int], row: MemberRow[Seen], window: RowsInWindow[Seen]) -> Iterable[Match]:
        query = row.payload
        if query.query_id is None or query.distance is None:
            return
        for number, _, (x, y, sensor_id, value, *_) in window.rows:
            if sensor_id is None or value is None or hypot(x - query.x, y - query.y) > query.distance:
                continue
            state[number] = state.get(number, 0) + 1
            yield Match(query.query_id, sensor_id, value)

    def on_evict(
        self, state: dict[int, int], rows: Sequence[MemberRow[Seen]], window: RowsInWindow[Seen]
    ) -> Iterable[Reading]:
        for number, _, (x, y, sensor_id, value, *_) in rows:
            if state.pop(number, 0) >= self._threshold and sensor_id is not None and value is not None:
                yield Reading(sensor_id, x, y, value)


# IB-35: SensorQuery whole, against the document's own program over a list.


SIZE = 10
THRESHOLD = 3
WINDOWS = last(SIZE).admit("is_reading")


def workload(count: int) -> list[Seen]:
    """The document's two Beacons, turn by turn at random."""
    random = Random(7)
    rows = list[Seen]()
    for number in range(count):
        x = random.random()
        y = random.random()
        if random.random() < 0.5:
            rows.append(Seen(x, y, random.randrange(100), 1000 * random.random(), None, None))
        else:
            rows.append(Seen(x, y, None, None, number, 0.3))
    return rows


def by_the_document(rows: list[Seen]) -> tuple[list[Match], list[Reading]]:
    """The program of the document: a window of readings, a map of match counts, and two ports to submit to."""
    window: deque[list[Any]] = deque()
    matches = list[Match]()
    popular = list[Reading]()
    for row in rows:
        if row.sensor_id is not None:
            if len(window) == SIZE:
                reading, count = window.popleft()
                if count >= THRESHOLD:
                    popular.append(Reading(reading.sensor_id, reading.x, reading.y, reading.value))
            window.append([row, 0])
            continue
        for held in window:
            reading = held[0]
            if ((reading.x - row.x) ** 2 + (reading.y - row.y) ** 2) ** 0.5 <= row.distance:
                held[1] += 1
                matches.append(Match(row.query_id or 0, reading.sensor_id, reading.value))
    return matches, popular


ROWS = workload(300)


def test_sensor_query_gives_what_the_document_says() -> None:
    matches, popular = by_the_document(ROWS)
    assert len(matches) > 100
    assert len(popular) > 10
    query = WindowedQuery(WINDOWS, [Computation(FindReadings(THRESHOLD), select=lambda payload: payload["seen"])])
    events = [Event.point(at, {"seen": row, "is_reading": row.query_id is None}) for at, row in enumerate(ROWS)]
    assert [row.value for row in evaluate(query, events)] == matches
    assert [row.value for row in evaluate_evicted(query, events)] == popular


class TestFindReadings(RowOperatorLaws):
    module = FindReadings(1)
    windows = (last(2).admit("is_reading"), last(3))
