"""The output of a query as events of another one: when it can be, and which of its columns make the events.

Each bucket of the first query is a source of the second: it says how far its own results are settled, and the second is
as complete as the least complete bucket of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muntin import Refinement, TimestampPolicy
from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call
from muntin_engine.backends.planned_query import Selection
from muntin_engine.plan.plan_words import spell_grouping
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, OUTPUT_WATERMARK, RESULTS, STREAMS, WATERMARK
from muntin_engine.wire.blob_readers import CHANGE, SOURCE
from muntin_engine.wire.bucket_ids import bucket_ids

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan import Plan


def check_output_events(query: PlannedQuery, *, is_stream: bool) -> None:
    """Refuse a query whose output cannot be events.

    Raises:
        QueryError: The query selects among its results, emits early results without retracting them, or has results
            without a watermark.
    """
    check_output_watermark(query, is_stream=is_stream)
    if query.selection != Selection():
        raise QueryError(
            "select() and where() are the last steps of a query, and as_events() reads all its results\n"
            "  leave them out: query.as_events().where('n > 10').with_columns(share='late / n')"
        )
    early = query.plan.early
    if early is not None and early.refinement is not Refinement.RETRACT:
        raise QueryError(
            "the early results of this query are not retracted (refinement {refinement!r}), so they would count again "
            "and again\n  use {retracting}, or {final}",
            refinement=str(early.refinement),
            retracting=Call("early", ..., Argument("refinement", "retract")),
            final=Argument("emit", "final"),
        )


def check_output_watermark(query: PlannedQuery, *, is_stream: bool) -> None:
    """Refuse a query whose results have no watermark.

    Raises:
        QueryError: The input is a stream without a watermark.
    """
    if is_stream and not query.plan.says_when_complete:
        raise QueryError(
            "the results of {grouping} have no watermark, as the input has none\n"
            "  give {events} a delay, such as {delay}, or another progress policy",
            grouping=spell_grouping(query.plan),
            events=Call("events"),
            delay=Argument("watermark", "10 minutes"),
        )


def event_columns(plan: Plan, output: str) -> dict[str, Any]:
    """Return the columns of an output that make events, by the attributes of `InputRequest`.

    The id is not among them, as it is computed: see `identifying_columns`.

    Args:
        plan: The plan of the query.
        output: `results` or `evicted_rows`.
    """
    lifetime = lifetime_column(plan, output)
    # An evicted row is a point at the tick at which it leaves its window.
    is_point = output == EVICTED_ROWS or plan.timestamps is TimestampPolicy.POINT_AT_END
    columns: dict[str, Any] = {
        "start": f"{lifetime}.start",
        "end": None if is_point else f"{lifetime}.end",
        "change": CHANGE,
        "source": SOURCE,
        "sources": tuple(map(str, bucket_ids(plan.buckets))),
    }
    if "new_end" in plan.engine_columns:
        columns["new_end"] = "new_end"
    return columns


def identifying_columns(plan: Plan) -> tuple[str, ...]:
    """Return the names of the columns that identify a result; empty if no result of the plan is changed later.

    These are the keys and `event_id`: results of several keys share their ids.
    """
    if "event_id" not in plan.engine_columns:
        return ()
    return (*(key.name for key in plan.keys), "event_id")


def lifetime_column(plan: Plan, output: str) -> str:
    """Return the name of the column of an output that holds the lifetimes of the events."""
    return plan.lifetime_column if output == RESULTS else "window"


def event_streams(output: str) -> tuple[str, ...]:
    """Return the names of the streams of blobs that make the events of an output: its rows and its watermarks.

    Args:
        output: `results` or `evicted_rows`.
    """
    # An evicted row lies at the tick at which it leaves its window, which is never before the watermark of the input.
    # So evicted rows are complete up to that watermark; results are complete up to a watermark of their own.
    watermark = OUTPUT_WATERMARK if output == RESULTS else WATERMARK
    return (*STREAMS[output], watermark)
