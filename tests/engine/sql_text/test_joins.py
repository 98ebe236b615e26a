"""Joins in SQL have the rows that SQL says: those of Spark's own SQL over the same tables, and those of Flink's pages.

A temporal join is written in Spark with the time at which the next version of a key begins; an interval join is written
there as it is here.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from muntin_engine import sql
from muntin_engine.plan.plan_as_data import plan_to_data
from muntin_engine.sql_text.dialect import parse
from muntin_engine.sql_text.sql_source import SqlText

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Keys that are null on each side; versions of `a` that begin before, between and at the times of rides; a deletion;
# payments exactly 5 minutes before and after an order, and one a microsecond further.
_LEFT: Final = """
    SELECT id, k, timestamp(t) AS t, v, b FROM VALUES
        (1, 'a', '2024-05-01 08:00:00', 1, true),
        (2, 'a', '2024-05-01 08:05:00', 2, false),
        (3, 'a', '2024-05-01 08:30:00', CAST(NULL AS INT), true),
        (4, 'b', '2024-05-01 08:05:00', 4, CAST(NULL AS BOOLEAN)),
        (5, CAST(NULL AS STRING), '2024-05-01 08:05:00', 5, true),
        (6, 'c', '2024-05-01 08:07:00', 6, true)
    AS l (id, k, t, v, b)
"""
_RIGHT: Final = """
    SELECT id, k, timestamp(t) AS t, op, w FROM VALUES
        (1, 'a', '2024-05-01 07:00:00', 'set', 10),
        (2, 'a', '2024-05-01 08:00:00', 'set', CAST(NULL AS INT)),
        (3, 'a', '2024-05-01 08:05:00', 'delete', 30),
        (4, 'a', '2024-05-01 08:10:00.000001', 'set', 40),
        (5, 'b', '2024-05-01 08:00:00', CAST(NULL AS STRING), 3),
        (6, CAST(NULL AS STRING), '2024-05-01 08:05:00', 'set', 60),
        (7, 'b', '2024-05-01 08:10:00', 'set', 2)
    AS r (id, k, t, op, w)
"""

_NEAR: Final = "r.t BETWEEN l.t - INTERVAL '5' MINUTES AND l.t + INTERVAL '5' MINUTES"

# The text of a join has {left}, {right} and {match}, the part of ON that finds the rows of the other side. These
# stand for them in Muntin, which reads streams of events, and in Spark, which reads the tables l and r.
_INTERVAL_IN_MUNTIN: Final = {
    "left": "EVENTS(TABLE l, DESCRIPTOR(t)) AS l",
    "right": "EVENTS(TABLE r, DESCRIPTOR(t)) AS r",
    "match": f"l.k = r.k AND {_NEAR}",
}
_INTERVAL_IN_SPARK: Final = {"left": "l", "right": "r", "match": f"l.k = r.k AND {_NEAR}"}
_TEMPORAL_IN_MUNTIN: Final = {
    "left": "EVENTS(TABLE l, DESCRIPTOR(t)) AS l",
    "right": "EVENTS(TABLE r, DESCRIPTOR(t)) FOR SYSTEM_TIME AS OF l.t AS r",
    "match": "l.k = r.k",
}
_TEMPORAL_IN_SPARK: Final = {
    "left": "l",
    "right": "(SELECT *, lead(t, 1, timestamp'9999-01-01') OVER (PARTITION BY k ORDER BY t) AS until FROM r) AS r",
    "match": "l.k = r.k AND l.t >= r.t AND l.t < r.until",
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, Any]:
    return {"l": spark.sql(_LEFT).localCheckpoint(), "r": spark.sql(_RIGHT).localCheckpoint()}


def spark_rows(spark: SparkSession, text: str, tables: dict[str, Any]) -> Counter[tuple[object, ...]]:
    """Return how often each row is there among those that Spark's SQL gives over the tables."""
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    return Counter(map(tuple, spark.sql(text).collect()))


def muntin_rows(spark: SparkSession, text: str, tables: dict[str, Any]) -> Counter[tuple[object, ...]]:
    """Return how often each row is there among the results of Muntin over the tables."""
    return Counter(map(tuple, sql(spark, text, **tables).results().collect()))


def ids_of(kind: str) -> str:
    """Return the columns of SELECT that say which rows a join has: a semi and an anti join have the left row alone."""
    return "l.id, r.id AS other" if kind in ("JOIN", "LEFT JOIN") else "l.id"


_INTERVALS: Final = (
    _NEAR,
    "l.t BETWEEN r.t - INTERVAL '5' MINUTES AND r.t",
    "r.t >= l.t AND r.t < l.t + INTERVAL '5' MINUTES",
    "r.t > l.t AND r.t <= l.t + INTERVAL 5 MINUTES + INTERVAL '1' MICROSECOND",
    "l.t < r.t AND l.t > r.t - INTERVAL '5 minutes 2 microseconds'",
    "r.t + INTERVAL '5' MINUTES >= l.t AND l.t >= r.t",
    "r.t BETWEEN l.t - INTERVAL '2' HOURS AND l.t - INTERVAL '3' MINUTES",
    "r.t = l.t + INTERVAL '5' MINUTES",
    "r.t = l.t",
    f"{_NEAR} AND r.t > l.t - INTERVAL '4' MINUTES",
)


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("kind", "times"),
    [
        *(("LEFT JOIN", times) for times in _INTERVALS),
        *((kind, _INTERVALS[2]) for kind in ("JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")),
    ],
)
def test_an_interval_join_has_the_rows_of_sql(
    spark: SparkSession, tables: dict[str, Any], kind: str, times: str
) -> None:
    text = f"SELECT {ids_of(kind)} FROM {{left}} {kind} {{right}} ON l.k = r.k AND {times}"
    rows = muntin_rows(spark, text.format(**_INTERVAL_IN_MUNTIN), tables)
    assert rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
@pytest.mark.parametrize(
    "condition",
    ["r.op <> 'delete'", "NOT l.b", "l.v IN (1, 4) AND NOT r.op = 'set' AND TRUE"],
)
def test_a_condition_of_one_stream_in_on_has_the_meaning_of_sql(
    spark: SparkSession, tables: dict[str, Any], kind: str, condition: str
) -> None:
    text = f"SELECT {ids_of(kind)} FROM {{left}} {kind} {{right}} ON {{match}} AND {condition}"

    interval_rows = muntin_rows(spark, text.format(**_INTERVAL_IN_MUNTIN), tables)
    assert interval_rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)

    temporal_rows = muntin_rows(spark, text.format(**_TEMPORAL_IN_MUNTIN), tables)
    assert temporal_rows == spark_rows(spark, text.format(**_TEMPORAL_IN_SPARK), tables)


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize(
    "condition",
    [
        "r.op <> 'delete'",
        "r.id IS NULL",
        "r.w IS NULL",
        "r.w IS NULL AND NOT l.b",
        "l.v < r.w OR r.op = 'delete'",
        "NOT l.b AND CASE WHEN r.id > 2 THEN true END",
        "l.v + r.w > 12",
    ],
)
def test_where_over_a_join_has_the_meaning_of_sql(
    spark: SparkSession, tables: dict[str, Any], kind: str, condition: str
) -> None:
    text = f"SELECT l.id, r.op, l.v + r.w AS total FROM {{left}} {kind} {{right}} ON {{match}} WHERE {condition}"

    interval_rows = muntin_rows(spark, text.format(**_INTERVAL_IN_MUNTIN), tables)
    assert interval_rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)

    temporal_rows = muntin_rows(spark, text.format(**_TEMPORAL_IN_MUNTIN), tables)
    assert temporal_rows == spark_rows(spark, text.format(**_TEMPORAL_IN_SPARK), tables)


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
@pytest.mark.parametrize(
    "condition", ["r.t > l.t - INTERVAL '30' MINUTES", "l.v < r.w", "r.t < l.t AND NOT r.op = 'delete'"]
)
def test_a_temporal_join_may_compare_the_version_with_the_left_row(
    spark: SparkSession, tables: dict[str, Any], kind: str, condition: str
) -> None:
    columns = "l.id, l.v * r.w AS price, r.op" if kind in ("JOIN", "LEFT JOIN") else "l.id"
    text = f"SELECT {columns} FROM {{left}} {kind} {{right}} ON {{match}} AND {condition}"
    rows = muntin_rows(spark, text.format(**_TEMPORAL_IN_MUNTIN), tables)
    assert rows == spark_rows(spark, text.format(**_TEMPORAL_IN_SPARK), tables)


def test_a_join_may_show_keys_alone(spark: SparkSession, tables: dict[str, Any]) -> None:
    for kind in ("JOIN", "LEFT JOIN", "LEFT ANTI JOIN"):
        text = f"SELECT l.k FROM {{left}} {kind} {{right}} ON {{match}}"
        rows = muntin_rows(spark, text.format(**_INTERVAL_IN_MUNTIN), tables)
        assert rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)


def test_a_comma_and_where_are_a_join_as_on_flinks_page(spark: SparkSession, tables: dict[str, Any]) -> None:
    text = (
        "SELECT l.id, r.id AS other FROM {left}, {right} "
        "WHERE l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '4' HOUR"
    )
    rows = muntin_rows(spark, text.format(**_INTERVAL_IN_MUNTIN), tables)
    assert rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)


def test_bounds_of_numbers_count_in_the_numbers_of_the_times(spark: SparkSession) -> None:
    tables = {
        "l": spark.sql("SELECT * FROM VALUES (0L, 1), (10L, 2) AS l (t, id)"),
        "r": spark.sql("SELECT * FROM VALUES (3L, 1), (5L, 2), (6L, 3), (10L, 4) AS r (t, id)"),
    }
    for times in ("r.t BETWEEN l.t AND l.t + 5", "r.t >= l.t AND r.t < l.t + 6", "l.t > r.t - 6 AND l.t <= r.t"):
        text = f"SELECT l.id, r.id AS other FROM {{left}} LEFT JOIN {{right}} ON {times}"
        rows = muntin_rows(spark, text.format(**_INTERVAL_IN_MUNTIN), tables)
        assert rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)


def test_a_join_of_streams_has_the_rows_of_the_join_of_their_tables(
    spark: SparkSession, tables: dict[str, Any], tmp_path: Path
) -> None:
    text = (
        "SELECT l.id, r.id AS other FROM {left} LEFT JOIN {right} ON {match} AND r.op <> 'delete' AND l.v < 5"
        " WHERE r.id IS NULL OR l.v < r.w"
    )
    streams: dict[str, Any] = {}
    for name, table in tables.items():
        table.write.parquet(str(tmp_path / name))
        streams[name] = spark.readStream.schema(table.schema).parquet(str(tmp_path / name))

    # A join of streams needs their watermarks.
    delayed_sides = {
        "left": "EVENTS(TABLE l WATERMARK DELAY OF INTERVAL '1' HOUR, DESCRIPTOR(t)) AS l",
        "right": "EVENTS(TABLE r WATERMARK DELAY OF INTERVAL '1' HOUR, DESCRIPTOR(t)) AS r",
    }
    query = sql(spark, text.format(**_INTERVAL_IN_MUNTIN | delayed_sides), **streams)
    results = str(tmp_path / "results")
    running = query.write(checkpoint=str(tmp_path / "checkpoint"), results=results, available_now=True, on_end="close")
    running.awaitTermination()

    rows = Counter(map(tuple, spark.read.parquet(results).select("id", "other").collect()))
    assert rows == spark_rows(spark, text.format(**_INTERVAL_IN_SPARK), tables)
    assert rows


def test_flinks_temporal_join_has_the_results_that_its_page_prints(spark: SparkSession) -> None:
    orders = spark.sql("""
        SELECT order_id, price, currency, timestamp(concat('2024-05-01 ', at)) AS order_time FROM VALUES
            ('o_001', 11.11, 'EUR', '12:00:00'), ('o_002', 12.51, 'EUR', '12:06:00')
        AS orders (order_id, price, currency, at)
    """)
    rates = spark.sql("""
        SELECT timestamp(concat('2024-05-01 ', at)) AS update_time, currency, conversion_rate FROM VALUES
            ('09:00:00', 'Yen', 102.0), ('11:15:00', 'EUR', 1.14), ('11:49:00', 'Pounds', 1.08),
            ('12:05:00', 'EUR', 1.10)
        AS rates (at, currency, conversion_rate)
    """)
    text = """
        SELECT orders.order_id, orders.price, orders.currency, currency_rates.conversion_rate
        FROM EVENTS(TABLE orders, DESCRIPTOR(order_time)) AS orders
        LEFT JOIN EVENTS(TABLE rates, DESCRIPTOR(update_time)) FOR SYSTEM_TIME AS OF orders.order_time
            AS currency_rates
        ON orders.currency = currency_rates.currency
    """
    rows = sql(spark, text, orders=orders, rates=rates).results().collect()
    results = [(row.order_id, float(row.price), row.currency, float(row.conversion_rate)) for row in rows]
    assert sorted(results) == [
        ("o_001", 11.11, "EUR", 1.14),
        ("o_002", 12.51, "EUR", 1.10),
    ]


@pytest.mark.parametrize(
    ("kind", "columns", "printed"),
    # printed: the start and the end of the window, the left row, the right row
    [
        ("JOIN", "L.id AS L_Id, R.id AS R_Id", [("12:00", "12:05", "L3", "R3")]),
        (
            "LEFT JOIN",
            "L.id AS L_Id, R.id AS R_Id",
            [("12:00", "12:05", "L1", None), ("12:00", "12:05", "L3", "R3"), ("12:05", "12:10", "L2", None)],
        ),
        ("LEFT SEMI JOIN", "L.id AS L_Id", [("12:00", "12:05", "L3")]),
        ("LEFT ANTI JOIN", "L.id AS L_Id", [("12:00", "12:05", "L1"), ("12:05", "12:10", "L2")]),
    ],
)
def test_flinks_window_join_has_the_results_that_its_page_prints(
    spark: SparkSession, kind: str, columns: str, printed: list[tuple[str | None, ...]]
) -> None:
    rows = "SELECT timestamp(concat('2020-04-15 ', at)) AS row_time, num, id FROM VALUES {} AS t (at, num, id)"
    left = spark.sql(rows.format("('12:02', 1, 'L1'), ('12:06', 2, 'L2'), ('12:03', 3, 'L3')"))
    right = spark.sql(rows.format("('12:01', 2, 'R2'), ('12:04', 3, 'R3'), ('12:05', 4, 'R4')"))
    windows = "(SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(row_time), INTERVAL '5' MINUTES)))"
    text = f"""
        SELECT L.window_start, L.window_end, {columns} FROM {windows.format("LeftTable")} L
        {kind} {windows.format("RightTable")} R
        ON L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end
    """
    results = sql(spark, text, LeftTable=left, RightTable=right).results().collect()
    shown: list[tuple[str | None, ...]] = []
    for start, end, *ids in results:
        shown.append((f"{start:%H:%M}", f"{end:%H:%M}", *ids))
    assert sorted(shown, key=str) == printed


@pytest.mark.parametrize(
    "condition",
    [
        *("l.x IS NULL", "l.x IS NOT NULL", "NOT l.b", "l.x NOT IN (1, 2)", "CASE WHEN l.b THEN 1 END = 1", "-l.x > 3"),
        *("l.t > l.u - INTERVAL '30' MINUTES", "NOT (l.x > 1 OR l.y)", "NOT l.x IN (1)", "l.x IS TRUE", "TRUE"),
        *("l.x LIKE 'a%' ESCAPE '/'", "l.x::int = 1", "EXISTS(l.x, x -> x > 1)", "l.d = DATE '2024-01-01'"),
    ],
)
def test_an_operand_of_and_is_cut_out_of_the_text_with_all_its_words(condition: str) -> None:
    text = f"SELECT 1 FROM EVENTS(TABLE o, DESCRIPTOR(t)) AS l WHERE {condition} AND {condition}"
    conjunction = parse(text).args["where"].this
    assert SqlText(text).edited(conjunction.this, []) == condition
    assert SqlText(text).edited(conjunction.expression, []) == condition


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("SELECT l.id, r.id AS other FROM {left} JOIN {right} ON {match}", _INTERVAL_IN_MUNTIN),
        (
            "SELECT l.id, r.id AS other FROM {left} LEFT JOIN {right} ON {match} AND l.v > 1 AND r.w > 1",
            _INTERVAL_IN_MUNTIN,
        ),
        ("SELECT l.id FROM {left} LEFT JOIN {right} ON {match} WHERE r.op <> 'delete'", _TEMPORAL_IN_MUNTIN),
        (
            "SELECT l.id, l.v * r.w AS price FROM {left} LEFT JOIN {right} ON l.k = r.k WHERE l.v < r.w OR r.w IS NULL",
            _INTERVAL_IN_MUNTIN,
        ),
    ],
)
def test_the_text_of_a_join_is_the_same_query_again(
    spark: SparkSession, tables: dict[str, Any], text: str, sides: dict[str, str]
) -> None:
    query = sql(spark, text.format(**sides), **tables)
    written_text = query.to_sql(**tables)
    reread_query = sql(spark, written_text, **tables)

    assert plan_to_data(reread_query.plan) == plan_to_data(query.plan), written_text
    rows = Counter(map(tuple, query.results().collect()))
    assert Counter(map(tuple, reread_query.results().collect())) == rows, written_text
