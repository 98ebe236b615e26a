"""A checkpoint knows the versions of functions and the code of modules that it began with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from muntin_engine.errors import StateMismatchError
from muntin_engine.plan import Plan
from muntin_engine.plan.code import CodeInUse, as_it_began, other_code
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.identity import plan_identity
from tests.plan.plans import plan_of

FARE = CodeInUse("rides.fare", "1.0.0", "code-1", is_function=True)
TOTAL = CodeInUse("test.total", "1.2", "code-1")


def having(*code: CodeInUse) -> Plan:
    return replace(plan_of(), code=code)


def check(stored: Plan, wanted: Plan) -> None:
    check_plans([wanted], [json.loads(json.dumps(plan_identity(stored)))], "s3://a/b")


def differences(stored: CodeInUse, **changed: Any) -> StateMismatchError:
    with pytest.raises(StateMismatchError) as refused:
        check(having(stored), having(replace(stored, **changed)))
    return refused.value


def test_another_version_of_a_function_is_refused_as_that_of_a_module_is() -> None:
    error = differences(FARE, version="2.0.0")
    assert str(error).splitlines()[1:] == [
        "  function: the checkpoint has rides.fare 1.0.0, the query has rides.fare 2.0.0",
        "  rides.fare 2.0.0 does not continue from 1.0.0: say continues_since = '1.0.0' if results mean the same",
        "  start the changed query with a new checkpoint, or change it back",
    ]
    older = differences(FARE, version="0.9", continues_since="0.1")
    assert "rides.fare 0.9 is older than 1.0.0" in str(older)


@pytest.mark.parametrize("since", ["1.0.0", "0.9"])
def test_a_function_goes_on_from_the_versions_that_it_names(since: str) -> None:
    check(having(FARE), having(replace(FARE, version="2.0.0", code="code-2", continues_since=since)))
    with pytest.raises(StateMismatchError):
        check(having(FARE), having(replace(FARE, version="2.0.0", continues_since="1.0.1")))


def test_a_function_that_only_one_of_them_calls_is_no_difference() -> None:
    check(having(FARE, TOTAL), having(TOTAL))
    check(having(TOTAL), having(FARE, TOTAL))


def test_other_code_of_the_same_version_goes_on_unless_the_module_requires_the_same() -> None:
    check(having(TOTAL), having(replace(TOTAL, code="code-2")))
    error = differences(replace(TOTAL, requires_same_code=True), code="code-2")
    assert str(error).splitlines()[1:3] == [
        "  code: the checkpoint has test.total code-1, the query has test.total code-2",
        "  test.total requires the same code: give it a new version, and say continues_since = '1.2' if results mean "
        "the same",
    ]


def test_what_requires_the_same_code_goes_on_with_a_version_that_continues() -> None:
    stored = replace(FARE, requires_same_code=True)
    check(having(stored), having(replace(stored, version="1.1", code="code-2", continues_since="1.0.0")))


def test_the_code_that_a_checkpoint_began_with_is_known_until_there_is_a_new_version() -> None:
    first, second = plan_identity(having(TOTAL, FARE)), plan_identity(having(replace(TOTAL, code="code-2"), FARE))
    assert other_code(first, second) == [("test.total", "1.2", "code-1", "code-2")]
    kept = as_it_began(second, first)
    third = plan_identity(having(replace(TOTAL, code="code-3"), FARE))
    assert other_code(kept, third) == [("test.total", "1.2", "code-1", "code-3")]
    newer = plan_identity(having(replace(TOTAL, version="1.3", code="code-3"), FARE))
    assert other_code(kept, newer) == []
    assert as_it_began(newer, kept) == newer
