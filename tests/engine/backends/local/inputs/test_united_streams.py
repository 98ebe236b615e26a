"""Several tables as one stream, each with the rules, sources and heartbeats of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, events, module, union

BIKES = pa.table({"k": ["a", "b"], "at": [1, 12], "x": pa.array([1, 2], pa.int32()), "area": ["north", "south"]})
CARS = pd.DataFrame({"k": ["a"], "t": [5], "x": [3], "fuel": ["gas"]})


def bikes(table: Any = BIKES, **arguments: Any) -> EventStream:
    return events(table, **{"key": "k", "at": "at", "source": "area", "sources": ["north", "south"]} | arguments)


def cars(table: Any = CARS, **arguments: Any) -> EventStream:
    return events(table, **{"key": "k", "at": "t"} | arguments)


def rows_of(stream: EventStream) -> list[dict[str, Any]]:
    results: Any = stream.to_query().results()
    return sorted(results.to_pylist(), key=lambda row: (row["k"], row["lifetime"]["start"]))


def test_a_union_has_the_events_and_columns_of_all_streams() -> None:
    united = union(bikes=bikes(), cars=cars())
    assert united.sources == ("bikes.north", "bikes.south", "cars")
    first, second, third = rows_of(united)
    assert first["x"], first["lifetime"] == (1, {"start": 1, "end": 2})
    assert (first["source"], first["area"], first["t"], first["fuel"]) == ("bikes.north", "north", None, None)
    assert (second["source"], second["x"], second["area"], second["fuel"]) == ("cars", 3, None, "gas")
    assert third["source"] == "bikes.south"


def test_a_union_is_windowed_and_its_columns_are_computed() -> None:
    united = union(bikes=bikes(), cars=cars().where("x > 3")).with_columns(y="x * 2")
    results: Any = united.window(tumbling(10)).aggregate(y=module("stats.sum", "y")).results()
    assert {(row["k"], row["y"]) for row in results.to_pylist()} == {("a", 2), ("b", 4)}


def test_punctuation_without_a_source_is_that_of_all_sources_of_its_stream() -> None:
    table = pa.table(
        {
            "k": ["a", None],
            "at": [1, 11],
            "change": ["insert", "punctuate"],
            "area": ["north", None],
            "x": pa.array([1, None], pa.int32()),
        }
    )
    united = union(bikes=bikes(table, change="change"), cars=cars())
    changes = [(row["change"], row["start"], row["source"]) for row in pa.table(united.df).to_pylist()]
    assert changes == [
        ("insert", 1, "bikes.north"),
        ("punctuate", 11, "bikes.north"),
        ("punctuate", 11, "bikes.south"),
        ("insert", 5, "cars"),
    ]


def test_heartbeats_of_a_stream_are_those_of_its_sources_of_the_union() -> None:
    beats = pa.table({"at": [8], "area": ["north"]})
    of_all = bikes().with_heartbeat(beats, at="at", delay=2)
    of_one = of_all.with_heartbeat(beats, at="at", source="area")
    query = union(bikes=of_one, cars=cars()).window(tumbling(10)).aggregate(n=module("stats.count"))
    rows = [row for row in pa.table(query.source.df).to_pylist() if row["change"] == "punctuate"]
    assert [(row["start"], row["source"]) for row in rows] == [
        (6, "bikes.north"),
        (6, "bikes.south"),
        (8, "bikes.north"),
    ]
    assert len(query.results()) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: union(bikes=bikes(), cars=cars(CARS.assign(k=1))),
            "the k of the streams of a union is of one type, got bikes string, cars bigint\n  cast them",
        ),
        (
            lambda: union(bikes=bikes(), cars=cars(CARS.assign(x="3"))),
            "do not fit together: x of cars is string, and x of another is int",
        ),
        (
            lambda: union(bikes=bikes(), cars=cars(CARS.assign(source="s"))),
            "cars has a column source, which is a name of the union's own",
        ),
        (
            lambda: union(bikes=bikes(), cars=cars(CARS.rename(columns={"x": "X"}))),
            "X of cars is bigint, and x of another is int",
        ),
        (
            lambda: union(bikes=bikes(), cars=cars(CARS.assign(t=datetime(2024, 1, 1, tzinfo=UTC)))),
            "the start of the streams of a union is of one type, got bikes bigint, cars timestamp",
        ),
    ],
)
def test_streams_that_do_not_fit_together_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(QueryError) as raised:
        make()
    assert message in str(raised.value)
