"""The plan of a recorded query, read again for the evaluator that it ran in, or for another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from muntin.errors import MuntinError
from muntin_engine.backends.planning.field_types import field_of
from muntin_engine.errors import RecordingError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.plan_as_data import NamedCode, plan_from_data
from muntin_engine.plan.planner import with_choice
from muntin_engine.wire.task_as_data import schema_from_data


def plan_of(data: Mapping[str, Any], code: NamedCode, evaluator: str | None = None) -> Plan:
    """Return the plan of a query, for the evaluator that it ran in, or another one.

    Args:
        data: The query as data.
        code: The place where its modules are found.
        evaluator: The other one.

    Raises:
        RecordingError: A module is not here, or the evaluator cannot run the query.
    """
    names = [declaration.name for declaration in DECLARATIONS]
    if evaluator is not None and evaluator not in names:
        raise RecordingError(f"there is no evaluator {evaluator!r}\n  expected one of {', '.join(names)}")

    payloads = []
    for schema_data in data["inputs"]:
        payloads.append([field_of(column.name, column.type) for column in schema_from_data(schema_data)])
    try:
        plan = plan_from_data(data["plan"], payloads, code)
        return with_choice(replace(plan, requested_evaluator=evaluator or data["plan"]["evaluator"]), DECLARATIONS)
    except MuntinError as error:
        raise RecordingError(str(error)) from error


def check_evaluator(data: Mapping[str, Any], code: NamedCode, evaluator: str) -> None:
    """Raise unless an evaluator can run a query.

    Args:
        data: The query as data.
        code: The place where its modules are found.
        evaluator: The name of the evaluator.

    Raises:
        RecordingError: A module is not here, or the evaluator cannot run the query.
    """
    plan_of(data, code, evaluator)  # planning refuses the evaluator, with the reason


def evaluators_of(data: Mapping[str, Any], code: NamedCode) -> list[str]:
    """Return the names of the evaluators that can replay a query, the cheapest first.

    A query without state emits at once what others emit behind a watermark, so these are not asked.
    """
    keeps_state = {declaration.name: declaration.keeps_state for declaration in DECLARATIONS}
    recorded = data["plan"]["evaluator"]
    names = []
    for name, keeps in keeps_state.items():
        if keeps is keeps_state[recorded]:
            with suppress(RecordingError):
                names.append(plan_of(data, code, name).choice.evaluator)
    return names
