"""Output progress: the tick below which the output of a query does not change any more."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, OutputContract, TimestampPolicy, Window
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment import Assigner
from muntin_engine.evaluators.general.key_state import KeyState


def output_watermark(query: EvaluatorQuery, assigner: Assigner, progress: Progress, bound: int) -> int:
    """Return a tick below which the output does not change any more (the paper, section V.F).

    Args:
        query: The query.
        assigner: Any of the query's.
        progress: How far the input is.
        bound: The smallest `Timer.bound` of any key.
    """
    watermark = progress.watermark
    if watermark in (EARLIEST, INFINITY) or query.is_time_bound:
        return watermark
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return min(assigner.end_after(watermark), bound)
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    return min(assigner.start_after(watermark), bound)


def output_bound(query: EvaluatorQuery, state: KeyState, first: Window | None, earliest: int) -> int:
    """Return the least time of an output that a key may still make or change.

    Args:
        query: The query.
        state: The key's state.
        first: Its first open window with a member.
        earliest: The least start of a membership that ends after the frontier.
    """
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return INFINITY if first is None else first.end
    return state.assigner.first_start(earliest)
