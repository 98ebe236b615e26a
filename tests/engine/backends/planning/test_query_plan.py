"""From columns to a plan: what is carried, and what is refused before anything runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import ClipPolicy, TimestampPolicy, calendar, snapshot, tumbling
from muntin.errors import PolicyError, QueryError, TypeMismatchError
from muntin_engine import EventStream, Query, WindowedStream, events, expression, from_stream, module, union
from muntin_engine.time.lifetimes import LengthColumn, Shift
from muntin_engine.wire.bucket_ids import bucket_ids, murmur3
from tests.journeys.running import collect
from tests.modules.members import Count, Members, Total


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """One row with a column of each kind that these tests name."""
    return spark.sql(
        """
        SELECT 1 AS at, 2L AS later, 3 AS x, 'a' AS k,
            timestamp'2024-05-01' AS time, timestamp_ntz'2024-05-01' AS local, interval '1' month AS months,
            map('a', 1) AS map, array(map(1, 2)) AS maps, parse_json('1') AS variant
        """
    )


def query(df: DataFrame, *modules: Any, **columns: Any) -> Query:
    """Return a query of modules, whose results are `m0`, `m1` and so on; the columns are arguments of `events`."""
    stream = events(df, **({"at": "at"} | columns))
    return stream.window(tumbling(10)).aggregate(**{f"m{place}": call for place, call in enumerate(modules)})


def test_a_column_that_several_modules_read_is_carried_once(df: DataFrame) -> None:
    plan = query(df, module(Members, "x"), module(Count, "x"), module(Total, "later"), module(Count, "later")).plan
    assert [(column.name, column.type) for column in plan.input.columns.payload] == [
        ("x", "int"),
        ("later", "bigint"),
        ("later", "bigint"),
    ]
    assert [planned.columns for planned in plan.modules] == [(0,), (0,), (1,), (2,)]


def test_an_expression_is_not_mistaken_for_a_column_of_its_name(df: DataFrame) -> None:
    ten_x = (F.col("x") * 10).alias("x")
    (row,) = collect(query(df, module(Members, ten_x), module(Members, "x")).results())
    assert row["m0"] == [30]
    assert row["m1"] == [3]


def test_text_with_an_operator_is_an_expression_unless_a_column_has_that_name(df: DataFrame) -> None:
    frame = df.withColumn("x-at", F.lit(5)).withColumn("p.q", F.lit(7))
    values_by_text = {"x * 10": 30, "x-AT": 5, "`x-at` + 1": 6, "`p.q`": 7, "(2)": 2, "coalesce(x, 1)": 3}
    modules = [module(Members, text) for text in values_by_text]
    (row,) = collect(query(frame, *modules, at="at + 1", key="upper(k)").results())
    assert [row[f"m{place}"] for place in range(len(modules))] == [[value] for value in values_by_text.values()]
    assert row["upper(k)"] == "A"

    assert collect(query(frame, module(Members, "x"), rows="x > 3").results()) == []


def test_a_plan_has_the_names_and_the_types_of_the_columns_of_an_event(df: DataFrame) -> None:
    arguments = {"key": ["k", F.col("x") + 1], "id": "later", "change": F.lit("insert"), "watermark": 3}
    columns = query(df, module(Count), **arguments).plan.input.columns
    assert [(key.name, key.type) for key in columns.keys] == [("k", "string"), ("(x + 1)", "int")]
    assert columns.start.name == "at"
    assert columns.end is None
    assert columns.id is not None
    assert columns.id.type == "bigint"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"at": "k"}, "the time column k is of type string"),
        ({"at": None, "start": "at", "end": "time"}, "must be of one type, got at int, time timestamp"),
        ({"at": None, "start": "time", "end": "local"}, "must be of one type"),
        ({"key": "map"}, "the key map holds a map"),
        ({"key": "maps"}, "the key maps holds a map"),
        ({"key": "months"}, "of type interval month cannot be a key"),
        ({"id": "variant"}, "of type variant cannot be a key, an id"),
        ({"key": ["k", "k"]}, "two columns named 'k'"),
        ({"buckets": 0}, "1 to 256 buckets"),
    ],
)
def test_columns_that_cannot_be_what_they_are_named_for_are_refused(
    df: DataFrame, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        query(df, module(Count), **columns)


def test_inputs_that_no_module_can_read_are_refused(df: DataFrame) -> None:
    with pytest.raises(QueryError, match="of type variant cannot be a key, an id or an input"):
        query(df, module(Count, "variant"))
    with pytest.raises(TypeMismatchError, match=r"show\.members reads integer, but the column k is string"):
        query(df, module(Members, "k"))


@pytest.mark.parametrize(
    ("modules", "columns", "message"),
    [
        # columns that modules read (one that reads none if there are none), other columns of the query, the error
        (["x.y"], {}, r"show\.members reads 'x\.y', "),
        (["nowhere"], {}, r"show\.members reads 'nowhere', and the input has no such column\n  it has at, later, x"),
        (["latter"], {}, r"did you mean 'later'\?"),
        (
            ["latter*2"],
            {},
            r"reads 'latter', in latter\*2, .*\n  did you mean 'later'\?\n  it has at",
        ),
        (
            [lambda: F.expr("latter + 1")],
            {},
            r"reads 'latter', in latter \+ 1, .*\n  did you mean 'later'\?\n  it has at",
        ),
        ([lambda: F.col("k.deep")], {}, r"reads 'k\.deep', and the input has no such column|which Spark refuses"),
        (
            [lambda: F.col("nowhere")],
            {},
            r"show\.members reads 'nowhere', and the input has no such column\n  it has at",
        ),
        ([lambda: F.expr("hash1(k)")], {}, r"show\.members calls 'hash1', in hash1\(k\), and Spark has no function"),
        ([lambda: F.expr("k +")], {}, r"show\.members reads Column<'k \+'>, which Spark refuses: \[PARSE_SYNTAX_ERROR"),
        ([], {"key": "k,x"}, r"key reads 'k,x', and the input has no such column"),
        ([], {"key": ["k", "nope"]}, "key reads 'nope', and the input has no such column"),
        ([], {"at": "when"}, "at reads 'when', and the input has no such column"),
        (
            [],
            {"at": lambda: F.col("k") + F.col("map")},
            r"at reads Column<.*, which Spark refuses: \[DATATYPE_MISMATCH",
        ),
        ([lambda: F.col("*")], {}, r"show\.members names several columns with one of Column"),
    ],
)
def test_columns_that_the_input_does_not_have_are_refused_by_who_names_them(
    df: DataFrame, modules: list[Any], columns: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Spark logs each error beside raising it, through two loggers.
    log_records: list[logging.LogRecord] = []
    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    for logger in loggers:
        monkeypatch.setattr(logger, "handle", log_records.append)

    calls = [module(Members, column_of(column)) for column in modules] or [module(Count)]
    arguments = {argument: column_of(column) for argument, column in columns.items()}
    with pytest.raises(QueryError, match=message):
        query(df, *calls, **arguments)
    assert not log_records, "the error of Spark is not logged"
    assert not any(logger.disabled for logger in loggers)


def column_of(column: Any) -> Any:
    """Return a column; one of PySpark can be made only when there is a session, so a case has a function of it."""
    return column() if callable(column) and not isinstance(column, str) else column


@pytest.mark.parametrize("name", ["stats.max", "stats.mode", "stats.distinct_count"])
def test_a_module_that_orders_or_counts_values_takes_no_records(df: DataFrame, name: str) -> None:
    records = df.withColumn("o", F.struct("x", "k"))
    with pytest.raises(TypeMismatchError, match=r"reads values .*, but the column o is struct<x: integer"):
        query(records, module(name, "o"))


def test_start_and_end_may_be_integers_of_different_sizes(df: DataFrame) -> None:
    (row,) = collect(query(df, module(Count), at=None, start="at", end="later").results())
    assert row["window"] == {"start": 0, "end": 10}


def test_bucket_ids_hash_as_spark_hashes_and_lie_evenly_in_its_partitions(spark: SparkSession) -> None:
    numbers = spark.range(-500, 2000).selectExpr("cast(id as int) as n").select("n", F.hash("n").alias("h"))
    assert all(murmur3(row["n"]) == row["h"] for row in numbers.collect())

    ids = spark.createDataFrame([(id,) for id in bucket_ids(16)], "bucket int")
    for partitions in (1, 2, 4, 8, 16):
        partition_sizes = ids.repartition(partitions, "bucket").groupBy(F.spark_partition_id()).count().collect()
        assert [row["count"] for row in partition_sizes] == [16 // partitions] * partitions


def test_policies_that_a_query_leaves_out_are_those_that_its_module_is_made_for(df: DataFrame) -> None:
    stream = events(df, at="at", key="k")
    crossings = module("patterns.threshold_crossing", F.col("x").cast("double"), threshold=1.0)

    by_module = stream.window(tumbling(10)).apply(crossings)
    assert (by_module.plan.clip, by_module.plan.timestamps) == (ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    assert "clip right (as its modules ask), timestamps unchanged (as its modules ask)" in by_module.plan_text()

    by_query = stream.window(tumbling(10), clip="none", timestamps="align").apply(crossings)
    assert (by_query.plan.clip, by_query.plan.timestamps) == (ClipPolicy.NONE, TimestampPolicy.ALIGN)
    assert "lifetimes   those that the module returns are discarded" in by_query.plan_text()

    by_default = query(df, module(Count)).plan
    assert (by_default.clip, by_default.timestamps) == (ClipPolicy.NONE, TimestampPolicy.ALIGN)
    assert by_default.from_modules == frozenset(), "no policy is one that a module asks for"


def test_a_module_that_asks_for_policies_refuses_windows_in_which_they_mean_nothing(df: DataFrame) -> None:
    crossings = module("patterns.threshold_crossing", F.col("x").cast("double"), threshold=1.0)
    with pytest.raises(PolicyError, match="it needs hopping or tumbling windows"):
        events(df, at="at", key="k").window(snapshot()).apply(crossings)


def test_columns_that_differ_by_case_alone_are_named(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'x' AS k, 'y' AS K, 1L AS at")
    refusal = r"does not tell upper from lower case: there are k, K\n.*rename some"
    for key in ("k", ["K", "at"]):
        with pytest.raises(QueryError, match=refusal) as caught:
            query(rows, module(Count), key=key)
        assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("columns", "length", "ticks"),
    [
        ({"at": "time"}, "-1 hour", -3_600_000_000),
        ({"at": "local"}, "1 hour", 3_600_000_000),
        ({"at": "later", "unit": "ms"}, "1 hour", 3_600_000),
        ({"at": "later"}, 5, 5),
        ({"at": "price"}, Decimal("0.25"), 25),
    ],
)
def test_changes_of_lifetimes_are_in_ticks_of_the_axis(
    df: DataFrame, columns: dict[str, Any], length: Any, ticks: int
) -> None:
    priced = df.withColumn("price", F.col("at").cast("decimal(9, 2)"))
    plan = events(priced, **columns).shift(length).window(snapshot()).aggregate(n=module(Count)).plan
    assert plan.input.lifetime_changes == (Shift(ticks),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stream: stream.shift("1 hour"), "the length of a shift is 1 hour, and the times in at are integers"),
        (lambda stream: stream.set_duration("1 hour"), "the duration is 1 hour, and the times in at are integers"),
        (lambda stream: stream.align_to(tumbling("1 hour")), "the size of a window is 1 hour, and the times in at are"),
        (
            lambda stream: stream.shift(F.expr("INTERVAL '1' HOUR")),
            r"the length INTERVAL '1' HOUR is interval hour, and times are int\n  expected: a column that is of whole",
        ),
        (lambda stream: stream.extend(F.col("y")), "extend reads 'y', and the input has no such column"),
        (lambda stream: stream.shift(F.col("x"), at_least="1 hour"), "the least length of a shift is 1 hour, and the"),
        (
            lambda stream: stream.shift(F.col("x"), at_least=-(2**61)),
            "shift.. takes lengths of up to 1152921504606846976 ticks, got -2305",
        ),
        (lambda stream: stream.shift(2**61), "shift.. takes lengths of up to 1152921504606846976 ticks, got 2305"),
    ],
)
def test_lengths_of_lifetimes_that_mean_nothing_on_the_axis_are_refused(
    df: DataFrame, change: Callable[[EventStream], EventStream], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        change(events(df, at="at")).window(snapshot()).aggregate(n=module(Count))


def test_lengths_in_columns_are_planned_as_columns_of_their_own(df: DataFrame) -> None:
    minutes = expression("x * INTERVAL '1' MINUTE")
    timed = events(df, at="time").set_duration(minutes).extend(minutes).shift(minutes, at_least="-1 hour")
    plan = timed.select("x").window(snapshot()).aggregate(n=module(Count)).plan
    least_length = -3_600_000_000  # an hour back, in microseconds
    assert plan.input.lifetime_changes[2:] == (Shift(LengthColumn("length_2", str(minutes), least_length)),)


def test_lengths_in_columns_have_the_type_of_the_times(df: DataFrame) -> None:
    no_interval = r"the length x is int, and times are timestamp\n  expected: .* an interval: e"
    with pytest.raises(QueryError, match=no_interval):
        events(df, at="time").shift(F.col("x")).window(snapshot()).aggregate(n=module(Count))

    prices = events(df.withColumn("price", F.col("at").cast("decimal(9, 2)")), at="price")
    other_places = r"is decimal\(9,3\), .*\n  expected: a column that is of 2 places, as the times"
    with pytest.raises(QueryError, match=other_places):
        prices.shift(F.col("x").cast("decimal(9, 3)")).window(snapshot()).aggregate(n=module(Count))


def test_lengths_in_columns_of_events_that_change_are_in_every_row(df: DataFrame) -> None:
    with pytest.raises(QueryError, match=r"needs the payload in every row.*\n.*say so: shift\(..., repeated=True\)"):
        events(df, at="at", id="x").shift(F.col("x"))
    assert events(df, at="at", id="x").shift(F.col("x"), repeated=True).lifetimes == "point"


def test_events_whose_ends_are_not_known_are_not_extended_by_a_column(df: DataFrame) -> None:
    with pytest.raises(QueryError, match=r"extend\(\) reads the ends of events"):
        events(df, at="at", edge=True).extend(F.col("x"))


def test_windows_by_the_clock_of_a_zone_do_not_align_local_times(df: DataFrame) -> None:
    local_days = events(df, at="local").align_to(calendar("day", zone="Europe/Berlin"))
    with pytest.raises(
        QueryError, match="asks what a clock shows at an instant, and the times in local are timestamp_ntz"
    ):
        local_days.window(snapshot()).aggregate(n=module(Count))


def test_a_union_is_one_input_with_its_streams_as_sources(df: DataFrame) -> None:
    united = union(a=events(df, at="at", key="k"), b=events(df, at=F.col("at") + 1, key="k")).shift(5)
    plan = united.window(snapshot()).aggregate(n=module(Count, "x")).plan
    assert plan.input.sources == ("a", "b")
    assert plan.input.lifetimes == "point"
    assert [key.name for key in plan.keys] == ["k"]


def test_streams_that_cannot_be_united_are_refused(df: DataFrame) -> None:
    points = events(df, at="at", key="k")
    with pytest.raises(QueryError, match="the k of the streams of a union is of one type, got a string, b int"):
        union(a=points, b=events(df.withColumn("k", F.lit(5)), at="at", key="k"))
    with pytest.raises(QueryError, match="the start of the streams of a union is of one type, got a int, b bigint"):
        union(a=points, b=events(df, at="later", key="k"))
    with pytest.raises(QueryError, match="b has a column source, which is a name of the union's own\n  rename it"):
        union(a=points, b=events(df.withColumnRenamed("x", "source"), at="at", key="k"))
    with pytest.raises(QueryError, match="a is a union already"):
        union(a=union(a=points, b=points.shift(1)), b=points)


def windows_of_two_streams(df: DataFrame) -> WindowedStream:
    """Return windows of a union of the streams `left`, with all columns, and `right`, with `celsius`."""
    points = events(df, at="at", key="k")
    celsius_events = events(df.select("at", "k", F.lit(5.0).alias("celsius")), at="at", key="k")
    return union(left=points, right=celsius_events).window(tumbling(10))


def test_a_module_with_several_inputs_reads_columns_of_each_stream(df: DataFrame) -> None:
    united = windows_of_two_streams(df)
    query = united.aggregate(n=module(Count), apart=module("stats.average_difference", left="x", right="celsius"))
    assert [(column.name, column.type) for column in query.plan.input.columns.payload] == [
        ("source", "string"),
        ("x", "int"),
        ("celsius", "double"),
    ]
    assert "inputs      left is x of left; right is celsius of right; a window with events of one" in query.plan_text()
    left_input, right_input = query.plan.modules[1].inputs
    assert (left_input.name, left_input.sources, left_input.columns) == ("left", ("left",), (1,))
    assert (right_input.name, right_input.sources, right_input.columns) == ("right", ("right",), (2,))


@pytest.mark.parametrize(
    ("left", "right", "error", "message"),
    [
        ("x", "nope", QueryError, r"the input right of stats\.average_difference reads 'nope', and the input has no"),
        (
            "k",
            "celsius",
            TypeMismatchError,
            r"the input left of stats\.average_difference reads integer or float or decimal.*k is string",
        ),
        (
            from_stream("west", "x"),
            "celsius",
            QueryError,
            r"input left .* is the stream west, and there is none of this name: left, right",
        ),
    ],
    ids=["no such column", "a column of another type", "no such stream"],
)
def test_an_input_of_a_module_that_its_stream_does_not_have_is_named(
    df: DataFrame, left: Any, right: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        windows_of_two_streams(df).aggregate(apart=module("stats.average_difference", left=left, right=right))


def test_a_module_with_several_inputs_needs_a_union(df: DataFrame) -> None:
    points = events(df, at="at", key="k")
    with pytest.raises(QueryError, match=r"reads 2 inputs, left, right, and the events are of one stream\n  make one"):
        points.window(tumbling(10)).aggregate(apart=module("stats.average_difference", left="x", right="x"))
