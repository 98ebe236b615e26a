"""IB-35: SensorQuery whole, against the document's own program over a list."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

from muntin import Event
from muntin.rows import last
from muntin.testing import Computation, RowOperatorLaws, Script, WindowedQuery, evaluate, evaluate_evicted
from muntin_engine.testing import crash_everywhere
from tests.rows.sensor_query import FindReadings, Match, Reading, Seen

SIZE, THRESHOLD = 10, 3
WINDOWS = last(SIZE).admit("is_reading")


def workload(count: int) -> list[Seen]:
    """The document's two Beacons, turn by turn at random."""
    random, rows = Random(7), list[Seen]()
    for number in range(count):
        x, y = random.random(), random.random()
        if random.random() < 0.5:
            rows.append(Seen(x, y, random.randrange(100), 1000 * random.random(), None, None))
        else:
            rows.append(Seen(x, y, None, None, number, 0.3))
    return rows


def by_the_document(rows: list[Seen]) -> tuple[list[Match], list[Reading]]:
    """The program of the document: a window of readings, a map of match counts, and two ports to submit to."""
    window: deque[list[Any]] = deque()
    matches, popular = list[Match](), list[Reading]()
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


def test_micro_batches_and_restarts_change_nothing() -> None:
    script = Script()
    for at, row in enumerate(ROWS[:40]):
        script = script.point(at, at, {"seen": row, "is_reading": row.query_id is None})
        script = script.punctuate(at - 5) if at % 10 == 9 else script
    query = WindowedQuery(WINDOWS, [Computation(FindReadings(THRESHOLD), select=lambda payload: payload["seen"])])
    crash_everywhere(script.close(), query)


class TestFindReadings(RowOperatorLaws):
    module = FindReadings(1)
    windows = (last(2).admit("is_reading"), last(3))
