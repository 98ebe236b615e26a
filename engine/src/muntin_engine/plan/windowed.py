"""From a plan to what the core evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from muntin import EmitPolicy
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.core.meter import Meter
from muntin_engine.plan.plan import Plan


def windowed_query(plan: Plan, meters: Sequence[Meter]) -> EvaluatorQuery:
    """Return a plan of one input in the terms of the evaluators, with what measures the calls of each module."""
    return EvaluatorQuery(
        axis=plan.axis,
        window=plan.window,
        bindings=tuple(
            Binding(module.module, module.select, meter) for module, meter in zip(plan.modules, meters, strict=True)
        ),
        clip=plan.clip,
        timestamps=plan.timestamps,
        emit=plan.emission,
        contract=plan.contract,
        is_edge=plan.input.is_edge,
        has_ids=plan.input.columns.id is not None,
        expressions={expression: itemgetter(place) for expression, place in plan.expressions.items()},
        late=plan.input.late,
        keeps=itemgetter(len(plan.input.columns.payload)) if plan.input.keeps_filtered else None,
        waits_for_watermark=plan.input.late.corrects and plan.emit is EmitPolicy.FINAL,
    )
