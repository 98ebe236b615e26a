"""Plans without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muntin import Axis, ClipPolicy, EmitPolicy, Module, TimestampPolicy, tumbling
from muntin.schemas import describe
from muntin_engine.plan import Columns, ModulePlan, NamedColumn, Plan, plan_module
from muntin_engine.plan.planner import checked_plan
from tests.spark.modules import Count

AT = NamedColumn("at", "timestamp")


def planned(cls: type[Module], output: str = "m", inputs: int = 1, **parameters: Any) -> ModulePlan:
    """Return a module that reads the first columns of a query, all of them integers."""
    given = [describe(int, f"c{place}") for place in range(inputs)]
    return plan_module(output, cls, parameters, given, lambda place, _: place)


def plan_of(*modules: ModulePlan, columns: Mapping[str, Any] | None = None, **changed: Any) -> Plan:
    """Return a plan; what is not given is the plainest."""
    named: dict[str, Any] = {
        "start": AT,
        "keys": (NamedColumn("key", "string"),),
        "inputs": (NamedColumn("c0", "bigint"),),
    }
    settings: dict[str, Any] = {
        "axis": Axis.TIME,
        "window": tumbling("10 minutes"),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": modules or (planned(Count),),
    }
    return checked_plan(Plan(columns=Columns(**(named | dict(columns or {}))), **(settings | changed)))
