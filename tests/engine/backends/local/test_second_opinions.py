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

COUNT: Final = 200_000
KEYS: Final = 12
EMPTY_KEY: Final = 7
"""All values of this key are null."""

DAY: Final = 86_400
MICROSECOND: Final = timedelta(microseconds=1)


def random_rides() -> pa.Table:
    """Return rides of 24 days around 1970, so that half of their times are negative.

    Many leave together, as their times are whole seconds and a tenth of them lies in seven minutes; some rows are there
    twice. Values are eighths, whose sums are exact in any order; some are null, few are NaN. One key is null.
    """
    random = np.random.default_rng(7)
    leaves = random.integers(-12 * DAY, 12 * DAY, COUNT)
    is_crowded = random.random(COUNT) < 0.1
    leaves[is_crowded] %= 420
    station = random.integers(0, KEYS, COUNT)
    km = random.integers(-800, 800, COUNT) / 8
    km[random.random(COUNT) < 0.0005] = np.nan
    is_null = (random.random(COUNT) < 0.1) | (station == EMPTY_KEY)
    rides = pa.table(
        {
            "station": pa.array(station, mask=station == KEYS - 1),
            "leaves": pa.array(leaves * 1_000_000, pa.timestamp("us", "UTC")),
            "km": pa.array(km, mask=is_null),
            "number": random.permutation(COUNT),
            "fare": pa.array(random.integers(-(10**17), 10**17, COUNT), pa.int64()).cast(pa.decimal128(19, 0)),
            "huge": random.integers(2**60, 2**61, COUNT),
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
"""Aggregates of each window."""

POLARS_CALLS: Final = (
    pl.len().cast(pl.Int64).alias("n"),
    # Polars adds no values up to zero, and leaves NaN out where it looks for the greatest value.
    pl.when(pl.col("km").count() > 0).then(pl.col("km").sum()).alias("total"),
    pl.col("km").min().alias("least"),
    pl.when(pl.col("km").is_nan().any()).then(float("nan")).otherwise(pl.col("km").max()).alias("most"),
)

DUCKDB_CALLS: Final = "count(*) AS n, sum(km) AS total, min(km) AS least, max(km) AS most"


def stream(frame: Any) -> EventStream:
    return events(frame, key="station", at="leaves", order="number")


def results(query: Query, **columns: str) -> pl.DataFrame:
    """Return results with the start of their windows, as a frame of Polars."""
    names = query.plan.outputs
    chosen = {"start": "window.start", **columns, **{field.name: field.name for field in names}}
    frame: Any = query.select("station", **chosen).results()
    if isinstance(frame, duckdb.DuckDBPyRelation):
        frame = frame.to_arrow_table()
    return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)


def check_equal(ours: pl.DataFrame, theirs: pl.DataFrame) -> None:
    """Compare rows in any order, to the last bit; how a relation spells UTC is up to its connection."""
    assert len(ours) > 100
    expected = theirs.select(ours.columns).cast(ours.schema)
    assert_frame_equal(ours, expected, check_row_order=False, check_exact=True)


def of_duckdb(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    return pl.DataFrame(connection.sql(query).to_arrow_table())


def test_tumbling_windows_are_those_of_polars(rides: pa.Table) -> None:
    frame = pl.DataFrame(rides)
    groups = frame.sort("leaves").group_by_dynamic("leaves", every="1h", group_by="station")
    ours = results(stream(frame).window(tumbling("1 hour")).aggregate(**CALLS))
    check_equal(ours, groups.agg(*POLARS_CALLS).rename({"leaves": "start"}))


def test_tumbling_windows_are_those_of_pandas(rides: pa.Table) -> None:
    """NaN is null in pandas; windows without rows are in between there."""
    frame = rides.select(["station", "leaves", "km", "number"]).to_pandas()
    ours = (
        stream(frame).window(tumbling("2 hours")).aggregate(n=module("stats.count"), mean=module("stats.average", "km"))
    )
    groups = frame.groupby("station", dropna=False).resample("2h", on="leaves")["km"]
    theirs = pd.DataFrame({"n": groups.size(), "mean": groups.mean()}).query("n > 0").reset_index()
    result: Any = ours.select("station", leaves="window.start", n="n", mean="mean").results()
    order = ["station", "leaves"]
    expected = theirs.sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(
        result.sort_values(order, ignore_index=True), expected, check_dtype=False, rtol=1e-12, check_index_type=False
    )


def test_hopping_windows_are_those_of_polars_and_duckdb(rides: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    ours = results(stream(pl.DataFrame(rides).lazy()).window(hopping("6 hours", "90 minutes")).aggregate(**CALLS))
    in_each_window = f"""
        SELECT station, time_bucket(INTERVAL 90 MINUTE, leaves) - step * INTERVAL 90 MINUTE AS start, {DUCKDB_CALLS}
        FROM rides, range(4) AS steps(step) GROUP BY ALL
    """
    check_equal(ours, of_duckdb(connection, in_each_window))
    groups = pl.DataFrame(rides).sort("leaves").group_by_dynamic("leaves", every="90m", period="6h", group_by="station")
    theirs = groups.agg(*POLARS_CALLS).rename({"leaves": "start"})
    # Polars begins with the last one of the windows that have the first row.
    check_equal(ours.filter(pl.col("start") >= theirs["start"].min()), theirs)


def test_sessions_are_those_of_lag_and_sum(rides: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    sessions = stream(connection.sql("FROM rides")).window(session("1 minute"))
    ours = results(sessions.aggregate(**CALLS), end="window.end")
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
    check_equal(ours, of_duckdb(connection, numbered))


FEW: Final = 20_000
"""The rows of queries that call their modules once a row."""


def test_trailing_windows_are_ranges_of_duckdb_and_rolling_groups_of_polars(
    rides: pa.Table, connection: duckdb.DuckDBPyConnection
) -> None:
    query = stream(rides.slice(0, FEW)).window(trailing("1 hour")).aggregate(**CALLS)
    ours = results(query, last="window.end").drop("start")
    ours = ours.with_columns(pl.col("last") - MICROSECOND)
    ranges = f"""
        SELECT DISTINCT station, leaves AS last, {over_window(DUCKDB_CALLS)} FROM (FROM rides LIMIT {FEW})
        WINDOW w AS (
            PARTITION BY station ORDER BY leaves
            RANGE BETWEEN INTERVAL '3599.999999 seconds' PRECEDING AND CURRENT ROW
        )
    """
    check_equal(ours, of_duckdb(connection, ranges))
    groups = pl.DataFrame(rides.slice(0, FEW)).sort("leaves").rolling("leaves", period="1h", group_by="station")
    check_equal(ours, groups.agg(*POLARS_CALLS).unique().rename({"leaves": "last"}))


def over_window(calls: str) -> str:
    """Return calls of DuckDB over the window w."""
    return calls.replace(" AS ", " OVER w AS ")


def test_the_last_rows_are_those_of_duckdb_and_pandas(rides: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    few = rides.slice(0, FEW)
    query = stream(few).window(last(20)).aggregate(**CALLS, newest=module("stats.last", "number"))
    ours = results(query).drop("start")
    numbered = f"""
        SELECT station, number AS newest, {over_window(DUCKDB_CALLS)} FROM (FROM rides LIMIT {FEW})
        WINDOW w AS (PARTITION BY station ORDER BY leaves, number ROWS BETWEEN 19 PRECEDING AND CURRENT ROW)
    """
    check_equal(ours, of_duckdb(connection, numbered))

    frame = few.select(["station", "leaves", "km", "number"]).to_pandas().sort_values(["leaves", "number"])
    query = (
        stream(frame).window(last(20)).aggregate(total=module("stats.sum", "km"), newest=module("stats.last", "number"))
    )
    result: Any = query.results()
    totals = frame.groupby("station", dropna=False)["km"].rolling(20, min_periods=1).sum()
    expected = pd.DataFrame({"newest": frame["number"], "total": totals.droplevel(0)})
    pd.testing.assert_frame_equal(
        result[["newest", "total"]].sort_values("newest", ignore_index=True),
        expected.sort_values("newest", ignore_index=True),
        check_dtype=False,
    )


def test_rows_of_a_length_of_time_are_those_of_pandas(rides: pa.Table) -> None:
    """A row that is an hour old is still there. Those of one time are in order: in pandas by their places."""
    few = rides.slice(0, FEW).select(["station", "leaves", "km", "number"])
    frame = few.to_pandas().sort_values(["station", "leaves", "number"], ignore_index=True)
    calls = {"total": module("stats.sum", "km"), "newest": module("stats.last", "number")}
    result: Any = stream(frame).window(last("1 hour")).aggregate(**calls).results()
    groups = frame.groupby("station", dropna=False)
    totals = groups.rolling("1h", on="leaves", closed="both", min_periods=1)["km"].sum()
    expected = pd.DataFrame({"newest": frame["number"], "total": totals.to_numpy()})
    pd.testing.assert_frame_equal(
        result[["newest", "total"]].sort_values("newest", ignore_index=True),
        expected.sort_values("newest", ignore_index=True),
        check_dtype=False,
    )


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo"])
def test_days_of_a_zone_are_those_of_duckdb(rides: pa.Table, zone: str) -> None:
    """Six years: days are 23 to 25 hours long, or begin half an hour earlier, or have no midnight."""
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    connection.register("rides", rides)
    spread = """
        FROM (FROM rides SELECT * REPLACE (make_timestamptz(1451606400000000 + 90 * epoch_us(leaves)) AS leaves))
    """
    query = stream(connection.sql(spread)).window(calendar("day", zone=zone)).aggregate(**CALLS)
    ours = results(query, end="window.end").cast({"start": pl.Datetime("us", "UTC"), "end": pl.Datetime("us", "UTC")})
    days = f"""
        SELECT station, date_trunc('day', leaves) AS start, {DUCKDB_CALLS},
            -- 30 hours lead into the next day, whatever its length
            date_trunc('day', date_trunc('day', leaves) + INTERVAL 30 HOUR) AS end
        {spread} GROUP BY ALL
    """
    check_equal(ours, of_duckdb(connection, days))


def test_sums_of_decimals_and_of_huge_numbers_are_those_of_duckdb(
    rides: pa.Table, connection: duckdb.DuckDBPyConnection
) -> None:
    """A sum that its column cannot hold is null."""
    query = (
        stream(rides)
        .window(tumbling("1 hour"))
        .aggregate(
            fares=module("stats.sum", "fare"), huge=module("stats.sum", "huge"), least=module("stats.min", "huge")
        )
    )
    ours = results(query)
    sums = """
        SELECT station, time_bucket(INTERVAL 1 HOUR, leaves) AS start, sum(fare) AS fares,
            TRY_CAST(sum(huge) AS BIGINT) AS huge, min(huge) AS least
        FROM rides GROUP BY ALL
    """
    assert ours["huge"].null_count() > 100
    check_equal(ours, of_duckdb(connection, sums))


# ------------------------------------------------------------------------------------------------- lifetimes and joins


def random_stays(seed: int, stations: int) -> pa.Table:
    """Return stays of guests whose starts and ends are whole numbers, many of which are equal; one key is null."""
    random = np.random.default_rng(seed)
    low = random.integers(-1_000_000, 1_000_000, COUNT)
    station = random.integers(0, stations, COUNT)
    return pa.table(
        {
            "station": pa.array(station, mask=station == 0),
            "low": low,
            "high": low + random.integers(1, 500, COUNT),
            "guests": random.integers(1, 9, COUNT),
            "number": np.arange(COUNT),
        }
    )


def test_snapshots_are_sums_over_what_begins_and_ends() -> None:
    stays = random_stays(3, stations=1_000)
    snapshots = events(stays, key="station", start="low", end="high").window(snapshot())
    query = snapshots.aggregate(n=module("stats.count"), guests=module("stats.sum", "guests"))
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
    check_equal(results(query, end="window.end"), of_duckdb(connection, steps))


def test_a_join_of_lifetimes_is_a_join_by_ranges() -> None:
    left = random_stays(4, stations=5_000)
    right = random_stays(5, stations=5_000)
    spans: dict[str, Any] = {"key": "station", "start": "low", "end": "high"}
    query = events(pl.DataFrame(left), **spans).join(
        events(pl.DataFrame(right), **spans), left_columns={"left": "number"}, right_columns={"right": "number"}
    )
    result: Any = query.select("station", "left", "right", low="lifetime.start", high="lifetime.end").results()
    connection = duckdb.connect()
    connection.register("lefts", left)
    connection.register("rights", right)
    pairs = """
        SELECT l.station, l.number AS "left", r.number AS "right",
            greatest(l.low, r.low) AS low, least(l.high, r.high) AS high
        FROM lefts l JOIN rights r ON l.station IS NOT DISTINCT FROM r.station AND l.low < r.high AND r.low < l.high
    """
    check_equal(result, of_duckdb(connection, pairs))


def test_a_join_with_samples_is_an_as_of_join() -> None:
    """Of the samples of one time the last by order holds; keys that are null meet here, and do not in an as-of join."""
    has_station = pa.compute.field("station").is_valid()
    sales = random_stays(6, stations=500).slice(0, 50_000).filter(has_station)
    prices = random_stays(7, stations=500).slice(0, 50_000).filter(has_station)
    sold = events(sales, key="station", at="low")
    priced = events(prices, key="station", at="low", edge=True, order="number")
    query = sold.join(priced, "left", left_columns={"sale": "number"}, right_columns={"price": "number"})
    ours = pl.DataFrame(query.select("station", "sale", "price").results())

    last_prices = pl.DataFrame(prices).sort("low", "number").select("station", "low", price="number")
    by_polars = (
        pl.DataFrame(sales)
        .sort("low")
        .select("station", "low", sale="number")
        .join_asof(last_prices, on="low", by="station", check_sortedness=False)
    )
    check_equal(ours, by_polars)

    by_pandas = pd.merge_asof(
        sales.to_pandas().sort_values("low")[["station", "low", "number"]].rename(columns={"number": "sale"}),
        last_prices.to_pandas(),
        on="low",
        by="station",
    )
    check_equal(ours, pl.from_pandas(by_pandas))

    connection = duckdb.connect()
    connection.register("sales", sales)
    connection.register("prices", prices)
    as_of = """
        WITH last_prices AS (SELECT station, low, max(number) AS price FROM prices GROUP BY ALL)
        SELECT sales.station, number AS sale, price
        FROM sales ASOF LEFT JOIN last_prices ON sales.station = last_prices.station AND sales.low >= last_prices.low
    """
    check_equal(ours, of_duckdb(connection, as_of))
