"""Wrong calls, the patterns of their messages, and the calls that the messages advise.

A case is a wrong call and a pattern of its message. Where the message gives code, the pattern has it in parentheses,
and the third part is the call in which that code is put in the place of CODE; without a third part the code is the
call. Where the message says in words what to do, the third part does it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TypeAlias

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


def refusal(wrong: str, names: Names) -> tuple[Exception, bool]:
    """Return the error of a wrong call, or of the query that is made of its value; and whether results were asked for.

    Planning is tried first: Spark takes a tenth of a second to plan results.
    """
    for with_results in (False, True):
        try:
            plan_value(eval(wrong, {}, names), names, with_results=with_results)
        except (MuntinError, AttributeError) as error:
            return error, with_results
    pytest.fail(f"{wrong} is right")


def check_advice(names: Names, case: tuple[str, ...]) -> None:
    """Raise unless a wrong call is refused with a message of the pattern, and the code that it advises plans."""
    wrong, pattern, *right_call = case
    error, with_results = refusal(wrong, names)
    advice = re.search(pattern, str(error))
    assert advice is not None, str(error)
    code = advice.group(1) if advice.groups() else ""
    right = right_call[0].replace("CODE", code) if right_call else code
    with suppress(Started):
        plan_value(eval(right, {}, names), names, with_results=with_results)
