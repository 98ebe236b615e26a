"""The law of values: what is written is read as an equal value, through JSON."""

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
from muntin.windows import WindowSpecification
from muntin_engine.api.text.kinds import ProgramClasses
from muntin_engine.plan.arguments_as_text import write_parameter, write_value
from muntin_engine.plan.text_functions import FUNCTIONS
from tests.engine.api.text.random_queries import DECIMALS, EMISSIONS, LATE, PROGRESS, ROWS, TICKS, TRIGGERS, WINDOWS

VALUES = (*WINDOWS, *TICKS, *DECIMALS, *ROWS, *TRIGGERS, *PROGRESS, *EMISSIONS, *LATE)


def there_and_back(value: Any, *classes: Any) -> Any:
    return ProgramClasses.of(classes).read(json.loads(json.dumps(write_value(value))), "here")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:60])
def test_a_value_comes_back_through_json(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value) or isinstance(value, str)
    assert str(back) == str(value)


def test_lengths_stay_what_they_were_given_as() -> None:
    for windows in (*WINDOWS, *TICKS, *DECIMALS):
        back = there_and_back(windows)
        lengths = [type(getattr(windows, name)) for name in windows.lengths if getattr(windows, name)]
        assert [type(getattr(back, name)) for name in windows.lengths if getattr(windows, name)] == lengths


def test_every_public_function_of_windows_triggers_and_progress_can_be_written() -> None:
    makers = {
        name
        for room in (muntin, muntin.progress, muntin.triggers)
        for name in room.__all__
        if inspect.isfunction(made := getattr(room, name))
        and (ending := str(inspect.signature(made).return_annotation)).endswith(
            (
                "Windows",
                "Trigger",
                "Emission",
                "Lateness",
                *(c.__name__ for c in vars(muntin.progress).values() if isinstance(c, type)),
            )
        )
        and ending
    }
    assert makers - {"window", "named"} <= set(FUNCTIONS)
    assert len(makers) > 30


def test_every_kind_and_function_is_among_the_values_of_the_law() -> None:
    text = json.dumps([write_value(value) for value in VALUES])
    missing = {name for name in {**OWN_KINDS, **OWN_ROWS, **FUNCTIONS} if f'"{name}"' not in text}
    assert missing == {"global", "ordered"}  # which are written as others


@pytest.mark.parametrize(
    "value",
    [
        *(1, 2.5, "km", None, True, [0.5, 0.9], (1, 2), {"a": [1]}, Decimal("2.50"), b"x", float("inf")),
        *(date(2024, 5, 1), datetime(2024, 5, 1, 12, tzinfo=UTC), timedelta(hours=1), {1: "a"}, frozenset({1})),
    ],
    ids=repr,
)
def test_a_parameter_comes_back_as_it_was(value: Any) -> None:
    back = ProgramClasses.of(()).parameter(json.loads(json.dumps(write_parameter(value))), "here")
    assert back == value
    assert type(back) is type(value)


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
def test_parameters_in_parameters_come_back_too_whatever_their_names(value: Any) -> None:
    back = ProgramClasses.of(()).parameter(json.loads(json.dumps(write_parameter(value))), "here")
    assert repr(back) == repr(value)


def test_a_function_is_no_text() -> None:
    with pytest.raises(QueryError, match="cannot be written as text"):
        write_parameter(lambda row: row)
    with pytest.raises(QueryError, match="cannot be written as text"):
        write_parameter({"a": [lambda row: row]})


@dataclass(frozen=True)
class Slow(ProgressPolicy):
    delay: int

    def watermark(self, seen: Any) -> int:
        return int(seen.newest) - self.delay

    def describe(self, spell: Any) -> str:
        return f"{spell(self.delay)} behind"


def test_a_class_of_the_program_is_given() -> None:
    policy = Slow(muntin.ticks("1 minute")).with_idle("1 hour")
    assert there_and_back(policy, Slow) == policy
    with pytest.raises(QueryError, match="a class of your own is given"):
        there_and_back(policy)


def test_an_unknown_kind_has_the_closest_name() -> None:
    with pytest.raises(QueryError, match="did you mean 'tumbling'"):
        ProgramClasses.of(()).read({"kind": "tumblin", "size": "1 hour"}, "here")
    with pytest.raises(MuntinError, match="size"):
        ProgramClasses.of(()).read({"kind": "tumbling", "hop": "1 hour"}, "here")
    assert isinstance(ProgramClasses.of(()).read({"kind": "calendar", "size": "month"}, "here"), WindowSpecification)
    with pytest.raises(QueryError, match="neither idle"):
        ProgramClasses.of(()).read({"kind": "tumbling", "size": "1 hour", "idle": {"after": "1 minute"}}, "here")
    assert bounded_delay(3) == ProgramClasses.of(()).read({"kind": "bounded_delay", "delay": 3}, "here")
