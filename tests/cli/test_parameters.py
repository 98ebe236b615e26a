"""Parameters that a user types, and examples of those that she does not."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any, Literal

import pytest

from muntin import Aggregate
from muntin.errors import ParameterError
from muntin_cli.errors import UsageError
from muntin_cli.parameters import example_of, parse_parameters


class Unit(Enum):
    METRES = "m"


class Level(Aggregate[float, float]):
    name, version = "tides.level", "1.0.0"

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Everything(Level):
    def __init__(  # noqa: PLR0913  # one of each type
        self,
        whole: int,
        share: float,
        label: str,
        way: Literal["up", "down"],
        unit: Unit,
        within: timedelta | None,
        levels: list[float],
        anything: Any,
        *,
        digits: int = 3,
    ) -> None:
        if whole < 10 or share >= 0.5:
            raise ValueError("no")


class OneOfTwo(Level):
    def __init__(self, half_life: int | timedelta | None = None, alpha: float | None = None) -> None:
        if (half_life is None) == (alpha is None):
            raise ValueError("one of half_life and alpha")


class Impossible(Level):
    def __init__(self, level: int) -> None:
        raise ValueError("never")


def test_examples_are_found_by_type_until_the_constructor_accepts_them() -> None:
    found = example_of(Everything)
    assert found is not None
    module, parameters = found
    assert isinstance(module, Everything)
    assert parameters == {
        "whole": 10,
        "share": 0.1,
        "label": "a",
        "way": "up",
        "unit": Unit.METRES,
        "within": timedelta(hours=1),
        "levels": [0.5],
        "anything": 2,
    }


def test_an_optional_parameter_is_looked_for_where_the_constructor_wants_one_of_several() -> None:
    found = example_of(OneOfTwo)
    assert found is not None
    assert found[1] == {"half_life": 2}
    with pytest.raises(ParameterError, match="one of"):
        example_of(OneOfTwo, {"half_life": 2, "alpha": 0.5})


def test_what_is_known_is_kept() -> None:
    found = example_of(Everything, {"share": 0.25, "digits": 0, "whole": 11})
    assert found is not None
    assert (found[1]["share"], found[1]["digits"], found[1]["whole"]) == (0.25, 0, 11)


def test_a_constructor_that_accepts_nothing_has_no_example() -> None:
    assert example_of(Impossible) is None


def test_what_is_given_and_complete_must_be_accepted() -> None:
    with pytest.raises(ParameterError, match="never"):
        example_of(Impossible, {"level": 1})


def test_literals_are_read_as_python_and_the_rest_is_text() -> None:
    assert parse_parameters(["a=1", "b=0.5", "c=[1, 2]", "d=None", "e=10 minutes", "f=x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": [1, 2],
        "d": None,
        "e": "10 minutes",
        "f": "x=y",
    }


@pytest.mark.parametrize("text", ["q", "=1", "2q=1", ""])
def test_what_names_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected: <name>=<value>"):
        parse_parameters([text])
