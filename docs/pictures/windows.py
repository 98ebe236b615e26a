"""Every kind of window over one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from runpy import run_path
from typing import Any, Final

from docs.pictures.bars import counted, lifetimes, pane, watermark
from docs.pictures.modules import Longest
from docs.pictures.picture import Picture
from muntin import (
    INFINITY,
    ClipPolicy,
    calendar,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.drawings import Bar
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import CalendarWindows, WindowKind
from muntin_stats import Count, TimeWeightedAverage

STREAM: Final = Script().insert("a", 1, 6).insert("b", 4, 9).insert("c", 12, 14).close()
"""What the time model is explained with."""

POINTS: Final = Script().point("a", 1).point("b", 4).point("c", 9).point("d", 12).close()
"""What is counted."""

TEMPLATE: Final = Path(__file__).parents[2] / "templates" / "plugin" / "window-kind" / "src" / "muntin_myplugin"
"""What `muntin new --window` copies."""

RIDES: Final = Script().insert("a", 2, 13).insert("b", 5, 8).insert("c", 11, 18).insert("d", 22, 26).close()
"""What a window is chosen for."""


def pictures() -> Iterator[Picture]:
    """Yield a picture of each kind, of several at once, and of when they are final."""
    yield _kind("tumbling", "tumbling windows of 5 ticks", tumbling, 5)
    yield _kind("hopping", "hopping windows of 6 ticks, one every 3", hopping, 6, 3)
    yield _kind("hopping-with-gaps", "hopping windows of 3 ticks, one every 5", hopping, 3, 5)
    yield _kind("offset", "tumbling windows of 5 ticks, one of which starts at 2", tumbling, 5, 2)
    yield _kind("reach", "tumbling windows of 5 ticks, of which events stay members for 3 ticks", tumbling, 5, reach=3)
    yield _kind("session", "sessions, which end when nothing happens for 3 ticks", session, 3)
    yield _calendar()
    yield _kind("cumulate", "windows that grow by 2 ticks up to 6", cumulate, 6, 2)
    yield _kind("landmark", "windows that grow by 4 ticks", landmark, 4)
    yield _kind("trailing", "windows that look back over 6 ticks from each start", trailing, 6)
    yield _kind("global", "the global window", global_windows)
    yield _kind("snapshot", "snapshot windows", snapshot)
    yield _kind("count-by-start", "count windows over 2 starts", count_by_start, 2)
    yield _kind("count-by-end", "count windows over 2 ends", count_by_end, 2)
    yield _of_points("count-end-to-end", "count windows over 2 starts, every 2 of them", count_by_start, 2, every=2)
    yield _of_points("count-with-gaps", "count windows over 1 start, every 2 of them", count_by_start, 1, every=2)
    yield _kind("visits", "visits, which end when nothing happens for 3 ticks", visits(), 3)
    yield _samples()
    yield _several()
    yield _choice()
    yield _final()
    yield _command()


def _kind(name: str, title: str, function: Callable[..., WindowKind], *sizes: int, **more: int) -> Picture:
    rows = [*lifetimes(STREAM), *counted(STREAM, function(*sizes, **more), Count())]
    return Picture(name, f"three events, and how many are members of {title}", rows, (function,))


def _of_points(name: str, title: str, function: Callable[..., WindowKind], size: int, every: int) -> Picture:
    rows = [*lifetimes(POINTS), *counted(POINTS, function(size, every=every), Count())]
    return Picture(name, f"four points, and how many are members of {title}", rows, (function,))


def _calendar() -> Picture:
    """Draw days of Berlin in hours since the first midnight; a tick of the stream is a second."""
    midnight, hour = int(datetime(2024, 3, 29, 23, tzinfo=UTC).timestamp()), 3600
    script = Script()
    for id, start, end in (("a", 3, 10), ("b", 20, 30), ("c", 40, 47), ("d", 50, 58)):
        script = script.insert(id, midnight + start * hour, midnight + end * hour)
    days = CalendarWindows(1, 1, "day", "Europe/Berlin", second=1)
    bars = [*lifetimes(script), *counted(script.close(), days, Count(), "days")]
    rows = [replace(bar, start=(bar.start - midnight) // hour, end=(bar.end - midnight) // hour) for bar in bars]
    title = "events over hours, and how many are members of days in Berlin; the second day, 2024-03-31, has 23 hours"
    return Picture("calendar", title, rows, (calendar,))


def visits() -> type[WindowKind]:
    """Return the kind of windows that a new plugin starts with: it is drawn as any other."""
    kind: type[WindowKind] = run_path(str(TEMPLATE / "visits.py"), run_name="visits")["Visits"]
    return kind


def _samples() -> Picture:
    script = Script().edge("0", 1, 30.0).revise("0", 4).edge("1", 4, 10.0).revise("1", 8).edge("2", 8, 20.0)
    script = script.punctuate(15)
    query = WindowedQuery(tumbling(5), [Computation(TimeWeightedAverage())], ClipPolicy.FULL)
    samples = [Bar("samples", event.start, event.end, f"{event.payload:g}") for event in _history(script)]
    averages = [pane("averages", row, f"{row.value[0]:g}") for row in script.run(query)[None]]
    title = "samples that last until the next, and their average over time in windows of 5 ticks"
    return Picture("edge-events", title, [*samples, *averages], (tumbling,))


def _history(script: Script) -> list[Any]:
    return list(script.history()[None].values())


def _several() -> Picture:
    script = Script()
    for minute in (5, 12, 31, 50, 70):
        script = script.point(minute, minute)
    windows = {"quarter": tumbling(15), "hour": tumbling(60), "sliding": hopping(60, 30)}
    rows = [bar for name, window in windows.items() for bar in counted(script.close(), window, Count(), name)]
    dots = [replace(bar, label="rides") for bar in lifetimes(script)]
    return Picture("several-windows", "rides in quarters of an hour, in hours and in sliding hours", [*dots, *rows])


def _choice() -> Picture:
    rows: list[Bar | str] = list(lifetimes(RIDES))
    for window in (tumbling(10), hopping(20, 10), snapshot(), count_by_start(3)):
        rows += [str(window), *counted(RIDES, window, Count(), "rides")]
    return Picture("rides", "one stream of rides under four kinds of windows, with the number of rides in each", rows)


def _final() -> Picture:
    script = Script().insert("a", 1, 6).insert("b", 4, 12).punctuate(7)
    rows: list[Bar | str] = [*lifetimes(script), *watermark(script)]
    rows += ["tumbling(3)", *counted(script, tumbling(3), Count(), "final")]
    rows += ["snapshot()", *counted(script, snapshot(), Count(), "final")]
    rows += ["tumbling(3), unclipped lifetimes", *counted(script, tumbling(3), Longest(), "final")]
    return Picture("final", "which windows are final when the watermark is at 7", rows)


def _command() -> Picture:
    script = Script().insert("a", 1, 6, 2.0).insert("b", 4, INFINITY, 1.0).batch().revise("b", 9).point("c", 12, 5.0)
    query = WindowedQuery(tumbling(5), [Computation(TimeWeightedAverage())], ClipPolicy.FULL)
    drawing = script.close().drawing(query)
    return Picture("command", "what muntin run draws of a stream and an average over time", drawing.rows)
