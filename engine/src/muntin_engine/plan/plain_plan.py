"""A whole plan as plain data, and back: its modules and functions by name, version and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from muntin import Function, JoinKind, Module
from muntin.catalog import installed
from muntin.errors import PluginError, QueryError, UnknownModuleError
from muntin.schemas import Field
from muntin_engine.plan.join_plan import JoinPlan, PairCondition, plan_condition
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.module_plan import ModulePlan, plan_module, plan_several
from muntin_engine.plan.plain_data import Unwritable, imported, path_of, read, written
from muntin_engine.plan.plan import Plan

_LEFT_OUT = ("modules", "join", "choice")


def plan_to_data(plan: Plan) -> dict[str, Any]:
    """Return a plan as data that JSON can hold; a parameter that cannot be written is marked so in it.

    The plan is that of the driver: workers get one without the parameters of its modules.
    """
    own = {part.name: written(getattr(plan, part.name)) for part in fields(plan) if part.name not in _LEFT_OUT}
    join = None
    if plan.join is not None:
        condition = None if plan.join.on is None else _condition_data(plan.join.on)
        join = {"kind": str(plan.join.kind), "columns": written(plan.join.columns), "on": condition}
    return {
        **own,
        "evaluator": plan.choice.evaluator,
        "join": join,
        "modules": [_module_data(module, reads_order=plan.inputs[0].order is not None) for module in plan.modules],
    }


def not_written(data: Mapping[str, Any]) -> list[str]:
    """Return in words which parts of a plan's data have to be given to read it: parameters that are no plain data."""
    called = [*data["modules"], *([data["join"]["on"]] if data["join"] and data["join"]["on"] else [])]
    return [
        f"{one['name']} {one['version']}: {name}={value['text']}"
        for one in called
        for name, value in one["parameters"].items()
        if isinstance(value, Mapping) and value.get("is") == "unwritable"
    ]


@dataclass(frozen=True)
class Known:
    """What a plan's data names: modules, functions, and classes of policies, found by name.

    Attributes:
        modules: Modules that were given, by name: classes, or modules themselves, which are then used as they are. The
            second use of a name in a query gets the second one of them, if there are two.
        functions: Functions that were given, by name.
        classes: Other classes that were given, by their paths, and by their names behind a colon: a script that ran is
            of another module than one that was imported.
        differences: What is not of the version that was written, in words; filled while a plan is read.
    """

    modules: Mapping[str, Sequence[type[Module] | Module]] = field(default_factory=dict)
    functions: Mapping[str, Sequence[Function[..., Any]]] = field(default_factory=dict)
    classes: Mapping[str, type] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    @classmethod
    def given(cls, things: Iterable[Any]) -> Known:
        """Return what was given: modules, their classes, functions, and classes of windows, triggers and policies."""
        modules: dict[str, list[type[Module] | Module]] = {}
        functions: dict[str, list[Function[..., Any]]] = {}
        classes: dict[str, type] = {}
        for thing in things:
            of = thing if isinstance(thing, type) else type(thing)
            if issubclass(of, Module):
                modules.setdefault(of.name, []).append(thing)
            elif isinstance(thing, Function):
                functions[thing.name] = [thing]
            elif isinstance(thing, type):
                classes |= {path_of(thing): thing, f":{thing.__qualname__}": thing}
            else:
                raise QueryError(
                    f"{thing!r:.80} is not what a query is made of\n  expected: a module or its class, a function "
                    "that @function made, or a class of windows, triggers or policies"
                )
        return cls(modules, functions, classes)

    def find(self, data: Mapping[str, Any], kind: str, use: int = 0) -> Any:
        """Return the module, its class, or the function that data names, for the n-th use of its name.

        Raises:
            QueryError: There is none.
        """
        name, version, path = data["name"], data["version"], data["class"]
        given: Sequence[Any] = (self.modules if kind == "module" else self.functions).get(name, ())
        found: Any = given[min(use, len(given) - 1)] if given else imported(path)
        if getattr(found, "name", None) != name:
            try:
                found = getattr(installed(), kind)(name)
            except (UnknownModuleError, PluginError) as error:
                module, _, attribute = path.partition(":")
                raise QueryError(
                    f"the query runs the {kind} {name} {version}, which is not here: {error}\n"
                    f"  install the plugin that offers it, or import it before: from {module} import {attribute}\n"
                    "  or give it: modules=[...]"
                ) from error
        if found.version != version:
            self.differences.append(f"{name} was {version}, and is {found.version} here")
        return found


def plan_from_data(data: Mapping[str, Any], payloads: Sequence[Sequence[Field]], known: Known) -> Plan:
    """Return the plan that was written. It has no evaluator yet: `planner.with_choice` gives it one.

    Args:
        data: The data.
        payloads: For each input, the types in which the columns of its payload travel.
        known: Where modules are found.

    Raises:
        QueryError: A module or a class is not there, needs to be given, or the data are not what this version writes.
    """
    own = {part.name: read(data[part.name], known.classes) for part in fields(Plan) if part.name not in _LEFT_OUT}
    plan = Plan(**own, modules=())
    scale = AxisScale(plan.axis, plan.unit, plan.inputs[0].columns.start.name, plan.places)
    names = [one["name"] for one in data["modules"]]
    modules = tuple(
        _module(one, payloads, partial(known.find, use=names[:place].count(one["name"])), known, scale.resolve)
        for place, one in enumerate(data["modules"])
    )
    if data["join"] is None:
        return replace(plan, modules=modules)
    joined, on = data["join"], data["join"]["on"]
    condition = None if on is None else _condition(on, payloads, known)
    join = JoinPlan(JoinKind(joined["kind"]), read(joined["columns"], known.classes), condition)
    return replace(plan, modules=modules, join=join)


def _module_data(module: ModulePlan, *, reads_order: bool) -> dict[str, Any]:
    called = type(module.module)
    return {
        "output": module.output,
        "name": module.module.name,
        "version": module.module.version,
        "class": path_of(called),
        "parameters": {name: written(value) for name, value in module.parameters.items()},
        "ordered": reads_order and module.module.reads_order is not called.reads_order,
        "side": module.side,
        "columns": list(module.columns),
        "inputs": {part.name: {"sources": list(part.sources), "columns": list(part.columns)} for part in module.inputs},
    }


def _module(
    data: Mapping[str, Any],
    payloads: Sequence[Sequence[Field]],
    find: Callable[[Mapping[str, Any], str], Any],
    known: Known,
    scaled: Callable[[int], int],
) -> ModulePlan:
    found, side = find(data, "module"), data["side"]
    made = None if isinstance(found, type) else found
    cls: type[Module] = type(found) if made is not None else found
    parameters = _parameters(data, known, is_given=made is not None)
    types, streams = payloads[side], data["inputs"]
    planned: ModulePlan
    if streams:
        given = {name: [types[place] for place in part["columns"]] for name, part in streams.items()}
        sources = {name: tuple(part["sources"]) for name, part in streams.items()}

        def of_stream(name: str, number: int, _: Field) -> int:
            place: int = streams[name]["columns"][number]
            return place

        planned = plan_several(
            data["output"], cls, parameters, sources, given, data["columns"][0], of_stream, scaled, made
        )
    else:
        places: list[int] = data["columns"]
        planned = plan_module(
            data["output"],
            cls,
            parameters,
            [types[place] for place in places],
            lambda number, _: places[number],
            scaled,
            made,
        )
    if data["ordered"]:
        planned = replace(planned, module=planned.module.with_order())
    return replace(planned, side=side)


def _condition_data(condition: PairCondition) -> dict[str, Any]:
    function = condition.function
    return {
        "name": function.name,
        "version": function.version,
        "class": f"{function.implementation.__module__}:{function.implementation.__qualname__}",
        "parameters": {name: written(value) for name, value in condition.parameters.items()},
        "columns": written(condition.columns),
        "names": list(condition.names),
    }


def _condition(data: Mapping[str, Any], payloads: Sequence[Sequence[Field]], known: Known) -> PairCondition:
    places = [(side, place) for side, place in data["columns"]]
    return plan_condition(
        known.find(data, "function"),
        _parameters(data, known, is_given=False),
        [payloads[side][place] for side, place in places],
        lambda number, _: places[number],
        data["names"],
    )


def _parameters(data: Mapping[str, Any], known: Known, *, is_given: bool) -> dict[str, Any]:
    parameters = {name: read(value, known.classes) for name, value in data["parameters"].items()}
    for name, value in parameters.items():
        if isinstance(value, Unwritable) and not is_given:
            raise QueryError(
                f"{data['name']} has the parameter {name}={value.text}, which data cannot hold\n"
                f"  give the module itself: modules=[{data['class'].rpartition(':')[2]}({name}=...)]"
            )
    return parameters
