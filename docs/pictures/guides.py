"""What single guides and tutorials are about."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.bars import counted, lifetimes, pane, result
from docs.pictures.modules import Pauses, Range
from docs.pictures.picture import Picture
from muntin import ClipPolicy, Event, TimestampPolicy, hopping, tumbling
from muntin.drawings import Bar, Look
from muntin.testing import Computation, Script, WindowedQuery, evaluate
from muntin_patterns import FollowedBy, Silence, Step
from muntin_stats import Average, Count, Max, Ranked, Sum, TopBy


def pictures() -> Iterator[Picture]:
    """Yield a picture for each."""
    yield _first_query()
    yield _first_module()
    yield _operator()
    yield _chain()
    yield _pattern()
    yield _stream_operator()
    yield _top_k()


def _points(label: str, script: Script) -> list[Bar]:
    return [Bar(label, event.start, event.end, f"{event.payload:g}") for event in script.history()[None].values()]


def _first_query() -> Picture:
    script = Script().point("a", 3, 2.0).point("b", 7, 4.0).point("c", 12, 1.0).close()
    rows: list[Bar | str] = ["tumbling, 10 minutes", *_points("km", script), *_averages(script, 10)]
    rows += ["hopping, 20 minutes every 10", *_points("km", script), *_averages(script, 20)]
    return Picture("first-query", "three rides from the north after eight, and their mean length per window", rows)


def _averages(script: Script, size: int) -> Iterator[Bar]:
    query = WindowedQuery(hopping(size, 10), [Computation(Average())])
    return (pane("mean", row, f"{row.value[0]:.2g}") for row in script.run(query)[None])


def _first_module() -> Picture:
    script = Script().point("a", 1, 4.5).point("b", 7, 0.5).point("c", 12, 2.0).close()
    rows = [*_points("levels", script), *counted(script, tumbling(10), Range(), "range")]
    return Picture("first-module", "levels of a tide, and the range of each window", rows)


def _operator() -> Picture:
    script = Script().insert("a", 2, 5).insert("b", 4, 7).insert("c", 9, 14).close()
    query = WindowedQuery(tumbling(10), [Computation(Pauses())], ClipPolicy.FULL, TimestampPolicy.UNCHANGED)
    output = script.run(query)[None]
    panes = dict.fromkeys(pane("windows", row) for row in output)
    rows = [*lifetimes(script), *panes, *(result("pauses", row, str(row.value)) for row in output)]
    return Picture("operator", "rides, and the pauses between them in each window", rows)


def _chain() -> Picture:
    script = Script()
    for number, minute in enumerate((5, 10, 140, 190, 200, 215)):
        script = script.point(number, minute)
    hours = evaluate(WindowedQuery(tumbling(60), [Computation(Count())]), script.history()[None].values())
    counts = [Event(row.start, row.end, row.value[0]) for row in hours]
    best = evaluate(WindowedQuery(tumbling(180), [Computation(Max())]), counts)
    rows = [Bar("rides", bar.start, bar.end) for bar in lifetimes(script)]
    rows += [Bar("per hour", event.start, event.end, str(event.payload), Look.RESULT) for event in counts]
    rows += [pane("best hour", row, str(row.value[0])) for row in best]
    return Picture("chain", "rides, their number per hour, and the best hour of every three", rows)


def _pattern() -> Picture:
    script = Script()
    for label, start, end in (("a", 0, 4), ("b", 6, 9), ("c", 18, 22), ("d", 24, 30)):
        script = script.insert(label, start, end, Step(label))
    window = tumbling(20, reach=11)
    query = WindowedQuery(window, [Computation(FollowedBy(10))], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    output = script.close().run(query)[None]
    panes = dict.fromkeys(pane("windows", row) for row in output)
    found = [result(f"{row.value.first}, then {row.value.second}", row, "") for row in output]
    return Picture(
        "pattern", "events, and each that is followed by another within 10 ticks", [*lifetimes(script), *found, *panes]
    )


def _top_k() -> Picture:
    sales = {"north": ((5, 20.0), (40, 15.0)), "south": ((10, 30.0),), "east": ((50, 5.0), (80, 8.0))}
    rows: list[Bar | str] = [Bar(shop, at, at + 1, f"{price:g}") for shop, some in sales.items() for at, price in some]
    totals = []
    for shop, some in sales.items():
        summed = evaluate(WindowedQuery(tumbling(60), [Computation(Sum())]), [Event.point(*sale) for sale in some])
        totals += [Event(row.start, row.end, Ranked(shop, row.value[0])) for row in summed]
    rows += ["per hour", *(Bar(str(e.payload.value), e.start, e.end, f"{e.payload.by:g}", Look.WINDOW) for e in totals)]
    best = evaluate(WindowedQuery(tumbling(60), [Computation(TopBy(2))]), totals)
    rows += ["the two best", *(result(f"rank {row.value.rank}", row, str(row.value.value)) for row in best)]
    return Picture("top-k", "sales of three shops, their sums per hour, and the two best shops of each hour", rows)


def _stream_operator() -> Picture:
    times, after = (2, 5, 13, 14, 24), 6
    history = [Event.point(time, None) for time in times]
    found = evaluate(WindowedQuery.unwindowed(Silence(after)), history, complete_to=28)
    rows = [Bar("events", time, time + 1) for time in times]
    waits = zip(times, [*times[1:], 28], strict=True)
    rows += [Bar("waits for", last, min(last + after, until), "", Look.WINDOW) for last, until in waits]
    rows += [Bar("silent", row.start, row.end, f"since {row.value.since}", Look.RESULT) for row in found]
    return Picture("stream-operator", "events, how long an operator waits after each, and the silences it tells", rows)
