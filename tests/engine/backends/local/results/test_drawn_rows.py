"""The picture of a query over a few rows: those of one key, with their windows and results."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import muntin_stats as stats
from muntin import Aggregate, count_by_start, global_windows, hopping, tumbling
from muntin_engine import Query, events, module
from muntin_engine.backends.local.local_backend import BACKEND
from muntin_engine.backends.local.results.drawn_rows import MOST_ROWS

MORNING = pd.to_datetime(["2024-05-01 08:05", "2024-05-01 08:20", "2024-05-01 08:50"])
RIDES = pd.DataFrame({"station": ["north", "south", "north"], "at": MORNING, "km": [3.0, 2.0, 7.5]})


class Failing(Aggregate[object, int]):
    name, version = "demo.failing", "1.0.0"

    def compute_result(self, payloads: Any) -> int:
        raise ValueError("on purpose")


def description(query: Query[Any]) -> str | None:
    """Return the text that says what the picture of a query shows, or None if it has no picture."""
    picture = BACKEND.picture(query)
    return None if picture is None else picture.description


def test_the_rows_of_the_first_key_are_drawn_with_their_windows() -> None:
    windows = events(RIDES, key="station", at="at").window(tumbling("30 minutes"))
    query = windows.aggregate(km=stats.average("km"), n=stats.count())
    assert description(query) == (
        "station north: km, n; row 08:05: 3; row 08:50: 7.5; window [08:00, 08:30): 3, 1; window [08:30, 09:00): 7.5, 1"
    )


def test_rows_and_windows_that_a_query_leaves_out_are_not_drawn() -> None:
    # The ride at 08:20 has 2 km, and the first window starts at minute 0.
    windows = events(RIDES, at="at").where("km > 2").window(tumbling("30 minutes"))
    query = windows.aggregate(n=stats.count()).where("minute(window.start) = 30").select("n")
    assert description(query) == "all rows: n; row 08:05; row 08:50; window [08:30, 09:00): 1"


def test_a_picture_has_times_that_are_numbers_windows_without_ends_and_shortened_text() -> None:
    long_text = "x" * 30  # more than a picture has room for
    lasting = pa.table({"from": [1, 4], "to": [6, None], "who": ["<a>", long_text]})
    windows = events(lasting, start="from", end="to").window(global_windows())
    query = windows.apply(stats.top_k("who", k=2))
    assert description(query) == (
        "all rows: rank, value; row [1, 6): <a>; row [4, ∞): xxxxxxxxxxxxxxxxxxxxxxx…; "
        "window (-∞, ∞): 1, xxxxxxxxxxxxxxxxxxxxxxx…; 2, <a>"
    )


def test_windows_with_names_have_these_as_labels() -> None:
    windows = events(RIDES, key="station", at="at").windows(
        half=hopping("30 minutes", "30 minutes"), day=tumbling("1 day")
    )
    picture = BACKEND.picture(windows.aggregate(n=stats.count()))
    assert picture is not None
    assert picture.description.endswith(
        "day [2024-05-01, 2024-05-02): 2; half [08:00, 08:30): 1; half [08:30, 09:00): 1"
    )


def test_a_key_with_few_rows_is_drawn_in_the_place_of_the_first_with_too_many() -> None:
    table = pa.table({"key": ["many"] * 20 + [None], "at": [*range(20), 3]})
    query = events(table, key="key", at="at").window(count_by_start(1)).aggregate(n=stats.count())
    assert description(query) == "key None: n; row [3, 4); window [3, 4): 1"


MORE_THAN_A_PICTURE_HAS = pa.table({"at": range(MOST_ROWS + 1)})


@pytest.mark.parametrize(
    "query",
    [
        events(MORE_THAN_A_PICTURE_HAS, at="at").window(tumbling(MOST_ROWS * 2)).aggregate(n=stats.count()),
        events(RIDES, at="at").window(tumbling("1 hour")).aggregate(n=module(Failing)),
        events(RIDES, at="at")
        .window(tumbling("1 hour"))
        .aggregate(n=stats.count())
        .as_events()
        .window(tumbling("1 day"))
        .aggregate(n=stats.count()),
        events(RIDES, at="at", edge=True).window(tumbling("1 hour")).aggregate(n=stats.count()),
    ],
    ids=["many rows", "a module fails", "results of a query", "samples"],
)
def test_a_query_that_a_picture_cannot_show_has_none(query: Query[Any]) -> None:
    assert BACKEND.picture(query) is None
