"""The physical stream: what it holds, in which order, and that it keeps its own promises."""

import pandas as pd
import pytest

from demo.delivery import deliver

COLUMNS = [
    *["id", "origin", "carrier", "tailnum", "distance", "dep_delay"],
    *["departure", "end", "new_end", "change", "delivered"],
]


def flown(*times: tuple[int, str, str]) -> pd.DataFrame:
    """Make flights of (id, departure, arrival) on one day."""
    ids, departures, arrivals = zip(*times, strict=True)
    rows = pd.DataFrame({"id": ids, "origin": "JFK", "carrier": "AA", "tailnum": "N1", "distance": 80.0})
    return rows.assign(dep_delay=-1.0, departure=_on_the_day(departures), arrival=_on_the_day(arrivals))


def _on_the_day(times: tuple[str, ...]) -> pd.Series:
    return pd.Series([pd.Timestamp(f"2013-01-01T{time}Z") for time in times])


def timeline(rows: pd.DataFrame) -> list[str]:
    """Write each row as `delivered change what`, where what is the flight's id or the punctuation's time."""
    clock = rows["delivered"].dt.strftime("%H:%M:%S")
    what = rows["id"].astype("string").fillna(rows["departure"].dt.strftime("%H:%M")).fillna("end")
    return [*(clock + " " + rows["change"] + " " + what)]


def broken_promises(rows: pd.DataFrame) -> pd.DataFrame:
    """Give the rows delivered after a punctuation that promised they would not come."""
    sync = rows["new_end"].fillna(rows["departure"])
    promised = rows["departure"].where(rows["change"] == "punctuate").ffill()
    closed = (rows["change"] == "close").cumsum().shift(fill_value=0) > 0
    return rows[(sync < promised) | closed]


# departure     08:00              09:20 (revise at arrival)
# flight 1      |------------------|          1 * 7919 mod 600 = 119 s
# flight 2         |------|                   2 * 7919 mod 600 = 238 s
#               08:10     08:28
def test_a_flight_is_inserted_at_departure_and_revised_at_arrival() -> None:
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


def test_rows_delivered_when_a_punctuation_is_due_come_before_it() -> None:
    rows = deliver(flown((0, "08:00", "09:15"), (600, "08:15", "08:40")))  # ids that are delivered without delay
    assert timeline(rows)[:4] == [
        "08:00:00 insert 0",
        "08:00:00 punctuate 07:50",
        "08:15:00 insert 600",
        "08:15:00 punctuate 08:05",
    ]
    assert timeline(rows)[-3:] == ["09:15:00 revise 0", "09:15:00 punctuate 09:05", "09:30:00 close end"]


def test_a_revision_carries_the_payload_and_the_old_lifetime() -> None:
    rows = deliver(flown((1, "08:00", "08:20")))
    payload = (1, "JFK", "AA", "N1", 80.0, -1.0, pd.Timestamp("2013-01-01T08:00Z"))
    assert rows.columns.tolist() == COLUMNS
    assert tuple(rows[COLUMNS[:7]].iloc[0]) == tuple(rows[COLUMNS[:7]].iloc[2]) == payload
    assert rows["change"].tolist() == ["insert", "punctuate", "revise", "close"]
    assert rows["end"].isna().all()
    assert rows["new_end"].isna().tolist() == [True, True, False, True]
    assert rows["new_end"][2] == pd.Timestamp("2013-01-01T08:20Z")


def test_a_punctuation_carries_its_time_and_nothing_else() -> None:
    rows = deliver(flown((1, "08:00", "08:20")))
    assert rows["departure"].isna().tolist() == [False, False, False, True]
    marks = rows[rows["change"].isin(["punctuate", "close"])]
    others = [name for name in COLUMNS[:9] if name != "departure"]
    assert marks[others].isna().all(axis=None)


def test_no_flights_are_refused() -> None:
    with pytest.raises(ValueError, match="no flights to deliver"):
        deliver(flown((1, "08:00", "08:20")).head(0))


def test_no_row_of_the_year_is_behind_a_punctuation(year: pd.DataFrame) -> None:
    rows = deliver(year)
    assert rows["change"].value_counts().to_dict() == {
        "insert": 327_346,
        "revise": 327_346,
        "punctuate": 35_033,
        "close": 1,
    }
    assert broken_promises(rows).empty


def test_the_check_for_broken_promises_notices_a_row_that_is_too_late(january: pd.DataFrame) -> None:
    rows = deliver(january.head(100))
    late = pd.concat([rows[1:-1], rows[:1], rows[-1:]], ignore_index=True)
    after_the_end = pd.concat([rows[:-2], rows[-1:], rows[-2:-1]], ignore_index=True)
    assert broken_promises(late)["id"].tolist() == [0]
    assert len(broken_promises(after_the_end)) == 1


def test_punctuations_rise_by_a_quarter_of_an_hour_without_a_gap(january: pd.DataFrame) -> None:
    rows = deliver(january)
    at = rows.loc[rows["change"] == "punctuate", "departure"]
    assert at.diff().dropna().unique().tolist() == [pd.Timedelta("15 minutes")]
    assert (rows.loc[at.index, "delivered"] - at).unique().tolist() == [pd.Timedelta("10 minutes")]


def test_every_flight_is_inserted_before_it_is_revised(january: pd.DataFrame) -> None:
    rows = deliver(january)
    inserts = rows[rows["change"] == "insert"].set_index("id")["delivered"]
    revisions = rows[rows["change"] == "revise"].set_index("id")["delivered"]
    assert sorted(inserts.index) == january["id"].tolist()
    assert (inserts < revisions.reindex(inserts.index)).all()


def test_the_stream_is_out_of_order(january: pd.DataFrame) -> None:
    rows = deliver(january)
    departures = rows.loc[rows["change"] == "insert", "departure"]
    assert (departures.diff() < pd.Timedelta(0)).mean() > 0.4


def test_rows_delivered_together_come_as_inserts_then_revisions_then_the_punctuation(january: pd.DataFrame) -> None:
    rows = deliver(january)
    rank = rows["change"].map({"insert": 0, "revise": 1, "punctuate": 2, "close": 3})
    ordered = rows.assign(rank=rank).sort_values(["delivered", "rank", "id"]).index
    assert rows["delivered"].duplicated().sum() > 400
    assert ordered.tolist() == rows.index.tolist()
