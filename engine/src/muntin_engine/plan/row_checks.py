"""Checks of a query whose windows follow rows."""

from __future__ import annotations

from muntin import ClipPolicy, EarlyEmission, EmitPolicy, LatePolicy, PolicyError, QueryError, TimestampPolicy
from muntin_engine.plan.plan import Plan


def check_rows(plan: Plan) -> None:
    """Refuse what row windows cannot do: the order of rows is a fact of the input, and each is released once.

    Raises:
        QueryError: Rows have no order, or last longer than a tick.
        PolicyError: Results are wanted that would have to be corrected, or with lifetimes that rows do not have.
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
        if not given.is_point:
            what = "samples" if given.has_samples else "events with an end of their own"
            raise QueryError(
                f"{windows} follows rows at points in time, and these are {what}\n"
                "  give their time as events(..., at=...)"
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
    if plan.timestamps not in (TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END):
        raise PolicyError(
            f"timestamps={str(plan.timestamps)!r} is not for {windows}: a row window may be computed again long after "
            "what its module returns\n  use 'align' or 'point_at_end'"
        )
    if plan.clip is not ClipPolicy.NONE and "clip" not in plan.from_modules:
        raise PolicyError(
            f"clip={str(plan.clip)!r} has nothing to clip: the rows of {windows} are points inside it\n  leave it out"
        )
