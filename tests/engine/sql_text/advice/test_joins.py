"""Mistakes in joins of streams. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    EVENTS,
    NEAR,
    SAME,
    TUMBLE,
    VERSIONS,
    Cases,
    R,
    S,
    assert_advice_is_a_query,
    counted,
    joined,
    of_rides,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "three streams": (
        f"{joined(SAME, right=VERSIONS)} JOIN {S.replace('AS s', 'AS t')} ON r.station = t.station",
        "join the results: FROM EVENTS(TABLE (SELECT ... JOIN ...)) AS j JOIN EVENTS(TABLE t, ...) AS t ON ...",
        joined(
            "j.station = t.station",
            left=f"EVENTS(TABLE ({joined(SAME, right=VERSIONS, columns='r.station, r.id')})) AS j",
            right=S.replace("AS s", "AS t"),
            columns="j.id",
        ),
    ),
    "a right join": (
        joined(f"{SAME} AND {NEAR}", "RIGHT JOIN"),
        "write JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN; a RIGHT one turned round",
        f"SELECT s.station FROM {S} LEFT JOIN {R} ON {SAME} AND {NEAR}",
    ),
    "a stream without a name": (
        joined(SAME, right=S.removesuffix(" AS s"), left=EVENTS).replace("stations", "rides"),
        "write EVENTS(TABLE rides, ...) AS r",
        joined(SAME),
    ),
    "as of on the left": (
        joined(SAME, left=f"{EVENTS} FOR SYSTEM_TIME AS OF leaves AS r"),
        "write it before AS s",
        joined(SAME, right=VERSIONS),
    ),
    "a join that is grouped": (
        f"{joined(SAME, right=VERSIONS)} GROUP BY r.id",
        "read it as a stream: FROM TUMBLE(TABLE (SELECT ... JOIN ...), INTERVAL '1' HOUR)",
        counted(f"TUMBLE(TABLE ({joined(SAME, right=VERSIONS)}), INTERVAL '1' HOUR)"),
    ),
    "results of windows": (
        joined("r.station = o.station", right=f"({COUNTS}) AS o"),
        f"write EVENTS(TABLE ({COUNTS})) AS o",
        joined("r.station = o.station", right=f"EVENTS(TABLE ({COUNTS})) AS o"),
    ),
    "a table in a join": (
        joined("r.station = stations.station", right="stations"),
        "a stream is EVENTS(TABLE stations, DESCRIPTOR(since)) AS stations",
        joined("r.station = stations.station", right="EVENTS(TABLE stations, DESCRIPTOR(since)) AS stations"),
    ),
    "a table that is joined before": (
        joined("r.station = stations.station", right="stations"),
        "a table without times is joined before: TABLE (SELECT ... JOIN ...)",
        of_rides("rides", "(SELECT r.*, s.docks FROM rides AS r JOIN stations AS s ON r.station = s.station)"),
    ),
    "as of another time": (
        joined(SAME, right=VERSIONS.replace("r.leaves", "r.returns")),
        "write FOR SYSTEM_TIME AS OF r.leaves",
        joined(SAME, right=VERSIONS),
    ),
    "as of a time of rows that last": (
        joined(SAME, right=VERSIONS, left=R.replace("leaves", "leaves, returns")),
        "r has to be of points: EVENTS(TABLE ..., DESCRIPTOR(leaves)), without THEN",
        joined(SAME, right=VERSIONS),
    ),
    "versions with ends": (
        joined(
            "r.id = s.id",
            right="EVENTS(TABLE rides, DESCRIPTOR(leaves, returns)) FOR SYSTEM_TIME AS OF r.leaves AS s",
        ),
        "leave FOR SYSTEM_TIME AS OF out, or DESCRIPTOR(start) alone",
        joined("r.id = s.id", right="EVENTS(TABLE rides, DESCRIPTOR(leaves, returns)) AS s"),
    ),
    "versions with ends, as samples": (
        joined(
            "r.id = s.id",
            right="EVENTS(TABLE rides, DESCRIPTOR(leaves, returns)) FOR SYSTEM_TIME AS OF r.leaves AS s",
        ),
        "or DESCRIPTOR(start) alone",
        joined("r.id = s.id", right="EVENTS(TABLE rides, DESCRIPTOR(leaves)) FOR SYSTEM_TIME AS OF r.leaves AS s"),
    ),
    "where of what an anti join has not": (
        f"{joined(SAME, 'LEFT ANTI JOIN', VERSIONS)} WHERE s.docks > 10",
        "write it in ON: AND s.docks > 10",
        joined(f"{SAME} AND s.docks > 10", "LEFT ANTI JOIN", VERSIONS),
    ),
    "a column of no stream": (joined(SAME, columns="id"), "write r.id or s.id", joined(SAME, columns="r.id")),
    "a function of mixed columns": (
        joined(f"{SAME} AND my.near(r.km + s.docks)"),
        "give my.near columns of r, then columns of s; parameters have names: within => 5",
        joined(f"{SAME} AND my.near(r.km, s.docks, within => 5)"),
    ),
    "a function with the right stream first": (
        joined(f"{SAME} AND my.near(s.docks, r.km)"),
        "write those of s after them",
        joined(f"{SAME} AND my.near(r.km, s.docks)"),
    ),
    "keys of a join": (
        joined(SAME, left=R.replace("rides", "rides PARTITION BY city")),
        "leave PARTITION BY out: the equal columns of ON are the keys",
        joined(SAME),
    ),
    "other windows": (
        joined(f"{SAME} AND r.window_start = s.window_start", left=f"{TUMBLE} AS r"),
        "give both the same function, and write "
        "ON ... AND r.window_start = s.window_start AND r.window_end = s.window_end",
        joined(
            f"{SAME} AND r.window_start = s.window_start AND r.window_end = s.window_end",
            left=f"{TUMBLE} AS r",
            right=f"{TUMBLE.replace('rides', 'stations').replace('leaves', 'since')} AS s",
        ),
    ),
    "other windows, or none": (
        joined(f"{SAME} AND r.window_start = s.window_start", left=f"{TUMBLE} AS r"),
        "without windows: EVENTS(...)",
        joined(SAME),
    ),
    "windows that overlap": (
        joined(
            f"{SAME} AND r.window_start = s.window_start AND r.window_end = s.window_end",
            left=f"{TUMBLE.replace('TUMBLE', 'HOP').replace(', INTERVAL', ', INTERVAL 1 HOUR, INTERVAL')} AS r",
            right="HOP(TABLE stations, DESCRIPTOR(since), INTERVAL 1 HOUR, INTERVAL '1' HOUR) AS s",
        ),
        "join in TUMBLE or CALENDAR",
        joined(
            f"{SAME} AND r.window_start = s.window_start AND r.window_end = s.window_end",
            left="CALENDAR(TABLE rides, DESCRIPTOR(leaves), '1 day') AS r",
            right="CALENDAR(TABLE stations, DESCRIPTOR(since), '1 day') AS s",
        ),
    ),
    "another condition of both": (
        joined(f"{SAME} AND r.km < s.docks", "LEFT JOIN"),
        "other conditions are a plugin's function: AND my.near(r.x, s.x, within => 5)",
        joined(f"{SAME} AND my.near(r.km, s.docks, within => 5)", "LEFT JOIN"),
    ),
    "all columns of a join": (
        joined(SAME, columns="*"),
        "write SELECT r.km, s.km",
        joined(SAME, columns="r.km, s.docks"),
    ),
    "a column of a join without a name": (
        joined(SAME, columns="r.km * 2"),
        "write ... AS ratio",
        joined(SAME, columns="r.km * 2 AS ratio"),
    ),
    "two columns of a join": (
        joined(SAME, columns="r.station, s.station"),
        "name one of them otherwise with AS",
        joined(SAME, columns="r.station, s.station AS other"),
    ),
    "an aggregate over a join": (
        joined(SAME, columns="COUNT(r.id) AS n"),
        "write FROM TUMBLE(TABLE (SELECT ...)",
        counted(f"TUMBLE(TABLE ({joined(SAME)}), INTERVAL '1' HOUR)"),
    ),
    "a window of the right stream": (
        joined(
            f"{SAME} AND r.window_start = s.window_start AND r.window_end = s.window_end",
            "LEFT JOIN",
            left=f"{TUMBLE} AS r",
            right=f"{TUMBLE.replace('rides', 'stations').replace('leaves', 'since')} AS s",
            columns="s.window_start",
        ),
        "write r.window_start",
        joined(
            f"{SAME} AND r.window_start = s.window_start AND r.window_end = s.window_end",
            "LEFT JOIN",
            left=f"{TUMBLE} AS r",
            right=f"{TUMBLE.replace('rides', 'stations').replace('leaves', 'since')} AS s",
            columns="r.window_start",
        ),
    ),
    **{
        f"{word} bounds": (
            joined(f"{SAME} AND {NEAR.replace('BETWEEN', f'BETWEEN {word}')}"),
            f"there is no BETWEEN {word} in Spark's SQL: leave the word out",
            joined(f"{SAME} AND {NEAR}"),
        )
        for word in ("SYMMETRIC", "ASYMMETRIC")
    },
    **{
        f"bounds {bounds}": (joined(f"{SAME} AND {bounds}"), f"write {NEAR}", joined(f"{SAME} AND {NEAR}"))
        for bounds in (
            "r.leaves < s.since",
            "abs(unix_timestamp(r.leaves) - unix_timestamp(s.since)) < 60",
            "r.leaves + INTERVAL '1' HOUR < r.leaves + (s.since - s.since)",
            "s.since BETWEEN r.leaves + INTERVAL '1' HOUR AND r.leaves",
        )
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
