"""Checks of a query whose windows follow rows."""

from __future__ import annotations

from muntin import EarlyEmission, EmitPolicy, LatePolicy
from muntin.errors import PolicyError, QueryError
from muntin_engine.plan.plan import Plan


def check_rows(plan: Plan) -> None:
    """Refuse what row windows cannot do: the order of rows is a fact of the input, and each is released once.

    Raises:
        QueryError: Rows have no order.
        PolicyError: Results are wanted that would have to be corrected.
    """
    if plan.rows is None:
        return
    windows = plan.spelled_window
    for given in plan.inputs:
        if given.order is None:
            raise QueryError(
                f"{windows} follows rows in their order, and no column says it\n"
                "  name one that tells rows of one time apart, such as an offset: events(..., order='offset')"
            )
        if given.late.policy is LatePolicy.ADJUST or given.late.corrects:
            raise PolicyError(
                f"late={str(given.late)!r} would change windows of {windows} that later rows have followed already\n"
                "  use late='side' or 'drop', and a delay that is long enough"
            )
    if plan.emit is not EmitPolicy.FINAL:
        emit = "early(...)" if isinstance(plan.emit, EarlyEmission) else repr(str(plan.emit))
        raise PolicyError(
            f"{windows} is computed when the watermark has passed the row, and emit={emit} would be before that, in an "
            "order that may not be the final one\n"
            "  leave emit out; when windows are computed is part of them: last(10).trigger(2)"
        )
