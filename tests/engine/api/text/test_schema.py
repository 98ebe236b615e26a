"""The JSON Schema of queries: it takes what is written, and refuses typos without Spark."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft7Validator

from muntin import early
from muntin_engine import query_schema
from muntin_engine.plan.arguments_as_text import write_value
from muntin_engine.plan.steps import SIGNATURES, main_parameter
from muntin_engine.plan.text_functions import FUNCTIONS
from tests.engine.api.text.random_queries import DECIMALS, EMISSIONS, LATE, PROGRESS, ROWS, TICKS, TRIGGERS, WINDOWS

SCHEMA = query_schema()
VALID = Draft7Validator(SCHEMA)
TEXT: dict[str, Any] = {
    "muntin": 1,
    "query": [
        {"events": "rides", "key": ["station"], "at": "leaves", "watermark": {"kind": "bounded_disorder", "rows": 9}},
        {"where": "km > 2"},
        {"shedding": None, "most_held": 1000},
        {"window": {"kind": "hopping", "size": "1 hour", "hop": "10 minutes"}, "clip": "full", "emit": "eager"},
        {"aggregate": {"p90": {"module": "stats.quantile", "columns": [{"sql": "km * 2"}], "parameters": {"q": 0.9}}}},
        {"as_events": None, "key": "station"},
        {"join": [{"events": "stations", "key": "id", "start": "opens", "end": "closes"}], "left_columns": ["p90"]},
    ],
}


def changed(place: int, **entries: Any) -> dict[str, Any]:
    """Return the text with further or other entries in the step at a place."""
    text = copy.deepcopy(TEXT)
    text["query"][place] |= entries
    return text


def test_the_schema_is_valid_and_takes_a_query() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert list(VALID.iter_errors(TEXT)) == []


@pytest.mark.parametrize("place", range(len(TEXT["query"])))
def test_a_step_has_a_call_and_no_entry_that_is_no_argument_of_it(place: int) -> None:
    (error,) = VALID.iter_errors(changed(place, zzz=None))
    assert list(error.absolute_path)[:2] == ["query", place]

    (call,) = TEXT["query"][place].keys() & SIGNATURES.keys()
    text_without_call = copy.deepcopy(TEXT)
    del text_without_call["query"][place][call]
    assert not VALID.is_valid(text_without_call)


QUERIES_BY_NAME: dict[str, Any] = {"short": TEXT["query"], "long": TEXT["query"][:5]}


def test_the_schema_takes_the_queries_of_one_pass_by_name() -> None:
    assert list(VALID.iter_errors({"muntin": 1, "one_pass": QUERIES_BY_NAME})) == []


def test_the_schema_refuses_a_text_of_a_query_and_of_one_pass() -> None:
    assert not VALID.is_valid({**TEXT, "one_pass": QUERIES_BY_NAME})


@pytest.mark.parametrize(
    "queries",
    [{}, [TEXT["query"]], {**QUERIES_BY_NAME, "third": [{"x": 1}]}, None],
    ids=["no query", "a list", "a query that is none", "null"],
)
def test_the_schema_refuses_one_pass_of_anything_but_queries_by_name(queries: Any) -> None:
    assert not VALID.is_valid({"muntin": 1, "one_pass": queries})


def test_each_call_and_each_kind_of_windows_policies_and_triggers_is_in_the_schema() -> None:
    assert {f"call {name}" for name in SIGNATURES} <= set(SCHEMA["definitions"])
    names: list[str] = []
    for definition in SCHEMA["definitions"].values():
        if "allOf" in definition:
            names += definition["properties"]["kind"]["anyOf"][0]["enum"]
    assert set(FUNCTIONS) <= set(names)


def test_no_parameter_is_named_as_a_call() -> None:
    """A step of a text is recognized by its entry for a call, so no other entry may have the name of a call."""
    parameters: set[str] = set()
    for name, call in SIGNATURES.items():
        parameters.update(parameter for parameter in call.parameters if parameter != main_parameter(name))
    assert parameters.isdisjoint(SIGNATURES)


@pytest.mark.parametrize(
    ("place", "argument", "values"),
    [
        (3, "window", (*WINDOWS, *TICKS, *DECIMALS, *ROWS)),
        (0, "watermark", PROGRESS),
        (0, "late_policy", LATE),
        (3, "emit", (*EMISSIONS, *map(early, TRIGGERS))),
    ],
)
def test_the_schema_takes_each_value_that_is_written_and_refuses_another_kind_or_entry(
    place: int, argument: str, values: tuple[Any, ...]
) -> None:
    for value in map(write_value, values):
        assert list(VALID.iter_errors(changed(place, **{argument: value}))) == []
        if isinstance(value, dict):
            value_with_entry = {**value, "zzz": 1}
            assert not VALID.is_valid(changed(place, **{argument: value_with_entry})), value
            value_of_other_kind = {**value, "kind": f"{value['kind']}_"}
            assert not VALID.is_valid(changed(place, **{argument: value_of_other_kind})), value


@pytest.mark.parametrize(("separator", "is_valid"), [(".", True), (":", True), ("_", False)])
def test_a_kind_with_a_dot_or_a_colon_is_of_a_plugin_or_of_the_program(separator: str, is_valid: bool) -> None:
    assert VALID.is_valid(changed(3, window={"kind": f"retail{separator}visits", "gap": 5})) is is_valid
    assert VALID.is_valid(changed(0, watermark={"kind": f"program{separator}Slow", "delay": 5})) is is_valid


@pytest.mark.parametrize(
    "text",
    [
        {**TEXT, "muntin": 2},
        {**TEXT, "name": "x"},
        {**TEXT, "query": TEXT["query"][1:]},
        {**TEXT, "query": []},
        changed(0, kye="station"),
        changed(0, buckets="many"),
        changed(0, late_policy="sid"),
        changed(0, watermark={"kind": "bounded_disorder", "row": 9}),
        changed(0, watermark={"kind": "bounded_disorde", "rows": 9}),
        changed(0, watermark={"kind": "hopping", "size": 5, "hop": 1}),
        changed(1, wher="km > 2"),
        {**TEXT, "query": [TEXT["query"][0], {"wher": "km > 2"}]},
        {**TEXT, "query": [TEXT["query"][0], {"shedding": None}]},
        changed(3, window={"kind": "hoping", "size": "1 hour", "hop": "10 minutes"}),
        changed(3, window={"kind": "hopping", "size": "1 hour"}),
        changed(3, window={"kind": "hopping", "size": "1 hour", "hop": "1 minute", "ofset": 0}),
        changed(3, clip="ful"),
        changed(3, emit={"kind": "early", "triger": {"kind": "every", "period": "1 minute"}}),
        changed(4, aggregate={"p90": {"modul": "stats.quantile"}}),
        changed(4, aggregate={"p90": {"module": "stats.quantile", "column": ["km"]}}),
        changed(6, how="inne"),
        changed(6, join=[{"events": "stations", "key": "id", "opens": "x"}]),
    ],
    ids=lambda text: str(len(str(text))),
)
def test_the_schema_refuses_texts_with_a_typo(text: dict[str, Any]) -> None:
    assert not VALID.is_valid(text)
