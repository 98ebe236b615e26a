"""The evaluation of a module under each kind of window; needs `muntin-engine`, but not Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import count
from typing import TYPE_CHECKING, Final

from muntin import Axis, ClipPolicy, EmitPolicy, Module, StreamOperator, TimestampPolicy
from muntin.catalog import Catalog
from muntin.errors import MuntinError
from muntin.query_checks import clip_of
from muntin.schemas import Field, Scalar, ScalarKind, Struct, bind, variables_in
from muntin.windows import WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_cli.windows import example_windows

if TYPE_CHECKING:
    from muntin_engine.plan import Plan

_FLOAT: Final = Scalar(ScalarKind.FLOAT)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a module under one kind of window.

    Attributes:
        window: The kind of window; that there are none, for an operator that follows a stream.
        events: What the events are: points, lifetimes, or any of them.
        evaluator: The evaluator; empty where the module cannot run.
        reason: Why this one; or why the module cannot run.
        row: What a row costs.
    """

    window: str
    events: str
    evaluator: str = ""
    reason: str = ""
    row: str = ""


def can_evaluate() -> bool:
    """Return True if the engine is installed."""
    return find_spec("muntin_engine") is not None


def evaluations_of(module: Module, parameters: Mapping[str, object], catalog: Catalog) -> Iterator[Evaluation]:
    """Yield the evaluation under each kind of window, for final results; a column of any type is read as a float."""
    without: list[tuple[str, WindowSpecification]] = [(str(Unwindowed()), Unwindowed())]
    for name, window in without if isinstance(module, StreamOperator) else example_windows(catalog):
        points, lifetimes = (
            _evaluation(module, parameters, window, Evaluation(name, events)) for events in ("points", "lifetimes")
        )
        if replace(points, events="") == replace(lifetimes, events=""):
            yield replace(points, events="any")
        else:
            yield from (points, lifetimes)


def columns_of(wanted: Field) -> tuple[Field, ...]:
    """Return columns that fit an input of a module: one, one per field of a record, or none where it only counts."""
    bound = bind(wanted, {name: Field(name, _FLOAT) for name in variables_in(wanted) if name})
    if isinstance(bound.type, Struct):
        return bound.type.fields
    return () if "" in variables_in(bound) and bound.is_nullable else (bound,)


def _plan(module: Module, parameters: Mapping[str, object], window: WindowSpecification, *, has_ends: bool) -> Plan:
    from muntin_engine.evaluators.declarations import DECLARATIONS
    from muntin_engine.plan import Columns, Input, NamedColumn, Plan, plan_module
    from muntin_engine.plan.module_plan import plan_several
    from muntin_engine.plan.planner import checked_plan

    cls, output = type(module), "" if module.is_operator else "result"
    several = {part.name: columns_of(part) for part in cls.input_fields()}
    names, numbers = {name: (name,) for name in several}, count()
    planned = (
        plan_several(output, cls, parameters, names, several, next(numbers), lambda *_: next(numbers))
        if several
        else plan_module(output, cls, parameters, columns_of(cls.input_field()), lambda number, _: number)
    )
    window = window.with_reach(module.needs.reach)  # a query that is refused for its reach is told what to write
    payload = tuple(NamedColumn(field.name, "") for field in planned.reads)
    end = NamedColumn("end", "timestamp") if has_ends else None
    columns = Columns(NamedColumn("start", "timestamp"), end, payload=payload)
    return checked_plan(
        Plan(
            inputs=(Input(columns, sources=tuple(several)),),
            axis=Axis.TIME,
            window=window,
            clip=clip_of([module]) or ClipPolicy.NONE,
            timestamps=TimestampPolicy.ALIGN,
            emit=EmitPolicy.FINAL,
            modules=(planned,),
        ),
        DECLARATIONS,
    )


def _evaluation(
    module: Module, parameters: Mapping[str, object], window: WindowSpecification, asked: Evaluation
) -> Evaluation:
    from muntin_engine.plan.explanation import topics_of

    try:
        plan = _plan(module, parameters, window, has_ends=asked.events == "lifetimes")
    except MuntinError as error:
        return replace(asked, reason=str(error).partition("\n")[0])
    said = dict(topics_of(plan))
    return replace(asked, evaluator=plan.choice.evaluator, reason=plan.choice.reason, row=said["row"])
