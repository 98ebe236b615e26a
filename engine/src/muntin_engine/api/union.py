"""Several streams of events as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Never

from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call
from muntin.progress import Punctuated
from muntin_engine.api.query import EventStream
from muntin_engine.backends.choosing import backend_of_all, is_stream
from muntin_engine.plan.inputs import MOST_SOURCES
from muntin_engine.plan.request import queries_before
from muntin_engine.plan.steps import step
from muntin_engine.time.lifetimes import LifetimeChange, PointsAtStart, ToEdges


@step
def union(*unnamed: Never, **streams: EventStream) -> EventStream:
    """Make one stream of several, each with a progress policy, sources, heartbeats and lifetimes of its own.

    The union has all events and columns of all streams; a column is null in the events of a stream that lacks it. The
    watermark of the union is the least watermark of the streams, so a silent stream holds it back, unless its policy
    leaves the stream out while it is idle (`with_idle`). Whether a row is late depends on the watermark of the union,
    and not on that of its own stream. In metrics and in `explain()`, each stream is a source of the union, such as
    `rides`, and so is each source of a stream, such as `rides.north`.

    A module that reads several inputs gets the events of each stream as the input of that name.

    Keys, ids and times are of the same types, and so are columns of the same name. Points and events with ends may be
    united; samples only with samples. `late_policy`, `unit` and `shedding` are the same in all streams, and the number
    of buckets is that of the first stream. An id identifies an event of the union: if two streams have an event of the
    same key, id and start, the second is rejected as a duplicate. Windows, later filters and later changes of lifetimes
    apply to all events.

    Args:
        unnamed: Nothing: each stream has a name.
        streams: Streams by name, which `events` or `as_events` returned.

    Raises:
        QueryError: There are fewer than two streams, or they do not fit together.

    Example:
        >>> both = union(bikes=bikes, scooters=scooters.shift("5 seconds"))  # doctest: +SKIP
    """
    if unnamed or len(streams) < 2:
        raise QueryError("union() needs at least two streams, each with a name: union(bikes=bikes, scooters=scooters)")
    for name, stream in streams.items():
        _check_stream(name, stream)

    # The streams have to fit together.
    first_stream = next(iter(streams.values()))
    for subject, value_of in _SHARED_PROPERTIES.items():
        values = {name: value_of(stream) for name, stream in streams.items()}
        if len(set(values.values())) > 1:
            spelled_values = ", ".join(f"{name} {value}" for name, value in values.items())
            raise QueryError(f"the streams of a union have the same {subject}, got {spelled_values}")
    kinds_of_lifetimes = {stream.lifetimes for stream in streams.values()}
    if "edge" in kinds_of_lifetimes and len(kinds_of_lifetimes) > 1:
        raise QueryError(
            "samples, which last until the next one of their key, and events with ends do not make one stream\n"
            "  give the samples a duration, set_duration(...), or make samples of all, to_edges()"
        )

    united = backend_of_all(stream.df for stream in streams.values()).inputs.unite(streams)
    if len(united.rules) > MOST_SOURCES:
        raise QueryError(f"a union has up to {MOST_SOURCES} sources, got {len(united.rules)}")

    # `unite` gives all events ends. Where all streams have points, or all have samples, the union has these again.
    changes: tuple[LifetimeChange, ...] = ()
    if kinds_of_lifetimes == {"point"}:
        changes = (PointsAtStart(),)
    elif kinds_of_lifetimes == {"edge"}:
        changes = (ToEdges(),)
    # One clock serves all streams: a reading is the time, and not that of a stream.
    clocks = [stream.clock for stream in streams.values() if stream.clock is not None]
    return replace(
        first_stream,  # its other properties are those of all streams: see `_SHARED_PROPERTIES`
        df=united.rows.df,
        **united.rows.columns,
        is_edge=False,
        progress=Punctuated(),  # each source has the policy of its stream, in `rules`
        sources=tuple(rule.source for rule in united.rules),
        rules=united.rules,
        heartbeats=united.heartbeats,
        clock=clocks[0] if clocks else None,
        lifetime_changes=changes,
        inner=queries_before(list(streams.values())),
    )


_SHARED_PROPERTIES: Final[dict[str, Callable[[EventStream], object]]] = {
    "number of keys": lambda stream: len(stream.keys),
    "unit": lambda stream: stream.unit,
    "policy for late rows": lambda stream: str(stream.late),
    "limit of shedding": lambda stream: (stream.most_held, stream.fails_when_full),
    "ids or no ids": lambda stream: "has ids" if stream.id is not None else "has none",
    "order or no order": lambda stream: "has one" if stream.order is not None else "has none",
    "kind of input": lambda stream: "is a stream" if is_stream(stream.df) else "is static",
}
"""The properties that all streams of a union share, by their names in errors."""


def _check_stream(name: str, stream: object) -> None:
    """Raise unless an argument can be one of the streams of a union.

    Raises:
        QueryError: The argument is not a stream of events, its keys have punctuation, or nothing advances its
            watermark.
    """
    if not isinstance(stream, EventStream):
        raise QueryError(f"union({name}=...) takes streams of events, got {stream!r:.80}\n  expected: events(df, ...)")
    if stream.rules:
        raise QueryError(f"{name} is a union already\n  write one union of all its streams")
    if stream.progress.by_key:
        raise QueryError(
            f"the keys of {name} punctuate themselves, and of a key the other streams of a union say nothing\n"
            "  leave with_key_punctuation() out, or write a query for each stream"
        )
    # Rows of punctuation, a heartbeat or a policy advance the watermark; `Punctuated` alone is no such policy.
    has_watermark = stream.change is not None or bool(stream.heartbeats) or not isinstance(stream.progress, Punctuated)
    if is_stream(stream.df) and not has_watermark:
        raise QueryError(
            "{value} never says how complete it is, so it would hold the union back for ever\n"
            "  give it a delay, {delay}, punctuation rows, or a heartbeat\n"
            "  a withWatermark() of the input is not read",
            value=name,
            delay=Call("events", ..., Argument("watermark", "10 minutes")),
        )
    # A source is idle by a clock: readings come from `with_clock`, or as rows whose `change` says so.
    idle = stream.progress.idle
    if idle is not None and stream.change is None and stream.clock is None:
        raise QueryError(f"{name} never says what time it is, so it is never idle\n  give it a clock: with_clock()")
