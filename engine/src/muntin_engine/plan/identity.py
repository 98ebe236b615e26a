"""The identity of a plan: the properties that the state in a checkpoint depends on."""

from __future__ import annotations

from muntin import Axis, ResultRefinement
from muntin.modules.columnar_aggregate import Form
from muntin.schemas import spell
from muntin.triggers import to_dict as describe
from muntin_engine.plan.chosen_evaluator import Arrivals, Held
from muntin_engine.plan.code_in_use import code_identity
from muntin_engine.plan.plan import Plan
from muntin_engine.state.compatibility import MODULES_SHARE_STATE, Compatibility
from muntin_engine.state.differences import QueryIdentity


def plan_compatibility(plan: Plan, identity: QueryIdentity | None = None) -> Compatibility:
    """Return the identity of a plan together with the rules by which it may go on with the state of another one.

    The rules say which modules may go on with the state of an older version, be added, or be removed.

    Args:
        plan: The plan.
        identity: The identity of the plan if it is known already; None to make it.
    """
    # Where arrays take new events alone, without ids, the state has a part for each module: modules can be added and
    # removed.
    array_plan = plan.choice.arrays
    holds_rows = array_plan is not None and array_plan.held is Held.ROWS
    has_part_per_module = array_plan is not None and array_plan.arrivals is not Arrivals.IDENTIFIED
    why_modules_are_fixed = "" if has_part_per_module else MODULES_SHARE_STATE
    return Compatibility(
        identity=plan_identity(plan) if identity is None else identity,
        modules=[module.module for module in plan.modules],
        forms=plan.forms,
        windows=plan.windows,
        why_fixed=why_modules_are_fixed,
        holds_rows=holds_rows,
        # A module that is added begins without rows, and its part has to say so: by components, or by the number of
        # rows that the module accepted.
        begins_empty=[plan.choice.holds_components or module.skips_rows for module in plan.modules],
    )


def plan_identity(plan: Plan) -> dict[str, object]:
    """Return the properties of a plan that the state in a checkpoint depends on, as plain data.

    A query goes on with a checkpoint only if these properties are equal, or differ in a way that the state allows.
    """
    identity: dict[str, object] = {
        "keys": [[key.name, key.type] for key in plan.keys],
        "times": _kind_of_times(plan),
        "window": plan.window.to_dict(),
        "windows": {name: window.to_dict() for name, window in plan.named_windows.items()},
        "clip": str(plan.clip),
        "timestamps": str(plan.timestamps),
        "emit": _emission_identity(plan),
        **_inputs_identity(plan),
        "results": _kept_results(plan),
        "buckets": plan.buckets,
    }
    if plan.forget_keys_after is not None:
        identity["forget_keys_after"] = plan.forget_keys_after
    if plan.join is not None:
        identity["join"] = plan.join.identity()
    identity["evaluator"] = plan.choice.evaluator
    if plan.choice.arrays is not None:
        identity["arrays"] = plan.choice.arrays.identity()
    identity |= code_identity(plan.code)
    identity["modules"] = [module.identity() for module in plan.modules]
    identity["components"] = [_components(form) for form in plan.forms]
    return identity


def _kind_of_times(plan: Plan) -> str:
    """Return the meaning of a tick in words: the type of timestamps, decimals of some places, or a unit of integers."""
    if plan.axis is Axis.TIME:
        return plan.inputs[0].columns.start.type
    if plan.decimal_places is not None:
        return f"decimals of {plan.decimal_places} places"
    return plan.unit or str(plan.axis)


def _components(form: Form) -> list[list[object]]:
    """Return the components of a columnar form, each as its name, its merge, and the type and shape of its arrays."""
    components: list[list[object]] = []
    for name, component in form.components().items():
        components.append([name, str(component.merge), component.dtype, list(component.shape)])
    return components


def _inputs_identity(plan: Plan) -> QueryIdentity:
    """Return the entries of the identity for the inputs: those of one input, or of several with their names."""
    if len(plan.inputs) == 1:
        return plan.input.identity()
    return {"several": [[input.name, input.identity()] for input in plan.inputs]}


def _emission_identity(plan: Plan) -> object:
    """Return the emission as plain data; for early results, their trigger and their refinement."""
    if plan.early is None:
        return str(plan.emit)
    refinement = plan.early.refinement
    described = describe(refinement) if isinstance(refinement, ResultRefinement) else str(refinement)
    return {"early": describe(plan.early.trigger), "refinement": described}


def _kept_results(plan: Plan) -> list[str]:
    """Return the types of the results that the state keeps to retract them later; none if it keeps no results.

    The results of an operator are rows, whose types have the names of their columns as well.
    """
    if not plan.emission.may_retract:
        return []
    if plan.is_operator:
        return [f"{part.name} {spell(part)}" for part in plan.outputs]
    return [spell(part) for part in plan.outputs]
