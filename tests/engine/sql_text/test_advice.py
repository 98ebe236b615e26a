"""What an error of SQL says to write is written here, and Spark plans it.

Each case is a mistake, the words of the message that say what to write, and the query with those words followed. A test
at the end finds the places that raise an error and have no case.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import muntin_engine.sql_text
from muntin import function
from muntin.errors import QueryError
from muntin_engine import sql
from muntin_engine.sql_text.sql_source import SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RIDES: Final = """
    SELECT id, station, city, timestamp(leaves) AS leaves, timestamp(returns) AS returns, km FROM VALUES
        (1, 'north', 'x', '2024-05-01 08:05', '2024-05-01 08:20', 3.0D),
        (2, 'north', 'x', '2024-05-01 08:40', '2024-05-01 09:10', 7.5D),
        (3, 'south', 'y', '2024-05-01 09:10', '2024-05-01 09:15', 2.0D)
    AS rides (id, station, city, leaves, returns, km)
"""
_STATIONS: Final = """
    SELECT station, timestamp(since) AS since, op, docks FROM VALUES
        ('north', '2024-05-01 08:00', 'set', 10), ('south', '2024-05-01 09:00', 'delete', 20)
    AS stations (station, since, op, docks)
"""
_NUMBERS: Final = "SELECT * FROM VALUES (1L, 1.5BD, 2), (4L, 2.5BD, 3) AS numbers (t, d, id)"

TUMBLE: Final = "TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
REACHING: Final = "TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR, REACH => INTERVAL '2' MINUTES)"
SESSION: Final = "SESSION(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
EVENTS: Final = "EVENTS(TABLE rides, DESCRIPTOR(leaves))"
ENDS: Final = "GROUP BY window_start, window_end"
COUNTS: Final = f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station, window_start, window_end"
HOURS_OF_COUNTS: Final = f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)"
R: Final = f"{EVENTS} AS r"
S: Final = "EVENTS(TABLE stations, DESCRIPTOR(since)) AS s"
VERSIONS: Final = "EVENTS(TABLE stations, DESCRIPTOR(since)) FOR SYSTEM_TIME AS OF r.leaves AS s"
SAME: Final = "r.station = s.station"
NEAR: Final = "s.since BETWEEN r.leaves - INTERVAL '1' HOUR AND r.leaves + INTERVAL '1' HOUR"
MATCH: Final = (
    "SELECT * FROM rides MATCH_RECOGNIZE (PARTITION BY station ORDER BY leaves, id"
    " MEASURES A.id AS first, B.id AS second"
    " ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN INTERVAL '1' HOUR"
    " DEFINE A AS A.km > 1) AS m"
)


NO_SQL: Final = "no SQL"
"""In the place of a query, where the message says that SQL has no words for what is wanted."""


def counted(windows: str, **words: str) -> str:
    """Return a query that counts the rows of windows, with other words in some places."""
    text = f"SELECT COUNT(*) AS n FROM {windows} {ENDS}"
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def within(old: str, new: str, text: str) -> str:
    """Return a text with some words in the place of others, which it must have."""
    assert old in text
    return text.replace(old, new, 1)


def of_rides(old: str, new: str, windows: str = TUMBLE) -> str:
    """Return a query that counts the rows of windows, with some words in the place of others."""
    return within(old, new, counted(windows))


def joined(on: str, kind: str = "JOIN", right: str = S, columns: str = "r.id", left: str = R) -> str:
    return f"SELECT {columns} FROM {left} {kind} {right} ON {on}"


def near(left: float, right: float, within: int = 100) -> bool:
    """Return True for numbers that are near; what messages call a plugin's function."""
    return abs(left - right) <= within


CASES: Final[dict[str, tuple[str, str, str]]] = {
    # Queries
    "a union at the top": (
        f"SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b",
        "UNION ALL unites them within TABLE (...)",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "no table": (
        "SELECT COUNT(*) AS n EMIT FINAL",
        f"write FROM {TUMBLE}",
        f"SELECT COUNT(*) AS n FROM {TUMBLE} {ENDS} EMIT FINAL",
    ),
    "two queries of one name": (
        f"WITH a AS (SELECT * FROM rides), a AS (SELECT * FROM rides) {of_rides('rides', 'a')}",
        "rename one of them",
        f"WITH a AS (SELECT * FROM rides), b AS (SELECT * FROM rides) {of_rides('rides', 'a')}",
    ),
    "times of a union": (
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), DESCRIPTOR(leaves), "
            "INTERVAL '1' HOUR)"
        ),
        "leave DESCRIPTOR out",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "a union without ALL": (
        counted(f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"),
        "write UNION ALL",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "columns of a union": (
        counted(
            f"TUMBLE(TABLE (SELECT id FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
        "write SELECT * FROM EVENTS(TABLE bikes, DESCRIPTOR(at)) AS bikes",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "streams of one name": (
        counted(f"TUMBLE(TABLE (SELECT * FROM {EVENTS} UNION ALL SELECT * FROM {EVENTS}), INTERVAL '1' HOUR)"),
        "name each: EVENTS(...) AS bikes",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    # Chains
    "a condition on results in a chain": (
        counted(f"TUMBLE(TABLE ({COUNTS} HAVING n > 1), DESCRIPTOR(window_start, window_end), INTERVAL '1' DAY)"),
        "compute it in the outer one: AVG(km / n), WHERE n > 3",
        within(
            ENDS,
            f"WHERE n > 1 {ENDS}",
            counted(f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(window_start, window_end), INTERVAL '1' DAY)"),
        ),
    ),
    "other times of a chain": (
        counted(f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(leaves), INTERVAL '1' DAY)"),
        "write DESCRIPTOR(window_start, window_end)",
        counted(f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(window_start, window_end), INTERVAL '1' DAY)"),
    ),
    "windows over results": (
        f"SELECT n FROM ({COUNTS}) GROUP BY n",
        "write FROM TUMBLE(TABLE (SELECT ...), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)",
        f"SELECT SUM(n) AS s FROM {HOURS_OF_COUNTS} {ENDS}",
    ),
    "an aggregate over results": (
        f"SELECT SUM(n) AS s FROM ({COUNTS})",
        "write FROM TUMBLE(TABLE (SELECT ...), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)",
        f"SELECT SUM(n) AS s FROM {HOURS_OF_COUNTS} {ENDS}",
    ),
    # Windows
    "as of without a join": (
        counted(f"{EVENTS} FOR SYSTEM_TIME AS OF leaves AS r"),
        "write it after the right stream",
        joined(SAME, right=VERSIONS),
    ),
    "where over windows that follow rows": (
        within(ENDS, f"WHERE km > 2 {ENDS}", counted(SESSION)),
        "filter before: TABLE (SELECT ... WHERE ...); or after: FILTER",
        of_rides("TABLE rides", "TABLE (SELECT * FROM rides WHERE km > 2)", SESSION),
    ),
    "where over windows that follow rows, after": (
        within(ENDS, f"WHERE km > 2 {ENDS}", counted(SESSION)),
        "or after: FILTER",
        within("COUNT(*)", "COUNT(*) FILTER (WHERE km > 2)", counted(SESSION)),
    ),
    "two operators": (
        f"SELECT patterns.followed_by(id, within => INTERVAL '1' HOUR), COUNT(*) AS n FROM {TUMBLE} {ENDS}",
        "ask for the others in a query of their own",
        f"SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM {REACHING} {ENDS}",
    ),
    "events without windows": (
        f"SELECT COUNT(*) AS n FROM {EVENTS}",
        "write GLOBAL_WINDOWS(TABLE ...) for one window over all rows",
        "SELECT COUNT(*) AS n FROM GLOBAL_WINDOWS(TABLE rides, DESCRIPTOR(leaves))",
    ),
    "columns beside an operator": (
        f"SELECT 1 AS x, patterns.followed_by(id, within => INTERVAL '1' HOUR) FROM {TUMBLE} {ENDS}",
        "write SELECT window, the operator",
        f"SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM {REACHING} {ENDS}",
    ),
    "windows that are not grouped by": (
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station",
        "write GROUP BY station, window_start, window_end",
        COUNTS,
    ),
    "one over all rows": (
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station",
        "one over all rows: GLOBAL_WINDOWS",
        "SELECT station, COUNT(*) AS n FROM GLOBAL_WINDOWS(TABLE rides, DESCRIPTOR(leaves)) GROUP BY station",
    ),
    "grouping by a place": (
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY 1, window",
        "write each key by its name",
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station, window",
    ),
    "grouping windows that follow rows": (
        f"SELECT station, COUNT(*) AS n FROM {SESSION} GROUP BY station, window",
        "write TABLE ... PARTITION BY station",
        within(
            "rides",
            "rides PARTITION BY station",
            f"SELECT station, COUNT(*) AS n FROM {SESSION} GROUP BY station, window",
        ),
    ),
    "grouping windows that follow rows by two": (
        f"SELECT station, city, COUNT(*) AS n FROM {SESSION} GROUP BY station, city, window",
        "write TABLE ... PARTITION BY (station, city)",
        within(
            "rides",
            "rides PARTITION BY (station, city)",
            f"SELECT station, COUNT(*) AS n FROM {SESSION} GROUP BY station, city, window",
        ),
    ),
    "two sets of keys": (
        within("rides", "rides PARTITION BY city", COUNTS),
        "name the same columns in both",
        within("rides", "rides PARTITION BY station", COUNTS),
    ),
    # Aggregates
    "an unknown module": (
        within("COUNT(*)", "stats.averge(km)", COUNTS),
        "did you mean 'stats.average'",
        within("COUNT(*)", "stats.average(km)", COUNTS),
    ),
    "distinct sums": (
        within("COUNT(*)", "SUM(DISTINCT km)", COUNTS),
        "write COUNT(DISTINCT km)",
        within("COUNT(*)", "COUNT(DISTINCT km)", COUNTS),
    ),
    "an aggregate of an aggregate": (
        within("COUNT(*)", "MAX(SUM(km))", COUNTS),
        "aggregate the results of a query: TABLE (SELECT ...)",
        f"SELECT MAX(n) AS m FROM TUMBLE(TABLE ({COUNTS}), INTERVAL '1' HOUR) {ENDS}",
    ),
    "a filter of a module without columns": (
        within("COUNT(*)", "patterns.state_machine() FILTER (WHERE km > 1)", COUNTS),
        "filter the events of the query: WHERE",
        within("GROUP", "WHERE km > 1 GROUP", COUNTS),
    ),
    "no aggregate": (within("COUNT(*) AS n", "km", COUNTS), "write COUNT(*) AS n", COUNTS),
    "the rows of windows": (
        within("COUNT(*) AS n", "km", COUNTS),
        "stats.collect_list(km)",
        within("COUNT(*)", "stats.collect_list(km)", COUNTS),
    ),
    "a column that is no key": (
        f"SELECT city, COUNT(*) AS n FROM {TUMBLE} {ENDS}",
        "write an aggregate such as MAX(city), or GROUP BY it",
        f"SELECT MAX(station) AS station, COUNT(*) AS n FROM {TUMBLE} {ENDS}",
    ),
    "a key that is an expression": (
        f"SELECT upper(city) AS u, COUNT(*) AS n FROM {TUMBLE} GROUP BY upper(city), window",
        "name it in the table: TABLE (SELECT *, upper(city) AS k FROM ...)",
        within(
            "rides",
            "(SELECT *, upper(city) AS k FROM rides)",
            f"SELECT k, COUNT(*) AS n FROM {TUMBLE} GROUP BY k, window",
        ),
    ),
    "a column without a name": (
        f"SELECT SUM(km) / COUNT(*) FROM {TUMBLE} {ENDS}",
        "write ... AS ratio",
        f"SELECT SUM(km) / COUNT(*) AS ratio FROM {TUMBLE} {ENDS}",
    ),
    "two columns of a name": (
        f"SELECT SUM(km) AS x, COUNT(*) AS x FROM {TUMBLE} {ENDS}",
        "name one of them otherwise with AS",
        f"SELECT SUM(km) AS x, COUNT(*) AS y FROM {TUMBLE} {ENDS}",
    ),
    # Clauses
    "a clause twice": (f"{COUNTS} EMIT FINAL EMIT CHANGES", "leave one of them out", f"{COUNTS} EMIT FINAL"),
    "an unknown emission": (f"{COUNTS} EMIT CHANGE", "did you mean CHANGES?", f"{COUNTS} EMIT CHANGES"),
    "no trigger": (
        f"{COUNTS} EMIT EARLY 5",
        "write EMIT EARLY EVERY INTERVAL '1' MINUTE, or a trigger such as after_count(100)",
        f"{COUNTS} EMIT EARLY after_count(100)",
    ),
    "no trigger, but a period": (
        f"{COUNTS} EMIT EARLY 5",
        "write EMIT EARLY EVERY INTERVAL '1' MINUTE",
        f"{COUNTS} EMIT EARLY EVERY INTERVAL '1' MINUTE",
    ),
    "no word": (
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP",
        "write CLIP FULL",
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP FULL",
    ),
    "no timestamps": (f"{COUNTS} EVALUATOR", "write EVALUATOR AUTO", f"{COUNTS} EVALUATOR AUTO"),
    "keys that are not forgotten": (
        f"{COUNTS} FORGET INTERVAL '1' DAY",
        "write FORGET KEYS AFTER INTERVAL '30' DAYS",
        f"{COUNTS} FORGET KEYS AFTER INTERVAL '30' DAYS",
    ),
    "no watermark": (
        of_rides("rides", "rides WATERMARK INTERVAL '1' HOUR"),
        "write WATERMARK leaves DELAY OF INTERVAL '10' MINUTES, or WATERMARK bounded_disorder(rows => 100)",
        of_rides("rides", "rides WATERMARK leaves DELAY OF INTERVAL '10' MINUTES"),
    ),
    "no watermark of time": (
        of_rides("rides", "rides WATERMARK INTERVAL '1' HOUR"),
        "or WATERMARK bounded_disorder(rows => 100)",
        of_rides("rides", "rides WATERMARK bounded_disorder(rows => 100)"),
    ),
    "a watermark of another column": (
        of_rides("rides", "rides WATERMARK returns DELAY OF INTERVAL '10' MINUTES"),
        "write WATERMARK leaves DELAY OF ...",
        of_rides("rides", "rides WATERMARK leaves DELAY OF INTERVAL '10' MINUTES"),
    ),
    **{
        f"late rows {number}": (
            of_rides("rides", "rides LATE CORRECT"),
            "write LATE SIDE, LATE DROP, LATE ADJUST or LATE CORRECT WITHIN INTERVAL '1' HOUR",
            of_rides("rides", f"rides LATE {words}"),
        )
        for number, words in enumerate(("SIDE", "DROP", "ADJUST", "CORRECT WITHIN INTERVAL '1' HOUR"))
    },
    "no step": (
        of_rides("rides", "rides THEN 5"),
        "write THEN shift(INTERVAL '1' HOUR)",
        of_rides("rides", "rides THEN shift(INTERVAL '1' HOUR)"),
    ),
    "an unknown step": (
        of_rides("rides", "rides THEN shft(INTERVAL '1' HOUR)"),
        "did you mean shift?",
        of_rides("rides", "rides THEN shift(INTERVAL '1' HOUR)"),
    ),
    # Patterns of rows
    "a step that is not in the pattern": (
        within("A AS A.km", "C AS C.km", MATCH),
        "write PATTERN (A B), or PATTERN (A X*? B) with rows between",
        MATCH,
    ),
    "a longer pattern": (
        within("(A B)", "(A B C)", MATCH),
        "write PATTERN (A B), or PATTERN (A X*? B) with rows between",
        within("(A B)", "(A X*? B)", MATCH),
    ),
    "no time within": (
        within("WITHIN INTERVAL '1' HOUR", "", MATCH),
        "write WITHIN INTERVAL '1' HOUR after the pattern",
        MATCH,
    ),
    "a decimal time within": (
        "SELECT * FROM numbers MATCH_RECOGNIZE (ORDER BY d MEASURES A.id AS first, B.id AS second"
        " AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN 1.5 DEFINE A AS A.id > 1) AS m",
        "write SELECT lifetime, patterns.followed_without(id, a, b, breaks, within => 5) FROM EVENTS(...)",
        "SELECT lifetime, patterns.followed_without(id, id > 1, id > 2, false, within => 5)"
        " FROM EVENTS(TABLE numbers, DESCRIPTOR(d))",
    ),
    "matches that are grouped": (
        f"{MATCH} GROUP BY station",
        "read them as a stream: FROM TUMBLE(TABLE (SELECT ... MATCH_RECOGNIZE ...), INTERVAL '1' HOUR)",
        counted(f"TUMBLE(TABLE ({MATCH}), INTERVAL '1' HOUR)"),
    ),
    "matches that are filtered": (
        f"{MATCH} WHERE first > 1",
        "filter rows in the table: FROM (SELECT ... WHERE ...) MATCH_RECOGNIZE (...)",
        within("FROM rides", "FROM (SELECT * FROM rides WHERE km > 1)", MATCH),
    ),
    "matches with an emission": (f"{MATCH} EMIT FINAL", "leave it out", MATCH),
    "matches in descending order": (within("leaves, id", "leaves DESC", MATCH), "write ORDER BY leaves, line", MATCH),
    "matches without an order": (
        within("ORDER BY leaves, id ", "", MATCH),
        "write ORDER BY and the column of times, and perhaps one that orders rows of the same time",
        MATCH,
    ),
    "matches by another order": (
        within("FROM rides", f"FROM {EVENTS}", within("leaves, id", "returns", MATCH)),
        "write ORDER BY leaves",
        within("FROM rides", f"FROM {EVENTS}", within("leaves, id", "leaves", MATCH)),
    ),
    "matches in windows": (
        within("FROM rides", f"FROM {TUMBLE}", MATCH),
        "write FROM EVENTS(TABLE ...) MATCH_RECOGNIZE (...)",
        within("FROM rides", f"FROM {EVENTS}", MATCH),
    ),
    "matches by an expression": (
        within("BY station", "BY upper(station)", MATCH),
        "name it in the table: FROM (SELECT *, upper(station) AS k FROM ...) MATCH_RECOGNIZE (... PARTITION BY k ...)",
        within("FROM rides", "FROM (SELECT *, upper(station) AS k FROM rides)", within("BY station", "BY k", MATCH)),
    ),
    "matches with two keys": (
        within("FROM rides", "FROM EVENTS(TABLE rides PARTITION BY city, DESCRIPTOR(leaves))", MATCH),
        "leave one of them out",
        within("FROM rides", f"FROM {EVENTS}", MATCH),
    ),
    "all rows of a match": (within("ONE ROW", "ALL ROWS", MATCH), "write ONE ROW PER MATCH", MATCH),
    "matches that skip": (
        within("AFTER MATCH SKIP TO NEXT ROW", "", MATCH),
        "write AFTER MATCH SKIP TO NEXT ROW before PATTERN",
        MATCH,
    ),
    "a condition that calls": (
        within("A.km > 1", "luhn_check(A.station)", MATCH),
        "compute it in the table: FROM (SELECT *, ... AS x FROM rides) MATCH_RECOGNIZE (...)",
        within(
            "FROM rides",
            "FROM (SELECT *, luhn_check(station) AS x FROM rides)",
            within("A.km > 1", "A.x", MATCH),
        ),
    ),
    "a condition on another row": (
        within("A.km > 1", "A.km > B.km", MATCH),
        "compare rows in a stream operator of your own",
        NO_SQL,
    ),
    "a measure of no row": (within("A.id AS", "C.id AS", MATCH), "write A.km or B.km", within("A.id", "A.km", MATCH)),
    "no measures": (
        within("MEASURES A.id AS first, B.id AS second", "", MATCH),
        "write MEASURES A.id AS first, ...",
        MATCH,
    ),
    "a measure without a name": (within("A.id AS first", "A.id", MATCH), "write ... AS first", MATCH),
    "a measure of several rows": (
        within("A.id", "LAST(A.id)", MATCH),
        "write A.id; compute more in a query around this one",
        MATCH,
    ),
    "a column that is no measure": (
        within("SELECT *", "SELECT km", MATCH),
        "there are station, first, second",
        within("*", "station, first", MATCH),
    ),
    # Streams
    "an unknown function": (of_rides("TUMBLE", "TUMBL"), "did you mean TUMBLE?", counted(TUMBLE)),
    "a table where a stream is read": (
        f"SELECT COUNT(*) AS n FROM rides {ENDS} EMIT FINAL",
        "a window function such as TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)",
        f"SELECT COUNT(*) AS n FROM {TUMBLE} {ENDS} EMIT FINAL",
    ),
    "an argument twice": (
        of_rides("INTERVAL", "SIZE => INTERVAL '2' HOURS, SIZE => INTERVAL"),
        "leave one of them out",
        of_rides("INTERVAL", "SIZE => INTERVAL"),
    ),
    "no TABLE": (of_rides("TABLE ", ""), "write TUMBLE(TABLE rides, DESCRIPTOR(leaves), ...)", counted(TUMBLE)),
    "several keys without parentheses": (
        of_rides("rides", "rides PARTITION BY station, city"),
        "several keys stand in parentheses: TABLE rides PARTITION BY (station, city)",
        of_rides("rides", "rides PARTITION BY (station, city)").replace(ENDS, "GROUP BY station, city, window"),
    ),
    "too many arguments": (
        of_rides("HOUR", "HOUR, INTERVAL '0' HOUR, INTERVAL '0' HOUR, 8"),
        "other arguments have names: id, order",
        of_rides("HOUR", "HOUR, ID => id, BUCKETS => 8"),
    ),
    "an argument by place and by name": (
        of_rides("HOUR", "HOUR, SIZE => INTERVAL '2' HOURS"),
        "leave one of them out",
        counted(TUMBLE),
    ),
    "an unknown argument": (
        of_rides("HOUR", "HOUR, OFSET => INTERVAL '1' MINUTE"),
        "did you mean offset?",
        of_rides("HOUR", "HOUR, OFFSET => INTERVAL '1' MINUTE"),
    ),
    "no times": (
        of_rides("DESCRIPTOR(leaves), ", ""),
        "write DESCRIPTOR(leaves), or DESCRIPTOR(leaves, returns)",
        counted(TUMBLE),
    ),
    "starts and ends": (
        of_rides("leaves", "leaves, returns, id"),
        "or DESCRIPTOR(leaves, returns)",
        of_rides("leaves", "leaves, returns"),
    ),
    # Values
    "no length": (
        within("INTERVAL '1' HOUR", "true", MATCH),
        "write INTERVAL '10' MINUTES, or a number of ticks",
        within("'1' HOUR", "'10' MINUTES", MATCH),
    ),
    "no value": (
        of_rides("INTERVAL '1' HOUR", "km > 1"),
        "write a literal, an interval, an array or a call of literals",
        counted(TUMBLE),
    ),
    "a call by place": (
        f"{COUNTS} EMIT EARLY after_count(1, 2, 3, 4)",
        "after_count takes count",
        f"{COUNTS} EMIT EARLY after_count(count => 1)",
    ),
    "no length of time": (
        of_rides("'1' HOUR", "'1' MONTH"),
        "write INTERVAL '10' MINUTES; units are microsecond, millisecond, second, minute, hour, day, week",
        of_rides("'1' HOUR", "'10' MINUTES"),
    ),
    "a month": (
        of_rides("'1' HOUR", "'1' MONTH"),
        "CALENDAR has months and years: CALENDAR(TABLE rides, DESCRIPTOR(leaves), '1 month')",
        counted("CALENDAR(TABLE rides, DESCRIPTOR(leaves), '1 month')"),
    ),
    # What streams do not do
    "an order": (f"{COUNTS} ORDER BY n", "order them where you read them: query.results().orderBy('n')", COUNTS),
    "a limit": (
        f"{COUNTS} LIMIT 3",
        "stats.top_k or stats.top_by keep the largest of each window",
        within("COUNT(*) AS n", "window, stats.top_k(km, k => 3)", COUNTS),
    ),
    "a distinct": (
        within("SELECT", "SELECT DISTINCT", COUNTS),
        "COUNT(DISTINCT km) counts values",
        within("*", "DISTINCT km", COUNTS),
    ),
    "a rank": (
        f"{COUNTS} QUALIFY row_number() OVER (ORDER BY n) = 1",
        "stats.top_k or stats.top_by rank within a window",
        within("COUNT(*) AS n", "window, stats.top_by(id, km, k => 1)", COUNTS),
    ),
    "a lateral view": (
        within("GROUP", "LATERAL VIEW explode(array(1, 2)) AS x GROUP", COUNTS),
        "write it in the table: TABLE (SELECT ... LATERAL VIEW ...)",
        within("TABLE rides", "TABLE (SELECT * FROM rides LATERAL VIEW explode(array(1, 2)) t AS x)", COUNTS),
    ),
    "names of columns": (
        f"SELECT x FROM ({COUNTS}) AS o(x, y)",
        "write SELECT ... AS name, and not AS t(name, ...)",
        f"SELECT station AS x FROM ({COUNTS}) AS o",
    ),
    "a sample": (
        within("GROUP", "TABLESAMPLE (10 PERCENT) GROUP", COUNTS),
        "write it in the table: TABLE (SELECT ...)",
        within("TABLE rides", "TABLE (SELECT * FROM rides TABLESAMPLE (10 PERCENT))", COUNTS),
    ),
    "several groupings": (
        f"SELECT COUNT(*) AS n FROM {TUMBLE} GROUP BY ROLLUP(station), window",
        "write a query for each, or name the keys",
        COUNTS,
    ),
    "a rank beside": (
        within("COUNT(*)", "row_number() OVER (ORDER BY km)", COUNTS),
        "stats.top_k and stats.top_by rank within a window; LAST(...) follows rows",
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
    ),
    "an aggregate that is no module": (
        within("COUNT(*)", "KURTOSIS(km)", COUNTS),
        "aggregates are COUNT, SUM, AVG",
        within("*", "km", COUNTS),
    ),
    "an order within an aggregate": (
        within("COUNT(*)", "COLLECT_LIST(km ORDER BY id)", COUNTS),
        "the order is that of events: TABLE rides ORDER BY line",
        within("COUNT(*)", "COLLECT_LIST(km)", within("rides", "rides ORDER BY id", COUNTS)),
    ),
    # Joins
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
        f"bounds {number}": (joined(f"{SAME} AND {bounds}"), f"write {NEAR}", joined(f"{SAME} AND {NEAR}"))
        for number, bounds in enumerate(
            (
                "r.leaves < s.since",
                "abs(unix_timestamp(r.leaves) - unix_timestamp(s.since)) < 60",
                "r.leaves + INTERVAL '1' HOUR < r.leaves + (s.since - s.since)",
                "s.since BETWEEN r.leaves + INTERVAL '1' HOUR AND r.leaves",
            )
        )
    },
    # What calls say
    "late rows of rows in order": (
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id LATE ADJUST, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
        "use LATE SIDE or LATE DROP",
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id LATE DROP, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
    ),
    "early results of windows that are cut by events": (
        f"{counted(SESSION)} EMIT EARLY every_count(1) ACCUMULATE",
        "use EMIT EARLY ... RETRACT",
        f"{counted(SESSION)} EMIT EARLY every_count(1) RETRACT",
    ),
    "late rows of a join": (
        joined(SAME, left=R.replace("rides", "rides LATE CORRECT WITHIN INTERVAL '1' HOUR")),
        "use LATE SIDE and a longer delay",
        joined(SAME, left=R.replace("rides", "rides LATE SIDE")),
    ),
    "a clip of rows": (
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window CLIP FULL",
        "the rows of LAST(TABLE ..., 2) are points inside it",
        NO_SQL,
    ),
    "a unit of timestamps": (
        of_rides("'1' HOUR", "'1' HOUR, UNIT => 'ms'"),
        "so UNIT => 'ms' says nothing of them: leave it out",
        counted(TUMBLE),
    ),
    "a length without a unit": (
        of_rides("INTERVAL '1' HOUR", "5"),
        "for example INTERVAL '5' SECOND",
        of_rides("INTERVAL '1' HOUR", "INTERVAL '5' SECOND"),
    ),
    "a length of integers without a unit": (
        of_rides("rides, DESCRIPTOR(leaves)", "numbers, DESCRIPTOR(t)"),
        "as in UNIT => 'ms'",
        of_rides(
            "rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR", "numbers, DESCRIPTOR(t), INTERVAL '1' HOUR, UNIT => 'ms'"
        ),
    ),
    "timestamps that modules do not set": (
        f"{COUNTS} TIMESTAMPS UNCHANGED",
        "use TIMESTAMPS ALIGN or TIMESTAMPS POINT_AT_END",
        f"{COUNTS} TIMESTAMPS POINT_AT_END",
    ),
    "an order of maps": (
        "SELECT COUNT(*) AS n FROM LAST(TABLE (SELECT *, map(id, id) AS tags FROM rides) PARTITION BY station"
        " ORDER BY tags, DESCRIPTOR(leaves), 2) GROUP BY station, window",
        "ORDER BY tags is of type map<int,int>",
        NO_SQL,
    ),
    "too little reach": (
        f"SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM {TUMBLE} {ENDS}",
        "write: TUMBLE(TABLE ..., INTERVAL '1' HOUR, REACH => INTERVAL '1 minute 1 second')",
        "SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM "
        f"TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1 hour', REACH => INTERVAL '1 minute 1 second') {ENDS}",
    ),
    "rows without an order": (
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
        "name one that tells rows of one time apart, such as an offset: TABLE ... ORDER BY offset",
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
    ),
    "a sum of text": (
        within("COUNT(*)", "SUM(city)", COUNTS),
        "CAST(city AS double)",
        within("COUNT(*)", "SUM(CAST(id AS double))", COUNTS),
    ),
    "a clip that the module refuses": (
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP NONE",
        "it accepts CLIP FULL",
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP FULL",
    ),
    "an evaluator that cannot": (
        within("COUNT(*)", "stats.collect_list(km)", f"{COUNTS} EVALUATOR COLUMNAR"),
        "leave the choice open with EVALUATOR AUTO",
        within("COUNT(*)", "stats.collect_list(km)", f"{COUNTS} EVALUATOR AUTO"),
    ),
    "a join of what has no column": (
        joined("r.stationn = s.station"),
        "did you mean 'station'?",
        joined("r.station = s.station"),
    ),
    "a time that is text": (
        of_rides("leaves", "station"),
        "timestamp",
        of_rides(
            "TABLE rides, DESCRIPTOR(leaves)",
            "TABLE (SELECT *, CAST(leaves AS timestamp) AS t FROM rides), DESCRIPTOR(t)",
        ),
    ),
    "bounds of decimals": (
        joined(
            "s.d BETWEEN r.d - 1.5 AND r.d AND s.d > r.d - 1",
            left="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS r",
            right="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS s",
        ),
        "write s.d BETWEEN r.d - 2.5 AND r.d + 2.5",
        joined(
            "s.d BETWEEN r.d - 2.5 AND r.d + 2.5",
            left="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS r",
            right="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS s",
        ),
    ),
    "bounds of two kinds": (
        joined(f"{SAME} AND s.since BETWEEN r.leaves - 5 AND r.leaves + INTERVAL '1' HOUR"),
        "write both as intervals, or both as numbers",
        joined(f"{SAME} AND {NEAR}"),
    ),
}


_PYTHON: Final = re.compile(r"F\.\w+\(|\bevents\(|\b[a-z_]+=['\w\[]|\bquery\[")
"""What only Python has: PySpark's functions, arguments by name, and places in data."""

_MODULES: Final = (function("my.near", version="1.0.0")(near),)


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, Any]:
    return {
        "rides": spark.sql(_RIDES).localCheckpoint(),
        "stations": spark.sql(_STATIONS).localCheckpoint(),
        "numbers": spark.sql(_NUMBERS).localCheckpoint(),
    }


@pytest.mark.parametrize("name", list(CASES))
def test_what_a_message_says_to_write_is_a_query(spark: SparkSession, tables: dict[str, Any], name: str) -> None:
    wrong, advice, right = CASES[name]
    with pytest.raises(QueryError) as refused:
        sql(spark, wrong, modules=_MODULES, **tables)
    assert advice in str(refused.value), str(refused.value)
    without_text = "".join(line for line in str(refused.value).splitlines() if line.strip() not in wrong)
    assert _PYTHON.search(without_text.replace("modules=[...]", "")) is None, str(refused.value)
    if right != NO_SQL:
        sql(spark, right, modules=_MODULES, **tables).results()


def _places_of_errors() -> dict[tuple[str, int], str]:
    """Return the statements that raise errors of SQL, by file and line."""
    places: dict[tuple[str, int], str] = {}
    folder = Path(inspect.getfile(muntin_engine.sql_text)).parent
    for path in folder.glob("*.py"):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "error":
                places[path.name, node.lineno] = ast.get_source_segment(source, node) or ""
    return places


def test_each_place_that_raises_an_error_has_a_case(spark: SparkSession, tables: dict[str, Any]) -> None:
    missing = _places_of_errors()
    assert len(missing) > 80
    for wrong, _, _ in CASES.values():
        try:
            sql(spark, wrong, modules=_MODULES, **tables)
        except SqlError as error:
            traceback: Any = error.__traceback__
            while traceback is not None:
                file = Path(traceback.tb_frame.f_code.co_filename).name
                for place in list(missing):
                    last = place[1] + missing[place].count("\n")
                    if place[0] == file and place[1] <= traceback.tb_lineno <= last:
                        del missing[place]
                traceback = traceback.tb_next
    assert missing == {}
