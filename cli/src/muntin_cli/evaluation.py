"""The evaluation of a module under each kind of window; needs `muntin-engine`, but not Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
        window: Kind of window; for an operator that follows a stream, that it has no windows.
        events: Kind of events: `points`, `lifetimes`, or `any` of them.
        evaluator: Evaluator; empty where the module cannot run.
        reason: Reason for the choice of the evaluator; or why the module cannot run.
        row: Cost of a row.
    """

    window: str
    events: str
    evaluator: str = ""
    reason: str = ""
    row: str = ""


def can_evaluate() -> bool:
    """True if the engine is installed."""
    return find_spec("muntin_engine") is not None


def evaluations_of(module: Module, parameters: Mapping[str, object], catalog: Catalog) -> Iterator[Evaluation]:
    """Yield the evaluation under each kind of window, for final results; a column of any type is read as a float."""
    windows: Iterable[tuple[str, WindowSpecification]] = example_windows(catalog)
    # A stream operator has no windows, so there is one way to evaluate it.
    if isinstance(module, StreamOperator):
        windows = [(str(Unwindowed()), Unwindowed())]
    for name, window in windows:
        points = _evaluation(module, parameters, window, Evaluation(name, "points"))
        lifetimes = _evaluation(module, parameters, window, Evaluation(name, "lifetimes"))
        # One line is enough where the kind of events makes no difference.
        if replace(lifetimes, events="points") == points:
            yield replace(points, events="any")
        else:
            yield points
            yield lifetimes


def columns_of(input_field: Field) -> tuple[Field, ...]:
    """Return columns that fit an input of a module: one, one per field of a record, or none where it only counts."""
    floats = {name: Field(name, _FLOAT) for name in variables_in(input_field) if name}
    column = bind(input_field, floats)
    if isinstance(column.type, Struct):
        return column.type.fields
    # A nullable input of any type needs no column, as that of a count.
    reads_nothing = "" in variables_in(column) and column.is_nullable
    return () if reads_nothing else (column,)


def _plan(module: Module, parameters: Mapping[str, object], window: WindowSpecification, *, has_ends: bool) -> Plan:
    """Plan a query for final results of a module over windows, on columns that fit its inputs.

    Raises:
        QueryError: No query of the module has these windows, or such events.
    """
    from muntin_engine.evaluators.declarations import DECLARATIONS
    from muntin_engine.plan import Columns, Input, NamedColumn, Plan, plan_module
    from muntin_engine.plan.module_plan import plan_several
    from muntin_engine.plan.planner import checked_plan

    cls = type(module)
    output = "" if module.is_operator else "result"
    source_columns = {source.name: columns_of(source) for source in cls.input_fields()}
    if source_columns:
        column_numbers = count()  # one sequence over the columns of all sources
        names = {name: (name,) for name in source_columns}
        module_plan = plan_several(
            output, cls, parameters, names, source_columns, next(column_numbers), lambda *_: next(column_numbers)
        )
    else:
        columns = columns_of(cls.input_field())
        module_plan = plan_module(output, cls, parameters, columns, lambda number, _: number)

    # Names do not matter, and neither do rows: the plan is explained, and not run.
    input_columns = Columns(
        NamedColumn("start", "timestamp"),
        NamedColumn("end", "timestamp") if has_ends else None,
        payload=tuple(NamedColumn(field.name, "") for field in module_plan.reads),
    )
    plan = Plan(
        inputs=(Input(input_columns, sources=tuple(source_columns)),),
        axis=Axis.TIME,
        # A module that needs a reach runs only in windows that have it: its evaluation is that of a query with one.
        window=window.with_reach(module.needs.reach),
        clip=clip_of([module]) or ClipPolicy.NONE,
        timestamps=TimestampPolicy.ALIGN,
        emit=EmitPolicy.FINAL,
        modules=(module_plan,),
    )
    return checked_plan(plan, DECLARATIONS)


def _evaluation(
    module: Module, parameters: Mapping[str, object], window: WindowSpecification, evaluation: Evaluation
) -> Evaluation:
    """Plan a query of a module over windows, and add the choice or the refusal to an evaluation.

    Args:
        module: The module.
        parameters: The parameters that it was made with.
        window: The windows.
        evaluation: The evaluation with the names of its windows and events alone.
    """
    from muntin_engine.plan.explanation import topics_of

    try:
        plan = _plan(module, parameters, window, has_ends=evaluation.events == "lifetimes")
    except MuntinError as error:
        # The lines after the first advise on a query, and there is none here.
        return replace(evaluation, reason=str(error).partition("\n")[0])
    topics = dict(topics_of(plan))
    return replace(evaluation, evaluator=plan.choice.evaluator, reason=plan.choice.reason, row=topics["row"])
