"""Arguments of a query as JSON: the value that is read equals the value that was written."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies

import muntin
import muntin.progress
import muntin.rows
import muntin.triggers
from muntin.catalog.named_windows import OWN_KINDS, OWN_ROWS
from muntin.errors import MuntinError, QueryError
from muntin.progress import ProgressPolicy, bounded_delay
from muntin_engine.api.text.kinds import ProgramClasses
from muntin_engine.plan.arguments_as_text import write_parameter, write_value
from muntin_engine.plan.text_functions import FUNCTIONS
from tests.engine.api.text.random_queries import DECIMALS, EMISSIONS, LATE, PROGRESS, ROWS, TICKS, TRIGGERS, WINDOWS

VALUES = (*WINDOWS, *TICKS, *DECIMALS, *ROWS, *TRIGGERS, *PROGRESS, *EMISSIONS, *LATE)


def written_and_read(value: Any, *classes: Any) -> Any:
    """Write a value as JSON, and return the value that is read from it, given classes of the program."""
    text = json.dumps(write_value(value))
    return ProgramClasses.of(classes).read(json.loads(text), "here")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:60])
def test_a_value_comes_back_through_json(value: Any) -> None:
    read_value = written_and_read(value)
    assert read_value == value
    assert type(read_value) is type(value) or isinstance(value, str)
    assert str(read_value) == str(value)


@pytest.mark.parametrize("windows", [*WINDOWS, *TICKS, *DECIMALS], ids=str)
def test_the_lengths_of_windows_come_back_with_their_types(windows: Any) -> None:
    read_windows = written_and_read(windows)
    for name in windows.lengths:
        length = getattr(windows, name)
        if length:
            assert type(getattr(read_windows, name)) is type(length)


def test_every_public_function_that_returns_windows_triggers_or_policies_can_be_written() -> None:
    progress_policies = [member.__name__ for member in vars(muntin.progress).values() if isinstance(member, type)]
    returned_types = ("Windows", "Trigger", "Emission", "Lateness", *progress_policies)
    function_names: set[str] = set()
    for module in (muntin, muntin.progress, muntin.triggers):
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isfunction(member):
                returned_type = str(inspect.signature(member).return_annotation)
                if returned_type.endswith(returned_types):
                    function_names.add(name)
    assert function_names - {"window", "named"} <= set(FUNCTIONS)
    assert len(function_names) > 30


def test_every_kind_and_function_is_among_the_values_of_these_tests() -> None:
    text = json.dumps([write_value(value) for value in VALUES])
    missing = {name for name in {**OWN_KINDS, **OWN_ROWS, **FUNCTIONS} if f'"{name}"' not in text}
    assert missing == {"global", "ordered"}, "these two are written as others"


@pytest.mark.parametrize(
    "value",
    [
        *(1, 2.5, "km", None, True, [0.5, 0.9], (1, 2), {"a": [1]}, Decimal("2.50"), b"x", float("inf")),
        *(date(2024, 5, 1), datetime(2024, 5, 1, 12, tzinfo=UTC), timedelta(hours=1), {1: "a"}, frozenset({1})),
    ],
    ids=repr,
)
def test_a_parameter_comes_back_through_json(value: Any) -> None:
    read_value = written_and_read_parameter(value)
    assert read_value == value
    assert type(read_value) is type(value)


def written_and_read_parameter(value: Any) -> Any:
    text = json.dumps(write_parameter(value))
    return ProgramClasses.of(()).parameter(json.loads(text), "here")


PARAMETERS = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.text(max_size=3)
    | strategies.decimals(),
    lambda parts: (
        strategies.lists(parts, max_size=3)
        | strategies.lists(parts, max_size=3).map(tuple)
        | strategies.dictionaries(strategies.sampled_from(["a", "is", "kind", "sql", "value", 1]), parts, max_size=3)
    ),
    max_leaves=6,
)


@given(PARAMETERS)
def test_lists_and_dictionaries_come_back_though_their_keys_are_words_of_the_notation(value: Any) -> None:
    assert repr(written_and_read_parameter(value)) == repr(value)


@pytest.mark.parametrize("value", [lambda row: row, {"a": [lambda row: row]}], ids=["alone", "in a dictionary"])
def test_a_function_as_a_parameter_is_refused(value: Any) -> None:
    with pytest.raises(QueryError, match="cannot be written as text"):
        write_parameter(value)


@dataclass(frozen=True)
class Slow(ProgressPolicy):
    """A policy that the program of a query has."""

    delay: int

    def watermark(self, seen: Any) -> int:
        return int(seen.newest) - self.delay

    def describe(self, spell: Any) -> str:
        return f"{spell(self.delay)} behind"


def test_a_policy_of_a_class_of_the_program_is_read_if_the_class_is_given() -> None:
    policy = Slow(muntin.ticks("1 minute")).with_idle("1 hour")
    assert written_and_read(policy, Slow) == policy
    with pytest.raises(QueryError, match="a class of your own is given"):
        written_and_read(policy)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"kind": "calendar", "size": "month"}, muntin.calendar("month")),
        ({"kind": "bounded_delay", "delay": 3}, bounded_delay(3)),
    ],
    ids=["windows", "progress"],
)
def test_windows_and_policies_are_read_by_their_kind(data: dict[str, Any], expected: Any) -> None:
    assert ProgramClasses.of(()).read(data, "here") == expected


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        pytest.param({"kind": "tumblin", "size": "1 hour"}, QueryError, "did you mean 'tumbling'", id="unknown kind"),
        pytest.param({"kind": "tumbling", "hop": "1 hour"}, MuntinError, "size", id="an argument of another kind"),
        pytest.param(
            {"kind": "tumbling", "size": "1 hour", "idle": {"after": "1 minute"}},
            QueryError,
            "neither idle",
            id="windows that are idle",
        ),
    ],
)
def test_data_that_is_no_value_is_refused(data: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ProgramClasses.of(()).read(data, "here")
