"""Texts that strangers write: each makes a query that says all that was written, or is refused with its place."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft7Validator

import muntin_stats as stats
from muntin import tumbling
from muntin.errors import MuntinError, QueryError
from muntin.progress import bounded_delay, punctuated
from muntin_engine import Query, events, from_stream, module, one_pass_from_dict, query_from_dict, query_schema, union
from muntin_engine.plan.text_places import DEEPEST, MOST_VALUES
from tests.engine.api.text.mutations import left_out, mutated
from tests.engine.api.text.random_queries import random_query
from tests.naming import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

VALID = Draft7Validator(query_schema())


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    schema = "station string, line string, leaves timestamp, arrives timestamp, km double, km2 double"
    return spark.createDataFrame([], schema)


def texts(rides: DataFrame, random: Random, number: int) -> list[Any]:
    """Return texts of queries: some with calls that random queries do not have, and random ones."""

    def stream(**options: Any) -> Any:
        return events(rides, key="station", at="leaves", **options)

    ranged = stream(
        watermark=punctuated().with_key_punctuation(), change="line", key_ranges={"station": ("line", None)}
    )
    idle = stream(
        watermark=bounded_delay("1 minute").with_idle("1 hour", lag="2 hours"), late_policy="drop", change="line"
    )
    hour = tumbling("1 hour")
    united = union(a=stream(), b=stream())
    queries: list[Query] = [
        ranged.window(hour).aggregate(n=stats.sum("km")),
        idle.with_heartbeat(rides, at="leaves", delay="1 minute").window(hour).aggregate(n=module("stats.count")),
        united.window(hour).aggregate(n=stats.average_difference(from_stream("a", "km"), from_stream("b", "km2"))),
        stream().apply(module("patterns.silence", after="10 minutes")),
        stream().window(hour).apply(module("stats.top_k", "km", k=3)),
    ]
    while len(queries) < number:
        try:
            queries.append(random_query(random, rides))
        except MuntinError:
            continue
    return [json.loads(json.dumps(query.to_dict(rides=rides))) for query in queries]


def names_in(schema: Any) -> Iterator[str]:
    """Return the names of all parameters that a schema has."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for part in schema.values():
            yield from names_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from names_in(part)


def test_a_text_with_mistakes_makes_what_it_says_or_is_refused_with_its_place(rides: DataFrame) -> None:
    random = Random(27)
    names = frozenset(names_in(query_schema()))
    right = texts(rides, random, 25)
    accepted: list[tuple[Any, Query]] = []
    refused: list[tuple[QueryError, Any]] = []
    for _ in range(80):
        text = mutated(random, random.choice(right))
        text = mutated(random, text) if random.random() < 0.2 else text
        try:
            accepted.append((text, query_from_dict(text, {"rides": rides})))
        except QueryError as error:
            refused.append((error, text))
    for refusal, text in refused:
        assert str(refusal).startswith("query") or "the text" in str(refusal), (text, refusal)
        assert refusal.__cause__ is None or isinstance(refusal.__cause__, MuntinError), (text, refusal)
    for text, query in accepted:
        back = query.to_dict(rides=rides)
        assert VALID.is_valid(text), text
        assert VALID.is_valid(back), back
        assert left_out(text, back, names) == [], (text, back)
        assert query_from_dict(back, {"rides": rides}).to_dict(rides=rides) == back
    assert len(accepted) > 5
    assert len(refused) > 40


def circle() -> list[Any]:
    around: list[Any] = []
    around.append(around)
    return around


def nested(depth: int) -> Any:
    data: Any = []
    for _ in range(depth):
        data = {"any_of": [data]}
    return data


def doubled(times: int) -> Any:
    data: Any = ["x"]
    for _ in range(times):
        data = [data, data]
    return data


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (circle(), rf"query\[0\]\.at\[0\].*: the text is more than {DEEPEST} deep"),
        (nested(5000), f"more than {DEEPEST} deep"),
        (doubled(40), f"of more than {MOST_VALUES} values"),
        ({"leaves"}, r"query\[0\]\.at: \{'leaves'\} is nothing that JSON has"),
        (b"leaves", "is nothing that JSON has"),
        (("leaves",), "is nothing that JSON has"),
        (object, "is nothing that JSON has"),
        (2**5000, r"query\[0\]\.at: a number of more than 1024 bits"),
        ({1: "leaves"}, r"query\[0\]\.at: the name 1 is no text"),
        ({True: "leaves"}, r"query\[0\]\.at: the name True is no text\n  YAML reads on"),
        ({True: {}, "on": {}, "join": []}, r"query\[0\]\.at: there is on twice"),
    ],
    ids=lambda part: str(part)[:30] if isinstance(part, str) else type(part).__name__,
)
def test_what_json_does_not_have_is_refused_without_reading_on(argument: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        query_from_dict({"muntin": 1, "query": [{"events": "rides", "at": argument}]}, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "None is not the text of a query"),
        ([], "is not the text of a query"),
        ({"query": []}, "is not the text of a query"),
        ({"muntin": True, "query": []}, "the text is of version True"),
        ({"muntin": "1", "query": []}, "the text is of version '1'"),
        ({"muntin": 1}, "the text has no query\n  expected: {'muntin': 1, 'query': "),
        ({"muntin": 1, "one_pass": {}}, "the text has one_pass, which one_pass_from_dict reads"),
        ({"muntin": 1, "query": [], "one_pass": {}}, "the text has one_pass"),
        ({"muntin": 1, "query": [], 3: 4}, "the text has 3"),
        ({"muntin": 1, "query": {"events": "rides"}}, "query: expected a list of steps"),
        ({"muntin": 1, "query": ["events"]}, r"query\[0\]: expected one of events, union, got 'events'"),
        ({"muntin": 1, "query": [{}]}, r"query\[0\]: expected one of events, union, got nothing"),
        ({"muntin": 1, "query": [{"events": "a", "union": {}}]}, r"query\[0\]: expected one of .*, got events, union"),
    ],
    ids=lambda part: spelled(part)[:40],
)
def test_what_is_no_text_at_all_is_told_what_one_is(text: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        query_from_dict(text, {})


def failing(error: BaseException) -> Any:
    def look_up(name: str) -> Any:
        raise error

    return look_up


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "no DataFrame is given as 'rides'\n  there are none\n  give it: rides=df"),
        ({"Rides": None, "tides": None}, "no DataFrame is given as 'rides'\n  did you mean 'tides'"),
        ({"rides": None}, "tables gave None for 'rides'\n  expected: a DataFrame"),
        (lambda name: name.upper(), "there is no file 'RIDES'"),
        (lambda: None, "tables has no 'rides': TypeError: .*takes 0 positional arguments"),
        (failing(KeyError("rides")), "tables has no 'rides': KeyError: 'rides'"),
        (failing(ZeroDivisionError("by zero")), "tables has no 'rides': ZeroDivisionError: by zero"),
        (failing(QueryError("not today")), "tables has no 'rides': QueryError: not today"),
    ],
    ids=lambda part: spelled(part)[:40],
)
def test_a_table_that_is_not_there_is_told_with_its_name_and_place(tables: Any, message: str) -> None:
    with pytest.raises(QueryError, match=rf"query\[0\]\.events: {message}"):
        query_from_dict({"muntin": 1, "query": [{"events": "rides", "at": "leaves"}]}, tables)
    with pytest.raises(QueryError, match=rf"one_pass\.long\[0\]\.events: {message}"):
        one_pass_from_dict({"muntin": 1, "one_pass": {"long": [{"events": "rides", "at": "leaves"}]}}, tables)


def test_a_name_of_a_table_that_is_none_is_refused() -> None:
    for name in (None, 5, ["rides"], {"sql": "select 1"}):
        with pytest.raises(QueryError, match=r"query\[0\]\.events: expected the name of a DataFrame, got"):
            query_from_dict(
                {"muntin": 1, "query": [{"events": name, "at": "leaves"}]}, failing(AssertionError("it was asked"))
            )
