"""Wrong calls, the patterns of their messages, and the calls that the messages advise.

A case is a wrong call and a pattern of its message. Where the message gives code, the pattern has it in parentheses,
and the third part is the call in which that code is put in the place of CODE; without a third part the code is the
call. Where the message says in words what to do, the third part does it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import pytest

from muntin.errors import MuntinError
from tests.engine.api.advice.planning import Names, plan_value

Case: TypeAlias = tuple[str, str] | tuple[str, str, str]
Cases: TypeAlias = tuple[Case, ...]


class Started(Exception):
    """A query was planned and written as far as to its start in Spark."""


def case_name(case: tuple[str, ...]) -> str:
    """Return the name of a case: the wrong call, and the pattern of the message."""
    wrong, pattern, *_ = case
    return f"{wrong}: {pattern}"


class Refusal(NamedTuple):
    """The refusal of a wrong call, or of the query that is made of its value.

    Attributes:
        error: The error.
        with_results: True if the query was planned, and only its results were refused.
    """

    error: Exception
    with_results: bool


def refusal(wrong: str, names: Names) -> Refusal:
    """Evaluate a wrong call, make a query of its value, and return the refusal of either."""
    for with_results in (False, True):  # planning alone is tried first: Spark takes a tenth of a second for results
        try:
            plan_value(eval(wrong, {}, names), names, with_results=with_results)
        except (MuntinError, AttributeError) as error:
            return Refusal(error, with_results)
    pytest.fail(f"{wrong} is right")


def check_advice(names: Names, case: tuple[str, ...]) -> None:
    """Assert that a wrong call is refused with a message of the pattern, and make a query of the code that it advises.

    Raises:
        MuntinError: The right call is refused, too.
    """
    wrong, pattern, *right_call = case
    refused = refusal(wrong, names)
    advice = re.search(pattern, str(refused.error))
    assert advice is not None, str(refused.error)

    code = advice.group(1) if advice.groups() else ""
    right = right_call[0].replace("CODE", code) if right_call else code
    with suppress(Started):
        plan_value(eval(right, {}, names), names, with_results=refused.with_results)
