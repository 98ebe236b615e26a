"""200,000 random rows in this process, beside what pandas, Polars and DuckDB say of them.

These share no code and no author with Muntin. They are asked where the meaning is the same; where a library means
something else, such as the greatest of values among which there is NaN, the test says so and says how.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from muntin import calendar, hopping, session, snapshot, trailing, tumbling
from muntin.rows import last
from muntin_engine import EventStream, Query, events, module

ROW_COUNT: Final = 200_000
STATION_COUNT: Final = 12
STATION_WITHOUT_KM: Final = 7
"""All values of this key are null."""

DAY: Final = 86_400  # seconds
MICROSECOND: Final = timedelta(microseconds=1)


def random_rides() -> pa.Table:
    """Return rides of 24 days around 1970, so that half of their times are negative.

    Many leave together, as their times are whole seconds and a tenth of them lies in seven minutes; some rows are there
    twice. Values are eighths, whose sums are exact in any order; some are null, few are NaN. One key is null.
    """
    random = np.random.default_rng(7)
    leaves = random.integers(-12 * DAY, 12 * DAY, ROW_COUNT)
    is_crowded = random.random(ROW_COUNT) < 0.1
    leaves[is_crowded] %= 7 * 60  # seconds
    station = random.integers(0, STATION_COUNT, ROW_COUNT)
    km = random.integers(-800, 800, ROW_COUNT) / 8
    km[random.random(ROW_COUNT) < 0.0005] = np.nan
    has_no_km = (random.random(ROW_COUNT) < 0.1) | (station == STATION_WITHOUT_KM)
    rides = pa.table(
        {
            "station": pa.array(station, mask=station == STATION_COUNT - 1),
            "leaves": pa.array(leaves * 1_000_000, pa.timestamp("us", "UTC")),
            "km": pa.array(km, mask=has_no_km),
            "number": random.permutation(ROW_COUNT),
            "fare": pa.array(random.integers(-(10**17), 10**17, ROW_COUNT), pa.int64()).cast(pa.decimal128(19, 0)),
            "huge": random.integers(2**60, 2**61, ROW_COUNT),
        }
    )
    return pa.concat_tables([rides, rides.slice(0, 500)]).combine_chunks()


@pytest.fixture(scope="module")
def rides() -> pa.Table:
    return random_rides()


@pytest.fixture(scope="module")
def connection(rides: pa.Table) -> duckdb.DuckDBPyConnection:
    """A database in UTC with the table `rides`."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("rides", rides)
    return connection


CALLS: Final[dict[str, Any]] = {
    "n": module("stats.count"),
    "total": module("stats.sum", "km"),
    "least": module("stats.min", "km"),
    "most": module("stats.max", "km"),
}
"""Aggregates of each window, as Muntin, Polars and DuckDB call them."""

POLARS_CALLS: Final = (
    pl.len().cast(pl.Int64).alias("n"),
    # Polars adds no values up to zero, and leaves NaN out where it looks for the greatest value.
    pl.when(pl.col("km").count() > 0).then(pl.col("km").sum()).alias("total"),
    pl.col("km").min().alias("least"),
    pl.when(pl.col("km").is_nan().any()).then(float("nan")).otherwise(pl.col("km").max()).alias("most"),
)

DUCKDB_CALLS: Final = "count(*) AS n, sum(km) AS total, min(km) AS least, max(km) AS most"


def stream(frame: Any) -> EventStream:
    """Return the events of a frame of rides by station; rides of one time are ordered by their number."""
    return events(frame, key="station", at="leaves", order="number")


def results(query: Query, **columns: str) -> pl.DataFrame:
    """Return the station, the start of the window, and the results of a query, as a frame of Polars.

    Args:
        query: Query over any kind of frame.
        columns: More columns, by their names, such as `end="window.end"`.
    """
    outputs = {field.name: field.name for field in query.plan.outputs}
    frame: Any = query.select("station", start="window.start", **columns, **outputs).results()
    if isinstance(frame, duckdb.DuckDBPyRelation):
        frame = frame.to_arrow_table()
    return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)


def assert_same_rows(ours: pl.DataFrame, theirs: pl.DataFrame) -> None:
    """Assert that there are many rows, and that they are the same to the last bit, in any order."""
    assert len(ours) > 100
    expected = theirs.select(ours.columns).cast(ours.schema)  # how DuckDB spells UTC is up to its connection
    assert_frame_equal(ours, expected, check_row_order=False, check_exact=True)


def of_duckdb(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    """Return what DuckDB's own SQL says."""
    return pl.DataFrame(connection.sql(query).to_arrow_table())


def test_tumbling_windows_are_those_of_polars(rides: pa.Table) -> None:
    frame = pl.DataFrame(rides)
    groups = frame.sort("leaves").group_by_dynamic("leaves", every="1h", group_by="station")
    ours = results(stream(frame).window(tumbling("1 hour")).aggregate(**CALLS))
    assert_same_rows(ours, groups.agg(*POLARS_CALLS).rename({"leaves": "start"}))


def test_tumbling_windows_are_those_of_pandas(rides: pa.Table) -> None:
    """NaN is null in pandas."""
    frame = rides.select(["station", "leaves", "km", "number"]).to_pandas()
    windows = stream(frame).window(tumbling("2 hours"))
    query = windows.aggregate(n=module("stats.count"), mean=module("stats.average", "km"))
    ours: Any = query.select("station", leaves="window.start", n="n", mean="mean").results()

    groups = frame.groupby("station", dropna=False).resample("2h", on="leaves")["km"]
    windows_of_pandas = pd.DataFrame({"n": groups.size(), "mean": groups.mean()}).reset_index()
    theirs = windows_of_pandas.query("n > 0")  # pandas has windows without rows, too

    order = ["station", "leaves"]
    pd.testing.assert_frame_equal(
        ours.sort_values(order, ignore_index=True),
        theirs.sort_values(order, ignore_index=True),
        check_dtype=False,
        rtol=1e-12,
        check_index_type=False,
    )


def test_hopping_windows_are_those_of_polars_and_duckdb(rides: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    ours = results(stream(pl.DataFrame(rides).lazy()).window(hopping("6 hours", "90 minutes")).aggregate(**CALLS))

    # A ride is in the window that begins at its step of 90 minutes, and in the three before it.
    in_each_window = f"""
        SELECT station, time_bucket(INTERVAL 90 MINUTE, leaves) - step * INTERVAL 90 MINUTE AS start, {DUCKDB_CALLS}
        FROM rides, range(4) AS steps(step) GROUP BY ALL
    """
    assert_same_rows(ours, of_duckdb(connection, in_each_window))

    groups = pl.DataFrame(rides).sort("leaves").group_by_dynamic("leaves", every="90m", period="6h", group_by="station")
    theirs = groups.agg(*POLARS_CALLS).rename({"leaves": "start"})
    # Polars begins with the last one of the windows that have the first row.
    assert_same_rows(ours.filter(pl.col("start") >= theirs["start"].min()), theirs)


def test_sessions_are_those_of_lag_and_sum(rides: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    sessions = stream(connection.sql("FROM rides")).window(session("1 minute"))
    ours = results(sessions.aggregate(**CALLS), end="window.end")

    # A session begins where the ride before is longer ago than the gap; counting these beginnings numbers the sessions.
    numbered = f"""
        WITH marked AS (
            SELECT *, leaves - lag(leaves) OVER (PARTITION BY station ORDER BY leaves) > INTERVAL 1 MINUTE AS is_first
            FROM rides
        ), numbered AS (
            SELECT *, count(*) FILTER (is_first) OVER (PARTITION BY station ORDER BY leaves) AS session FROM marked
        )
        SELECT station, min(leaves) AS start, max(leaves) + INTERVAL 1 MINUTE AS end, {DUCKDB_CALLS}
        FROM numbered GROUP BY station, session
    """
    assert_same_rows(ours, of_duckdb(connection, numbered))


FEWER_ROWS: Final = 20_000
"""The rows of queries that call their modules once a row."""


def over_window(calls: str) -> str:
    """Return calls of DuckDB over the window w."""
    return calls.replace(" AS ", " OVER w AS ")


def test_trailing_windows_are_ranges_of_duckdb_and_rolling_groups_of_polars(
    rides: pa.Table, connection: duckdb.DuckDBPyConnection
) -> None:
    query = stream(rides.slice(0, FEWER_ROWS)).window(trailing("1 hour")).aggregate(**CALLS)
    windows = results(query, last="window.end").drop("start")
    # Each window ends behind a ride, which lasts a microsecond: the others name the time of the ride itself.
    ours = windows.with_columns(pl.col("last") - MICROSECOND)

    ranges = f"""
        SELECT DISTINCT station, leaves AS last, {over_window(DUCKDB_CALLS)} FROM (FROM rides LIMIT {FEWER_ROWS})
        WINDOW w AS (
            PARTITION BY station ORDER BY leaves
            -- an hour, with the microsecond of the ride itself
            RANGE BETWEEN INTERVAL '3599.999999 seconds' PRECEDING AND CURRENT ROW
        )
    """
    assert_same_rows(ours, of_duckdb(connection, ranges))

    groups = pl.DataFrame(rides.slice(0, FEWER_ROWS)).sort("leaves").rolling("leaves", period="1h", group_by="station")
    assert_same_rows(ours, groups.agg(*POLARS_CALLS).unique().rename({"leaves": "last"}))


def test_the_last_rows_are_those_of_duckdb(rides: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    fewer_rides = rides.slice(0, FEWER_ROWS)
    query = stream(fewer_rides).window(last(20)).aggregate(**CALLS, newest=module("stats.last", "number"))
    ours = results(query).drop("start")

    ending_at_each_ride = f"""
        SELECT station, number AS newest, {over_window(DUCKDB_CALLS)} FROM (FROM rides LIMIT {FEWER_ROWS})
        WINDOW w AS (PARTITION BY station ORDER BY leaves, number ROWS BETWEEN 19 PRECEDING AND CURRENT ROW)
    """
    assert_same_rows(ours, of_duckdb(connection, ending_at_each_ride))


def fewer_rides_in_pandas(rides: pa.Table) -> pd.DataFrame:
    """Return the first rides by station, time and number."""
    frame: pd.DataFrame = rides.slice(0, FEWER_ROWS).select(["station", "leaves", "km", "number"]).to_pandas()
    return frame.sort_values(["station", "leaves", "number"], ignore_index=True)


def assert_same_totals(ours: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Assert that `total` is the same for each `newest`, the number of the ride at which a window ends."""
    pd.testing.assert_frame_equal(
        ours[["newest", "total"]].sort_values("newest", ignore_index=True),
        expected.sort_values("newest", ignore_index=True),
        check_dtype=False,
    )


def totals_of_last_rows(frame: pd.DataFrame, window: Any) -> Any:
    """Return the total of km of the last rows at each ride, and the number of that ride as `newest`."""
    windows = stream(frame).window(window)
    return windows.aggregate(total=module("stats.sum", "km"), newest=module("stats.last", "number")).results()


def test_the_last_rows_are_those_of_pandas(rides: pa.Table) -> None:
    frame = fewer_rides_in_pandas(rides)
    ours = totals_of_last_rows(frame, last(20))
    totals = frame.groupby("station", dropna=False)["km"].rolling(20, min_periods=1).sum()
    assert_same_totals(ours, pd.DataFrame({"newest": frame["number"], "total": totals.droplevel(0)}))


def test_rows_of_a_length_of_time_are_those_of_pandas(rides: pa.Table) -> None:
    """A row that is an hour old is still there. Those of one time are in order: in pandas by their places."""
    frame = fewer_rides_in_pandas(rides)
    ours = totals_of_last_rows(frame, last("1 hour"))
    groups = frame.groupby("station", dropna=False)
    totals = groups.rolling("1h", on="leaves", closed="both", min_periods=1)["km"].sum()
    assert_same_totals(ours, pd.DataFrame({"newest": frame["number"], "total": totals.to_numpy()}))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo"])
def test_days_of_a_zone_are_those_of_duckdb(rides: pa.Table, zone: str) -> None:
    """Six years: days are 23 to 25 hours long, or begin half an hour earlier, or have no midnight."""
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    connection.register("rides", rides)
    # The 24 days around 1970 become six years around 2016: 1451606400 is the first second of that year.
    spread = """
        FROM (FROM rides SELECT * REPLACE (make_timestamptz(1451606400000000 + 90 * epoch_us(leaves)) AS leaves))
    """
    query = stream(connection.sql(spread)).window(calendar("day", zone=zone)).aggregate(**CALLS)
    in_utc = pl.Datetime("us", "UTC")
    ours = results(query, end="window.end").cast({"start": in_utc, "end": in_utc})

    days = f"""
        SELECT station, date_trunc('day', leaves) AS start, {DUCKDB_CALLS},
            -- 30 hours lead into the next day, whatever its length
            date_trunc('day', date_trunc('day', leaves) + INTERVAL 30 HOUR) AS end
        {spread} GROUP BY ALL
    """
    assert_same_rows(ours, of_duckdb(connection, days))


def test_sums_of_decimals_and_of_huge_numbers_are_those_of_duckdb(
    rides: pa.Table, connection: duckdb.DuckDBPyConnection
) -> None:
    """A sum that its column cannot hold is null."""
    windows = stream(rides).window(tumbling("1 hour"))
    query = windows.aggregate(
        fares=module("stats.sum", "fare"), huge=module("stats.sum", "huge"), least=module("stats.min", "huge")
    )
    ours = results(query)
    assert ours["huge"].null_count() > 100

    sums = """
        SELECT station, time_bucket(INTERVAL 1 HOUR, leaves) AS start, sum(fare) AS fares,
            TRY_CAST(sum(huge) AS BIGINT) AS huge, min(huge) AS least
        FROM rides GROUP BY ALL
    """
    assert_same_rows(ours, of_duckdb(connection, sums))


# ------------------------------------------------------------------------------------------------- lifetimes and joins


def random_stays(seed: int, stations: int) -> pa.Table:
    """Return stays of guests whose starts and ends are whole numbers, many of which are equal; one key is null."""
    random = np.random.default_rng(seed)
    low = random.integers(-1_000_000, 1_000_000, ROW_COUNT)
    station = random.integers(0, stations, ROW_COUNT)
    return pa.table(
        {
            "station": pa.array(station, mask=station == 0),
            "low": low,
            "high": low + random.integers(1, 500, ROW_COUNT),
            "guests": random.integers(1, 9, ROW_COUNT),
            "number": np.arange(ROW_COUNT),
        }
    )


def test_snapshots_are_sums_over_what_begins_and_ends() -> None:
    stays = random_stays(3, stations=1_000)
    snapshots = events(stays, key="station", start="low", end="high").window(snapshot())
    query = snapshots.aggregate(n=module("stats.count"), guests=module("stats.sum", "guests"))

    # Between two ticks at which stays begin or end, there are the guests who came before less those who left.
    connection = duckdb.connect()
    connection.register("stays", stays)
    steps = """
        WITH edges AS (
            SELECT station, low AS tick, 1 AS n, guests FROM stays
            UNION ALL SELECT station, high, -1, -guests FROM stays
        ), steps AS (SELECT station, tick, sum(n) AS n, sum(guests) AS guests FROM edges GROUP BY ALL
        ), pieces AS (
            SELECT station, tick AS start, lead(tick) OVER w AS "end", sum(n) OVER w AS n, sum(guests) OVER w AS guests
            FROM steps WINDOW w AS (PARTITION BY station ORDER BY tick)
        )
        FROM pieces WHERE n > 0
    """
    assert_same_rows(results(query, end="window.end"), of_duckdb(connection, steps))


def test_a_join_of_lifetimes_is_a_join_by_ranges() -> None:
    left = random_stays(4, stations=5_000)
    right = random_stays(5, stations=5_000)
    left_events = events(pl.DataFrame(left), key="station", start="low", end="high")
    right_events = events(pl.DataFrame(right), key="station", start="low", end="high")
    query = left_events.join(right_events, left_columns={"left": "number"}, right_columns={"right": "number"})
    ours: Any = query.select("station", "left", "right", low="lifetime.start", high="lifetime.end").results()

    connection = duckdb.connect()
    connection.register("lefts", left)
    connection.register("rights", right)
    pairs = """
        SELECT l.station, l.number AS "left", r.number AS "right",
            greatest(l.low, r.low) AS low, least(l.high, r.high) AS high
        FROM lefts l JOIN rights r ON l.station IS NOT DISTINCT FROM r.station AND l.low < r.high AND r.low < l.high
    """
    assert_same_rows(ours, of_duckdb(connection, pairs))


def test_a_join_with_samples_is_an_as_of_join() -> None:
    # Keys that are null are equal in Muntin, and not in an as-of join: they are left out.
    has_station = pa.compute.field("station").is_valid()
    sales = random_stays(6, stations=500).slice(0, 50_000).filter(has_station)
    prices = random_stays(7, stations=500).slice(0, 50_000).filter(has_station)
    sold = events(sales, key="station", at="low")
    priced = events(prices, key="station", at="low", edge=True, order="number")
    query = sold.join(priced, "left", left_columns={"sale": "number"}, right_columns={"price": "number"})
    ours = pl.DataFrame(query.select("station", "sale", "price").results())

    # Of several prices of one time, the one with the largest number holds.
    last_prices = pl.DataFrame(prices).sort("low", "number").select("station", "low", price="number")
    sorted_sales = pl.DataFrame(sales).sort("low").select("station", "low", sale="number")
    by_polars = sorted_sales.join_asof(last_prices, on="low", by="station", check_sortedness=False)
    assert_same_rows(ours, by_polars)

    by_pandas = pd.merge_asof(sorted_sales.to_pandas(), last_prices.to_pandas(), on="low", by="station")
    assert_same_rows(ours, pl.from_pandas(by_pandas))

    connection = duckdb.connect()
    connection.register("sales", sales)
    connection.register("prices", prices)
    as_of = """
        WITH last_prices AS (SELECT station, low, max(number) AS price FROM prices GROUP BY ALL)
        SELECT sales.station, number AS sale, price
        FROM sales ASOF LEFT JOIN last_prices ON sales.station = last_prices.station AND sales.low >= last_prices.low
    """
    assert_same_rows(ours, of_duckdb(connection, as_of))
