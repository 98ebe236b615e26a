"""All pictures of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, zip_longest
from pathlib import Path
from runpy import run_path
from typing import Any, Final

from docs.pictures.drawing import (
    Part,
    Picture,
    batches_of,
    change_bar,
    changes_between,
    events_of,
    input_and_output_of,
    input_of,
    output_of,
    results_of,
    watermark_of,
    windows_of,
    windows_with_results,
)
from docs.pictures.modules import Alarm, Longest, Members, Range
from muntin import (
    INFINITY,
    ClipPolicy,
    EmitPolicy,
    JoinKind,
    Lateness,
    LatePolicy,
    Lifetime,
    Module,
    OutputContract,
    Refinement,
    TimestampPolicy,
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
from muntin.drawings import Bar, Look
from muntin.progress import bounded_delay
from muntin.rows import RowWindows, batch, between, last
from muntin.testing import Batch, Computation, Script, WindowedQuery
from muntin.triggers import every_count
from muntin.windows import CalendarWindows, WindowKind
from muntin_engine.modules.binding import Binding
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.testing import join
from muntin_engine.time.changes import OutputKind
from muntin_patterns import FollowedBy, Silence, Step
from muntin_stats import Average, CollectList, Count, Max, Sum, TimeWeightedAverage

FOLDER: Final = Path(__file__).parent
"""The folder of the pictures."""

TEMPLATE: Final = FOLDER.parents[1] / "templates/plugin/src/muntin_myplugin/visits.py"
"""The window kind of `muntin new --kind window`."""


def streams() -> Iterator[Picture]:
    """Yield the pictures of events, and of streams as they arrive."""
    kinds = Script().point("point", 3, "click").insert("interval", 2, 7, "ride").edge("edge", 4, "6.5")
    yield Picture.of("events", "a point, an interval and an edge event", events_of(kinds, note="{}"))

    arriving = Script().insert("E0", 1, INFINITY, "P1").revise("E0", 10).insert("E1", 4, 9, "P2").revise("E0", 5)
    arriving = arriving.punctuate(5)
    title = "a stream in order of arrival, and the events that it means"
    yield Picture.of("arrival", title, arriving.drawing().rows, "what it means", events_of(arriving))

    revised = Script().insert("a", 1, 6, 2.0).insert("b", 4, INFINITY, 1.0).batch()
    revised = revised.revise("b", 9).point("c", 12, 5.0).close()
    average = WindowedQuery(tumbling(5), [Computation(TimeWeightedAverage())], ClipPolicy.FULL)
    title = "what muntin run draws of a stream and an average over time"
    yield Picture.of("command", title, revised.drawing(average).rows)


def windows() -> Iterator[Picture]:
    """Yield a picture of each kind of windows that cut the axis."""
    intervals = Script().insert("a", 1, 6).insert("b", 4, 9).insert("c", 12, 14).close()
    visits: type[WindowKind] = run_path(str(TEMPLATE), run_name="visits")["Visits"]
    kinds: dict[str, tuple[WindowKind, str]] = {
        "tumbling": (tumbling(5), "tumbling windows of 5 ticks"),
        "hopping": (hopping(6, 3), "hopping windows of 6 ticks, one every 3"),
        "hopping-with-gaps": (hopping(3, 5), "hopping windows of 3 ticks, one every 5"),
        "offset": (tumbling(5, 2), "tumbling windows of 5 ticks, one of which starts at 2"),
        "reach": (tumbling(5, reach=3), "tumbling windows of 5 ticks, of which events stay members for 3 ticks"),
        "session": (session(3), "sessions, which end when nothing happens for 3 ticks"),
        "cumulate": (cumulate(6, 2), "windows that grow by 2 ticks up to 6"),
        "landmark": (landmark(4), "windows that grow by 4 ticks"),
        "trailing": (trailing(6), "windows that look back over 6 ticks from each start"),
        "global": (global_windows(), "the global window"),
        "snapshot": (snapshot(), "snapshot windows"),
        "count-by-start": (count_by_start(2), "count windows over 2 starts"),
        "count-by-end": (count_by_end(2), "count windows over 2 ends"),
        "visits": (visits(3), "visits, which end when nothing happens for 3 ticks"),  # type: ignore[call-arg]
    }
    for name, (window, kind) in kinds.items():
        title = f"three events, and how many are members of {kind}"
        counts = windows_of(intervals, window, Count())
        yield Picture.of(name, title, events_of(intervals), counts, shows=[type(window)])

    points = Script().point("a", 1).point("b", 4).point("c", 9).point("d", 12).close()
    kinds = {
        "count-end-to-end": (count_by_start(2, every=2), "count windows over 2 starts, every 2 of them"),
        "count-with-gaps": (count_by_start(1, every=2), "count windows over 1 start, every 2 of them"),
    }
    for name, (window, kind) in kinds.items():
        title = f"four points, and how many are members of {kind}"
        yield Picture.of(name, title, events_of(points), windows_of(points, window, Count()))

    yield _days_in_berlin()


def _days_in_berlin() -> Picture:
    """Return days of Berlin, in hours since the first midnight; a tick of the stream is a second."""
    midnight = int(datetime(2024, 3, 29, 23, tzinfo=UTC).timestamp())
    hour = 3600
    script = Script()
    for id, start, end in (("a", 3, 10), ("b", 20, 30), ("c", 40, 47), ("d", 50, 58)):
        script = script.insert(id, midnight + start * hour, midnight + end * hour)
    script = script.close()
    days = CalendarWindows(1, 1, "day", "Europe/Berlin", second=1)
    rows = []
    for bar in [*events_of(script), *windows_of(script, days, Count(), "days")]:
        rows.append(replace(bar, start=(bar.start - midnight) // hour, end=(bar.end - midnight) // hour))
    title = "events over hours, and how many are members of days in Berlin; the second day, 2024-03-31, has 23 hours"
    return Picture.of("calendar", title, rows, shows=[CalendarWindows])


def row_windows() -> Iterator[Picture]:
    """Yield a picture of each kind of windows that follow rows."""
    rows = {"a": 1, "b": 3, "c": 4, "d": 8, "e": 9, "f": 13, "g": 15}
    shares = {"x1": 1, "y1": 3, "x2": 4, "x3": 8, "y2": 11}
    actions = {"a, login": 2, "b, buy": 4, "c, logout": 7, "d, look": 9, "e, login": 11, "f, logout": 14}
    yield _rows(
        "last-rows",
        "seven rows, and the rows in windows over the last three, computed at every second one",
        rows,
        last(3).trigger(2),
    )
    yield _rows(
        "batches",
        "seven rows, and the rows in batches of three; the end of the stream flushes the last one",
        rows,
        batch(3),
    )
    yield _rows(
        "partitions",
        "rows of two shares, and the last two rows of each share at every row",
        shares,
        last(2).partition("share"),
        "share {}",
    )
    yield _rows(
        "between-rows",
        "what a user does, and the windows from a login to a logout",
        actions,
        between("opens", "closes"),
    )


def _rows(name: str, title: str, times: Mapping[str, int], window: RowWindows, label: str = "windows") -> Picture:
    """Return a picture of rows, each with its time, and of the rows in each window.

    Args:
        name: Name of the picture.
        title: Title of the picture.
        times: Times of the rows, by their names, perhaps with an action. The first letter of a name is the share.
        window: Windows.
        label: Text before the windows, with braces for the share of their rows.
    """
    script = Script()
    for id, time in times.items():
        short, _, action = id.partition(", ")
        columns = {"name": short, "share": id[0], "opens": action == "login", "closes": action == "logout"}
        script = script.point(id, time, columns)
    script = script.close()
    query = WindowedQuery(window, [Computation(CollectList[str](), _name)])
    output = []
    for row in script.run(query)[None]:
        names = row.value[0]
        share = label.format(names[0][0])
        output.append(Bar(share, row.window.start, row.window.end, ", ".join(names), Look.WINDOW))
    output.sort(key=lambda bar: bar.label)
    return Picture.of(name, title, events_of(script), output, shows=[type(window)])


def _name(columns: Any) -> str:
    return str(columns["name"])


def several_windows() -> Iterator[Picture]:
    """Yield pictures of one stream under several windows."""
    lengths = Script().insert("ride 1", 0, 20, 3.0).insert("ride 2", 5, 15, 1.5).insert("ride 3", 10, 30, 4.0).close()
    yield Picture.of(
        "title",
        "three rides, and their spread in every snapshot window",
        events_of(lengths, note="{} km"),
        "",
        windows_of(lengths, snapshot(), Range()),
    )

    north = Script().point("a", 3, 2.0).point("b", 7, 4.0).point("c", 12, 1.0).close()
    kilometres = events_of(north, "km", "{:g}")
    yield Picture.of(
        "first-query",
        "three rides from the north after eight, and their mean length per window",
        "tumbling, 10 minutes",
        kilometres,
        windows_of(north, tumbling(10), Average(), "mean", "{:.2g}"),
        "hopping, 20 minutes every 10",
        kilometres,
        windows_of(north, hopping(20, 10), Average(), "mean", "{:.2g}"),
    )

    samples = Script().edge("0", 1, 30.0).revise("0", 4).edge("1", 4, 10.0).revise("1", 8).edge("2", 8, 20.0)
    samples = samples.punctuate(15)
    yield Picture.of(
        "edge-events",
        "samples that last until the next, and their average over time in windows of 5 ticks",
        events_of(samples, "samples", "{:g}"),
        windows_of(samples, tumbling(5), TimeWeightedAverage(), "averages", "{:g}", ClipPolicy.FULL),
    )

    departures = Script().point(1, 5).point(2, 12).point(3, 31).point(4, 50).point(5, 70).close()
    yield Picture.of(
        "several-windows",
        "rides in quarters of an hour, in hours and in sliding hours",
        events_of(departures, "rides"),
        windows_of(departures, tumbling(15), Count(), "quarter"),
        windows_of(departures, tumbling(60), Count(), "hour"),
        windows_of(departures, hopping(60, 30), Count(), "sliding"),
    )

    rides = Script().insert("a", 2, 13).insert("b", 5, 8).insert("c", 11, 18).insert("d", 22, 26).close()
    parts: list[Part] = [events_of(rides)]
    for window in (tumbling(10), hopping(20, 10), snapshot(), count_by_start(3)):
        parts += [str(window), windows_of(rides, window, Count(), "rides")]
    title = "one stream of rides under four kinds of windows, with the number of rides in each"
    yield Picture.of("rides", title, *parts)

    unfinished = Script().insert("a", 1, 6).insert("b", 4, 12).punctuate(7)
    yield Picture.of(
        "final",
        "which windows are final when the watermark is at 7",
        events_of(unfinished),
        watermark_of(unfinished),
        "tumbling(3)",
        windows_of(unfinished, tumbling(3), Count(), "final"),
        "snapshot()",
        windows_of(unfinished, snapshot(), Count(), "final"),
        "tumbling(3), unclipped lifetimes",
        windows_of(unfinished, tumbling(3), Longest(), "final"),
    )

    rows = Script().point("a", 1).point("b", 3).point("c", 4).point("d", 7).point("e", 10).point("f", 11).close()
    yield Picture.of(
        "slices",
        "windows of 6 ticks every 4 are made of slices of 2; each row is counted once, in its slice",
        events_of(rows, "rows"),
        windows_of(rows, tumbling(2), Count(), "slices"),
        windows_of(rows, hopping(6, 4), Count()),
    )


def operators() -> Iterator[Picture]:
    """Yield pictures of results with lifetimes of their own, and of results as events."""
    steps = Script()
    for label, start, end in (("a", 0, 4), ("b", 6, 9), ("c", 18, 22), ("d", 24, 30)):
        steps = steps.insert(label, start, end, Step(label))
    steps = steps.close()
    followed_by = Computation(FollowedBy(10))
    pairs = WindowedQuery(tumbling(20, reach=11), [followed_by], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    yield Picture.of(
        "pattern",
        "events, and each that is followed by another within 10 ticks",
        events_of(steps),
        results_of(steps, pairs, "{0.first}, then {0.second}", ""),
        windows_with_results(steps, pairs),
    )

    events = Script().point(1, 2).point(2, 5).point(3, 13).point(4, 14).point(5, 24).punctuate(28)
    silences = WindowedQuery.unwindowed(Silence(6))
    yield Picture.of(
        "stream-operator",
        "events, sessions with a gap of six ticks, and the silences of six ticks that an operator reports",
        events_of(events, "events"),
        [replace(bar, note="") for bar in windows_of(events, session(6), Count(), "sessions")],
        results_of(events, silences, "silent", "since {0.since}"),
    )

    rides = Script()
    for number, minute in enumerate((5, 10, 140, 190, 200, 215)):
        rides = rides.point(number, minute)
    rides = rides.close()
    hours = windows_of(rides, tumbling(60), Count(), "per hour")
    counts = Script()
    for bar in hours:
        counts = counts.insert(bar.start, bar.start, bar.end, int(bar.note))
    yield Picture.of(
        "chain",
        "rides, their number per hour, and the best hour of every three",
        events_of(rides, "rides"),
        [replace(bar, look=Look.RESULT) for bar in hours],
        windows_of(counts.close(), tumbling(180), Max(), "best hour"),
    )


def policies() -> Iterator[Picture]:
    """Yield a picture of all members of each policy."""
    yield _clips()
    yield _timestamps()
    yield _emission()
    yield _contracts()
    yield _refinements()
    yield _late_rows()


def _clips() -> Picture:
    """Return the one window that starts at 5, and its members as a module sees them."""
    script = Script().insert("a", 2, 8, "a").insert("b", 6, 9, "b").insert("c", 7, 13, "c").close()
    whole = {bar.label: Lifetime(bar.start, bar.end) for bar in events_of(script)}
    parts: list[Part] = []
    for clip in ClipPolicy:
        query = WindowedQuery(hopping(5, 100, 5), [Computation(Members())], clip, TimestampPolicy.UNCHANGED)
        members = results_of(script, query, "{}")
        parts += [f"clip={str(clip)!r}", windows_with_results(script, query, "window")]
        parts.append([replace(bar, look=Look.EVENT, note="", whole=whole[bar.label]) for bar in members])
    title = "a window with three members, and what a module sees of them under each clip"
    return Picture.of("clips", title, *parts, shows=ClipPolicy)


def _timestamps() -> Picture:
    script = Script().point("smoke", 3, "smoke").close()
    parts: list[Part] = [events_of(script)]
    for policy in TimestampPolicy:
        query = WindowedQuery(tumbling(10), [Computation(Alarm())], ClipPolicy.NONE, policy)
        if policy is TimestampPolicy.ALIGN:
            parts.append(windows_with_results(script, query, "window"))
        parts.append(results_of(script, query, str(policy)))
    title = "an operator that says [3, 14) in the window [0, 10), and its result under each policy of timestamps"
    return Picture.of("timestamps", title, *parts, shows=TimestampPolicy)


def _emission() -> Picture:
    script = Script().point("a", 3).point("b", 12).batch().point("c", 7).punctuate(10).batch().point("d", 15).close()
    parts: list[Part] = ["what comes", input_of(script)]
    for policy in EmitPolicy:
        query = EvaluatorQuery(tumbling(10), (Binding(Count()),), emit=policy)
        parts += [f"emit={str(policy)!r}", output_of(query, script)]
    title = "three micro-batches of points, and when counts of tumbling windows of 10 ticks are emitted and retracted"
    return Picture.of("emission", title, *parts, shows=EmitPolicy)


def _contracts() -> Picture:
    script = Script().point("a", 2).batch().point("b", 5).batch().point("c", 7).batch().close()
    parts: list[Part] = ["what comes", input_of(script)]
    for policy in (TimestampPolicy.ALIGN, TimestampPolicy.TIME_BOUND):
        query = EvaluatorQuery(tumbling(10), (Binding(Count()),), emit=EmitPolicy.EAGER, timestamps=policy)
        parts += [f"timestamps={str(policy)!r}", output_of(query, script)]
    title = "eager counts of a window: retracted and emitted again, or shortened and continued"
    return Picture.of("contracts", title, *parts)


def _refinements() -> Picture:
    script = Script().point("a", 4, 20).point("b", 14, 30).batch().point("c", 26, 25).point("d", 38, 10).batch()
    script = script.point("e", 52, 15).punctuate(60)
    parts: list[Part] = ["orders that come", input_of(script)]
    for refinement in Refinement:
        emit = early(every_count(2), refinement=refinement)
        query = EvaluatorQuery(tumbling(60), (Binding(Sum(), _first_column),), emit=emit, has_ids=False)
        parts += [f"refinement={str(refinement)!r}", output_of(query, script)]
    title = "sums of orders in an hour, emitted after every two orders and at the end"
    return Picture.of("early", title, *parts, shows=Refinement)


def _late_rows() -> Picture:
    """Return the fate of a ride that left at 9 and came when the watermark was at 10, and the counts with it."""
    script = Script(allow_illegal=True).insert(1, 2, 15, "ride 1").punctuate(10).batch().insert(2, 9, 12, "ride 2")
    script = script.batch().close()
    parts: list[Part] = ["what comes", input_of(script)]
    for policy in LatePolicy:
        late = correct(5) if policy is LatePolicy.CORRECT else Lateness(policy)
        parts.append(f"late_policy={late}" if late.corrects else f"late_policy={str(policy)!r}")
        parts += [_late_ride(script, late), output_of(_query_of_late_rows(Count(), late), script)]
    title = "a row behind the watermark, what is seen of it, and counts in windows of 10 ticks, under each policy"
    return Picture.of("late", title, *parts, shows=LatePolicy)


def _late_ride(script: Script, late: Lateness) -> Iterator[Bar]:
    """Yield the late ride as rejected, or from the first to the last tick that a module sees of it."""
    visible: list[Lifetime] = []
    for result in batches_of(_query_of_late_rows(Members(), late), script):
        for _, rejection in result.rejections:
            fate = "dropped" if late.policy is LatePolicy.DROP else "side output"
            yield Bar("late row", rejection.change.start, rejection.change.end or INFINITY, fate, is_struck=True)
        for _, changes in result.output:
            for change in changes:
                if change.value == "ride 2" and change.kind is OutputKind.INSERT:
                    visible.append(Lifetime(change.start, change.end))
    if visible:
        start = min(lifetime.start for lifetime in visible)
        end = max(lifetime.end for lifetime in visible)
        yield Bar("late row", start, end, whole=Lifetime(9, 12))


def _query_of_late_rows(module: Module, late: Lateness) -> EvaluatorQuery:
    return EvaluatorQuery(
        tumbling(10),
        (Binding(module, _first_column),),
        ClipPolicy.FULL,
        TimestampPolicy.UNCHANGED if module.is_operator else TimestampPolicy.ALIGN,
        EmitPolicy.SPECULATIVE if late.corrects else EmitPolicy.FINAL,
        OutputContract.WINDOW_BASED,
        late=late,
        waits_for_watermark=late.corrects,
    )


def _first_column(payload: tuple[Any, ...]) -> Any:
    return payload[0]


def micro_batches() -> Iterator[Picture]:
    """Yield pictures of the input and output of each micro-batch."""
    cars = Script().point(1, 3).point(2, 14).batch().point(3, 8).point(4, 19).batch().point(5, 21)
    cars = cars.batch().point(6, 12).point(7, 33).with_progress(bounded_delay(10))
    counts = EvaluatorQuery(tumbling(10), (Binding(Count()),))
    title = "counts of windows of 10 ticks, where the input is complete up to 10 ticks behind the newest row"
    yield Picture.of("delay", title, input_and_output_of(counts, cars, "cars", "complete to"))

    rides = Script().insert(1, 0, INFINITY).insert(2, 10, INFINITY).punctuate(12).batch()
    rides = rides.revise(1, 20).insert(3, 15, INFINITY).punctuate(25).batch().revise(2, 30).revise(3, 28).close()
    counts = EvaluatorQuery(snapshot(), (Binding(Count()),), emit=EmitPolicy.EAGER)
    title = "rides that end later than they start, and how eager counts of snapshot windows follow"
    yield Picture.of("revisions", title, input_and_output_of(counts, rides, result="bikes"))


def joins() -> Iterator[Picture]:
    """Yield a picture of all kinds of joins, and one of how eager rows follow revisions."""
    left = Script().insert("x", 1, 12, "x").insert("y", 15, 18, "y")
    right = Script().insert("1", 0, 4, "1").insert("2", 7, 16, "2")
    parts: list[Part] = ["left", events_of(left), "right", events_of(right)]
    for kind in JoinKind:
        parts += [f"how={str(kind)!r}", [replace(row, label=row.note, note="") for row in _joined(kind, left, right)]]
    yield Picture.of("joins", "events of two streams with one key, and the rows that a join has of them", *parts)
    yield _revised_join()


def _revised_join() -> Picture:
    """Return the input of an eager left join in three micro-batches, and the changes of its output."""
    left = Script().insert("x", 1, 12, "x").batch().batch().retract("x")
    right = Script().insert("2", 7, 16, "2").batch().revise("2", 10)
    arrived = {"left": Script(), "right": Script()}
    parts: list[Part] = []
    output: list[Bar] = []
    batches = zip_longest(left.batches(), right.batches(), fillvalue=Batch(()))
    for number, (left_batch, right_batch) in enumerate(batches, 1):
        parts.append(f"micro-batch {number}")
        for side, batch_of_side in (("left", left_batch), ("right", right_batch)):
            parts.append([change_bar(step, f"{side} {step.change.id}") for step in batch_of_side.changes])
            for step in batch_of_side.changes:
                arrived[side] = arrived[side].add(step.change)
        previous_output = output
        output = _joined(JoinKind.LEFT, **arrived)
        parts.append(changes_between(previous_output, output))
    title = "three micro-batches of two streams with ids, and how the rows of an eager join follow"
    return Picture.of("joins-revised", title, *parts)


def _joined(kind: JoinKind, left: Script, right: Script) -> list[Bar]:
    """Return the rows of a join, by their starts, each with the payloads of its pair."""
    left_events = left.history()[None].values()
    right_events = right.history()[None].values()
    rows = sorted(join(kind, left_events, right_events), key=lambda row: row.start)
    return [Bar("result", row.start, row.end, f"{row.left}{row.right or ''}", Look.RESULT) for row in rows]


ALBUM: Final = {
    picture.name: picture
    for picture in chain(
        streams(), windows(), row_windows(), several_windows(), operators(), policies(), micro_batches(), joins()
    )
}
"""The pictures, by their names."""
