"""The three questions of the demo, each a query that names its modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin import hopping, snapshot, tumbling
from muntin_engine import Query, events, module

TIME = F.coalesce("departure", "at")
"""When a flight leaves, or what a punctuation row promises."""

IS_PROGRESS = F.col("change").isin("punctuate", "close")


def airborne(flights: DataFrame) -> Query:
    """By origin: how many planes are in the air, and over how many miles they fly, whenever either changes."""
    return (
        events(flights, key="origin", id="id", start=TIME, end="end", change="change", new_end="new_end")
        .window(snapshot(), clip="full")
        .aggregate(planes=module("stats.count"), miles=module("stats.time_weighted_average", "distance"))
    )


def delays(flights: DataFrame) -> Query:
    """By carrier, every ten minutes: how the flights of the last hour left."""
    departures = flights.where(F.col("change") != "revise")
    return (
        events(departures, key="carrier", at=TIME, change="change")
        .window(hopping("1 hour", "10 minutes"))
        .aggregate(
            flights=module("stats.count"),
            mean_delay=module("stats.average", "dep_delay"),
            p90_delay=module("stats.quantile", "dep_delay", q=0.9),
        )
    )


def cascades(flights: DataFrame) -> Query:
    """By plane: each pair of flights that both left over an hour late, the second within six hours of the first's arrival.

    A match is reported in the window in which the second flight leaves; the reach keeps the first a member of it.
    """
    late = flights.where(IS_PROGRESS | (F.col("tailnum").isNotNull() & (F.col("dep_delay") > 60)))
    return (
        events(late, key="tailnum", id="id", start=TIME, end="end", change="change", new_end="new_end")
        .window(tumbling("6 hours", reach="6 hours 1 minute"), clip="right", timestamps="unchanged")
        .apply(module("patterns.followed_by", "id", within="6 hours"))
    )


QUESTIONS: Mapping[str, Callable[[DataFrame], Query]] = {
    "airborne": airborne,
    "delays": delays,
    "cascades": cascades,
}

_EXTENT = (F.col("window.start").alias("start"), F.col("window.end").alias("end"))


def answer(name: str, flights: DataFrame) -> DataFrame:
    """Return the answer to a question, with the columns of its file."""
    results = QUESTIONS[name](flights).named(name).results()
    if name == "airborne":
        return results.select("origin", *_EXTENT, "planes", "miles")
    if name == "delays":
        return results.select("carrier", *_EXTENT, "flights", "mean_delay", "p90_delay")
    return results.select(
        "tailnum", "first", "second", F.col("ended").alias("arrival"), F.col("started").alias("departure")
    )


ORDER: Mapping[str, list[str]] = {
    "airborne": ["origin", "start"],
    "delays": ["carrier", "start"],
    "cascades": ["tailnum", "departure", "first"],
}
"""How the rows of each file are sorted."""
