"""The plan of a query: names, specifications and schemas turned into one validated, frozen description.

Building a plan needs no Spark; everything a query writer can get wrong is refused here, before anything runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from muntin import (
    ClipPolicy,
    EmitPolicy,
    HoppingWindows,
    Module,
    ModuleDefinitionError,
    ParameterError,
    PolicyError,
    QueryError,
    TimestampPolicy,
    WindowSpecification,
)
from muntin.schemas import Field
from muntin.windows import to_dict
from muntin_engine.inputs import InputBinding, bind_inputs

MOST_BUCKETS: Final = 256
"""How many buckets a query may have."""


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """One module of a query, bound to columns.

    Attributes:
        output: The name of its result column; empty for an operator, whose row gives the names.
        module: The module, made with the query's parameters.
        parameters: Those parameters.
        binding: Which input columns it reads, and how they become its payload.
        result: The type of its result, with type variables bound.
    """

    output: str
    module: Module
    parameters: Mapping[str, Any]
    binding: InputBinding
    result: Field

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.module.name} {self.module.version}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole query.

    Attributes:
        keys: The names of the key columns.
        inputs: What the modules read, as the query wrote it.
        axis: Whether ticks are microseconds or anything else that grows.
        window: How the axis is cut.
        clip: What time-sensitive modules see of their events.
        timestamps: Which lifetime the output gets.
        emit: When results are put out.
        modules: One operator, or any number of aggregates.
        lifetimes: Whether events have ends of their own, are points, or are samples that last until the next one.
        has_ids: Whether events have ids.
        delay: How far behind the newest start the input is taken to be complete, in ticks; None where punctuation
            rows say so.
        buckets: Over how many buckets keys are spread. Part of a checkpoint.
    """

    keys: tuple[str, ...]
    inputs: tuple[str, ...]
    axis: Literal["time", "ticks"]
    window: WindowSpecification
    clip: ClipPolicy
    timestamps: TimestampPolicy
    emit: EmitPolicy
    modules: tuple[ModulePlan, ...]
    lifetimes: Literal["interval", "point", "edge"] = "interval"
    has_ids: bool = False
    delay: int | None = None
    buckets: int = 16

    def __post_init__(self) -> None:
        check_buckets(self.buckets)
        check_names(self)
        for module in self.modules:
            check_policies(module.module, self.clip, self.timestamps)

    @property
    def is_operator(self) -> bool:
        """True if the query's one module returns rows."""
        return self.modules[0].module.is_operator

    @property
    def reach(self) -> int:
        """For how long after its end an event stays a member of windows."""
        return self.window.reach if isinstance(self.window, HoppingWindows) else 0

    def identity(self) -> dict[str, Any]:
        """Return what the state in a checkpoint depends on, as plain data."""
        return {
            "keys": list(self.keys),
            "axis": self.axis,
            "window": to_dict(self.window),
            "clip": str(self.clip),
            "timestamps": str(self.timestamps),
            "emit": str(self.emit),
            "lifetimes": self.lifetimes,
            "ids": self.has_ids,
            "buckets": self.buckets,
            "modules": [_module_identity(module) for module in self.modules],
        }


def make_module(cls: type[Module], parameters: Mapping[str, Any]) -> Module:
    """Return a module made with a query's parameters (SI-29).

    Raises:
        ParameterError: The constructor does not take them, or raises `ValueError` or `TypeError` on them.
    """
    cls.check_definition()
    signature = inspect.signature(cls)
    try:
        signature.bind(**parameters)
        module: Module = cls(**parameters)
    except (TypeError, ValueError) as error:
        raise ParameterError(cls.name, parameters, str(error), str(signature)) from error
    return module


def plan_module(
    output: str, cls: type[Module], parameters: Mapping[str, Any], columns: Sequence[int], fields: Sequence[Field]
) -> ModulePlan:
    """Return a module bound to its input columns.

    Args:
        output: The name of its result column.
        cls: The module's class.
        parameters: Its constructor's parameters.
        columns: The places of its input columns among all inputs of the query.
        fields: Their types.

    Raises:
        ParameterError: The parameters do not fit.
        TypeMismatchError: The columns do not fit.
    """
    module = make_module(cls, parameters)
    binding, result = bind_inputs(cls, columns, fields)
    return ModulePlan(output, module, dict(parameters), binding, result)


def check_policies(module: Module, clip: ClipPolicy, timestamps: TimestampPolicy) -> None:
    """Refuse policies under which a module is not right (SI-42, SI-44, SI-45).

    Raises:
        PolicyError: The module does not accept the clip, or has no lifetimes of its own to keep.
    """
    label = f"{module.name} {module.version}"
    if clip not in module.accepted_clips:
        accepted = ", ".join(sorted(repr(str(policy)) for policy in module.accepted_clips))
        raise PolicyError(f"{label} is not right under clip={str(clip)!r}\n  it accepts {accepted}")
    if timestamps.is_set_by_module and not (module.is_time_sensitive and module.is_operator):
        raise PolicyError(
            f"{label} returns no lifetimes, so timestamps={str(timestamps)!r} has nothing to keep\n"
            "  use 'align' or 'point_at_end'"
        )


def check_names(plan: Plan) -> None:
    """Refuse columns that would have the same name, and a mix of operators and aggregates.

    Raises:
        QueryError: Two result columns share a name, or an operator is not the query's only module.
    """
    if plan.is_operator and len(plan.modules) > 1 or any(m.module.is_operator for m in plan.modules[1:]):
        raise QueryError("an operator returns rows of its own and must be the query's only module; use .apply(module(...))")
    outputs = [module.output for module in plan.modules if module.output]
    taken = [*plan.keys, "window", "lifetime", "change", "event_id"]
    for name in outputs:
        if [*taken, *outputs].count(name) > 1:
            raise QueryError(f"the result would have two columns named {name!r}; name the module's result differently")


def check_buckets(buckets: int) -> None:
    """Refuse a number of buckets that cannot be spread.

    Raises:
        QueryError: It is not between 1 and `MOST_BUCKETS`.
    """
    if not 1 <= buckets <= MOST_BUCKETS:
        raise QueryError(f"a query has 1 to {MOST_BUCKETS} buckets, got {buckets}")


def check_definition(cls: type[Module], *, is_operator: bool) -> None:
    """Refuse an operator where an aggregate is wanted, and the other way round.

    Raises:
        QueryError: The module is of the other kind.
        ModuleDefinitionError: The class is not a complete module.
    """
    if not (isinstance(cls, type) and issubclass(cls, Module)):
        raise ModuleDefinitionError(f"{cls!r} is not a module class; subclass one of Muntin's eight base classes")
    cls.check_definition()
    if cls.is_operator and not is_operator:
        raise QueryError(f"{cls.name} is an operator, which returns rows: use .apply(module({cls.name!r}, ...))")
    if is_operator and not cls.is_operator:
        raise QueryError(f"{cls.name} is an aggregate, which returns one value: use .aggregate(name=module({cls.name!r}, ...))")


def _module_identity(plan: ModulePlan) -> list[Any]:
    parameters = {name: repr(value) for name, value in sorted(plan.parameters.items())}
    return [plan.output, plan.module.name, plan.module.version, parameters, list(plan.binding.columns)]
