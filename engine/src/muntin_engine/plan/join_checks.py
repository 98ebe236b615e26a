"""Checks of a join."""

from __future__ import annotations

from muntin import EmitPolicy
from muntin.errors import PolicyError, QueryError
from muntin_engine.plan.plan import Plan


def check_join(plan: Plan) -> None:
    """Refuse policies that a join has no answer to, and columns that it does not have.

    Raises:
        QueryError: It has no columns, or columns of a stream that its results are not of.
        PolicyError: Results are neither final nor eager, late rows are to correct results, keys punctuate themselves,
            or a key takes only so many events.
    """
    if plan.join is None:
        return
    kind, columns = plan.join.kind, plan.join.columns
    if not kind.pairs and any(column.side for column in columns):
        raise QueryError(
            f"how={str(kind)!r} has rows of the left stream alone, and other= names columns of the right one\n"
            "  leave other= out, or use how='inner' or how='left'"
        )
    if not columns:
        raise QueryError("a join has no columns besides its keys\n  expected, for example: columns={'km': 'km'}")
    if plan.emit not in (EmitPolicy.FINAL, EmitPolicy.EAGER):
        emit = "early(...)" if plan.early is not None else repr(str(plan.emit))
        raise PolicyError(f"a join has no windows to be early for, got emit={emit}\n  use emit='final' or 'eager'")
    for given in plan.inputs:
        if given.late.corrects:
            raise PolicyError(
                f"late={str(given.late)!r} of {given.name} corrects windows, and a join has none\n"
                "  use late='side' and a longer delay, with emit='eager' to have rows at once"
            )
        if given.progress.by_key:
            raise PolicyError(
                f"keys of {given.name} punctuate themselves, and a join is as complete as its inputs are\n"
                "  leave out with_key_punctuation()"
            )
        if given.most_held is not None:
            raise PolicyError(
                f"{given.name} sheds events, and a join would lose rows of the other stream with them\n"
                "  leave out shedding(); end lifetimes sooner to hold less"
            )
