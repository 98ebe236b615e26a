"""The plain-pandas answers are right on cases small enough to answer by hand."""

from itertools import pairwise

import pandas as pd
import pytest

from tests.demo.truth import airborne, cascades, delays


def at(time: str) -> pd.Timestamp:
    """Give a time of 1 January 2013; "1T02:00" is on the next day."""
    days, _, clock = time.rpartition("T")
    return pd.Timestamp(f"2013-01-01T{clock}Z") + pd.Timedelta(days=int(days or 0))


def hours(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    """Give the rows, times as HH:MM."""
    times = {name: frame[name].dt.strftime("%H:%M") for name in frame.select_dtypes("datetimetz")}
    return list(frame.assign(**times).itertuples(index=False, name=None))


def trips(*rows: tuple[str, float, str, str]) -> pd.DataFrame:
    """Make flights of (origin, distance, departure, arrival)."""
    frame = pd.DataFrame(rows, columns=["origin", "distance", "departure", "arrival"])
    return frame.assign(departure=frame["departure"].map(at), arrival=frame["arrival"].map(at))


def departures(*rows: tuple[str, float, str]) -> pd.DataFrame:
    """Make flights of (carrier, delay, departure)."""
    frame = pd.DataFrame(rows, columns=["carrier", "dep_delay", "departure"])
    return frame.assign(departure=frame["departure"].map(at))


def legs(*rows: tuple[str | None, float, str, str]) -> pd.DataFrame:
    """Make flights of (tail number, delay, departure, arrival), with ids 0, 1, 2, ..."""
    frame = pd.DataFrame(rows, columns=["tailnum", "dep_delay", "departure", "arrival"]).astype({"tailnum": "string"})
    return frame.assign(id=range(len(rows)), departure=frame["departure"].map(at), arrival=frame["arrival"].map(at))


def pairs(*rows: tuple[str | None, float, str, str]) -> list[tuple[int, int]]:
    """Give the (first, second) of the cascades among these legs."""
    return list(cascades(legs(*rows))[["first", "second"]].itertuples(index=False, name=None))


# JFK 100  |-----------|            10:00 to 12:00
# JFK  10        |-----------|      11:00 to 13:00
# LGA   7     |--|                  10:30 to 11:00
def test_a_window_lies_between_neighbouring_endpoints_of_its_origin() -> None:
    flights = trips(("JFK", 100, "10:00", "12:00"), ("JFK", 10, "11:00", "13:00"), ("LGA", 7, "10:30", "11:00"))
    assert airborne(flights).columns.tolist() == ["origin", "start", "end", "planes", "miles"]
    assert hours(airborne(flights)) == [
        ("JFK", "10:00", "11:00", 1, 100.0),
        ("JFK", "11:00", "12:00", 2, 110.0),
        ("JFK", "12:00", "13:00", 1, 10.0),
        ("LGA", "10:30", "11:00", 1, 7.0),
    ]


def test_a_real_day_is_what_the_definition_of_the_time_weighted_average_gives(january: pd.DataFrame) -> None:
    day = january[(january["origin"] == "LGA") & (january["departure"] < pd.Timestamp("2013-01-02T05:00Z"))]
    points = sorted({*day["departure"], *day["arrival"]})
    windows = [_by_definition(day, start, end) for start, end in pairwise(points)]
    expected = [window for window in windows if window[2] > 0]
    found = airborne(day)[["start", "end", "planes", "miles"]]
    assert len(expected) > 300
    assert list(found.itertuples(index=False, name=None)) == expected


def _by_definition(day: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp) -> tuple[object, object, int, float]:
    overlap = (day["arrival"].clip(upper=end) - day["departure"].clip(lower=start)).clip(lower=pd.Timedelta(0))
    share = overlap / (end - start)
    return start, end, int((share > 0).sum()), float((day["distance"] * share).sum())


def test_a_departure_is_in_the_six_windows_whose_hour_holds_it() -> None:
    assert delays(departures(("AA", 5, "10:25"))).columns.tolist() == [
        *["carrier", "start", "end", "flights", "mean_delay", "p90_delay"],
    ]
    assert hours(delays(departures(("AA", 5, "10:25")))) == [
        ("AA", "09:30", "10:30", 1, 5.0, 5.0),
        ("AA", "09:40", "10:40", 1, 5.0, 5.0),
        ("AA", "09:50", "10:50", 1, 5.0, 5.0),
        ("AA", "10:00", "11:00", 1, 5.0, 5.0),
        ("AA", "10:10", "11:10", 1, 5.0, 5.0),
        ("AA", "10:20", "11:20", 1, 5.0, 5.0),
    ]


def test_the_90th_percentile_lies_between_neighbours_in_proportion() -> None:
    flights = departures(("AA", 0, "10:00"), ("AA", 100, "10:01"), ("AA", 10, "10:02"), ("B6", 7, "10:00"))
    answer = hours(delays(flights))
    assert ("AA", "10:00", "11:00", 3, 110 / 3, 82.0) in answer  # 10 + 0.8 * (100 - 10)
    assert ("B6", "10:00", "11:00", 1, 7.0, 7.0) in answer
    assert len(answer) == 12


# N1  |---|  |---|                 |---|
#     8   9  10 11                 17 18
def test_each_two_late_legs_within_six_hours_are_a_pair() -> None:
    late = legs(("N1", 61, "08:00", "09:00"), ("N1", 90, "10:00", "11:00"), ("N1", 90, "17:00", "18:00"))
    assert cascades(late).columns.tolist() == ["tailnum", "first", "second", "arrival", "departure"]
    assert hours(cascades(late)) == [("N1", 0, 1, "09:00", "10:00"), ("N1", 1, 2, "11:00", "17:00")]


def test_six_hours_are_within_six_hours_and_a_minute_more_is_not() -> None:
    assert pairs(("N1", 90, "08:00", "09:00"), ("N1", 90, "15:00", "16:00")) == [(0, 1)]
    assert pairs(("N1", 90, "08:00", "09:00"), ("N1", 90, "15:01", "16:00")) == []


LATE = ("N1", 90.0, "08:00", "09:00")


@pytest.mark.parametrize(
    ("second", "found"),
    [
        (("N1", 90.0, "09:00", "10:00"), [(0, 1)]),  # as the first arrives
        (("N1", 90.0, "08:59", "10:00"), []),
        (("N1", 60.0, "10:00", "11:00"), []),  # an hour is not late
        (("N2", 90.0, "10:00", "11:00"), []),
        ((None, 90.0, "10:00", "11:00"), []),
        (("N1", 90.0, "05:00", "07:00"), [(1, 0)]),  # in another order
    ],
)
def test_two_legs_are_a_pair_if_both_are_late_and_one_follows(
    second: tuple[str | None, float, str, str], found: list[tuple[int, int]]
) -> None:
    assert pairs(LATE, second) == found
