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
_L: Final = "EVENTS(TABLE l, DESCRIPTOR(t)) AS l"
_R: Final = "EVENTS(TABLE r, DESCRIPTOR(t)) AS r"
_VERSIONS: Final = "EVENTS(TABLE r, DESCRIPTOR(t)) FOR SYSTEM_TIME AS OF l.t AS r"
_HOLDS: Final = "(SELECT *, lead(t, 1, timestamp'9999-01-01') OVER (PARTITION BY k ORDER BY t) AS until FROM r) AS r"
_WHILE: Final = "l.k = r.k AND l.t >= r.t AND l.t < r.until"
_NEAR: Final = "r.t BETWEEN l.t - INTERVAL '5' MINUTES AND l.t + INTERVAL '5' MINUTES"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, Any]:
    return {"l": spark.sql(_LEFT).localCheckpoint(), "r": spark.sql(_RIGHT).localCheckpoint()}


def spark_rows(spark: SparkSession, text: str, tables: dict[str, Any]) -> Counter[tuple[object, ...]]:
    """Return the rows that Spark's SQL gives, where `l` and `r` are tables."""
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    return Counter(map(tuple, spark.sql(text).collect()))


def muntin_rows(spark: SparkSession, text: str, tables: dict[str, Any]) -> Counter[tuple[object, ...]]:
    return Counter(map(tuple, sql(spark, text, **tables).results().collect()))


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
    columns = "l.id, r.id AS other" if kind in ("JOIN", "LEFT JOIN") else "l.id"
    text = f"SELECT {columns} FROM {{}} {kind} {{}} ON l.k = r.k AND {times}"
    assert muntin_rows(spark, text.format(_L, _R), tables) == spark_rows(spark, text.format("l", "r"), tables)


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
@pytest.mark.parametrize(
    "condition",
    ["r.op <> 'delete'", "NOT l.b", "l.v IN (1, 4) AND NOT r.op = 'set' AND TRUE"],
)
def test_a_condition_of_one_stream_in_on_has_the_meaning_of_sql(
    spark: SparkSession, tables: dict[str, Any], kind: str, condition: str
) -> None:
    columns = "l.id, r.id AS other" if kind in ("JOIN", "LEFT JOIN") else "l.id"
    text = f"SELECT {columns} FROM {{}} {kind} {{}} ON l.k = r.k AND {condition} AND {{}}"
    near = muntin_rows(spark, text.format(_L, _R, _NEAR), tables)
    assert near == spark_rows(spark, text.format("l", "r", _NEAR), tables)
    versions = muntin_rows(spark, text.format(_L, _VERSIONS, "TRUE"), tables)
    assert versions == spark_rows(spark, text.format("l", _HOLDS, _WHILE), tables)


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
def test_where_has_the_meaning_of_sql(spark: SparkSession, tables: dict[str, Any], kind: str, condition: str) -> None:
    text = f"SELECT l.id, r.op, l.v + r.w AS total FROM {{}} {kind} {{}} ON l.k = r.k{{}} WHERE {condition}"
    near = muntin_rows(spark, text.format(_L, _R, f" AND {_NEAR}"), tables)
    assert near == spark_rows(spark, text.format("l", "r", f" AND {_NEAR}"), tables)
    versions = muntin_rows(spark, text.format(_L, _VERSIONS, ""), tables)
    assert versions == spark_rows(spark, text.format("l", _HOLDS, _WHILE.removeprefix("l.k = r.k")), tables)


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
@pytest.mark.parametrize(
    "condition", ["r.t > l.t - INTERVAL '30' MINUTES", "l.v < r.w", "r.t < l.t AND NOT r.op = 'delete'"]
)
def test_the_version_that_was_valid_then_may_have_conditions_with_the_left_row(
    spark: SparkSession, tables: dict[str, Any], kind: str, condition: str
) -> None:
    columns = "l.id, l.v * r.w AS price, r.op" if kind in ("JOIN", "LEFT JOIN") else "l.id"
    text = f"SELECT {columns} FROM {{}} {kind} {{}} ON {{}} AND {condition}"
    assert muntin_rows(spark, text.format(_L, _VERSIONS, "l.k = r.k"), tables) == spark_rows(
        spark, text.format("l", _HOLDS, _WHILE), tables
    )


def test_a_join_may_show_keys_alone(spark: SparkSession, tables: dict[str, Any]) -> None:
    for kind in ("JOIN", "LEFT JOIN", "LEFT ANTI JOIN"):
        text = f"SELECT l.k FROM {{}} {kind} {{}} ON l.k = r.k AND {_NEAR}"
        assert muntin_rows(spark, text.format(_L, _R), tables) == spark_rows(spark, text.format("l", "r"), tables)


def test_a_comma_and_where_are_a_join_as_on_flinks_page(spark: SparkSession, tables: dict[str, Any]) -> None:
    text = "SELECT l.id, r.id AS other FROM {}, {} WHERE l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '4' HOUR"
    assert muntin_rows(spark, text.format(_L, _R), tables) == spark_rows(spark, text.format("l", "r"), tables)


def test_bounds_of_numbers_count_in_the_numbers_of_the_times(spark: SparkSession) -> None:
    tables = {
        "l": spark.sql("SELECT * FROM VALUES (0L, 1), (10L, 2) AS l (t, id)"),
        "r": spark.sql("SELECT * FROM VALUES (3L, 1), (5L, 2), (6L, 3), (10L, 4) AS r (t, id)"),
    }
    for times in ("r.t BETWEEN l.t AND l.t + 5", "r.t >= l.t AND r.t < l.t + 6", "l.t > r.t - 6 AND l.t <= r.t"):
        text = f"SELECT l.id, r.id AS other FROM {{}} LEFT JOIN {{}} ON {times}"
        assert muntin_rows(spark, text.format(_L, _R), tables) == spark_rows(spark, text.format("l", "r"), tables)


def test_a_stream_gives_the_rows_of_the_table(spark: SparkSession, tables: dict[str, Any], tmp_path: Path) -> None:
    text = (
        f"SELECT l.id, r.id AS other FROM {_L} LEFT JOIN {_R} ON l.k = r.k AND r.op <> 'delete' AND l.v < 5 AND {_NEAR}"
        " WHERE r.id IS NULL OR l.v < r.w"
    )
    streams: dict[str, Any] = {}
    for name, table in tables.items():
        table.write.parquet(str(tmp_path / name))
        streams[name] = spark.readStream.schema(table.schema).parquet(str(tmp_path / name))
    delayed = text
    for name in ("l", "r"):
        delayed = delayed.replace(f"TABLE {name},", f"TABLE {name} WATERMARK DELAY OF INTERVAL '1' HOUR,")
    query = sql(spark, delayed, **streams)
    results = str(tmp_path / "results")
    running = query.write(checkpoint=str(tmp_path / "checkpoint"), results=results, available_now=True, on_end="close")
    running.awaitTermination()
    rows = Counter(map(tuple, spark.read.parquet(results).select("id", "other").collect()))
    plain = text.replace(_L, "l").replace(_R, "r")
    assert rows == spark_rows(spark, plain, tables)
    assert rows


def test_flinks_temporal_join_of_its_page(spark: SparkSession) -> None:
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
    assert sorted((row[0], float(row[1]), row[2], float(row[3])) for row in rows) == [
        ("o_001", 11.11, "EUR", 1.14),
        ("o_002", 12.51, "EUR", 1.10),
    ]


@pytest.mark.parametrize(
    ("kind", "columns", "printed"),
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
def test_flinks_window_join_of_its_page(
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
    shown = [(f"{row[0]:%H:%M}", f"{row[1]:%H:%M}", *row[2:]) for row in results]
    assert sorted(shown, key=str) == printed


@pytest.mark.parametrize(
    "condition",
    [
        *("l.x IS NULL", "l.x IS NOT NULL", "NOT l.b", "l.x NOT IN (1, 2)", "CASE WHEN l.b THEN 1 END = 1", "-l.x > 3"),
        *("l.t > l.u - INTERVAL '30' MINUTES", "NOT (l.x > 1 OR l.y)", "NOT l.x IN (1)", "l.x IS TRUE", "TRUE"),
        *("l.x LIKE 'a%' ESCAPE '/'", "l.x::int = 1", "EXISTS(l.x, x -> x > 1)", "l.d = DATE '2024-01-01'"),
    ],
)
def test_an_operand_of_and_keeps_all_its_words(condition: str) -> None:
    text = f"SELECT 1 FROM EVENTS(TABLE o, DESCRIPTOR(t)) AS l WHERE {condition} AND {condition}"
    where = parse(text).args["where"].this
    assert [SqlText(text).edited(part, []) for part in (where.this, where.expression)] == [condition, condition]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT l.id, r.id AS other FROM {_L} JOIN {_R} ON l.k = r.k AND {_NEAR}",
        f"SELECT l.id, r.id AS other FROM {_L} LEFT JOIN {_R} ON l.k = r.k AND l.v > 1 AND r.w > 1 AND {_NEAR}",
        f"SELECT l.id FROM {_L} LEFT JOIN {_VERSIONS} ON l.k = r.k WHERE r.op <> 'delete'",
        f"SELECT l.id, l.v * r.w AS price FROM {_L} LEFT JOIN {_R} ON l.k = r.k WHERE l.v < r.w OR r.w IS NULL",
    ],
)
def test_such_a_join_goes_through_its_text(spark: SparkSession, tables: dict[str, Any], text: str) -> None:
    query = sql(spark, text, **tables)
    round_trip = query.to_sql(**tables)
    again = sql(spark, round_trip, **tables)
    assert plan_to_data(again.plan) == plan_to_data(query.plan), round_trip
    assert Counter(map(tuple, again.results().collect())) == Counter(map(tuple, query.results().collect())), round_trip
