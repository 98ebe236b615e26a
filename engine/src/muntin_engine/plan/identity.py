"""The identity of a plan: the properties that the state in a checkpoint depends on."""

from __future__ import annotations

from muntin import Axis, ResultRefinement
from muntin.schemas import spell
from muntin.triggers import to_dict as describe
from muntin_engine.plan.choice import Arrivals, Held
from muntin_engine.plan.code_in_use import code_identity
from muntin_engine.plan.plan import Plan
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.differences import QueryIdentity


def plan_compatibility(plan: Plan, identity: QueryIdentity | None = None) -> Compatibility:
    """Return the plan's identity, with the modules that may continue from older versions, be added or be removed.

    Args:
        plan: The plan.
        identity: Its identity, where that is known.
    """
    parts = plan.choice.arrays
    fixed = {} if parts is None or parts.arrivals is Arrivals.IDENTIFIED else {"why_fixed": ""}
    return Compatibility(
        plan_identity(plan) if identity is None else identity,
        [module.module for module in plan.modules],
        plan.forms,
        plan.windows,
        holds_rows=parts is not None and parts.held is Held.ROWS,
        begins_empty=[plan.choice.uses_forms or module.is_choosy for module in plan.modules],
        **fixed,
    )


def plan_identity(plan: Plan) -> dict[str, object]:
    """Return the properties of a plan that the state in a checkpoint depends on, as plain data."""
    several = [[given.name, given.identity()] for given in plan.inputs]
    times = plan.inputs[0].columns.start.type
    if plan.axis is not Axis.TIME:
        times = f"decimals of {plan.places} places" if plan.places is not None else plan.unit or str(plan.axis)
    emit: object = str(plan.emit)
    if plan.early is not None:
        refinement = plan.early.refinement
        told = describe(refinement) if isinstance(refinement, ResultRefinement) else str(refinement)
        emit = {"early": describe(plan.early.trigger), "refinement": told}
    kept_results = []  # results are kept where they may be retracted
    if plan.emission.may_retract:
        kept_results = [(f"{part.name} " if plan.is_operator else "") + spell(part) for part in plan.outputs]
    return {
        "keys": [[key.name, key.type] for key in plan.keys],
        "times": times,
        "window": plan.window.to_dict(),
        "windows": {name: window.to_dict() for name, window in plan.named_windows.items()},
        "clip": str(plan.clip),
        "timestamps": str(plan.timestamps),
        "emit": emit,
        **({"several": several} if len(several) > 1 else plan.input.identity()),
        "results": kept_results,
        "buckets": plan.buckets,
        **({} if plan.forget_keys_after is None else {"forget_keys_after": plan.forget_keys_after}),
        **({} if plan.join is None else {"join": plan.join.identity()}),
        "evaluator": plan.choice.evaluator,
        **({} if plan.choice.arrays is None else {"arrays": plan.choice.arrays.identity()}),
        **code_identity(plan.code),
        "modules": [module.identity() for module in plan.modules],
        "components": [
            [[name, str(part.merge), part.dtype, list(part.shape)] for name, part in form.components().items()]
            for form in plan.forms
        ],
    }
