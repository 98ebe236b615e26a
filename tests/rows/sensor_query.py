"""SensorQuery, the worked example of IBM's document (IB-35), as a module: readings, queries, matches, popular readings.

The document's operator has two ports, whose tuples come in one order under a lock. Here they are rows of one stream,
told apart by their columns: those of a query are null in a reading, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from typing import NamedTuple

from muntin import RowOperator
from muntin.rows import MemberRow, RowsInWindow


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
