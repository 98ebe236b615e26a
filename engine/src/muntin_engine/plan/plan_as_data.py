"""A plan as plain data, and back, for recordings: modules and functions go by name, version and parameters.

It holds what a replay needs without Spark: columns are places in rows of known types, and policies are ticks. The text
of a query (`query_as_text`) holds its calls instead, which a program makes again over DataFrames of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeAlias

from muntin import Function, JoinKind, Module
from muntin.catalog import installed
from muntin.errors import PluginError, QueryError, UnknownModuleError
from muntin.modules import function_aggregate
from muntin.modules.call import ModuleCall
from muntin.schemas import Field
from muntin_engine.plan.join_plan import JoinPlan, PairCondition, plan_condition
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.module_plan import ModulePlan, plan_module, plan_several
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.values_as_data import (
    IS,
    UNWRITABLE,
    Unwritable,
    imported,
    path_of,
    value_from_data,
    value_to_data,
)

Data: TypeAlias = Mapping[str, Any]
"""An object of JSON."""

_FIELDS_WITH_CODE: Final = ("modules", "join", "choice")
"""The fields of a plan that hold code, which is written apart: data name code and do not hold it."""


def plan_to_data(plan: Plan) -> dict[str, Any]:
    """Return a plan as data that JSON can hold; a parameter of a module that data cannot hold is marked as such.

    Args:
        plan: The plan as the driver has it. A plan for workers lacks the parameters of modules: see `Plan.for_workers`.
    """
    # The fields with code are written below, by the names of the evaluator, of modules and of functions.
    data = {}
    for part in fields(plan):
        if part.name not in _FIELDS_WITH_CODE:
            data[part.name] = value_to_data(getattr(plan, part.name))
    are_ordered = plan.inputs[0].order is not None  # modules read the order of the first input alone
    return {
        **data,
        "evaluator": plan.choice.evaluator,
        "join": None if plan.join is None else _join_to_data(plan.join),
        "modules": [_module_to_data(module, are_ordered=are_ordered) for module in plan.modules],
    }


def plan_from_data(data: Data, payloads: Sequence[Sequence[Field]], code: NamedCode) -> Plan:
    """Return the plan that `plan_to_data` wrote. It has no evaluator yet: `planner.with_choice` gives it one.

    Args:
        data: The data.
        payloads: For each input, the types of the columns that modules read, as they travel between tasks.
        code: The modules, functions and classes that the data may name.

    Raises:
        QueryError: A module or a class is not here, a module has to be passed since data cannot hold one of its
            parameters, or this version does not write such data.
    """
    values = {}
    for part in fields(Plan):
        if part.name not in _FIELDS_WITH_CODE:
            values[part.name] = value_from_data(data[part.name], code.classes)
    plan = Plan(**values, modules=())
    # Modules and the condition of a join are bound to the columns of the plan's inputs, so they are read last.
    reader = _CodeReader(plan, payloads, code)
    join = None if data["join"] is None else reader.join(data["join"])
    return replace(plan, modules=reader.modules(data["modules"]), join=join)


def unwritten_parameters(data: Data) -> list[str]:
    """Return the parameters that a plan's data cannot hold, each in words with its module or function.

    Whoever reads the plan again has to pass these modules and functions.
    """
    calls = list(data["modules"])
    if data["join"] and data["join"]["on"]:
        calls.append(data["join"]["on"])

    words = []
    for call in calls:
        for name, value in call["parameters"].items():
            if isinstance(value, Mapping) and value.get(IS) == UNWRITABLE:
                words.append(f"{call['name']} {call['version']}: {name}={value['text']}")
    return words


@dataclass(frozen=True)
class NamedCode:
    """The modules, functions and classes that data may name: those that a program passes, and those installed.

    Attributes:
        modules: The modules that the program passes, by name: classes, or modules that are made already. Where a query
            uses a name several times, its first use gets the first module of that name, its second use the second one;
            the last one is for all further uses.
        functions: The functions that the program passes, by name.
        classes: Other classes by their paths, and by their names behind a colon: a class of a script has another path
            when the script runs than when it is imported.
        replacements: The modules to run in place of others, by the names of those others.
        differences: The modules and functions that are of another version than in the data, in words; filled while a
            plan is read.
    """

    modules: Mapping[str, Sequence[type[Module] | Module]] = field(default_factory=dict)
    functions: Mapping[str, Function[..., Any]] = field(default_factory=dict)
    classes: Mapping[str, type] = field(default_factory=dict)
    replacements: Mapping[str, type[Module] | Module] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, things: Iterable[Any]) -> NamedCode:
        """Return the code that a program passes, sorted by kind.

        Args:
            things: Modules, their classes or calls, functions, and classes of windows, triggers and policies.

        Raises:
            QueryError: A thing is none of these.
        """
        modules: dict[str, list[type[Module] | Module]] = {}
        functions: dict[str, Function[..., Any]] = {}
        classes: dict[str, type] = {}
        for thing in things:
            thing_class = thing if isinstance(thing, type) else type(thing)
            if isinstance(thing, ModuleCall):
                modules.setdefault(thing.cls.name, []).append(thing.cls)
            elif issubclass(thing_class, Module):
                modules.setdefault(thing_class.name, []).append(thing)
            elif isinstance(thing, Function):
                functions[thing.name] = thing
            elif isinstance(thing, type):
                # Under both keys, as the class of a script has another path when the script runs than when imported.
                classes[path_of(thing)] = thing
                classes[f":{thing.__qualname__}"] = thing
            else:
                raise QueryError(
                    f"{thing!r:.80} is not what a query is made of\n  expected: a module, its class or its call, "
                    "such as module(f, returns=float) for a plain function f; a function that @function made; or a "
                    "class of windows, triggers or policies"
                )
        return cls(modules, functions, classes)

    def module(self, data: Data, earlier_uses: int) -> type[Module] | Module:
        """Return the module, or its class, that data names.

        Args:
            data: The data of the module.
            earlier_uses: The number of modules of that name before it in the query.

        Raises:
            QueryError: The module is not here.
        """
        name = data["name"]
        if name in self.replacements:  # another module is to run in the place of this one, whatever its version
            return self.replacements[name]
        passed_modules = self.modules.get(name, ())
        if passed_modules:
            last = len(passed_modules) - 1  # the last one serves all further uses
            code: Any = passed_modules[min(earlier_uses, last)]
        else:
            code = imported(data["class"])  # None if it is not imported: `_checked` then looks for a plugin
        module: type[Module] | Module = self._checked(code, data, "module")
        return module

    def function(self, data: Data) -> Any:
        """Return the function that data names.

        Raises:
            QueryError: The function is not here.
        """
        function = self.functions.get(data["name"]) or imported(data["class"])
        return self._checked(function, data, "function")

    def _checked(self, code: Any, data: Data, kind: str) -> Any:
        """Return the module or the function that data names, and note in `differences` if it is of another version.

        Args:
            code: The module or the function that the program passes or the process has imported. If it is None or has
                another name, an installed plugin has to offer the module or the function.
            data: The data of the module or the function.
            kind: The kind of the code, `module` or `function`.

        Raises:
            QueryError: No installed plugin offers it.
        """
        name = data["name"]
        version = data["version"]
        if getattr(code, "name", None) != name:
            try:
                code = getattr(installed(), kind)(name)
            except (UnknownModuleError, PluginError) as error:
                python_module, _, attribute = data["class"].partition(":")
                advice = (
                    f"install the plugin that offers it, or import it before: from {python_module} import "
                    f"{attribute}\n  or give it: modules=[...]"
                )
                # A class that the Python module `function_aggregate` made of a function cannot be imported.
                if python_module == function_aggregate.__name__:
                    advice = "it was made of a function f, so give it as in the query: modules=[module(f, ...)]"
                raise QueryError(
                    f"the query runs the {kind} {name} {version}, which is not here: {error}\n  {advice}"
                ) from error
        if code.version != version:
            self.differences.append(f"{name} was {version}, and is {code.version} here")
        return code


def _module_to_data(module: ModulePlan, *, are_ordered: bool) -> dict[str, Any]:
    """Return a module as data.

    Its entry `ordered` is true if the query made the module read the order of events, which its class does not do.

    Args:
        module: The module.
        are_ordered: True if the query names an order of events.
    """
    module_class = type(module.module)
    # `with_order` gives a module an attribute `reads_order` of its own, in the place of that of its class.
    has_order_of_query = are_ordered and module.module.reads_order is not module_class.reads_order
    inputs = {}
    for stream in module.inputs:
        inputs[stream.name] = {"sources": list(stream.sources), "columns": list(stream.columns)}
    return {
        "output": module.output,
        "name": module.module.name,
        "version": module.module.version,
        "class": path_of(module_class),
        "parameters": _parameters_to_data(module.parameters),
        "ordered": has_order_of_query,
        "side": module.side,
        "columns": list(module.columns),
        "inputs": inputs,
    }


def _join_to_data(join: JoinPlan) -> dict[str, Any]:
    """Return a join as data, which `_CodeReader.join` reads."""
    return {
        "kind": str(join.kind),
        "columns": value_to_data(join.columns),
        "on": None if join.on is None else _condition_to_data(join.on),
    }


def _condition_to_data(condition: PairCondition) -> dict[str, Any]:
    """Return the condition of a join as data, which names its function and does not hold it."""
    function = condition.function
    implementation = function.implementation
    return {
        "name": function.name,
        "version": function.version,
        "class": f"{implementation.__module__}:{implementation.__qualname__}",
        "parameters": _parameters_to_data(condition.parameters),
        "columns": value_to_data(condition.columns),
        "names": list(condition.names),
    }


def _parameters_to_data(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a module or a function as data, by name."""
    return {name: value_to_data(value) for name, value in parameters.items()}


class _CodeReader:
    """Makes the modules and the join of a plan again, bound to the columns of its inputs.

    Args:
        plan: The plan without its modules and its join.
        payloads: For each input, the types of the columns that modules read, as they travel between tasks.
        code: The modules, functions and classes that the data may name.
    """

    def __init__(self, plan: Plan, payloads: Sequence[Sequence[Field]], code: NamedCode) -> None:
        self._payloads = payloads
        self._code = code
        self._scale = AxisScale(
            plan.axis,
            unit=plan.unit,
            times=plan.inputs[0].columns.start.name,
            decimal_places=plan.decimal_places,
        )

    def modules(self, data: Sequence[Data]) -> tuple[ModulePlan, ...]:
        """Return the modules of the plan, in order."""
        uses: dict[str, int] = {}
        modules = []
        for module_data in data:
            name = module_data["name"]
            earlier_uses = uses.get(name, 0)
            modules.append(self._module(module_data, earlier_uses))
            uses[name] = earlier_uses + 1
        return tuple(modules)

    def _module(self, data: Data, earlier_uses: int) -> ModulePlan:
        """Return a module of the plan: the one that the program passes, or one that is made with the parameters.

        Args:
            data: The data of the module.
            earlier_uses: The number of modules of the same name before it in the query.
        """
        code = self._code.module(data, earlier_uses)
        module = None if isinstance(code, type) else code  # None: it is made of its class
        cls = code if isinstance(code, type) else type(code)
        parameters = self._parameters(data, is_passed=module is not None)
        if data["inputs"]:
            planned = self._bound_to_streams(data, cls, parameters, module)
        else:
            planned = self._bound_to_columns(data, cls, parameters, module)
        if data["ordered"]:
            planned = replace(planned, module=planned.module.with_order())
        return replace(planned, side=data["side"])

    def _bound_to_columns(self, data: Data, cls: type[Module], parameters: Data, module: Module | None) -> ModulePlan:
        """Return the plan of a module that reads columns of one stream; for the arguments see `_bound_to_streams`."""
        places: list[int] = data["columns"]
        types = [self._payloads[data["side"]][place] for place in places]

        def place_of(number: int, _: Field) -> int:
            """Return the place in the payload that the plan had for a column of the module."""
            return places[number]

        return plan_module(
            data["output"], cls, parameters, types, place_of, read_length=self._scale.resolve, module=module
        )

    def _bound_to_streams(self, data: Data, cls: type[Module], parameters: Data, module: Module | None) -> ModulePlan:
        """Return the plan of a module that reads the columns of several streams.

        Args:
            data: The data of the module.
            cls: The class of the module.
            parameters: The parameters by name.
            module: The module, if the program passes one that is made already; None to make it of the class.
        """
        payload = self._payloads[data["side"]]
        sources = {}
        types = {}
        for name, part in data["inputs"].items():
            sources[name] = tuple(part["sources"])
            types[name] = [payload[place] for place in part["columns"]]

        def place_of(name: str, number: int, _: Field) -> int:
            """Return the place in the payload that the plan had for a column of an input of the module."""
            place: int = data["inputs"][name]["columns"][number]
            return place

        source_place = data["columns"][0]  # `plan_several` puts the column of the source before all others
        return plan_several(
            data["output"],
            cls,
            parameters,
            sources=sources,
            columns=types,
            source_place=source_place,
            place_of=place_of,
            read_length=self._scale.resolve,
            module=module,
        )

    def join(self, data: Data) -> JoinPlan:
        """Return the join of the plan."""
        columns = value_from_data(data["columns"], self._code.classes)
        condition = None if data["on"] is None else self._condition(data["on"])
        return JoinPlan(JoinKind(data["kind"]), columns, condition)

    def _condition(self, data: Data) -> PairCondition:
        """Return the condition of the join, bound to the columns of both inputs."""
        places = [(side, place) for side, place in data["columns"]]
        types = [self._payloads[side][place] for side, place in places]

        def place_of(number: int, _: Field) -> tuple[int, int]:
            """Return the stream and the place in its payload that the plan had for a column of the function."""
            return places[number]

        function = self._code.function(data)
        parameters = self._parameters(data, is_passed=False)
        return plan_condition(function, parameters, types, place_of, names=data["names"])

    def _parameters(self, data: Data, *, is_passed: bool) -> dict[str, Any]:
        """Return the parameters of a module or a function, by name.

        Args:
            data: The data of the module or the function.
            is_passed: True if the program passes the module itself, which has its parameters already.

        Raises:
            QueryError: Data cannot hold one of the parameters, and the module itself is not passed.
        """
        parameters = {name: value_from_data(value, self._code.classes) for name, value in data["parameters"].items()}
        for name, value in parameters.items():
            if isinstance(value, Unwritable) and not is_passed:
                raise QueryError(
                    f"{data['name']} has the parameter {name}={value.text}, which data cannot hold\n"
                    f"  give the module itself: modules=[{data['class'].rpartition(':')[2]}({name}=...)]"
                )
        return parameters
