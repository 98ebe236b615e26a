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


def changed(place: int, **changes: Any) -> dict[str, Any]:
    text = copy.deepcopy(TEXT)
    text["query"][place] |= changes
    return text


def test_the_schema_is_valid_and_takes_a_query_whose_steps_have_one_call_and_its_arguments_alone() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert list(VALID.iter_errors(TEXT)) == []
    for place, step in enumerate(TEXT["query"]):
        refused = [error.absolute_path[1] for error in VALID.iter_errors(changed(place, zzz=None))]
        assert refused == [place]
        (call,) = set(step) & set(SIGNATURES)
        text = changed(place)
        del text["query"][place][call]
        assert not VALID.is_valid(text)


def test_it_takes_the_queries_of_one_pass_by_name() -> None:
    texts: dict[str, Any] = {"short": TEXT["query"], "long": TEXT["query"][:5]}
    assert list(VALID.iter_errors({"muntin": 1, "one_pass": texts})) == []
    assert not VALID.is_valid({**TEXT, "one_pass": texts})
    for entry in ({}, [TEXT["query"]], {**texts, "third": [{"x": 1}]}, None):
        assert not VALID.is_valid({"muntin": 1, "one_pass": entry})


def test_each_call_and_each_kind_of_windows_policies_and_triggers_is_in_it() -> None:
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
def test_it_takes_each_value_that_is_written(place: int, argument: str, values: tuple[Any, ...]) -> None:
    for value in map(write_value, values):
        assert list(VALID.iter_errors(changed(place, **{argument: value}))) == []
        if isinstance(value, dict):
            assert not VALID.is_valid(changed(place, **{argument: {**value, "zzz": 1}})), value
            assert not VALID.is_valid(changed(place, **{argument: {**value, "kind": f"{value['kind']}_"}})), value


def test_it_takes_kinds_of_plugins() -> None:
    for dot, is_valid in ((".", True), (":", True), ("_", False)):
        assert VALID.is_valid(changed(3, window={"kind": f"retail{dot}visits", "gap": 5})) is is_valid
        assert VALID.is_valid(changed(0, watermark={"kind": f"program{dot}Slow", "delay": 5})) is is_valid


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
def test_it_refuses_typos(text: dict[str, Any]) -> None:
    assert not VALID.is_valid(text)
