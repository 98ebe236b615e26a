"""Expressions of Spark's SQL in DuckDB: the same values and types, or a refusal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import spelled
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.expressions.translator import SchemaScope, Translator

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
        ("n", pa.string()),  # text, most of which can be cast to a number
        ("t", pa.timestamp("us", "UTC")),
        ("m", pa.decimal128(10, 2)),
        ("k", pa.bool_()),
        ("p", pa.struct([("lat", pa.float64())])),
        ("u", pa.timestamp("us", "UTC")),
        ("c", pa.timestamp("us")),  # a time on a clock, in no zone
        ("day", pa.date32()),
        ("e", pa.duration("us")),
        ("xs", pa.list_(pa.int32())),
        ("w", pa.map_(pa.string(), pa.int32())),
    ]
)
"""The columns that all expressions read."""

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
    "u": datetime(2024, 1, 1, 23, 59, 59, tzinfo=UTC),
    "c": datetime(2024, 1, 2, 3, 4, 5),  # noqa: DTZ001  # a time on a clock
    "day": date(2024, 2, 29),
    "e": timedelta(minutes=90),
    "xs": [4, None, 6],
    "w": [("a", 1)],
}
"""The row of the examples, which has values of every day."""

HOSTILE: Final[dict[str, list[Any]]] = {
    "a": [0, 1, -1, 2**31 - 1, -(2**31), None, 7, 3],
    "b": [5, -5, 0, 2**63 - 1, -(2**63), None, 1, 2],
    "y": [127, -128, 0, 1, None, 3, -3, 2],
    "d": [0.0, -0.0, 1.005, math.nan, math.inf, None, -1e300, 2.5],
    "f": [0.5, None, -2.5, 1e10, math.nan, 3.75, -math.inf, -0.0],
    "s": ["", "abc", " x ", "Größe ß", "a\nb", None, "x,y,,", "🦆 duck"],
    "n": ["1", " -7 ", "x", "true", "2024-05-01", "1e3", None, "3.5"],
    "t": [
        datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        None,
        datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
        datetime(1900, 3, 1, 0, 0, 1, tzinfo=UTC),
        datetime(2023, 1, 1, tzinfo=UTC),
    ],
    "m": [*map(Decimal, ("1.25", "-1.25", "0", "99999999.99", "-99999999.99", "2.50", "0.05")), None],
    "k": [True, False, None, True, False, None, True, False],
    "p": [{"lat": 1.5}, None, {"lat": None}, *[{"lat": 2.0}] * 5],
    "e": [
        *(timedelta(0), timedelta(minutes=90), timedelta(seconds=-1), timedelta(days=400, microseconds=7), None),
        *(timedelta(microseconds=-1), timedelta(hours=5), timedelta(days=-3)),
    ],
    "xs": [[1, 2, 3], [], None, [None, 5], [7], [1, 1], [2**31 - 1], [0]],
    "w": [[("a", 1)], [], None, [("b", None), ("a", 2)]] * 2,
}
"""Values of columns where rules go wrong: nulls, NaN, the first and the last numbers, old times, other alphabets."""

HOSTILE["u"] = HOSTILE["t"][::-1]
HOSTILE["c"] = [time and time.replace(tzinfo=None) for time in HOSTILE["t"]]
HOSTILE["day"] = [time and time.date() for time in HOSTILE["t"]]


def hostile_rows() -> list[dict[str, Any]]:
    """Return eight rows, each with the hostile values of one place in all columns."""
    return [{name: values[place] for name, values in HOSTILE.items()} for place in range(8)]


def computed(text: str, rows: Sequence[dict[str, Any]]) -> pa.ChunkedArray:
    """Translate an expression, and return the values that DuckDB computes for rows, in the type of the translation.

    Raises:
        QueryError: The expression has no translation.
        duckdb.Error: It cannot be computed for one of the rows.
    """
    expression = translated(text, COLUMNS)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    frame = connection.from_arrow(pa.Table.from_pylist(list(rows), COLUMNS))
    # Translated expressions have lengths of time as microseconds: DuckDB's intervals have months.
    columns = [name if name != "e" else "epoch_us(e) AS e" for name in COLUMNS.names]
    relation = frame.project(", ".join(columns))
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
        ("try_cast(s as int)", None, pa.int32()),
        ("e * 2", timedelta(hours=3), pa.duration("us")),
        ("a * INTERVAL '1' MINUTE", timedelta(minutes=7), pa.duration("us")),
        ("t + e", datetime(2024, 1, 2, 4, 34, 5, tzinfo=UTC), pa.timestamp("us", "UTC")),
        ("t - u", timedelta(hours=3, minutes=4, seconds=6), pa.duration("us")),
        ("date_trunc('hour', t)", datetime(2024, 1, 2, 3, tzinfo=UTC), pa.timestamp("us", "UTC")),
        ("year(day)", 2024, pa.int32()),
        ("xs[2]", 6, pa.int32()),
        ("element_at(w, 'a')", 1, pa.int32()),
        ("greatest(a, b)", 7, pa.int64()),
        ("least(d, 20D, NULL)", 2.5, pa.float64()),
        ("concat_ws('-', s, n)", "Abc- 42 ", pa.string()),
        ("unix_timestamp(t)", 1_704_164_645, pa.int64()),
        ("date_add(day, a)", date(2024, 3, 7), pa.date32()),
        ("date_sub(day, 1)", date(2024, 2, 28), pa.date32()),
        ("array_sort(xs)", [4, 6, None], pa.list_(pa.int32())),
        (
            "map_entries(w)",
            [{"key": "a", "value": 1}],
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())])),
        ),
        ("element_at(xs, -3)", 4, pa.int32()),
        ("w['b']", None, pa.int32()),
        ("named_struct('x', a).x", 7, pa.int32()),
        ("array_contains(xs, 5)", None, pa.bool_()),
        ("substring(s, -2)", "bc", pa.string()),
        ("round(2.675D, 2)", 2.68, pa.float64()),
        ("log10(1000)", 3.0, pa.float64()),
        ("log(10, 1000)", 2.9999999999999996, pa.float64()),  # a quotient of logarithms
        ("s rlike '^A.c$'", True, pa.bool_()),
        ("s like '_b%'", True, pa.bool_()),
        ("s not like '_b%'", False, pa.bool_()),
        ("concat('🦆 ', s) like '%🦆_A%'", True, pa.bool_()),
        ("'50%' like '50!%' escape '!'", True, pa.bool_()),
        ("'50x' not like '50!%' escape '!'", True, pa.bool_()),
        ("to_date('01.05.2024', 'dd.MM.yyyy')", date(2024, 5, 1), pa.date32()),
        ("to_date('05/01/2024', 'MM/dd/yyyy')", date(2024, 5, 1), pa.date32()),
        ("to_date('20240501', 'yyyyMMdd')", date(2024, 5, 1), pa.date32()),
        ("'it''s'", "it's", pa.string()),
        ("-2147483648", -(2**31), pa.int32()),
        ("-128Y", -128, pa.int8()),
        ("-9223372036854775808L", -(2**63), pa.int64()),
        ("m * -3", Decimal("-3.75"), pa.decimal128(12, 2)),
        ("m * (100L)", Decimal("125.00"), pa.decimal128(14, 2)),
        ("m * +3", Decimal("3.75"), pa.decimal128(21, 2)),
        ("m * -(3)", Decimal("-3.75"), pa.decimal128(21, 2)),
        ("m * cast(3 as bigint)", Decimal("3.75"), pa.decimal128(31, 2)),
        ("xs[NULL]", None, pa.int32()),
        ("get(xs, NULL)", None, pa.int32()),
        ("substr('a', -2147483648)", "", pa.string()),
        ("upper('straße')", "STRASSE", pa.string()),
    ],
)
def test_an_expression_has_the_value_and_type_that_it_has_on_spark(
    text: str, value: object, data_type: pa.DataType
) -> None:
    values = computed(text, [ROW])
    assert values.type == data_type
    assert values.to_pylist() == [value]


@pytest.mark.parametrize(
    "text",
    [
        *("a div 0", "a % 0", "cast(s as int)", "cast(a + 2147483647 as int)", "-y - y - y", "xs[3]", "xs[-1]"),
        *("element_at(xs, 0)", "a + 2147483647 > 5", "b * INTERVAL '9999999999' DAY", "lower('Σ')", "ceil(1e300)"),
        *("to_date('1.5.2024', 'dd.MM.yyyy')", "to_date('2023-02-29', 'yyyy-MM-dd')"),
    ],
)
def test_an_expression_that_raises_for_a_row_on_spark_raises_in_duckdb(text: str) -> None:
    with pytest.raises(duckdb.Error):
        computed(text, [ROW])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "cannot be read as an expression in SQL"),
        (
            "a BETWEEN SYMMETRIC 9 AND 7",
            "no BETWEEN SYMMETRIC in Spark's SQL: leave the word out, or write x BETWEEN a AND b OR x BETWEEN b AND a",
        ),
        ("a BETWEEN asymmetric 7 AND 9", r"no BETWEEN ASYMMETRIC in Spark's SQL: leave the word out\. Line"),
        ("a BETWEEN 7 9", "Expected AND between the bounds of BETWEEN"),
        ("nothing + 1", "'nothing', in 'nothing \\+ 1' is not a column of the input"),
        ("p.lon", "has no field 'lon'\n  it has lat"),
        ("uuid()", "not known to mean the same without Spark\n  compute the column before"),
        ("a + s", "takes int and string, and is not known to mean the same"),
        ("m / 3", "divides decimals"),
        ("element_at(xs, NULL)", "takes array<int> and void"),
        ("to_date(s, 'yyyy')", "reads a format that is not known .*\n  expected: one of yyyy-MM-dd"),
        ("s like 'a!b' escape '!'", "an escape before another letter"),
        ("s like 'a!%' escape '!!'", "escapes by more than one letter"),
        ("unix_timestamp()", "reads the clock"),
        ("s rlike '(?i)a'", "not known to mean the same without Spark\n  write one of letters"),
        ("INTERVAL '1' MONTH", "is no length of time\n  expected: such as INTERVAL 90 MINUTES"),
        ("try_cast(1 / a as int)", "casts what may fail itself"),
        # Older versions of sqlglot have a node of its own for it.
        ("sort_array(xs)", "sorts what is not known to have the same order .*\n  write array_sort|needs 'sortarray'"),
        ("array_sort(array(w))", "sorts what is not known to have the same order"),
        ("map_entries(xs)", "takes array<int>"),
        ("year(s)", "takes string\n  expected: a date or a timestamp"),
        ("1e400", "is no double"),
        ("CAST(s AS string COLLATE UNICODE_CI) = 'x'", r"makes text with a collation.*\n  expected: string"),
        ("s COLLATE UNICODE_CI = 'x'", "not known to mean the same without Spark"),
        ("collate(s, 'UNICODE_CI') = 'x'", "not known to mean the same without Spark"),
        ("CAST(a AS decimal(39, 2))", r"decimal\(39, 2\), which Spark does not have\n  expected: 1 to 38 digits"),
        ("CAST(a AS decimal(5, 7))", r"decimal\(5, 7\), which Spark does not have"),
        ("get(xs)", "has a wrong number of arguments\n  expected: 2; got 1"),
        ("pmod(a, b, y)", "has a wrong number of arguments\n  expected: 2; got 3"),
        ("make_dt_interval(1, 2, 3, 4, 5)", "has a wrong number of arguments"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text, COLUMNS)


def test_symmetric_is_the_name_of_a_column_as_on_spark() -> None:
    columns = pa.schema([("a", pa.int32()), ("symmetric", pa.int32())])
    for text in ("a BETWEEN symmetric AND 9", "a BETWEEN symmetric + 1 AND 9", "a NOT BETWEEN symmetric AND 9"):
        assert '"symmetric"' in translated(text, columns).sql


FUNCTIONS_OF_ONE_NUMBER: Final = (
    *("abs", "ceil", "floor", "sqrt", "exp", "ln", "log10", "log2", "cbrt", "sin", "cos", "tan", "asin", "acos"),
    *("atan", "radians", "degrees", "sign", "round"),
)
FUNCTIONS_OF_TWO_NUMBERS: Final = (
    *("coalesce", "greatest", "least", "nullif", "pow", "atan2", "log", "pmod", "nanvl", "nvl", "mod"),
    *("try_add", "try_subtract", "try_multiply", "try_divide"),
)
PARTS_OF_TIME: Final = (
    *("year", "month", "day", "hour", "minute", "second", "dayofweek", "weekday", "dayofyear", "quarter"),
    *("weekofyear", "unix_timestamp", "unix_seconds", "unix_millis", "unix_micros"),
)
COLLECTIONS: Final = ("xs", "w", "split(s, ',')", "array(1, 2)")


class RandomExpressions:
    """Draws expressions of the columns in Spark's SQL.

    There is a method for each type. It draws a text of each form that the type has, and then takes one of these texts.
    Its `depth` is how many expressions may stand within each other; at 0 it draws a column or a literal.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def expression(self) -> str:
        """Draw an expression of any type."""
        kinds = [self.number, self.text, self.condition, self.time, self.day, self.length, self.nested]
        return self._one_of(kinds)(2)

    def number(self, depth: int) -> str:
        """Draw an expression whose value is a number."""
        if depth <= 0 or self._random.random() < 0.2:
            return self._one_of(
                ["a", "b", "y", "d", "f", "m", "1", "2.5", "3", "1e2", "-4", "0.10", "7L", "-2.5D", "+3", "-3S"]
            )
        left = self.number(depth - 1)
        right = self.number(depth - 1)
        condition = self.condition(depth - 1)
        text = self.text(depth - 1)
        time = self._one_of([self.time, self.day])(depth - 1)
        cast = self._one_of(["cast", "try_cast"])
        return self._one_of(
            [
                f"({left} {self._one_of(['+', '-', '*', '/', '%', 'div', '&', '|', '^'])} {right})",
                f"({left} {self._one_of(['+', '-', '*', '/', '%'])} {right})",
                f"-({left})",
                f"~{self._one_of(['a', 'b', 'y'])}",
                f"{cast}({left} as {self._one_of(['int', 'bigint', 'double', 'decimal(12,3)', 'smallint', 'float'])})",
                f"{cast}(n as {self._one_of(['int', 'double', 'decimal(10,2)'])})",
                f"{self._one_of(FUNCTIONS_OF_TWO_NUMBERS)}({left}, {right})",
                f"{self._one_of(FUNCTIONS_OF_ONE_NUMBER)}({left})",
                f"round({left}, {self._one_of('0123')})",
                f"if({condition}, {left}, {right})",
                f"nvl2({left}, {right}, {left})",
                f"case when {condition} then {left} when k then {right} end",
                f"case a when {self.number(0)} then {left} else {right} end",
                f"length({text})",
                f"instr({text}, {self.text(0)})",
                f"{self._one_of(PARTS_OF_TIME)}({time})",
                f"extract({self._one_of(['year', 'week', 'dow', 'hour'])} from {time})",
                f"datediff({time}, {self.day(0)})",
                f"timestampdiff({self._one_of(['second', 'hour', 'day'])}, t, u)",
                "array_sort(map_entries(w))[0].value",
                "array_sort(xs)[0]",
                f"xs[{self._one_of(['0', '1', 'y', 'a'])}]",
                f"{self._one_of(['element_at', 'try_element_at', 'get'])}(xs, {self._one_of(['0', '1', '-1', 'y'])})",
                "w['a']",
                "element_at(w, s)",
                f"size({self._one_of(COLLECTIONS)})",
                "p.lat",
            ]
        )

    def text(self, depth: int) -> str:
        """Draw an expression whose value is text."""
        if depth <= 0 or self._random.random() < 0.3:
            return self._one_of(["s", "n", "'a'", "'it''s'", "''", "'ß'"])
        left = self.text(depth - 1)
        right = self.text(depth - 1)
        count = self._one_of(["0", "1", "2", "-2", "-9", "y", "a"])
        return self._one_of(
            [
                f"{self._one_of(['upper', 'lower', 'trim', 'ltrim', 'rtrim', 'btrim', 'md5', 'hex'])}({left})",
                f"sha2({left}, 256)",
                f"hex({self._one_of(['a', 'b', 'y'])})",
                f"({left} || {right})",
                f"concat({left}, {right})",
                f"concat_ws({self.text(0)}, {left}, {right})",
                f"cast({self._one_of(['a', 'b', 'm', 'k', 't', 'day', 'c'])} as string)",
                f"if({self.condition(depth - 1)}, {left}, {right})",
                f"trim({self._one_of(['both', 'leading', 'trailing'])} {self.text(0)} from {left})",
                f"substring({left}, {count}, {self._one_of(['0', '2', '-1', 'y', 'a'])})",
                f"substr({left}, {count})",
                f"{self._one_of(['left', 'right'])}({left}, {count})",
                f"repeat({left}, {self._one_of(['0', '2', '-2', 'y'])})",
                f"replace({left}, {self.text(0)}, {right})",
                "split(s, ',')[0]",
            ]
        )

    def condition(self, depth: int) -> str:
        """Draw a condition."""
        if depth <= 0 or self._random.random() < 0.15:
            return self._one_of(
                ["k", "a > 1", "d is null", "s is not null", "t >= '2024-01-02'", "isnan(d)", "isnull(s)", "!k"]
            )
        left = self.number(depth - 1)
        right = self.number(depth - 1)
        condition = self.condition(depth - 1)
        text = self.text(depth - 1)
        pattern = self._one_of(["a%", "%b", "_b_", "%", "", "%ö_e%"])
        regex = self._one_of(["a.b", "^a", "b$", "[a-z]+c", "x|duck", "ö.e", "(a|x)b?", "^$"])
        sign = self._one_of(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        return self._one_of(
            [
                f"{left} {sign} {right}",
                f"{text} {sign} {self.text(depth - 1)}",
                f"{self.time(depth - 1)} {sign} {self.time(0)}",
                f"{self.length(depth - 1)} {sign} {self.length(0)}",
                f"({condition} {self._one_of(['and', 'or'])} {self.condition(depth - 1)})",
                f"not {condition}",
                f"({condition}) is {self._one_of(['true', 'false', 'not true', 'null'])}",
                f"{left} is distinct from {right}",
                f"{left} {self._one_of(['in', 'not in'])} ({self.number(0)}, {self.number(0)}, null)",
                f"{left} {self._one_of(['between', 'not between'])} {self.number(0)} and {self.number(0)}",
                f"{self._one_of(['startswith', 'contains', 'endswith'])}({text}, {self.text(0)})",
                f"{text} {self._one_of(['like', 'not like'])} '{pattern}'",
                f"{text} like '{self._one_of(['a!%', '!_b%', '%!!'])}' escape '!'",
                f"{text} rlike '{regex}'",
                f"{self._one_of(['cast', 'try_cast'])}(n as boolean)",
                f"array_contains(xs, {self._one_of(['1', '5', 'a'])})",
                f"({left}) is null",
            ]
        )

    def time(self, depth: int) -> str:
        """Draw an expression whose value is a moment."""
        if depth <= 0 or self._random.random() < 0.3:
            return self._one_of(["t", "u", "timestamp '2024-03-31 01:30:00'", "cast(c as timestamp)"])
        time = self.time(depth - 1)
        unit = self._one_of(["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"])
        return self._one_of(
            [
                f"({time} {self._one_of(['+', '-'])} {self.length(depth - 1)})",
                f"({time} - INTERVAL '{self._one_of([1, 13])}' {self._one_of(['MONTH', 'YEAR'])})",
                f"date_trunc('{unit}', {time})",
                f"timestampadd({self._one_of(['minute', 'day', 'month'])}, y, {time})",
                f"timestamp_{self._one_of(['seconds', 'millis', 'micros'])}({self._one_of(['a', 'y', '1e3', '12L'])})",
                f"coalesce({time}, u)",
                f"cast({self.day(depth - 1)} as timestamp)",
                f"{self._one_of(['cast', 'try_cast'])}(n as timestamp)",
            ]
        )

    def day(self, depth: int) -> str:
        """Draw an expression whose value is a date."""
        if depth <= 0 or self._random.random() < 0.3:
            return self._one_of(["day", "date '2024-02-29'", "to_date(t)", "cast(c as date)"])
        day = self.day(depth - 1)
        unit = self._one_of(["DAY", "MONTH"])
        return self._one_of(
            [
                f"{self._one_of(['date_add', 'date_sub', 'add_months'])}({day}, {self._one_of(['y', '1', '-31'])})",
                f"({day} {self._one_of(['+', '-'])} INTERVAL '{self._one_of([1, 40])}' {unit})",
                f"trunc({day}, '{self._one_of(['year', 'quarter', 'month', 'week'])}')",
                f"last_day({self.time(depth - 1)})",
                f"make_date({self._one_of(['2024', 'a'])}, y, 1)",
                f"{self._one_of(['cast', 'try_cast'])}({self._one_of(['n', 't', 'u'])} as date)",
            ]
        )

    def length(self, depth: int) -> str:
        """Draw an expression whose value is a length of time."""
        if depth <= 0 or self._random.random() < 0.3:
            return self._one_of(["e", "INTERVAL '1' MINUTE", "INTERVAL 36 HOURS", "INTERVAL '-1.5' SECOND"])
        length = self.length(depth - 1)
        number = self._one_of(["a", "b", "y", "d", "f", "m", "3", "1.5", "-2"])
        return self._one_of(
            [
                f"({length} {self._one_of(['+', '-'])} {self.length(depth - 1)})",
                f"({number} * {length})",
                f"({length} * {number})",
                "(t - u)",
                f"({self.day(0)} - {self.day(depth - 1)})",
                f"-{length}",
                "make_dt_interval(1, y, 3, 4)",
                f"coalesce({length}, INTERVAL '1' DAY)",
            ]
        )

    def nested(self, depth: int) -> str:
        """Draw an expression whose value is an array, a map or a struct."""
        return self._one_of(
            [
                f"array({self.number(depth - 1)}, {self.number(depth - 1)})",
                f"array({self.text(depth - 1)}, s)",
                f"named_struct('x', {self.number(depth - 1)}, 'y', {self.time(depth - 1)})",
                "struct(a, s)",
                f"map('a', {self.number(depth - 1)}, s, 1)",
                "split(s, ',')",
                "xs",
            ]
        )

    def _one_of(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)


def is_translated(text: str) -> bool:
    """Return True if an expression has a translation, and False if it is refused.

    Raises:
        AssertionError: It is refused for a part of sqlglot's tree that no rule reads; there should be none.
    """
    try:
        translated(text, COLUMNS)
    except QueryError as error:
        assert "has a part" not in str(error)  # noqa: PT017  # other refusals are meant
        return False
    return True


def test_rules_read_all_parts_of_the_nodes_that_sqlglot_makes_of_expressions() -> None:
    expressions = RandomExpressions(3)
    translations = sum(is_translated(expressions.expression()) for _ in range(2_000))
    assert translations > 1_000


def comparable_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column: moments, dates and lengths as numbers, since Python has not all of them."""
    return list(column.cast(with_numbers_for_times(column.type)).to_pylist())


def with_numbers_for_times(data_type: pa.DataType) -> pa.DataType:
    """Return a type with whole numbers in the place of moments, dates and lengths, also of those in structs."""
    if pa.types.is_timestamp(data_type) or pa.types.is_duration(data_type):
        return pa.int64()
    if pa.types.is_date(data_type):
        return pa.int32()
    if pa.types.is_struct(data_type):
        fields = [data_type.field(place) for place in range(data_type.num_fields)]
        return pa.struct([(field.name, with_numbers_for_times(field.type)) for field in fields])
    return data_type


def is_same(value: object, expected: object) -> bool:
    """Return True for values of one type that are equal; floats may differ in their last digits, and NaN is NaN."""
    if isinstance(value, float) and isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(value)
        return math.isclose(value, expected, rel_tol=1e-12)
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(map(is_same, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return list(value) == list(expected) and all(map(is_same, value.values(), expected.values()))
    return type(value) is type(expected) and value == expected


def spark_frame(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    """Return rows as a DataFrame, whose column `c` is a time on a clock, as in the Arrow table."""
    columns = [name if name != "c" else "cast(c as timestamp_ntz) as c" for name in COLUMNS.names]
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), COLUMNS)).selectExpr(*columns)


def values_on_spark(df: DataFrame, text: str) -> pa.ChunkedArray | None:
    """Return the values that Spark computes, or None if it raises for a row.

    Raises:
        AnalysisException: Spark does not take the expression.
    """
    from pyspark.errors import AnalysisException, PySparkException

    try:
        return df.selectExpr(f"{text} AS x").toArrow().column(0)
    except AnalysisException:
        raise
    except PySparkException:
        return None


RAISED_HERE_ALONE: Final = (
    *("overflows timestamp range", "Date out of range", "destination type INT64"),  # far from now
    *("letters that have no single letter", "the year has other than four digits", "malformed"),
)
"""Parts of the errors for values that Spark computes, and that are refused row by row in this process."""


def assert_as_on_spark(text: str, rows: Sequence[dict[str, Any]], df: DataFrame) -> bool:
    """Assert that an expression has the values and the type that Spark has for the same rows, or raises as there.

    Returns:
        True if there were values to compare, False if the expression cannot be computed for one of the rows.
    """
    expected = values_on_spark(df, text)
    if expected is None:
        with pytest.raises(duckdb.Error):
            computed(text, rows)
        return False

    try:
        values = computed(text, rows)
    except duckdb.Error as error:
        is_refused_here_alone = any(words in str(error) for words in RAISED_HERE_ALONE)
        assert is_refused_here_alone, f"{text}: {error}"  # noqa: PT017  # others are faults
        return False

    assert spelled(values.type) == spelled(expected.type), text
    pairs = zip(comparable_values(values), comparable_values(expected), strict=True)
    differing_pairs = [(value, expected_value) for value, expected_value in pairs if not is_same(value, expected_value)]
    assert differing_pairs == [], text
    return True


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_random_expressions_mean_what_they_mean_on_spark(spark: SparkSession, seed: int) -> None:
    from pyspark.errors import AnalysisException

    rows = hostile_rows()
    df = spark_frame(spark, rows)
    frames_of_one_row = [(row, spark_frame(spark, [row])) for row in rows]

    expressions = RandomExpressions(seed)
    comparisons = 0
    for _ in range(300):
        text = expressions.expression()
        if not is_translated(text):
            continue
        try:
            if assert_as_on_spark(text, rows, df):
                comparisons += 1
                continue
            # One row that cannot be computed hides the values of the others: they are compared one by one.
            for row, frame in frames_of_one_row:
                comparisons += assert_as_on_spark(text, [row], frame)
        except AnalysisException:
            continue  # what Spark refuses, a query that is moved to Spark says
    assert comparisons > 200


def test_a_part_of_a_node_that_no_rule_reads_is_refused() -> None:
    node = sqlglot.parse_one("lower(s)", read="spark")
    node.set("of_a_later_sqlglot", True)
    translator = Translator("lower(s)", SchemaScope(COLUMNS))
    with pytest.raises(QueryError, match="has a part 'of_a_later_sqlglot', which has no translation"):
        translator.translate(node)
