"""Expressions of Spark's SQL in DuckDB: the same values and types, or a refusal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb
import pyarrow as pa
import pytest

from muntin.errors import QueryError
from muntin_engine.backends.local.expressions.translation import translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

COLUMNS: Final = pa.schema(
    [
        ("a", pa.int32()),
        ("b", pa.int64()),
        ("y", pa.int8()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.string()),
        ("n", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
        ("m", pa.decimal128(10, 2)),
        ("k", pa.bool_()),
        ("p", pa.struct([("lat", pa.float64())])),
    ]
)

ROW: Final = {
    "a": 7,
    "b": -5,
    "y": 100,
    "d": 2.5,
    "f": None,
    "s": "Abc",
    "n": " 42 ",
    "t": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    "m": Decimal("1.25"),
    "k": None,
    "p": {"lat": 48.1},
}


def computed(text: str, rows: Sequence[dict[str, Any]]) -> pa.ChunkedArray:
    """Return the values of an expression, of the type that its translation says."""
    expression = translated(text, COLUMNS)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    relation = connection.from_arrow(pa.Table.from_pylist(list(rows), COLUMNS))
    values = relation.project(f"{expression.sql} AS x").to_arrow_table().column(0)
    return values.cast(expression.type)


@pytest.mark.parametrize(
    ("text", "value", "data_type"),
    [
        ("a + 1", 8, pa.int32()),
        ("a + b", 2, pa.int64()),
        ("a / 2", 3.5, pa.float64()),
        ("a div 2", 3, pa.int64()),
        ("b % 3", -2, pa.int64()),
        ("-a", -7, pa.int32()),
        ("2.50 * m", Decimal("3.1250"), pa.decimal128(14, 4)),
        ("cast(d as int)", 2, pa.int32()),
        ("cast(n as int)", 42, pa.int32()),
        ("cast(-2.9 as int)", -2, pa.int32()),
        ("f + 1", None, pa.float64()),
        ("upper(s) || 'x'", "ABCx", pa.string()),
        ("concat(s, n)", "Abc 42 ", pa.string()),
        ("length(s)", 3, pa.int32()),
        ("k AND a > 10", False, pa.bool_()),
        ("k OR a > 10", None, pa.bool_()),
        ("k <=> NULL", True, pa.bool_()),
        ("t >= '2024-01-02'", True, pa.bool_()),
        ("a BETWEEN 7 AND 9", True, pa.bool_()),
        ("s IN ('Abc', 'x')", True, pa.bool_()),
        ("coalesce(f, d)", 2.5, pa.float64()),
        ("if(a > 1, b, 0)", -5, pa.int64()),
        ("case when a > 9 then 'big' else 'small' end", "small", pa.string()),
        ("p.lat", 48.1, pa.float64()),
        ("A", 7, pa.int32()),
    ],
)
def test_an_expression_has_the_value_and_type_of_spark(text: str, value: object, data_type: pa.DataType) -> None:
    values = computed(text, [ROW])
    assert values.type == data_type
    assert values.to_pylist() == [value]


@pytest.mark.parametrize("text", ["a div 0", "a % 0", "cast(s as int)", "cast(a + 2147483647 as int)", "-y - y - y"])
def test_what_raises_on_spark_raises(text: str) -> None:
    with pytest.raises(duckdb.Error):
        computed(text, [ROW])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "cannot be read as an expression in SQL"),
        ("nothing + 1", "'nothing', in 'nothing \\+ 1' is not a column of the input"),
        ("p.lon", "has no field 'lon'\n  it has lat"),
        ("uuid()", "not known to mean the same without Spark\n  compute the column before"),
        ("a + s", "takes int and string, and is not known to mean the same"),
        ("m / 3", "divides decimals"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text, COLUMNS)


class Drawing:
    """Draws expressions and the rows that they read."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def row(self) -> dict[str, Any]:
        """Draw a row, with nulls."""
        minutes = timedelta(minutes=self._random.randrange(3_000))
        values: dict[str, Any] = {
            "a": self._one_of([0, 1, -1, 2, 7, -5, 100]),
            "b": self._one_of([0, 1, -1, 2, 7, -5, 100]),
            "y": self._one_of([0, 1, -1, 2, 7, -5, 100]),
            "d": self._one_of([0.0, 1.5, -2.5, 0.1, 3.75, 1e10, math.nan, math.inf]),
            "f": self._one_of([0.0, 1.5, -2.5, 3.75]),
            "s": self._one_of(["", "a", "abc", "B", " x "]),
            "n": self._one_of(["1", "-7", " 42 ", "0"]),
            "t": datetime(2024, 1, 1, tzinfo=UTC) + minutes,
            "m": Decimal(self._random.randrange(-500, 500)) / 100,
            "k": self._random.random() < 0.5,
        }
        return {name: None if self._random.random() < 0.15 else value for name, value in values.items()}

    def expression(self) -> str:
        """Draw an expression of any type."""
        draw = self._one_of([self.number, self.text, self.condition])
        return draw(3)

    def number(self, depth: int) -> str:
        """Draw a number."""
        if depth == 0 or self._random.random() < 0.3:
            return self._one_of(["a", "b", "y", "d", "f", "m", "1", "2.5", "3", "1e2", "-4", "0.10"])
        left = self.number(depth - 1)
        right = self.number(depth - 1)
        condition = self.condition(depth - 1)
        return self._one_of(
            [
                f"({left} {self._one_of(['+', '-', '*', '/', '%', 'div'])} {right})",
                f"-{left}",
                f"cast({left} as {self._one_of(['int', 'bigint', 'double', 'decimal(12,3)', 'smallint', 'float'])})",
                f"{self._one_of(['coalesce', 'greatest', 'least', 'nullif'])}({left}, {right})",
                f"if({condition}, {left}, {right})",
                f"case when {condition} then {left} end",
                f"{self._one_of(['abs', 'ceil', 'floor', 'sqrt'])}({left})",
                f"cast(n as {self._one_of(['int', 'double', 'decimal(10,2)'])})",
                f"length({self.text(depth - 1)})",
            ]
        )

    def text(self, depth: int) -> str:
        """Draw text."""
        if depth == 0 or self._random.random() < 0.4:
            return self._one_of(["s", "n", "'a'", "'its'"])
        left = self.text(depth - 1)
        right = self.text(depth - 1)
        return self._one_of(
            [
                f"{self._one_of(['upper', 'lower'])}({left})",
                f"({left} || {right})",
                f"concat({left}, {right})",
                f"cast({self._one_of(['a', 'b', 'm', 'k'])} as string)",
                f"if({self.condition(depth - 1)}, {left}, {right})",
            ]
        )

    def condition(self, depth: int) -> str:
        """Draw a condition."""
        if depth == 0 or self._random.random() < 0.15:
            return self._one_of(["k", "a > 1", "d is null", "s is not null", "t >= '2024-01-02'", "isnan(d)"])
        left = self.number(depth - 1)
        right = self.number(depth - 1)
        condition = self.condition(depth - 1)
        return self._one_of(
            [
                f"{left} {self._one_of(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {right}",
                f"{self.text(depth - 1)} {self._one_of(['=', '<', '<=>'])} {self.text(depth - 1)}",
                f"({condition} {self._one_of(['and', 'or'])} {self.condition(depth - 1)})",
                f"not {condition}",
                f"{left} in ({self.number(0)}, {self.number(0)})",
                f"{left} between {self.number(0)} and {self.number(0)}",
                f"{self._one_of(['startswith', 'contains', 'endswith'])}({self.text(depth - 1)}, {self.text(0)})",
                f"({left}) is null",
            ]
        )

    def _one_of(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)


def is_same(value: object, other: object) -> bool:
    if isinstance(value, float) and isinstance(other, float) and value != other:
        return (math.isnan(value) and math.isnan(other)) or abs(value - other) <= 1e-12 * abs(value)
    return type(value) is type(other) and value == other


def on_spark(df: DataFrame, text: str) -> pa.ChunkedArray | None:
    """Return the values that Spark computes; None if it raises."""
    from pyspark.errors import PySparkException

    try:
        return df.selectExpr(f"{text} AS x").toArrow().column(0)
    except PySparkException:
        return None


@pytest.mark.nightly
def test_random_expressions_mean_what_they_mean_on_spark(spark: SparkSession) -> None:
    seed = 7
    print("seed", seed)
    drawing = Drawing(seed)
    rows = [drawing.row() for _ in range(12)]
    df = spark.createDataFrame(pa.Table.from_pylist(rows, COLUMNS))
    compared = 0
    for _ in range(200):
        text = drawing.expression()
        try:
            translated(text, COLUMNS)
        except QueryError:
            continue
        expected = on_spark(df, text)
        if expected is None:
            with pytest.raises(duckdb.Error):
                computed(text, rows)
            continue
        values = computed(text, rows)
        assert values.type == expected.type, text
        different = [
            (value, other)
            for value, other in zip(values.to_pylist(), expected.to_pylist(), strict=True)
            if not is_same(value, other)
        ]
        assert different == [], text
        compared += 1
    assert compared > 50
