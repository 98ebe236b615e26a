"""Queries as data: a query that is read from the data of another one, through JSON, means the same."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, call

import pytest
import yaml
from jsonschema import Draft7Validator
from pyspark.sql import functions as F

import muntin_stats as stats
from muntin import Aggregate, early, session, snapshot, tumbling
from muntin.errors import MuntinError, QueryError
from muntin_engine import (
    Query,
    condition,
    events,
    module,
    one_pass,
    one_pass_from_dict,
    query_from_dict,
    query_schema,
    union,
)
from muntin_engine.plan.arguments_as_text import write_value
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plan_as_data import plan_to_data
from muntin_engine.plan.steps import SIGNATURES
from tests.engine.api.text.random_queries import ROWS, TRIGGERS, WINDOWS, random_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from muntin_engine import EventStream

_VALID = Draft7Validator(query_schema())
_SCHEMA = "station string, line string, leaves timestamp, arrives timestamp, km double, km2 double"


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], _SCHEMA)


def check_comes_back(query: Query, rides: DataFrame, **other_tables: DataFrame) -> None:
    """Assert that the data of a query are valid, and that the query that is read from them means the same."""
    data = query.to_dict(rides=rides, **other_tables)
    _VALID.validate(data)
    read_query = query_from_dict(json.loads(json.dumps(data)), {"rides": rides, **other_tables})
    assert read_query.to_dict(rides=rides, **other_tables) == data
    assert meaning(read_query) == meaning(query)


def meaning(query: Query) -> dict[str, Any]:
    """Return the parts of a query that decide what it computes."""
    return {
        "plan": plan_to_data(query.plan),
        "identity": plan_identity(query.plan),
        "inner": [plan_to_data(inner.plan) for inner in query.inner],
        "selection": query.selection,
        "columns": [source.df.schema for source in query.sources],
    }


_CALLS = {"windows", "join", "union", "as_events", "where", "select", "with_columns", "to_edges"}


@pytest.mark.nightly
def test_random_queries_come_back(rides: DataFrame) -> None:
    random = Random(27)
    calls = Counter[str]()
    while sum(calls.values()) < 80 or not calls.keys() >= _CALLS:
        with suppress(MuntinError):  # a query that is refused is drawn again
            query = random_query(random, rides)
            check_comes_back(query, rides)
            calls.update(step.call for step in query.steps)


def test_a_query_with_each_kind_of_windows_comes_back(rides: DataFrame) -> None:
    # The timestamps of rides have no windows that are a bare number of ticks long: there are two of these.
    windows_over_time = [windows for windows in (*WINDOWS, *ROWS) if "elapsed" not in repr(write_value(windows))]
    assert len(windows_over_time) == len(WINDOWS) + len(ROWS) - 2
    stream = events(rides, key="station", at="leaves", order="line")
    for windows in windows_over_time:
        check_comes_back(stream.window(windows).aggregate(n=stats.count()), rides)


def test_a_query_with_each_trigger_comes_back(rides: DataFrame) -> None:
    stream = events(rides, key="station", at="leaves")
    for trigger in TRIGGERS:
        query = stream.window(tumbling("1 hour"), emit=early(trigger)).aggregate(n=stats.sum("km"))
        check_comes_back(query, rides)


def test_every_call_that_queries_are_made_of_has_a_signature_by_which_it_is_written() -> None:
    assert set(SIGNATURES) >= {
        *("events", "union", "where", "shedding", "apply", "window", "windows", "aggregate", "join", "as_events"),
        *("shift", "set_duration", "extend", "shorten", "to_points", "to_edges", "align_to"),
        *("with_columns", "select", "with_heartbeat", "with_clock"),
    }


def test_the_data_of_a_query_are_the_list_of_its_calls(rides: DataFrame) -> None:
    stream = events(rides, key="station", at="leaves", watermark="10 minutes").where("km > 2")
    query = stream.window(tumbling("1 hour"), emit="eager").aggregate(p90=stats.quantile("km", q=0.9))
    assert query.to_dict(rides=rides) == {
        "muntin": 1,
        "query": [
            {"events": "rides", "key": "station", "at": "leaves", "watermark": "10 minutes"},
            {"where": "km > 2"},
            {"window": {"kind": "tumbling", "size": "1 hour"}, "emit": "eager"},
            {"aggregate": {"p90": {"module": "stats.quantile", "columns": ["km"], "parameters": {"q": 0.9}}}},
        ],
    }


def test_a_dataframe_without_a_given_name_is_called_input(rides: DataFrame, spark: SparkSession) -> None:
    beats = spark.createDataFrame([], "at timestamp")
    with_beats = events(rides, at="leaves").with_heartbeat(beats, at="at", delay="1 minute")
    query = union(a=with_beats, b=events(rides, at="leaves")).window(snapshot()).aggregate(n=stats.count())
    assert '"with_heartbeat": "input"' in json.dumps(query.to_dict(rides=rides))
    check_comes_back(query, rides, beats=beats)


def test_columns_of_spark_are_written_as_sql(rides: DataFrame) -> None:
    stream = events(rides, key=F.col("station"), at="leaves").where(F.col("km") > 2)
    query = stream.window(tumbling("1 hour")).aggregate(n=stats.sum(F.col("km") * 2))
    steps = query.to_dict(rides=rides)["query"]
    assert steps[:2] == [{"events": "rides", "key": "station", "at": "leaves"}, {"where": {"sql": "(km > 2)"}}]
    assert steps[3]["aggregate"]["n"]["columns"] == [{"sql": "(km * 2)"}]
    check_comes_back(query, rides)


def test_a_constant_text_of_spark_is_written_as_one_and_not_as_the_name_of_a_column(rides: DataFrame) -> None:
    windowed = events(rides, at="leaves").window(tumbling("1 hour"))
    steps = windowed.aggregate(n=module("stats.last", F.lit("km"))).to_dict()["query"]
    assert steps[2]["aggregate"]["n"]["columns"] == [{"sql": "'km'"}]


def test_a_column_of_spark_whose_sql_is_not_known_is_refused(rides: DataFrame) -> None:
    windowed = events(rides, at="leaves").window(tumbling("1 hour"))
    query = windowed.aggregate(n=module("stats.last", F.when(F.col("km") > 2, "far")))
    with pytest.raises(QueryError, match="write it as SQL"):
        query.to_dict(rides=rides)


TEXT = """
muntin: 1
query:
  - events: rides
    key: station
    start: leaves
    end: arrives
    watermark: 10 minutes
  - join:
      - events: rides
        key: station
        at: leaves
      - where: km > 2
    how: left
    left_columns: [km]
    right_columns: {other: km2}
    on: {function: stats.is_between, left: [km], right: [km, km2]}
  - as_events:
    key: other
  - window: {kind: calendar, size: 1 day, start: 2024-01-01}
  - aggregate:
      n: {module: stats.count}
"""


def test_a_function_that_no_package_has_is_missing_unless_it_is_given(rides: DataFrame) -> None:
    with pytest.raises(QueryError, match=r"query\[1\].join.on: no function is named 'stats.is_between'"):
        query_from_dict(yaml.safe_load(TEXT), {"rides": rides})


def test_a_text_that_a_person_writes_in_yaml_is_read_and_written(rides: DataFrame) -> None:
    near = condition(is_near, left="km", right="km2", most=2.0).function
    text = TEXT.replace(
        "stats.is_between, left: [km], right: [km, km2]",
        f"{near.name}, left: [km], right: [km2], parameters: {{most: 2}}",
    )
    tables = {"rides": rides}
    query = query_from_dict(yaml.safe_load(text), tables.__getitem__, [near])
    assert [step.call for step in query.steps] == ["events", "join", "as_events", "window", "aggregate"]

    written_text = yaml.safe_dump(query.to_dict(rides=rides), sort_keys=False)
    read_query = query_from_dict(yaml.safe_load(written_text), tables, [near])
    assert meaning(read_query) == meaning(query)


def long_rides(rides: DataFrame) -> EventStream:
    return events(rides, key="station", at="leaves", watermark="1 minute").where("km > 2")


def union_of_long_and_short_rides(rides: DataFrame) -> EventStream:
    long = events(rides, key="station", at="leaves", rows="km>2")
    short = events(rides, key="station", at="leaves", rows="km<2")
    return union(**{"km>2": long, "km<2": short})


def rides_by_hour(rides: DataFrame) -> EventStream:
    hours = events(rides, key="station", at="leaves", watermark="1 minute").window(tumbling("1 hour"))
    return hours.aggregate(n=stats.count(), km=stats.sum("km")).as_events()


@pytest.mark.parametrize(
    "stream_of", [long_rides, union_of_long_and_short_rides, rides_by_hour], ids=["events", "union", "chain"]
)
def test_the_queries_of_one_pass_come_back_and_read_their_dataframe_once(rides: DataFrame, stream_of: Any) -> None:
    stream = stream_of(rides)
    two_queries = one_pass(
        days=stream.window(tumbling("1 day")).aggregate(km=stats.sum("km")),
        visits=stream.where("km > 3").window(session("2 hours")).aggregate(n=stats.count()),
    )
    data = two_queries.to_dict(rides=rides)
    _VALID.validate(data)

    tables = Mock(return_value=rides)
    read_queries = one_pass_from_dict(json.loads(json.dumps(data)), tables)
    assert tables.mock_calls == [call("rides")]
    days, visits = read_queries.queries.values()
    assert days.source.rows.df is visits.source.rows.df

    assert read_queries.to_dict(rides=rides) == data
    assert list(read_queries.queries) == ["days", "visits"]
    assert meaning(days) == meaning(two_queries.queries["days"])
    assert meaning(visits) == meaning(two_queries.queries["visits"])


def test_dataframes_of_one_pass_without_given_names_are_numbered(rides: DataFrame, spark: SparkSession) -> None:
    beats_of_a = spark.createDataFrame([], "at timestamp")
    beats_of_b = spark.createDataFrame([], "at timestamp")
    stream = events(rides, at="leaves")
    two_queries = one_pass(
        a=stream.with_heartbeat(beats_of_a, at="at").window(snapshot()).aggregate(n=stats.count()),
        b=stream.with_heartbeat(beats_of_b, at="at").window(snapshot()).aggregate(n=stats.count()),
    )
    steps_by_query = two_queries.to_dict()["one_pass"]
    assert steps_by_query["a"][1]["with_heartbeat"] == "input_2"
    assert steps_by_query["b"][1]["with_heartbeat"] == "input_3"


def test_queries_of_two_dataframes_are_no_one_pass(rides: DataFrame) -> None:
    query = events(rides, at="leaves").window(snapshot()).aggregate(n=stats.count())
    data = {
        "muntin": 1,
        "one_pass": {"a": query.to_dict(rides=rides)["query"], "b": query.to_dict(tides=rides)["query"]},
    }
    with pytest.raises(QueryError, match=r"one_pass: 'a' and 'b' are of two DataFrames"):
        one_pass_from_dict(data, {"rides": rides, "tides": rides.limit(1)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param({"muntin": 1, "query": []}, "the text has query, which query_from_dict reads", id="one query"),
        pytest.param({"muntin": 1, "one_pass": {}}, r"one_pass\(\) needs at least one query", id="no query"),
        pytest.param(
            {"muntin": 1, "one_pass": []}, "one_pass: expected lists of steps by the names of queries", id="no names"
        ),
    ],
)
def test_a_text_that_is_no_one_pass_is_refused(text: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        one_pass_from_dict(text, {})


class Widest(Aggregate[float, float]):
    """A module that no package has."""

    name, version = "mine.widest", "1.0.0"

    def __init__(self, floor: Any = 0.0) -> None:
        self.floor = floor

    def compute_result(self, payloads: Any) -> float:
        return float(max(payloads))


def test_modules_and_functions_of_the_program_have_to_be_given(rides: DataFrame) -> None:
    windowed = events(rides, at="leaves").window(tumbling("1 hour"))
    query = windowed.aggregate(w=module(Widest, "km", floor=1.5), spread=module(max_of, "km", returns=float))
    data = query.to_dict(rides=rides)
    with pytest.raises(QueryError, match=r"query\[2\].aggregate.w: .*\n(.*\n)*.*modules="):
        query_from_dict(data, {"rides": rides})
    given_modules = [Widest, module(max_of, "km", returns=float)]
    assert meaning(query_from_dict(data, {"rides": rides}, given_modules)) == meaning(query)


def test_a_query_with_a_function_as_a_parameter_cannot_be_written(rides: DataFrame) -> None:
    windowed = events(rides, at="leaves").window(tumbling("1 hour"))
    query = windowed.aggregate(w=module(Widest, "km", floor=lambda: 1))
    with pytest.raises(QueryError, match=r"aggregate\(modules=...\) cannot be written"):
        query.to_dict()


def max_of(km: list[float]) -> float:
    return max(km)


def test_a_query_with_a_condition_comes_back_if_the_condition_is_given(rides: DataFrame) -> None:
    left = events(rides, key="station", start="leaves", end="arrives")
    right = events(rides, key="station", start="leaves", end="arrives")
    near = condition(is_near, left="km", right="km", most=2.0)
    query = left.join(right, left_columns=["km"], right_columns={"other": "km2"}, on=near)
    data = json.loads(json.dumps(query.to_dict(rides=rides)))
    assert meaning(query_from_dict(data, {"rides": rides}, [near])) == meaning(query)


def is_near(left: float, right: float, most: float) -> bool:
    return abs(left - right) <= most


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # of the steps, [0] is events, [1] is window and [2] is aggregate
        (lambda d: d.pop("muntin"), "is not the text of a query"),
        (lambda d: d.update(muntin=2), "version 2"),
        (lambda d: d.update(name="x"), "the text has name"),
        (lambda d: d["query"].pop(), "last step makes no results"),
        (lambda d: d["query"].clear(), "expected a list of steps"),
        (
            lambda d: d["query"][0].update(kee="station"),
            r"query\[0\].events: events takes no 'kee'\n  did you mean 'key'",
        ),
        (
            lambda d: d["query"][0].update(events="ridez"),
            r"query\[0\].events: no DataFrame .*'ridez'\n  did you mean 'rides'",
        ),
        (lambda d: d["query"][0].update(at="leavez"), r"query\[2\].aggregate: at reads 'leavez'"),
        (
            lambda d: d["query"].insert(1, {"wher": "km > 2"}),
            r"query\[1\]: expected one of .*got wher\n  did you mean 'where'",
        ),
        (
            lambda d: d["query"][1].update(window="1 hour"),
            r"query\[1\].window: expected windows, such as .*, got '1 hour'",
        ),
        (
            lambda d: d["query"][1]["window"].update(kind="tumblin"),
            r"query\[1\].window.kind: .*\n  did you mean 'tumbling'",
        ),
        (lambda d: d["query"][1]["window"].update(size="1 houw"), r"query\[1\].window: .*houw"),
        (lambda d: d["query"][1].update(emit="eagr"), r"query\[1\].window.emit: .*\n  did you mean 'eager'"),
        (
            lambda d: d["query"][2]["aggregate"]["n"].update(module="stats.cuont"),
            r"query\[2\].aggregate.n: (.*\n)*.*stats.count",
        ),
        (
            lambda d: d["query"][2]["aggregate"]["n"].update(colums=["km"]),
            r"aggregate.n: .*'colums'.*\n  did you mean 'columns'",
        ),
        (
            lambda d: d["query"][2]["aggregate"].update(n="stats.count"),
            r"aggregate.n: expected \{module: ...\}, got 'stats.count'",
        ),
        (
            lambda d: d["query"][1].update(emit={"kind": "early", "trigger": {"kind": "after_count", "cuont": 1}}),
            r"query\[1\].window.emit.trigger: after_count takes no 'cuont'\n  did you mean 'count'",
        ),
        (
            lambda d: d["query"][1].update(emit={"kind": "early", "trigger": {"kind": "after_count"}}),
            r"query\[1\].window.emit.trigger: after_count needs count, got kind",
        ),
        (
            lambda d: d["query"][0].update(key=["station", 5]),
            r"query\[0\].events.key\[1\]: expected a column, which is a name or \{sql: ...\}, got 5",
        ),
        (lambda d: d["query"][0].update(buckets="8"), r"query\[0\].events.buckets: expected a whole number, got '8'"),
        (
            lambda d: d["query"][0].update(watermark={"kind": "tumbling", "size": "1 hour"}),
            r"query\[0\].events.watermark.kind: 'tumbling' is none of these\n  there are bounded_delay, ",
        ),
        (
            lambda d: d["query"][1].update(timestamps="align", clip=True),
            r"query\[1\].window.clip: expected none, left, right, full or null, got True",
        ),
        (lambda d: d["query"][2].update(aggregate=["stats.count"]), "aggregate: expected a mapping of names"),
    ],
)
def test_an_error_has_the_place_of_a_mistake_and_the_closest_name(rides: DataFrame, change: Any, message: str) -> None:
    query = events(rides, key="station", at="leaves").window(tumbling("1 hour")).aggregate(n=stats.sum("km"))
    data = json.loads(json.dumps(query.to_dict(rides=rides)))
    change(data)
    with pytest.raises(QueryError, match=message):
        query_from_dict(data, {"rides": rides})
