"""Checks of a query that applies a stream operator, without windows."""

from __future__ import annotations

from muntin import EmitPolicy, LatePolicy, StreamOperator
from muntin.errors import PolicyError
from muntin_engine.plan.plan import Plan


def check_stream_operator(plan: Plan) -> None:
    """Refuse what an operator that follows a stream cannot do: each event is handed over once, and never changes.

    Raises:
        PolicyError: Results are wanted that would have to be corrected.
    """
    if plan.is_windowed or not any(isinstance(module.module, StreamOperator) for module in plan.modules):
        return
    label = plan.modules[0].label
    for given in plan.inputs:
        if given.late.policy is LatePolicy.ADJUST or given.late.corrects:
            raise PolicyError(
                f"late={str(given.late)!r} would hand events over to {label} after later ones\n"
                "  use late='side' or 'drop', and a delay that is long enough"
            )
    if plan.emit is not EmitPolicy.FINAL:
        raise PolicyError(
            f"{label} is called when the watermark has passed an event, and emit={str(plan.emit)!r} would be before "
            "that, in an order that may not be the final one\n  leave emit out"
        )
