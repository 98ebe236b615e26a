"""The plan of a recorded query, read again for the evaluator that it ran in, or for another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from muntin import ClipPolicy, TimestampPolicy
from muntin.errors import MuntinError, QueryError
from muntin.query_checks import clip_of, timestamps_of
from muntin.schemas import Field
from muntin_engine.backends.planning.field_types import field_of
from muntin_engine.backends.planning.result_schemas import CarriedTypes, schema_of_evicted, schema_of_results
from muntin_engine.errors import RecordingError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.plan_as_data import NamedCode, plan_from_data
from muntin_engine.plan.planner import checked_plan, with_choice
from muntin_engine.wire.task_as_data import schema_from_data, task_from_data
from muntin_engine.wire.task_payload import TaskPayload


def task_of(data: Mapping[str, Any], code: NamedCode, evaluator: str | None = None) -> TaskPayload:
    """Return a recorded query as its workers get it; the arguments and the errors are those of `plan_of`."""
    plan = plan_of(data, code, evaluator)
    task = task_from_data(data, plan)
    if not code.replacements:
        return task
    # Modules that replace the recorded ones may have results of other types.
    name = "window" if "window" in task.results.names else "lifetime"
    time = task.results.field(name).type.field("start").type
    # Of the payload, results have only the column by which row windows are partitioned: it is of the first input.
    types = CarriedTypes(time=time, keys=task.keys, inputs=task.columns[0].payload)
    evicted = schema_of_evicted(plan, types) if plan.evicted else None
    return replace(task, results=schema_of_results(plan, types), evicted=evicted)


def plan_of(data: Mapping[str, Any], code: NamedCode, evaluator: str | None = None) -> Plan:
    """Return the plan of a recorded query, for the evaluator that it ran in, or for another one.

    Args:
        data: The query as data.
        code: The modules and functions of the query by name, with those that replace recorded ones.
        evaluator: The name of another evaluator; None for the one that the query ran in.

    Raises:
        RecordingError: A module is not here, or the evaluator cannot run the query.
    """
    names = [declaration.name for declaration in DECLARATIONS]
    if evaluator is not None and evaluator not in names:
        raise RecordingError(f"there is no evaluator {evaluator!r}\n  expected one of {', '.join(names)}")

    payloads: list[list[Field]] = []  # the columns of each input
    for schema_data in data["inputs"]:
        payloads.append([field_of(column.name, column.type) for column in schema_from_data(schema_data)])
    try:
        plan = plan_from_data(data["plan"], payloads, code)
        if not code.replacements:
            plan = replace(plan, requested_evaluator=evaluator or data["plan"]["evaluator"])
            return with_choice(plan, DECLARATIONS)
        # Modules that replace the recorded ones may need another evaluator, so the query is planned as a new one.
        plan = replace(plan, requested_evaluator=evaluator or plan.requested_evaluator)
        return _planned_anew(plan, _alternatives(data))
    except MuntinError as error:
        raise RecordingError(str(error)) from error


def _planned_anew(plan: Plan, declarations: Sequence[Declaration]) -> Plan:
    """Plan a query of which modules were replaced.

    If the query does not name the clip or the timestamps, its modules choose them. A recording does not tell
    `clip="none"` from a clip that nobody named, so modules choose in both cases.

    Args:
        plan: The plan of the query with the new modules.
        declarations: The evaluators that can replay the recording.

    Raises:
        QueryError: No evaluator can run the query.
        PolicyError: A module is not right under the policies, or needs other windows.
    """
    modules = [module.module for module in plan.modules]
    clip = plan.clip
    if "clip" in plan.from_modules or clip is ClipPolicy.NONE:
        clip = clip_of(modules) or ClipPolicy.NONE
    timestamps = plan.timestamps
    if "timestamps" in plan.from_modules or timestamps is TimestampPolicy.ALIGN:
        timestamps = timestamps_of(modules) or TimestampPolicy.ALIGN
    plan = replace(plan, clip=clip, timestamps=timestamps)

    # The evaluator that the query asked for may refuse the new modules. Then the cheapest one runs that accepts them.
    try:
        return checked_plan(plan, declarations)
    except QueryError:
        if plan.requested_evaluator is None:
            raise
        return checked_plan(replace(plan, requested_evaluator=None), declarations)


def _alternatives(data: Mapping[str, Any]) -> list[Declaration]:
    """Return the declarations of the evaluators that can replay a recorded query.

    They keep a state if the recorded one does, and keep none if it does not. The two kinds emit results at other times:
    without state at once, otherwise when the watermark has passed.
    """
    recorded_name = data["plan"]["evaluator"]
    keeps_state = {declaration.name: declaration.keeps_state for declaration in DECLARATIONS}
    return [declaration for declaration in DECLARATIONS if declaration.keeps_state is keeps_state[recorded_name]]


def check_evaluator(data: Mapping[str, Any], code: NamedCode, evaluator: str) -> None:
    """Raise unless an evaluator can run a query.

    Args:
        data: The query as data.
        code: The modules and functions of the query by name.
        evaluator: The name of the evaluator.

    Raises:
        RecordingError: A module is not here, or the evaluator cannot run the query.
    """
    plan_of(data, code, evaluator)  # planning refuses the evaluator, with the reason


def evaluators_of(data: Mapping[str, Any], code: NamedCode) -> list[str]:
    """Return the names of the evaluators that can replay a query, the cheapest first."""
    names: list[str] = []
    for declaration in _alternatives(data):
        with suppress(RecordingError):  # this evaluator cannot run the query
            plan = plan_of(data, code, declaration.name)
            names.append(plan.choice.evaluator)
    return names
