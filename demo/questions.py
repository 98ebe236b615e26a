"""The three questions of the demo, each a query that names its modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from muntin import hopping, snapshot, tumbling
from muntin_engine import Query, events, module

BUCKETS = 8
"""How many buckets each question spreads its keys over: a few per core."""

FlightsT = TypeVar("FlightsT")
"""A stream of Spark, or a table in this process."""


def airborne(flights: FlightsT, emit: str = "final") -> Query[FlightsT]:
    """By origin: how many planes are in the air, and over how many miles they fly, whenever either changes."""
    return (
        events(
            flights,
            key="origin",
            id="id",
            start="departure",
            end="end",
            change="change",
            new_end="new_end",
            buckets=BUCKETS,
        )
        .window(snapshot(), clip="full", emit=emit)
        .aggregate(planes=module("stats.count"), miles=module("stats.time_weighted_average", "distance"))
    )


def delays(flights: FlightsT, emit: str = "final") -> Query[FlightsT]:
    """By carrier, every ten minutes: how the flights of the last hour left."""
    return (
        events(flights, key="carrier", at="departure", change="change", rows="change != 'revise'", buckets=BUCKETS)
        .window(hopping("1 hour", "10 minutes"), emit=emit)
        .aggregate(
            flights=module("stats.count"),
            mean_delay=module("stats.average", "dep_delay"),
            p90_delay=module("stats.quantile", "dep_delay", q=0.9),
        )
    )


def cascades(flights: FlightsT, emit: str = "final") -> Query[FlightsT]:
    """By plane: each pair of flights over an hour late, the second leaving within six hours of the first's arrival.

    A match is reported in the window in which the second flight leaves; the reach keeps the first a member of it.
    """
    return (
        events(
            flights,
            key="tailnum",
            id="id",
            start="departure",
            end="end",
            change="change",
            new_end="new_end",
            buckets=BUCKETS,
        )
        .where("tailnum is not null and dep_delay > 60")
        .window(tumbling("6 hours", reach="6 hours 1 minute"), clip="right", timestamps="unchanged", emit=emit)
        .apply(module("patterns.followed_by", "id", within="6 hours"))
    )


QUESTIONS: Mapping[str, Callable[..., Query]] = {
    "airborne": airborne,
    "delays": delays,
    "cascades": cascades,
}
