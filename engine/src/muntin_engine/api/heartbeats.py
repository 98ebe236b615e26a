"""Another stream that says how complete an input is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from muntin import Duration
from muntin.errors import QueryError
from muntin.progress import bounded_delay

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    ColumnLike: TypeAlias = str | Column


@dataclass(frozen=True)
class Heartbeat:
    """A stream whose rows are punctuation for another.

    Attributes:
        df: The stream.
        at: Its column of times.
        delay: How far behind them the other is complete.
        source: Its column with the source that a row speaks for; None to speak for all.
    """

    df: DataFrame
    at: ColumnLike
    delay: int
    source: ColumnLike | None


def heartbeat_of(
    events: DataFrame, df: DataFrame, at: ColumnLike, delay: Duration, source: ColumnLike | None, *, has_sources: bool
) -> Heartbeat:
    """Return the heartbeat of a stream of events.

    Raises:
        QueryError: One is a stream and the other is not, or the heartbeat names sources that the events do not have.
        PolicyError: The delay is negative.
        DurationError: The delay cannot be read.
    """
    if events.isStreaming != df.isStreaming:
        kinds = ["a stream" if frame.isStreaming else "static" for frame in (events, df)]
        raise QueryError(f"events and their heartbeat come together; the events are {kinds[0]}, these are {kinds[1]}")
    if source is not None and not has_sources:
        raise QueryError(
            "the heartbeat names sources, and the events have none\n"
            "  give events() a source and sources, or leave it out"
        )
    return Heartbeat(df, at, bounded_delay(delay).delay, source)
