"""Random queries as calls: every kind of windows, every policy, trigger and step that a query may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

import muntin_stats as stats
from muntin import (
    calendar,
    correct,
    count_by_end,
    count_by_start,
    cumulate,
    early,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.progress import bounded_delay, bounded_disorder, ordered, punctuate_every, punctuated
from muntin.rows import batch, between, delta, elapsed, last, marker, on_row
from muntin.triggers import (
    after,
    after_count,
    all_of,
    any_of,
    each,
    every,
    every_count,
    on_signal,
    past_end,
    past_part,
    percentile,
    reaches,
    repeat,
    until,
    when,
)
from muntin_engine import condition, events, module, union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine import EventStream, Query

WINDOWS: Final[tuple[Any, ...]] = (
    *(tumbling("1 hour"), tumbling("1 hour", "5 minutes", reach="1 minute"), hopping("1 hour", "10 minutes")),
    *(
        hopping("10 minutes", "1 hour", "-2 minutes"),
        session("30 minutes"),
        session(),
        snapshot(),
        cumulate("1 day", "1 hour"),
    ),
    *(count_by_start(3), count_by_start(3, 2), count_by_end(2), landmark("1 hour", "2024-05-01T00:00:00Z")),
    *(landmark("1 hour"), global_windows(), trailing("1 hour"), trailing("1 hour", 2), calendar("month")),
    *(calendar("2 weeks", "1 week", zone="Europe/Berlin", start="2024-01-01"), calendar("1 day", reach="1 hour")),
)
"""Windows over time, of all kinds."""

TICKS: Final[tuple[Any, ...]] = (tumbling(10), hopping(10, 4, 1), session(5), cumulate(20, 5), trailing(7), landmark(5))
"""Windows on an axis of integers."""

DECIMALS: Final[tuple[Any, ...]] = (tumbling(Decimal("0.25")), session(Decimal("1.5")), hopping(3, Decimal("0.5")))
"""Windows on an axis of decimals."""

ROWS: Final[tuple[Any, ...]] = (
    *(last(10), last(10).trigger(2), last("5 minutes").trigger("1 minute"), last(3).when_full(), batch(4)),
    *(last(delta("km", 2.5)).trigger(on_row("km > 3")), last(5).trigger(delta("km", 1.0, start=0.5))),
    *(batch("10 minutes"), batch(4, within="1 hour"), batch(marker("km = 0")), between("km > 3", "km < 1")),
    *(
        between("km > 3", "km < 1", reopens=True, within="2 hours", closing_row=False),
        last(elapsed(7)),
        batch(elapsed(9)),
    ),
    *(last(10).partition("station"), last(10).partition("station", age="1 hour", most=5), batch(3).partition("line")),
)
"""Windows that follow rows."""

TRIGGERS: Final[tuple[Any, ...]] = (
    *(after("30 seconds"), after_count(3), every("1 minute"), every_count(5), on_signal("open"), past_end()),
    *(past_end("10 seconds"), past_part(0.5), percentile(0.9), reaches("n", 100.0), when("km > 3")),
    *(repeat(any_of(after_count(3), when("km > 3"))), all_of(after_count(2), past_part(0.25))),
    *(each(after_count(1), every("1 minute")), until(every_count(2), on_signal("stop"))),
)
"""Triggers of early results, of all kinds."""

PROGRESS: Final[tuple[Any, ...]] = (
    *("10 minutes", bounded_delay("10 minutes"), ordered(), punctuated(), bounded_disorder(100)),
    *(punctuate_every(rows=10, delay="1 minute"), punctuate_every(span="1 hour")),
    bounded_delay("10 minutes").with_idle("1 minute", lag="15 minutes"),
    bounded_delay("10 minutes").with_idle("1 minute"),
)
"""Progress policies."""

EMISSIONS: Final[tuple[Any, ...]] = (
    *("final", "eager", "speculative"),
    *(early(trigger, refinement=how) for trigger in TRIGGERS for how in ("accumulate", "retract")),
    early(every="1 minute", refinement="discard"),
)
"""Emissions."""

LATE: Final[tuple[Any, ...]] = ("side", "drop", "adjust", correct("1 hour"))
"""Treatments of late rows."""


def random_stream(random: Random, df: DataFrame) -> EventStream:
    """Draw a stream of points, intervals or samples, with up to three further calls."""
    options: dict[str, Any] = {"key": random.choice([None, "station", ["station", "line"]])}
    options |= random.choice([{"at": "leaves"}, {"start": "leaves", "end": "arrives"}, {"at": "leaves", "edge": True}])
    if random.random() < 0.5:
        options["order"] = "line"
    options["watermark"] = random.choice(PROGRESS)
    options["late_policy"] = random.choice(["side", "drop"])
    if random.random() < 0.3:
        options["buckets"] = random.randint(1, 8)
    if random.random() < 0.3:
        options["source"] = "line"
        options["sources"] = ["north", "south"]
    if random.random() < 0.3:
        options["rows"] = "km is not null"
    stream = events(df, **options)
    steps: list[Callable[[EventStream], EventStream]] = [
        lambda s: s.where("km > 2"),
        lambda s: s.with_columns(double="km * 2"),
        lambda s: s.select("km", triple="km * 3"),
        lambda s: s.shift(random.choice(["1 hour", "-5 minutes"])),
        lambda s: s.set_duration("10 minutes"),
        lambda s: s.to_edges(),
        lambda s: s.shedding(most_held=1000, when_full=random.choice(["shed", "fail"])),
        # samples have no ends that these could change or read
        lambda s: s.extend("1 minute") if s.lifetimes != "edge" else s,
        lambda s: s.shorten("1 minute") if s.lifetimes != "edge" else s,
        lambda s: s.to_points(random.choice(["start", "end"])) if s.lifetimes != "edge" else s,
        lambda s: s.align_to(tumbling("1 hour")) if s.lifetimes != "edge" else s,
    ]
    for step in random.sample(steps, random.randint(0, 3)):
        stream = step(stream)
    return stream


def random_query(random: Random, df: DataFrame) -> Query:
    """Draw a query over a DataFrame of rides.

    Raises:
        MuntinError: The query is refused: parts are drawn that do not fit each other. Draw again.
    """
    kind = random.choice(["time", "time", "time", "early", "rows", "several", "join", "union", "chain"])
    stream = random_stream(random, df)
    match kind:
        case "several":
            windowed = stream.windows(now=hopping("10 minutes", "1 minute"), day=tumbling("1 day"))
            return windowed.aggregate(n=stats.count())
        case "rows":
            return stream.window(random.choice(ROWS)).aggregate(n=stats.count(), mean=stats.average("km"))
        case "join":
            return _random_join(random, stream, random_stream(random, df))
        case "union":
            return _random_windowed_query(random, union(bikes=stream, scooters=random_stream(random, df)))
        case "early":
            return _random_windowed_query(random, stream, EMISSIONS)
        case "chain":
            results = _random_windowed_query(random, stream).as_events(key=random.choice([None, "m0"]))
            return results.window(tumbling("1 day")).aggregate(n=stats.count())
    return _random_windowed_query(random, stream)


def _random_join(random: Random, left: EventStream, right: EventStream) -> Query:
    how = random.choice(["inner", "left", "anti", "semi", "clip"])
    options: dict[str, Any] = {"left_columns": random.choice(["km", ["km"], {"far": "km * 2"}])}
    if how in ("inner", "left"):
        options["right_columns"] = ["km2"]
    if how != "clip" and random.random() < 0.3:
        options["same_window"] = tumbling("1 hour")
    if random.random() < 0.3:
        options["on"] = condition("stats.is_between", left="km", right=["km", "km2"])
    return left.join(right, how, **options, emit=random.choice(["final", "eager"]))


def _random_windowed_query(
    random: Random, stream: EventStream, emissions: Sequence[Any] = ("final", "eager", "speculative")
) -> Query:
    """Draw a query over windows of time, with one of these emissions and one to three modules."""
    options: dict[str, Any] = {"emit": random.choice(emissions)}
    if random.random() < 0.3:
        options["clip"] = random.choice(["none", "left", "right", "full"])
    if random.random() < 0.3:
        options["timestamps"] = random.choice(["align", "point_at_end"])
    if random.random() < 0.1:
        options["forget_keys_after"] = "30 days"
    windowed = stream.window(random.choice(WINDOWS), **options)

    calls = [
        module("stats.count"),
        stats.average("km"),
        module("stats.quantile", "km", q=0.9),
        stats.sum(F.expr("km * 2")),
    ]
    sample = random.sample(calls, random.randint(1, 3))
    modules = {f"m{place}": call for place, call in enumerate(sample)}
    query = windowed.aggregate(**modules)
    if random.random() < 0.3:
        return query.select("m0", twice="m0 * 2").where("m0 > 1")
    return query
