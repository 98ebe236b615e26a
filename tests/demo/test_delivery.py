"""The physical stream: what it holds, in which order, and that it keeps its own promises."""

import pandas as pd

from demo.delivery import deliver

FLIGHT = ["id", "origin", "carrier", "tailnum", "distance", "dep_delay", "departure"]
COLUMNS = [*FLIGHT, "end", "new_end", "change", "delivered"]


def flown(*times: tuple[int, str, str]) -> pd.DataFrame:
    """Return flights on one day, each made from its id, departure and arrival."""
    ids, departures, arrivals = zip(*times, strict=True)
    rows = pd.DataFrame({"id": ids, "origin": "JFK", "carrier": "AA", "tailnum": "N1", "distance": 80.0})
    return rows.assign(dep_delay=-1.0, departure=_on_the_day(departures), arrival=_on_the_day(arrivals))


def _on_the_day(times: tuple[str, ...]) -> pd.Series:
    """Return times of the day, such as `08:10`, as timestamps."""
    return pd.Series([pd.Timestamp(f"2013-01-01T{time}Z") for time in times])


def timeline(rows: pd.DataFrame) -> list[str]:
    """Return each row as `delivered change subject`, where the subject is a flight's id or a punctuation's time."""
    clock = rows["delivered"].dt.strftime("%H:%M:%S")
    subject = rows["id"].astype("string").fillna(rows["departure"].dt.strftime("%H:%M")).fillna("end")
    return [*(clock + " " + rows["change"] + " " + subject)]


def broken_promises(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that were delivered after a punctuation, or after the end, which promised that none would come.

    A row breaks the promise if its sync time is before the last punctuation: a departure, or the new end of a revision.
    """
    sync = rows["new_end"].fillna(rows["departure"])
    promised = rows["departure"].where(rows["change"] == "punctuate").ffill()
    is_after_close = (rows["change"] == "close").cumsum().shift(fill_value=0) > 0
    return rows[(sync < promised) | is_after_close]


def test_a_flight_is_inserted_at_departure_and_revised_at_arrival() -> None:
    """Each row comes with a delay that follows from the id of its flight, a punctuation at each quarter of an hour.

    08:00              09:20
    |------------------|       flight 1, delayed by 1 * 7919 mod 600 = 119 s
       |------|                flight 2, delayed by 2 * 7919 mod 600 = 238 s
       08:10  08:28
    """
    rows = deliver(flown((1, "08:00", "09:20"), (2, "08:10", "08:28")))
    assert timeline(rows) == [
        "08:01:59 insert 1",
        "08:13:58 insert 2",
        "08:15:00 punctuate 08:05",
        "08:30:00 punctuate 08:20",
        "08:31:58 revise 2",
        "08:45:00 punctuate 08:35",
        "09:00:00 punctuate 08:50",
        "09:15:00 punctuate 09:05",
        "09:21:59 revise 1",
        "09:30:00 close end",
    ]


def test_a_revision_carries_the_payload_and_the_old_lifetime() -> None:
    rows = deliver(flown((1, "08:00", "08:20")))
    assert rows.columns.tolist() == COLUMNS
    assert rows["change"].tolist() == ["insert", "punctuate", "revise", "close"]
    insertion = rows.iloc[0]
    revision = rows.iloc[2]
    departure = pd.Timestamp("2013-01-01T08:00Z")
    assert insertion[FLIGHT].tolist() == [1, "JFK", "AA", "N1", 80.0, -1.0, departure]
    assert revision[FLIGHT].tolist() == insertion[FLIGHT].tolist()
    assert rows["end"].isna().all()
    assert rows["new_end"].isna().tolist() == [True, True, False, True]
    assert revision["new_end"] == pd.Timestamp("2013-01-01T08:20Z")


def test_no_row_of_the_year_is_behind_a_punctuation(year: pd.DataFrame) -> None:
    rows = deliver(year)
    assert rows["change"].value_counts().to_dict() == {
        "insert": 327_346,
        "revise": 327_346,
        "punctuate": 35_033,
        "close": 1,
    }
    assert broken_promises(rows).empty


def test_punctuations_rise_by_a_quarter_of_an_hour_without_a_gap(january: pd.DataFrame) -> None:
    rows = deliver(january)
    punctuations = rows[rows["change"] == "punctuate"]
    steps = punctuations["departure"].diff().dropna()
    assert steps.unique().tolist() == [pd.Timedelta("15 minutes")]
    delays = punctuations["delivered"] - punctuations["departure"]
    assert delays.unique().tolist() == [pd.Timedelta("10 minutes")]


def test_more_than_two_of_five_insertions_come_after_a_later_departure(january: pd.DataFrame) -> None:
    rows = deliver(january)
    departures = rows.loc[rows["change"] == "insert", "departure"]
    is_out_of_order = departures.diff() < pd.Timedelta(0)
    assert is_out_of_order.mean() > 0.4
