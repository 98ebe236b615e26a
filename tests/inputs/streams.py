"""Two streams that meet, as scripts of micro-batches, and what their windows hold by definition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from tests.inputs.meeting import SIZE


class Ride(NamedTuple):
    """A row of the first input: rides last, have ids that are numbers, and may be revised."""

    change: str
    key: str | None = None
    id: int | None = None
    start: int = 0
    end: int = 0
    new_end: int = 0
    km: float = 0.0


class Toll(NamedTuple):
    """A row of the second input: tolls are points, have text for ids, and come from two gates."""

    change: str
    key: str | None = None
    id: str | None = None
    at: int = 0
    code: str = ""
    gate: str | None = None


Row = Ride | Toll
Result = tuple[str | None, int, float, str]


def expected(rows: Iterable[Row]) -> list[Result]:
    """Return key, start, kilometres and codes of all windows of a legal history that is over."""
    rows = list(rows)
    rides = {row.id: row for row in rows if isinstance(row, Ride) and row.change == "insert"}
    for row in rows:
        if isinstance(row, Ride) and row.change == "revise":
            rides[row.id] = rides[row.id]._replace(end=row.new_end)
    gone = {(type(row), row.id) for row in rows if row.change == "retract"}
    tolls = [row for row in rows if isinstance(row, Toll) and row.change == "insert"]
    windows: dict[tuple[str | None, int], tuple[list[float], list[str]]] = {}
    for start in range(-SIZE, 200, SIZE):
        for ride in rides.values():
            if (Ride, ride.id) not in gone and ride.start < start + SIZE and start < ride.end:
                windows.setdefault((ride.key, start), ([], []))[0].append(ride.km)
        for toll in tolls:
            if (Toll, toll.id) not in gone and start <= toll.at < start + SIZE:
                windows.setdefault((toll.key, start), ([], []))[1].append(toll.code)
    return sorted(
        ((key, start, sum(km), " ".join(sorted(codes))) for (key, start), (km, codes) in windows.items()), key=str
    )


def random_history(random: Random) -> list[list[Row]]:
    """Return legal micro-batches of both inputs, whose order within a batch means nothing.

    The two are at different places of the axis: either may be far ahead of the other.
    """
    batches: list[list[Row]] = []
    open_rides: list[Ride] = []
    rides_at = tolls_at = 0
    number = 0
    for _ in range(random.randint(2, 6)):
        batch: list[Row] = []
        for _ in range(random.randint(0, 4)):
            number += 1
            start = rides_at + random.randint(0, 15)
            ride = Ride("insert", random.choice("ab"), number, start, start + random.randint(1, 25), km=number / 4)
            batch.append(ride)
            open_rides.append(ride)
        for ride in list(open_rides):
            if ride not in batch and random.random() < 0.5 and ride.end >= rides_at:
                open_rides.remove(ride)
                if ride.start >= rides_at and random.random() < 0.3:
                    batch.append(ride._replace(change="retract", end=0, km=0.0))
                else:
                    new_end = max(rides_at, ride.start + 1) + random.randint(0, 20)
                    batch.append(ride._replace(change="revise", end=0, km=0.0, new_end=new_end))
        for _ in range(random.randint(0, 4)):
            number += 1
            at = tolls_at + random.randint(0, 20)
            batch.append(Toll("insert", random.choice("bc"), f"t{number}", at, f"c{number}", random.choice("ns")))
        rides_at += random.choice((0, 7, 30))
        tolls_at += random.choice((0, 7, 30))
        batch.append(Ride("punctuate", start=rides_at))
        batch += [Toll("punctuate", at=tolls_at, gate=gate) for gate in "ns"]
        random.shuffle(batch)
        batches.append(batch)
    return [*batches, [Ride("close"), Toll("close")]]


def of(kind: type[Any], rows: Sequence[Row]) -> list[Any]:
    """Return the rows of one input."""
    return [row for row in rows if isinstance(row, kind)]
