"""A plan as plain data: values of a query come back, and what cannot be written has to be given anew."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from muntin import Aggregate, Axis, EmitPolicy, early, hopping, session, ticks
from muntin.errors import QueryError
from muntin.progress import ProgressPolicy, SourceProgress, bounded_delay, bounded_disorder, punctuate_every
from muntin.rows import between, elapsed, last
from muntin.schemas import describe
from muntin.triggers import after, any_of, every_count, repeat, when
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plan_as_data import NamedCode, plan_from_data, plan_to_data, unwritten_parameters
from muntin_engine.plan.planner import with_choice
from muntin_engine.plan.values_as_data import Unwritable, value_from_data, value_to_data
from muntin_stats import Quantile
from tests.engine.plan.plans import plan_of, planned


@dataclass(frozen=True)
class Guarded(ProgressPolicy):
    """A policy that the program of a query has."""

    delay: int = 0

    def watermark(self, seen: SourceProgress) -> int:
        return seen.newest - self.delay

    def describe(self, spell: Callable[[int], str]) -> str:
        return spell(self.delay)


class Above(Aggregate[int, int]):
    """The number of payloads that pass a test, which is a function."""

    name, version = "plain.above", "2.0.0"

    def __init__(self, test: Callable[[int], bool]) -> None:
        self.test = test

    def compute_result(self, payloads: Any) -> int:
        return sum(map(self.test, payloads))


def json_of(plan: Plan) -> Any:
    """Return the data of a plan, read back from JSON."""
    return json.loads(json.dumps(plan_to_data(plan), allow_nan=False))


def plan_of_json(data: Any, *code: Any) -> Plan:
    """Return the plan that data say, given modules and classes of the program; its payload are integers."""
    payload = [describe(int | None, "c0")] * 3
    return with_choice(plan_from_data(data, [payload], NamedCode.of(code)), DECLARATIONS)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 7, 2.5, "text", (1, (2, "x")), [1, 2], {"a": 1}, {1: "a", (2, 3): "b"}, {"is": "window"}),
        *(
            {1, 2},
            frozenset({"a"}),
            ticks("5 minutes"),
            Decimal("2.50"),
            Fraction(1, 3),
            b"\0\xff",
            math.inf,
            -math.inf,
        ),
        *(date(2024, 5, 1), datetime(2024, 5, 1, 8, tzinfo=UTC), timedelta(days=-1, microseconds=5)),
        *(Axis.TIME, EmitPolicy.EAGER, bounded_delay("5 minutes"), bounded_disorder(3), Guarded(7)),
        *(punctuate_every(span=5).with_idle("1 minute", lag="2 minutes"), hopping(10, 5), session(3)),
        *(
            last(elapsed(5)).trigger(2).partition("p"),
            between("o", "c"),
            early(repeat(any_of(after(5), when("x > 1")))),
        ),
        early(every_count(2), refinement="retract"),
    ],
    ids=repr,
)
def test_a_value_comes_back_from_json(value: object) -> None:
    read_back = value_from_data(json.loads(json.dumps(value_to_data(value), allow_nan=False)))
    assert read_back == value
    assert type(read_back) is type(value)


def test_nan_comes_back() -> None:
    assert math.isnan(value_from_data(value_to_data(math.nan)))


def test_a_plan_comes_back_with_its_identity_and_the_parameters_of_its_modules() -> None:
    plan = plan_of(planned(Quantile, "low", q=0.1), planned(Quantile, "high", q=0.9))
    read_plan = plan_of_json(json_of(plan))
    assert plan_identity(read_plan) == plan_identity(plan)
    assert [module.parameters for module in read_plan.modules] == [{"q": 0.1}, {"q": 0.9}]


def test_parameters_that_are_functions_are_listed_as_not_written() -> None:
    data = json_of(plan_of(planned(Above, "low", test=lambda x: x > 1), planned(Above, "high", test=lambda x: x > 5)))
    unwritten = unwritten_parameters(data)
    assert len(unwritten) == 2
    assert all(text.startswith("plain.above 2.0.0: test=<<lambda> ") for text in unwritten)
    assert isinstance(value_from_data(data["modules"][0]["parameters"]["test"]), Unwritable)


def test_a_module_with_a_parameter_that_is_a_function_has_to_be_given() -> None:
    data = json_of(plan_of(planned(Above, "low", test=lambda x: x > 1), planned(Above, "high", test=lambda x: x > 5)))
    with pytest.raises(QueryError, match=r"give the module itself: modules=\[Above\(test=\.\.\.\)\]"):
        plan_of_json(data)
    low = Above(lambda x: x > 1)
    high = Above(lambda x: x > 5)
    assert [module.module for module in plan_of_json(data, low, high).modules] == [low, high]


def test_the_error_for_a_module_that_is_not_imported_says_how_to_import_it() -> None:
    data = json_of(plan_of(planned(Above, "m", test=len)))
    data["modules"][0] |= {"name": "there.above", "class": "antigravity:Above"}
    with pytest.raises(QueryError, match=r"there\.above 2\.0\.0, which is not here") as refused:
        plan_of_json(data)
    assert "from antigravity import Above" in str(refused.value)


def test_the_error_for_a_value_whose_class_is_not_imported_says_how_to_import_it() -> None:
    with pytest.raises(QueryError, match="import it before: from antigravity import Guarded"):
        value_from_data({"is": "antigravity:Guarded", "delay": 1})


def test_only_modules_and_classes_can_be_given_as_code() -> None:
    with pytest.raises(QueryError, match="is not what a query is made of"):
        NamedCode.of([7])


def test_a_class_of_a_script_is_found_by_its_name_among_those_that_are_given() -> None:
    data = {"is": "__main__:Guarded", "delay": 3}
    assert value_from_data(data, NamedCode.of([Guarded]).classes) == Guarded(3)


@pytest.mark.parametrize("name", ["subprocess:Popen", "builtins:eval", "muntin.catalog:installed", "Nothing"])
def test_data_cannot_name_code_that_is_no_class_of_plain_values(name: str) -> None:
    with pytest.raises(QueryError, match=r"names .*, which is not here"):
        value_from_data({"is": name, "args": ["true"]})


def test_another_version_of_a_module_is_taken_and_reported() -> None:
    data = json_of(plan_of(planned(Quantile, "m", q=0.5)))
    data["modules"][0]["version"] = "0.0.9"
    named_code = NamedCode()
    plan_from_data(data, [[describe(int | None, "c0")]], named_code)
    assert named_code.differences == [f"stats.quantile was 0.0.9, and is {Quantile.version} here"]
