"""Plans without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from muntin import Axis, ClipPolicy, EmitPolicy, Module, TimestampPolicy, tumbling
from muntin.errors import QueryError
from muntin.progress import ProgressPolicy, Punctuated
from muntin.schemas import describe
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Columns, Input, ModulePlan, NamedColumn, Plan, plan_module
from muntin_engine.plan.planner import checked_plan
from tests.modules.members import Count

AT = NamedColumn("at", "timestamp")


def planned(cls: type[Module], output: str = "m", inputs: int = 1, **parameters: Any) -> ModulePlan:
    """Return a module that reads the first columns of a query, all of them integers."""
    fields = [describe(int, f"c{place}") for place in range(inputs)]
    return plan_module(output, cls, parameters, fields, lambda place, _: place)


def input_of(progress: ProgressPolicy | None = None, sources: tuple[str, ...] = (), **fields: Any) -> Input:
    """Return an input with a time and no other column; fields that are not named are the plainest."""
    return Input(Columns(AT), progress=progress or Punctuated(), sources=sources, **fields)


def plan_of(
    *modules: ModulePlan,
    columns: Mapping[str, Any] | None = None,
    input: Input | None = None,
    is_edge: bool = False,
    **fields: Any,
) -> Plan:
    """Return a plan of one input; columns and fields that are not named are the plainest."""
    plainest_columns: dict[str, Any] = {
        "start": AT,
        "keys": (NamedColumn("key", "string"),),
        "payload": (NamedColumn("c0", "bigint"),),
    }
    plainest_fields: dict[str, Any] = {
        "axis": Axis.TIME,
        "window": tumbling("10 minutes"),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": modules or (planned(Count),),
    }
    input_columns = Columns(**(plainest_columns | dict(columns or {})))
    query_input = replace(input or input_of(), columns=input_columns, is_edge=is_edge)
    return checked_plan(Plan(inputs=(query_input,), **(plainest_fields | fields)), DECLARATIONS)


def plans_by_evaluator(plan: Callable[[str], Plan]) -> Mapping[str, Plan]:
    """Return the plans of all evaluators that can run a query, by the evaluator's name; the planner says which can."""
    plans: dict[str, Plan] = {}
    for declaration in DECLARATIONS:
        try:
            plans[declaration.name] = plan(declaration.name)
        except QueryError as error:
            if "cannot run this query" not in str(error) and "share its slices" not in str(error):
                raise
    assert plans, "no evaluator runs the query"
    return plans
