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
    """Return rides of bikes, which have an area as their source."""
    return events(table, **{"key": "k", "at": "at", "source": "area", "sources": ["north", "south"]} | arguments)


def cars(table: Any = CARS) -> EventStream:
    """Return rides of cars, whose columns are others than those of bikes."""
    return events(table, key="k", at="t")


def rows_of(stream: EventStream) -> list[dict[str, Any]]:
    """Return the events of a stream by key and start."""
    results: Any = stream.to_query().results()
    return sorted(results.to_pylist(), key=lambda row: (row["k"], row["lifetime"]["start"]))


def test_a_union_has_the_events_and_columns_of_all_streams() -> None:
    united = union(bikes=bikes(), cars=cars())
    assert united.sources == ("bikes.north", "bikes.south", "cars")
    bike_of_north, car, bike_of_south = rows_of(united)
    assert bike_of_north["source"] == "bikes.north"
    assert bike_of_north["lifetime"] == {"start": 1, "end": 2}
    assert (bike_of_north["x"], bike_of_north["area"]) == (1, "north")
    assert (bike_of_north["t"], bike_of_north["fuel"]) == (None, None)
    assert car["source"] == "cars"
    assert (car["x"], car["area"], car["fuel"]) == (3, None, "gas")
    assert bike_of_south["source"] == "bikes.south"


def test_a_union_is_windowed_and_its_columns_are_computed() -> None:
    no_cars = cars().where("x > 3")
    united = union(bikes=bikes(), cars=no_cars).with_columns(y="x * 2")
    results: Any = united.window(tumbling(10)).aggregate(y=module("stats.sum", "y")).results()
    assert {(row["k"], row["y"]) for row in results.to_pylist()} == {("a", 2), ("b", 4)}


def test_a_key_of_a_union_may_have_a_backquote_in_its_name() -> None:
    table = BIKES.rename_columns(["k`", "at", "x", "area"])
    united = union(first=events(table, key="k`", at="at"), second=events(table, key="k`", at="at"))
    results: Any = united.window(tumbling(100)).aggregate(x=module("stats.sum", "x")).where("x > 2").results()
    assert {(row["k`"], row["x"]) for row in results.to_pylist()} == {("b", 4)}


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


def test_a_heartbeat_of_a_stream_is_one_of_its_sources_in_the_union() -> None:
    beats = pa.table({"at": [8], "area": ["north"]})
    beating_for_all_areas = bikes().with_heartbeat(beats, at="at", delay=2)
    beating_for_its_area_too = beating_for_all_areas.with_heartbeat(beats, at="at", source="area")
    query = union(bikes=beating_for_its_area_too, cars=cars()).window(tumbling(10)).aggregate(n=module("stats.count"))

    punctuation = [row for row in pa.table(query.source.df).to_pylist() if row["change"] == "punctuate"]
    assert [(row["start"], row["source"]) for row in punctuation] == [
        # the beat less its delay, for all areas of the stream
        (6, "bikes.north"),
        (6, "bikes.south"),
        # the beat for its area
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
