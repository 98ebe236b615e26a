"""Checks of rows of other inputs beside the events: heartbeats, and readings of a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import Axis, Duration
from muntin.axis import ticks
from muntin.errors import PolicyError, QueryError
from muntin.errors.messages import Argument

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.lengths import AxisScale


def check_heartbeat(start: InputColumn, beat: InputColumn) -> None:
    """Refuse a heartbeat whose times are of another kind than those of the events.

    Args:
        start: The starts of the events.
        beat: The times of the heartbeat.

    Raises:
        QueryError: The times of the heartbeat are of another kind, or no times.
    """
    if beat.axis is Axis.TIME:
        is_same = beat.spelled_type == start.spelled_type  # a timestamp without a zone is another type
    elif beat.decimal_places is not None:
        is_same = beat.decimal_places == start.decimal_places
    else:
        is_same = start.axis is Axis.TICKS and start.decimal_places is None  # integers, of any size
    if not is_same:
        raise QueryError(
            f"the events' times are {start.spelled_type}, those of the heartbeat are {beat.spelled_type}\n"
            "  cast them to the same type"
        )


def check_clock(scale: AxisScale) -> None:
    """Refuse a clock where times are decimals.

    Args:
        scale: The meaning of the events' times.

    Raises:
        QueryError: The times are decimals.
    """
    if scale.decimal_places is not None:
        raise QueryError(
            "a clock reads time, and the times of this query are decimals\n"
            "  give the readings yourself, as rows with microseconds since 1970: {clock}; or count instead of timing",
            clock=Argument("change", "clock"),
        )


def period_of(every: Duration) -> int:
    """Return the period in which a clock is read, in microseconds.

    Raises:
        PolicyError: The period is not above zero, or a number without a unit.
        DurationError: The period cannot be read.
    """
    period = ticks(every)
    if period <= 0:
        raise PolicyError(
            "a clock is read every so often, got {argument}\n  give a time above zero", argument="every", value=every
        )
    return period
