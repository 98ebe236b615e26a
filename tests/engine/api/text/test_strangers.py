"""Texts that strangers write: each makes a query that says all that was written, or is refused with its place."""

from __future__ import annotations

import json
from contextlib import suppress
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
from tests.engine.api.text.mutations import lost_parts, with_mistake
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


def right_texts(rides: DataFrame, random: Random, count: int) -> list[Any]:
    """Return so many texts of queries: five with calls that random queries do not have, and random ones."""
    queries = rare_queries(rides)
    while len(queries) < count:
        with suppress(MuntinError):  # a query that is refused is drawn again
            queries.append(random_query(random, rides))
    return [json.loads(json.dumps(query.to_dict(rides=rides))) for query in queries]


def rare_queries(rides: DataFrame) -> list[Query]:
    """Return queries with calls that random queries do not have."""
    hour = tumbling("1 hour")
    stream = events(rides, key="station", at="leaves")
    with_key_ranges = events(
        rides,
        key="station",
        at="leaves",
        watermark=punctuated().with_key_punctuation(),
        change="line",
        key_ranges={"station": ("line", None)},
    )
    with_heartbeat = events(
        rides,
        key="station",
        at="leaves",
        watermark=bounded_delay("1 minute").with_idle("1 hour", lag="2 hours"),
        late_policy="drop",
        change="line",
    ).with_heartbeat(rides, at="leaves", delay="1 minute")
    difference = stats.average_difference(from_stream("a", "km"), from_stream("b", "km2"))
    return [
        with_key_ranges.window(hour).aggregate(n=stats.sum("km")),
        with_heartbeat.window(hour).aggregate(n=module("stats.count")),
        union(a=stream, b=stream).window(hour).aggregate(n=difference),
        stream.apply(module("patterns.silence", after="10 minutes")),
        stream.window(hour).apply(module("stats.top_k", "km", k=3)),
    ]


def names_in(schema: Any) -> Iterator[str]:
    """Yield the names of all parameters that a schema has."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for part in schema.values():
            yield from names_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from names_in(part)


def test_a_text_with_mistakes_makes_a_query_with_all_parts_or_is_refused_with_the_place(rides: DataFrame) -> None:
    random = Random(27)
    texts = right_texts(rides, random, 25)
    names = frozenset(names_in(query_schema()))
    accepted = 0
    refused = 0
    for _ in range(80):
        text = with_mistake(random, random.choice(texts))
        if random.random() < 0.2:
            text = with_mistake(random, text)
        try:
            query = query_from_dict(text, {"rides": rides})
        except QueryError as error:
            check_refusal(error, text)
            refused += 1
        else:
            check_query_of_text(query, text, names, rides)
            accepted += 1
    assert accepted > 5
    assert refused > 40


def check_refusal(error: QueryError, text: Any) -> None:
    """Assert that an error begins with a place in the text, or is about the text, and comes from no fault inside."""
    assert str(error).startswith("query") or "the text" in str(error), (text, error)
    assert error.__cause__ is None or isinstance(error.__cause__, MuntinError), (text, error)


def check_query_of_text(query: Query, text: Any, names: frozenset[str], rides: DataFrame) -> None:
    """Assert that a text is valid, and that the text of its query lacks nothing of it and makes the same query."""
    written_text = query.to_dict(rides=rides)
    assert VALID.is_valid(text), text
    assert VALID.is_valid(written_text), written_text
    assert lost_parts(text, written_text, names) == [], (text, written_text)
    assert query_from_dict(written_text, {"rides": rides}).to_dict(rides=rides) == written_text


def list_that_holds_itself() -> list[Any]:
    data: list[Any] = []
    data.append(data)
    return data


def nested(depth: int) -> Any:
    """Return a dictionary in a list in a dictionary, and so on."""
    data: Any = []
    for _ in range(depth):
        data = {"any_of": [data]}
    return data


def doubled(times: int) -> Any:
    """Return a list with the same list twice, and so on: a few objects, but 2**times values."""
    data: Any = ["x"]
    for _ in range(times):
        data = [data, data]
    return data


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (list_that_holds_itself(), rf"query\[0\]\.at\[0\].*: the text is more than {DEEPEST} deep"),
        (nested(5000), f"more than {DEEPEST} deep"),
        (doubled(40), f"of more than {MOST_VALUES} values"),
        ({"leaves"}, r"query\[0\]\.at: \{'leaves'\} is nothing that JSON has"),
        (b"leaves", "is nothing that JSON has"),
        (("leaves",), "is nothing that JSON has"),
        (object, "is nothing that JSON has"),
        (float("nan"), "nan is nothing that JSON has"),
        (float("inf"), "inf is nothing that JSON has"),
        (2**5000, r"query\[0\]\.at: a number of more than 1024 bits"),
        ({1: "leaves"}, r"query\[0\]\.at: the name 1 is no text"),
        ({True: "leaves"}, r"query\[0\]\.at: the name True is no text\n  YAML reads on"),
        ({True: {}, "on": {}, "join": []}, r"query\[0\]\.at: there is on twice"),
    ],
    ids=lambda part: str(part)[:30] if isinstance(part, str) else type(part).__name__,
)
def test_an_argument_that_json_does_not_have_or_that_is_too_large_is_refused(argument: Any, message: str) -> None:
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
def test_data_that_are_not_the_text_of_a_query_are_refused(text: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        query_from_dict(text, {})


def failing(error: BaseException) -> Any:
    """Return tables, as a function of their names, that raises an error."""

    def table(name: str) -> Any:
        raise error

    return table


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
def test_the_error_for_a_table_that_is_missing_or_fails_has_its_name_and_its_place(tables: Any, message: str) -> None:
    steps = [{"events": "rides", "at": "leaves"}]
    with pytest.raises(QueryError, match=rf"query\[0\]\.events: {message}"):
        query_from_dict({"muntin": 1, "query": steps}, tables)
    with pytest.raises(QueryError, match=rf"one_pass\.long\[0\]\.events: {message}"):
        one_pass_from_dict({"muntin": 1, "one_pass": {"long": steps}}, tables)


@pytest.mark.parametrize("name", [None, 5, ["rides"], {"sql": "select 1"}], ids=str)
def test_a_value_that_is_no_name_of_a_table_is_refused_without_asking_for_a_table(name: Any) -> None:
    text = {"muntin": 1, "query": [{"events": name, "at": "leaves"}]}
    tables = failing(AssertionError("a table was asked for"))
    with pytest.raises(QueryError, match=r"query\[0\]\.events: expected the name of a DataFrame, got"):
        query_from_dict(text, tables)
