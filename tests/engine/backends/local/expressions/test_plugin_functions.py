"""Functions in expressions over tables in this process: the values, nulls and errors that they have on Spark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packaging.version import Version

import muntin_stats as stats
from muntin import Function, function, tumbling
from muntin.errors import ModuleContractError, ModuleError, QueryError
from muntin_engine import Query, StateMismatchError, events, functions, module, sql
from muntin_engine.backends.local.database import relation_of
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.frames import file_parts
from muntin_engine.backends.local.plain_sql.queried_rows import QueriedRows
from muntin_engine.backends.local.refusals import FailedRowError, failures_of_rows
from muntin_engine.backends.local.runs import static_run
from muntin_engine.backends.local.runs.worker_pool import WorkerPool
from muntin_engine.testing.streaming import StartsJob, streaming
from tests.modules.members import Count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["streaming"]

T = TypeVar("T")


# Functions that show what they are given, return each type, or fail.


class Fare(NamedTuple):
    base: float
    parts: list[int]
    note: str | None


@function("probe.show", version="1.0.0")
def show(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


@function("probe.show_series", version="1.0.0", result=str, vectorized=True)
def show_series(values: pd.Series[Any]) -> pd.Series[str]:
    return pd.Series([f"{values.dtype} {value!r}" for value in values])


@function("probe.pick", version="1.0.0")
def pick(place: int) -> float | None:
    """Return a value that a column of floats takes, though only two are floats."""
    results: list[Any] = [1.5, 2, None, math.nan, True]
    return results[place]  # type: ignore[no-any-return]


@function("probe.whole", version="1.0.0")
def whole(value: float) -> int:
    return value  # type: ignore[return-value]  # that is the point


@function("probe.word", version="1.0.0")
def word(value: object) -> str:
    return value  # type: ignore[return-value]  # that is the point


@function("probe.price", version="1.0.0")
def price(value: float) -> Decimal:
    return Decimal(value) / 3


@function("probe.later", version="1.0.0")
def later(time: datetime, length: timedelta) -> datetime:
    return time + length


@function("probe.length", version="1.0.0")
def length(first: datetime, last: datetime) -> timedelta:
    return last - first


@function("probe.next_day", version="1.0.0")
def next_day(day: date) -> date:
    return day + timedelta(days=1)


@function("probe.raw", version="1.0.0")
def raw(value: str) -> bytes:
    return bytearray(value, "utf-8")  # type: ignore[return-value]  # either will do


@function("probe.fare", version="1.0.0")
def fare(base: float, note: str | None) -> Fare:
    return Fare(base, [1, 2], note)


@function("probe.counts", version="1.0.0")
def counts(words: list[str]) -> dict[str, int]:
    return {word: len(word) for word in words}


@function("probe.times", version="1.0.0")
def times(first: datetime) -> list[datetime]:
    return [first, first + timedelta(days=1)]


@function("probe.answer", version="1.0.0")
def answer() -> int:
    return 42


@function("probe.half", version="1.0.0", result=float, vectorized=True)
def half(values: pd.Series[float]) -> pd.Series[float]:
    return values / 2


@function("probe.shifted", version="1.0.0", result=datetime, vectorized=True)
def shifted(times: pd.Series[Any]) -> pd.Series[Any]:
    return times + pd.Timedelta(hours=1)


@function("probe.is_long", version="1.0.0", result=bool, vectorized=True)
def is_long(values: pd.Series[Any]) -> pd.Series[bool]:
    return values.map(lambda value: None if value is None else len(value) > 2)


@function("probe.ratio", version="2.1.0")
def ratio(left: float, right: float) -> float:
    return left / right


@function("probe.first", version="1.0.0")
def first_value(value: T) -> T:
    return value


@function("probe.too_few", version="1.0.0", result=float, vectorized=True)
def too_few(values: pd.Series[float]) -> pd.Series[float]:
    return values[:-1]


@function("probe.total", version="1.0.0", result=float, vectorized=True)
def total(values: pd.Series[float]) -> pd.Series[float]:
    return values.sum()  # that is the point


@function("probe.set", version="1.0.0")
def as_set(value: int) -> list[int]:
    return {value}  # type: ignore[return-value]  # that is the point


@function("probe.interrupt", version="1.0.0")
def interrupt(value: float) -> float:
    """Do as if Ctrl+C were pressed meanwhile."""
    raise KeyboardInterrupt


PROBES: Final[list[Function[..., Any]]] = [
    *(show, show_series, pick, whole, word, price, later, length, next_day, raw, fare, counts, times, answer, half),
    *(shifted, is_long, ratio, too_few, total, as_set, interrupt),
]

COLUMNS: Final = pa.schema(
    [
        ("i", pa.int32()),
        ("y", pa.int8()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.string()),
        ("m", pa.decimal128(10, 2)),
        ("k", pa.bool_()),
        ("t", pa.timestamp("us", "UTC")),
        ("c", pa.timestamp("us")),
        ("day", pa.date32()),
        ("e", pa.duration("us")),
        ("x", pa.binary()),
        ("xs", pa.list_(pa.string())),
        ("w", pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
    ]
)
NOON: Final = datetime(2024, 1, 2, 12, 0, 0, 5, tzinfo=UTC)
ROWS: Final = pa.Table.from_pylist(
    [
        {
            "i": 0,
            "y": 5,
            "d": 2.5,
            "f": 0.5,
            "s": "Größe",
            "m": Decimal("1.25"),
            "k": True,
            "t": NOON,
            "c": NOON.replace(tzinfo=None),
            "day": date(2024, 2, 29),
            "e": timedelta(minutes=90),
            "x": b"\x00\xff",
            "xs": ["a", None, "bc"],
            "w": [("a", NOON), ("b", None)],
        },
        dict.fromkeys(COLUMNS.names),
        {**dict.fromkeys(COLUMNS.names), "i": 3, "d": math.nan, "s": "", "xs": [], "w": []},
    ],
    COLUMNS,
)
"""Values of each type, nulls, and empty ones."""

COLUMNS_IN_A_SERIES: Final = ["i", "y", "d", "f", "s", "m", "k", "t", "c", "day", "e", "x"]
"""The columns whose values a vectorized function may be given: not the nested ones."""

EXPRESSIONS: Final = [
    *(f"probe_show({name})" for name in COLUMNS.names),
    *(f"probe_show_series({name})" for name in COLUMNS_IN_A_SERIES),
    *("probe_show(1)", "probe_show(2.50)", "probe_show(NULL)", "probe_show(d > 2 AND k)", "probe_show(i + y)"),
    *(
        "coalesce(probe_pick(coalesce(i, 2)), -1D)",
        "probe_pick(1)",
        "probe_pick(coalesce(i, 2)) + 1",
        "probe_pick(4)",
    ),
    *("probe_whole(2D)", "probe_word(i)", "probe_word(k)", "probe_word(d)", "probe_price(coalesce(d, 0D))"),
    *(
        "probe_later(coalesce(t, timestamp'2024-01-02 03:04:05'), INTERVAL '1' HOUR)",
        "probe_length(timestamp_ntz'2024-01-02 03:04:05', timestamp_ntz'2024-01-03 03:04:05')",
        "probe_next_day(date'2024-02-28')",
        "probe_raw('é')",
    ),
    *("probe_fare(1.5D, s)", "probe_counts(array('a', 'bcd'))", "probe_times(timestamp'2024-01-02 03:04:05')"),
    *("probe_answer()", "probe_answer() + i", "probe_half(d)", "probe_half(i)", "probe_shifted(t)", "probe_is_long(s)"),
    *("stats_clamp(d, 0D, 1D)", "STATS_CLAMP(d, 3, 4)", "stats_log1p(d)", "probe_show(probe_show(i))"),
    *("CASE WHEN i = 0 THEN probe_answer() ELSE 7 END", "probe_ratio(1D, coalesce(d, 2D))"),
]
"""Expressions that can be computed for each row."""


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    functions(*PROBES)


def computed(text: str, rows: pa.Table = ROWS) -> pa.ChunkedArray:
    """Translate an expression, and return the values that it has for rows, in the type of the translation.

    Raises:
        QueryError: The expression has no translation, or cannot be computed for one of the rows.
        ModuleError: A function failed.
    """
    expression = translated(text, rows.schema)
    # Translated expressions have lengths of time as microseconds: DuckDB's intervals have months.
    columns = [name if name != "e" else "epoch_us(e) AS e" for name in rows.schema.names]
    with failures_of_rows("the rows cannot be read"):
        relation = relation_of(rows).project(", ".join(columns))
        values = relation.project(f"{expression.sql} AS x").to_arrow_table().column(0)
    return values.cast(expression.type)


@pytest.mark.parametrize(
    ("text", "value", "data_type"),
    [
        ("probe_show(t)", "datetime datetime.datetime(2024, 1, 2, 12, 0, 0, 5)", pa.string()),
        ("probe_show(e)", "timedelta datetime.timedelta(seconds=5400)", pa.string()),
        ("probe_show(m)", "Decimal Decimal('1.25')", pa.string()),
        ("probe_show(x)", "bytes b'\\x00\\xff'", pa.string()),
        ("probe_show(xs)", "list ['a', None, 'bc']", pa.string()),
        ("probe_show(w)", "dict {'a': datetime.datetime(2024, 1, 2, 12, 0, 0, 5), 'b': None}", pa.string()),
        ("probe_show_series(i)", "int32 0", pa.string()),
        ("probe_word(k)", "true", pa.string()),
        ("probe_later(t, e)", NOON + timedelta(minutes=90), pa.timestamp("us", "UTC")),
        ("probe_length(c, c)", timedelta(0), pa.duration("us")),
        ("probe_answer()", 42, pa.int64()),
        ("stats_clamp(d, 0D, 1)", 1.0, pa.float64()),
    ],
)
def test_a_function_gets_and_returns_values_of_python(text: str, value: object, data_type: pa.DataType) -> None:
    values = computed(text, ROWS.slice(0, 1))
    assert values.type == data_type
    assert values.to_pylist() == [value]


def test_a_function_gets_nulls_and_nan() -> None:
    assert computed("probe_show(d)").to_pylist() == ["float 2.5", "NoneType None", "float nan"]


def test_a_function_of_a_series_gets_whole_numbers_beside_nulls_as_floats_and_returns_nan_for_null() -> None:
    assert computed("probe_show_series(i)").to_pylist() == ["float64 0.0", "float64 nan", "float64 3.0"]
    assert computed("probe_half(d)").to_pylist() == [1.25, None, None], "NaN in a Series is a null"


def test_functions_of_rows_and_of_series_are_computed_for_more_rows_than_a_vector_of_duckdb_has() -> None:
    rows = pa.table({"d": pa.array([float(number) for number in range(5_000)])})  # a vector has 2,048
    assert computed("probe_half(d)", rows) == computed("d / 2", rows)
    assert computed("stats_clamp(d, 10D, 20D)", rows) == computed("greatest(least(d, 20D), 10D)", rows)
    assert len(computed("probe_answer()", rows)) == 5_000


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "probe_ratio(2D, 0D)",
            ModuleError,
            r"^probe.ratio 2.1.0 failed: ZeroDivisionError: float division by zero\n  arguments: \(2.0, 0.0\)$",
        ),
        ("probe_ratio(2D)", ModuleError, "probe.ratio 2.1.0 failed: TypeError: .*missing 1 required"),
        ("probe_word(probe_ratio(d, 0D))", ModuleError, "probe.ratio 2.1.0 failed"),
        ("probe_whole(d)", ModuleContractError, "probe.whole 1.0.0 returned what is no integer, as it declares: .*2.5"),
        (
            "probe_set(1)",
            ModuleContractError,
            r"no list\[integer\], .*: TypeError: \{1\} is of type set, expected",
        ),
        (
            "probe_too_few(d)",
            ModuleContractError,
            "probe.too_few 1.0.0 returned 2 values for 3 rows",
        ),
        ("probe_total(d)", ModuleContractError, "returned a float64 for 3 rows"),
        ("1 / 0 + probe_answer()", FailedRowError, "by zero"),
    ],
)
def test_an_error_of_a_function_is_the_error_of_the_query(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        computed(text)


def test_the_exception_of_a_function_is_the_cause_of_the_error() -> None:
    with pytest.raises(ModuleError) as failure:
        computed("probe_ratio(2D, 0D)")
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_ctrl_c_in_a_function_ends_the_query() -> None:
    with pytest.raises(KeyboardInterrupt):
        computed("probe_interrupt(d)")


def test_a_function_is_not_called_where_its_value_is_not_needed() -> None:
    # It would divide by zero.
    assert computed("CASE WHEN i > 100 THEN probe_ratio(1D, 0D) END").to_pylist() == [None] * 3
    assert computed("i > 100 AND probe_ratio(1D, 0D) > 1", ROWS.slice(0, 1)).to_pylist() == [False]
    assert computed("probe_ratio(1D, 0D)", ROWS.slice(0, 0)).to_pylist() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stats.clamp(d, 0D, 1D)", "calls stats.clamp, and names of functions have no dot in SQL\n  write stats_clamp"),
        ("probe_unknown(d)", "needs 'probe_unknown', which is not known"),
        ("stats_clammp(d)", "needs 'stats_clammp', which is not known"),
        ("probe_show(DISTINCT d)", "needs 'distinct'"),
        ("probe_show(value => d)", "needs 'kwarg'"),
        (
            "probe_show(named_struct('a', d))",
            "calls probe.show with struct<a:double>, .* a Row of Spark's\n  give",
        ),
        ("probe_show(array(named_struct('a', d)))", "with array<struct<a:double>>"),
        ("probe_show_series(xs)", "has values of array<string> in a Series"),
    ],
)
def test_a_call_that_may_mean_something_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text, COLUMNS)


def test_a_function_whose_type_depends_on_its_arguments_is_refused_as_on_spark() -> None:
    functions(first_value)
    with pytest.raises(QueryError, match="the type of 'result' is not known when the query is built"):
        translated("probe_first(d)", COLUMNS)


def test_a_function_with_the_name_of_one_of_sql_is_refused() -> None:
    @function("date.add", version="1.0.0")
    def add(day: date, days: int) -> date:
        return day + timedelta(days=days)

    with pytest.raises(QueryError, match=r"date.add is called date_add in SQL, which has a function of that name"):
        functions(add)


def test_a_function_that_is_registered_again_takes_the_place_of_the_first() -> None:
    def replying(value: int) -> Function[[], int]:
        def reply() -> int:
            return value

        return function("probe.reply", version="1.0.0")(reply)

    assert functions(replying(1)) == ["probe_reply"]
    first_translation = translated("probe_reply()", COLUMNS)

    functions(replying(2))
    assert translated("probe_reply()", COLUMNS).sql != first_translation.sql
    assert computed("probe_reply()", ROWS.slice(0, 1)).to_pylist() == [2]


def test_a_plugin_may_have_an_underscore_in_its_name() -> None:
    @function("city_bikes.fare_of", version="1.0.0")
    def fare_of(km: float) -> float:
        return 2 * km

    functions(fare_of)
    assert computed("city_bikes_fare_of(d)", ROWS.slice(0, 1)).to_pylist() == [5.0]


# Where expressions stand.


RIDES: Final = pa.table(
    {
        "station": ["north", "north", "south", None],
        "leaves": [datetime(2024, 5, 1, 8, minute, tzinfo=UTC) for minute in (5, 40, 10, 20)],
        "km": [3.0, 70.0, 2.0, None],
    }
)


def capped_km_by_hour(rides: Any) -> Query[Any]:
    """Return a query that calls functions in its key, a new column, conditions before and after windows, and select."""
    capped = events(rides, key="probe_show(station)", at="leaves").with_columns(capped="stats_clamp(km, 0D, 60D)")
    long_rides = capped.where("stats_clamp(km, 0D, 60D) > 2.5 OR km IS NULL")
    query = long_rides.window(tumbling("1 hour")).aggregate(km=stats.average("capped"), rows=stats.count())
    return query.where("stats_clamp(km, 0D, 60D) IS NOT NULL").select("rows", km="stats_clamp(km, 0D, 30D)")


def test_functions_stand_wherever_expressions_do() -> None:
    query = capped_km_by_hour(RIDES)
    # The rides of the north are capped to 3 and 60 km, and their mean of 31.5 to 30. The first condition leaves out the
    # south, the second one the key whose only ride has no km.
    assert query.results().to_pylist() == [{"rows": 2, "km": 30.0}]
    assert [code.name for code in query.plan.code if code.is_function] == ["stats.clamp", "probe.show"]


def test_queries_in_sql_call_functions() -> None:
    query = sql(
        """
        SELECT station, AVG(stats_clamp(km, 0D, 60D)) AS km
        FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
        WHERE stats_clamp(km, 0D, 60D) > 2.5 GROUP BY station, window_start, window_end
        """,
        rides=RIDES,
    )
    assert query.results().to_pylist() == [{"station": "north", "km": 31.5}]


PLAIN_SQL: Final = """
    SELECT probe_show(station) AS station, sum(stats_clamp(km, 0D, 60D)) AS km, stats_clamp(max(km), 0D, 5D) AS most
    FROM rides WHERE stats_clamp(km, 0D, 60D) > 1 GROUP BY probe_show(station)
    HAVING stats_clamp(sum(km), 0D, 9D) > 0 ORDER BY probe_show(station)
"""


def test_plain_queries_call_functions() -> None:
    rows = QueriedRows.of(PLAIN_SQL, {"rides": RIDES})
    assert rows.table().to_pylist() == [
        {"station": "str 'north'", "km": 63.0, "most": 5.0},
        {"station": "str 'south'", "km": 2.0, "most": 2.0},
    ]
    assert {called.function.name for called in rows.called_functions()} == {"probe.show", "stats.clamp"}
    with pytest.raises(ModuleError, match=r"probe.ratio 2.1.0 failed"):
        QueriedRows.of("SELECT probe_ratio(km, 0D) AS x FROM rides", {"rides": RIDES}).table()


def test_a_chained_query_knows_the_functions_of_the_query_before_it() -> None:
    rides = events(RIDES, key="station", at="leaves").where("stats_clamp(km, 0D, 60D) > 0")
    inner = rides.window(tumbling("1 hour")).aggregate(km=stats.average("km"))
    outer = inner.as_events().window(tumbling("1 day")).aggregate(n=stats.count())
    assert [code.name for code in outer.plan.code if code.is_function] == ["stats.clamp"]


def test_a_function_of_another_version_does_not_go_on_with_the_state(streaming: StartsJob) -> None:
    def doubling(version: str) -> Function[[int], int]:
        def double(x: int) -> int:
            return 2 * x

        return function("probe.double", version=version)(double)

    def counted(rows: Any) -> Query[Any]:
        filtered = events(rows, key="k", at="at", watermark=0).where("probe_double(at) > 2")
        return filtered.window(tumbling(10)).aggregate(n=module(Count))

    functions(doubling("1.0.0"))
    job = streaming(counted, "k string, at long")
    job.feed({"k": "a", "at": 1}, {"k": "a", "at": 2})

    functions(doubling("2.0.0"))
    with pytest.raises(StateMismatchError, match=r"has probe.double 1.0.0, the query has probe.double 2.0.0"):
        job.restart(counted)


WORKER_ROWS: Final = 3_000
"""Rows for two workers: with `two_workers` they are several parts."""


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let workers take parts of a small file at once, and end them afterwards."""
    monkeypatch.setattr(static_run, "START_SECONDS", 0.0)
    monkeypatch.setattr(static_run, "WARM_SECONDS", 0.0)
    monkeypatch.setattr(file_parts, "PART_ROWS", 700)
    yield
    WorkerPool.acquire(2).release(is_failed=True)


def file_of_rows(folder: Path) -> str:
    """Write rows whose time and value are their number, and return the path."""
    path = folder / "rows.parquet"
    values = [float(number) for number in range(WORKER_ROWS)]
    pq.write_table(pa.table({"at": range(WORKER_ROWS), "x": values}), path, row_group_size=300)
    return str(path)


@pytest.mark.usefixtures("two_workers")
def test_functions_travel_to_workers_with_what_they_read(tmp_path: Path) -> None:
    limit = 5.0

    @function("probe.limited", version="1.0.0")
    def limited(x: float) -> float:
        return min(x, limit)

    functions(limited)
    windows = events(file_of_rows(tmp_path), at="at").window(tumbling(1_000))
    query = windows.aggregate(m=stats.max("probe_limited(x)"))
    assert query.results(workers=2).column("m").to_pylist() == [5.0, 5.0, 5.0]


@pytest.mark.usefixtures("two_workers")
def test_the_error_of_a_function_in_a_worker_is_the_error_of_the_query(tmp_path: Path) -> None:
    @function("probe.picky", version="1.0.0")
    def picky(x: float) -> float:
        if x == WORKER_ROWS - 1:
            raise ValueError("one too many")
        return x

    functions(picky)
    windows = events(file_of_rows(tmp_path), at="at").window(tumbling(1_000))
    query = windows.aggregate(m=stats.max("probe_picky(x)"))
    with pytest.raises(ModuleError, match=r"probe.picky 1.0.0 failed: ValueError: one too many\n  arguments"):
        query.results(workers=2)


@pytest.mark.usefixtures("two_workers")
def test_a_function_that_cannot_travel_is_called_in_this_process(tmp_path: Path) -> None:
    calls: list[int] = []
    lock = Lock()  # cannot be pickled

    @function("probe.counted", version="1.0.0")
    def counted(x: float) -> float:
        with lock:
            calls.append(1)
        return x

    functions(counted)
    windows = events(file_of_rows(tmp_path), at="at").window(tumbling(1_000))
    results = windows.aggregate(m=stats.max("probe_counted(x)")).results(workers=2)
    assert results.column("m").to_pylist() == [999.0, 1_999.0, 2_999.0]
    assert len(calls) == WORKER_ROWS


# Beside Spark.


@pytest.mark.skipif(
    Version(version("pyspark")) < Version("4.3") if find_spec("pyspark") else False,
    reason="older versions convert some results of functions otherwise, such as whole numbers of floats to null",
)
def test_functions_have_the_values_and_types_of_spark(spark: SparkSession) -> None:
    from muntin_engine.backends.spark.column_types import arrow_schema_of

    functions(spark, *PROBES, "stats.clamp", "stats.log1p")
    df = spark.createDataFrame(ROWS).coalesce(1)
    names = [f"x{place}" for place in range(len(EXPRESSIONS))]
    on_spark = df.selectExpr(*(f"{text} AS {name}" for text, name in zip(EXPRESSIONS, names, strict=True)))
    types = arrow_schema_of(on_spark.schema).types
    expected = on_spark.toArrow().cast(pa.schema(list(zip(names, types, strict=True))))

    differences: list[str] = []
    for text, column in zip(EXPRESSIONS, expected.columns, strict=True):
        here = described(computed(text))
        there = described(column)
        if here != there:
            differences.append(f"{text}: {here}, on Spark {there}")
    assert not differences, "\n".join(differences)


def described(column: pa.ChunkedArray) -> str:
    """Return the type and the values of a column as text, in which NaN equals itself."""
    return f"{column.type} {column.to_pylist()}"


def test_queries_with_functions_have_the_rows_of_spark(spark: SparkSession) -> None:
    functions(spark, *PROBES, "stats.clamp")
    df = spark.createDataFrame(RIDES)
    assert capped_km_by_hour(df).results().toArrow().to_pylist() == capped_km_by_hour(RIDES).results().to_pylist()
    df.createOrReplaceTempView("rides")
    assert spark.sql(PLAIN_SQL).toArrow().to_pylist() == QueriedRows.of(PLAIN_SQL, {"rides": RIDES}).table().to_pylist()
