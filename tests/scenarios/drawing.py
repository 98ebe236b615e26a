"""Scenarios drawn from a number: whatever a user may write, over whatever may come.

A family is a function that draws one kind of query. What is in a tuple twice is drawn twice as often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any, Final

from muntin import (
    ClipPolicy,
    EmitPolicy,
    TimestampPolicy,
    cumulate,
    hopping,
    landmark,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import WindowError
from muntin.rows import batch, between, delta, elapsed, last, marker, on_row
from muntin.testing import Script
from muntin.windows import CalendarWindows, WindowKind, WindowSpecification
from muntin.windows.specification import Unwindowed
from tests.modules.columnar import HOSTILE, INVERTIBLE, ORACLES
from tests.modules.merged_states import ANY, BOUND, COLUMNAR, FOLLOWING, LASTING, MERGED, OF_ROWS, ORDERED, Modules
from tests.scenarios.calendars import CALENDARS, SCALES, SLICED, Scale, spread
from tests.scenarios.calendars import LASTING as LASTING_CALENDARS
from tests.scenarios.hostile import Hostile, hostile
from tests.scenarios.inputs import (
    BY_KEY,
    adjusted,
    by_key,
    corrected,
    early,
    early_where_events_cut,
    forgetting,
    joined,
    joined_eagerly,
    joined_narrowly,
    of_inputs,
    paced,
    paired,
    passed,
    shedding,
    united,
)
from tests.scenarios.kinds import CUSTOM_KINDS, Shifts, spread_over_calendar
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.random_policies import random_clip, random_timestamps
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import WHOLE, as_it_comes, in_one_order, lasting, punctuated_by_key, scenario_of
from tests.scenarios.windows import GROWING, RANKED, TRAILING, WINDOWS

_SLIDING: Final[dict[str, Modules]] = {
    "sliding": OF_ROWS["sliding"],
    "in order": ORDERED["first, last and list"],
    "rows": ORDERED["incremental operator"],
    "with forms": (*OF_ROWS["sliding"], *INVERTIBLE["sums"]),
}
"""Modules that add and remove rows."""

CUTTING: Final[dict[str, WindowKind]] = WINDOWS | GROWING | TRAILING | RANKED | CUSTOM_KINDS | CALENDARS
FIXED: Final = ("tumbling", "one tick", "wide", "offset", "overlapping", "overlapping by much", "gaps")
"""Windows that do not come and go with events, and have no members that ended before them."""

# tumbling(size, offset) and hopping(size, hop, offset): with a hop above the size there are gaps.
GRIDS: Final = (
    tumbling(8),
    tumbling(1),
    tumbling(50),
    tumbling(7, 3),
    hopping(10, 5),
    hopping(10, 3),
    hopping(13, 1, -5),
    hopping(9, 6),
    hopping(4, 9, 1),
    hopping(4, 12),
    hopping(40, 17),
    hopping(3, 16, -7),
    hopping(23, 11, 30),
)
SHARED: Final = (
    {"a": tumbling(6), "b": tumbling(10)},
    {"a": hopping(9, 6), "b": tumbling(4, 1), "c": hopping(3, 7, -2)},
    {"a": hopping(20, 5), "b": hopping(5, 5), "c": hopping(10, 5, 5)},
    {"a": tumbling(30), "b": tumbling(1)},
    {"a": tumbling(12), "b": tumbling(12, 1)},
    {"a": hopping(20, 12), "b": hopping(7, 6, -1), "c": tumbling(18)},
    {"a": hopping(2, 9), "b": hopping(2, 9, 4)},
)
"""Windows of several sizes in one query, whose grids cut each other."""


def cutting(random: Random, windows: Mapping[str, WindowKind] = CUTTING) -> Scenario:
    """Draw any windows that cut the axis, any module, any policy."""
    shape = random.choice(list(ANY))
    window = windows[random.choice(list(windows))]
    modules = ANY[shape]
    lifetimes: Lifetimes = random.choice(("named", "named", "intervals", "samples", "points", "retracted"))
    is_calendar = isinstance(window, CalendarWindows)
    may_forget = lifetimes != "samples" and not is_calendar
    ages = (1, 3, 6, 14) if may_forget and random.random() < 0.2 else (None,)
    query = Query(
        window,
        modules,
        random_clip(random, modules),
        random_timestamps(random, shape),
        random.choice(list(EmitPolicy)),
        lifetimes,
        is_filtered=random.random() < 0.25,
        forget_keys_after=random.choice(ages),
    )
    lies_on_dates = isinstance(window, CalendarWindows | Shifts)
    return spread_over_calendar(scenario_of(random, query, nulls=0.1, is_moved=not lies_on_dates))


def time_bound(random: Random) -> Scenario:
    """Draw results that start where they become known, or rows with times of their own that do."""
    if random.random() < 0.15:
        window = WINDOWS[random.choice(FIXED)]
        clip = random.choice((ClipPolicy.NONE, ClipPolicy.RIGHT))
        modules = random.choice(BOUND)
        return scenario_of(random, Query(window, modules, clip, TimestampPolicy.UNCHANGED, EmitPolicy.EAGER))
    window = WINDOWS[random.choice(list(WINDOWS))]
    shapes = list(ANY)
    if window.ends_move:  # a result may not wait for the end of such a window, so no module may see the window
        shapes = ["aggregate", "incremental aggregate", "incremental aggregate that removes", "operator"]
    modules = ANY[random.choice(shapes)]
    clip = random_clip(random, modules)
    lifetimes: Lifetimes = "named"
    if not window.ends_move:
        lifetimes = random.choice(("named", "named", "intervals", "samples"))
    return scenario_of(random, Query(window, modules, clip, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER, lifetimes))


def on_grids(random: Random) -> Scenario:
    """Draw what is merged over slices, or slides: grids, one or several, over points or lifetimes, revised or not."""
    modules = random.choice((COLUMNAR, COLUMNAR, MERGED))
    window: Any = random.choice(GRIDS) if random.random() < 0.7 else random.choice(SHARED)
    kinds: tuple[Lifetimes, ...] = ("points", "intervals")
    if isinstance(window, WindowSpecification):  # no evaluator has several sizes of windows over revised events
        kinds = ("points", "intervals", "named")
    elif random.random() < 0.3:
        # Of windows of several sizes, some may be one slice each, and others consist of many.
        modules = {"sliding": OF_ROWS["sliding"]}
    lifetimes = random.choice(kinds)
    emit = random.choice(list(EmitPolicy)) if lifetimes == "named" else EmitPolicy.FINAL
    return scenario_of(random, _merging(random, window, modules, lifetimes, emit), nulls=0.2)


def growing(random: Random) -> Scenario:
    """Draw windows that grow from a start, over points: what came before is one running state."""
    window: Any = random.choice(
        (landmark(5, -7), landmark(3, 20), cumulate(12, 4, 1), cumulate(3, 1), cumulate(40, 5), cumulate(6, 6))
    )
    if random.random() < 0.3:
        shape = random.choice(list(ANY))
        clip = random_clip(random, ANY[shape])
        timestamps = random_timestamps(random, shape)
        return scenario_of(random, Query(window, ANY[shape], clip, timestamps, lifetimes="points"))
    modules = random.choice((COLUMNAR, MERGED))
    return scenario_of(random, _merging(random, window, modules, "points"), nulls=0.2)


def on_calendars(random: Random) -> Scenario:
    """Draw calendar windows, where days are skipped, shown twice, or of 23 and 25 hours."""
    scales: Mapping[str, Scale] = random.choice((SLICED, SLICED, SCALES))
    name = random.choice(list(scales))
    scale = scales[name]
    window: Any = scale.window
    has_several_sizes = random.random() < 0.15
    if has_several_sizes:
        name = "days, forward"
        scale = SLICED[name]
        day = scale.window
        three_days = replace(day, size=3, hop=2)
        week = replace(day, size=7, hop=7, start="1970-01-05")
        ten_days = replace(week, size=10, start="1970-01-03")  # cut four times a week, with `week` and not by the day
        window = {"week": week, **random.choice(({"day": day, "b": three_days}, {"long": ten_days}))}

    modules = random.choice((COLUMNAR, MERGED, ANY))
    kinds: tuple[Lifetimes, ...] = ("points", "intervals") if has_several_sizes else ("points", "intervals", "named")
    may_last = scales is SCALES or name in LASTING_CALENDARS
    lifetimes: Lifetimes = random.choice(kinds) if may_last else "points"
    scenario = scenario_of(random, _merging(random, window, modules, lifetimes), nulls=0.2, is_moved=False)

    steps = spread(scenario.scripts[0], scale.origin, scale.seconds).steps
    if lifetimes == "points":
        steps = tuple(lasting(steps, 1))  # a point lasts one second, and not the hours that a tick has become
    return replace(scenario, streams=Script(steps))


def of_sessions(random: Random) -> Scenario:
    """Draw sessions of what can be fused."""
    modules = random.choice((COLUMNAR, MERGED))
    lifetimes: Lifetimes = random.choice(("points", "intervals", "intervals", "named"))
    window = session(random.choice((1, 4, 9)))
    return scenario_of(random, _merging(random, window, modules, lifetimes), nulls=0.2)


def of_snapshots(random: Random) -> Scenario:
    """Draw snapshots of what can be subtracted, among it infinite values, and values that cancel each other."""
    name = random.choice(list(INVERTIBLE))
    query = Query(
        snapshot(),
        INVERTIBLE[name],
        lifetimes=random.choice(("points", "intervals", "intervals", "named")),
        timestamps=random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)),
        oracles=ORACLES.get(name, ()),
        is_filtered=random.random() < 0.2,
    )
    return scenario_of(random, query, nulls=0.2, most=len(HOSTILE))  # payloads are places in `HOSTILE`


def of_members(random: Random) -> Scenario:
    """Draw modules that see all members of a window, in order or not, with times or not, over windows of all keys."""
    windows: list[Any] = [random.choice(GRIDS), random.choice(GRIDS), random.choice(SHARED)]
    windows += [session(random.choice((1, 4, 9))), snapshot()]
    window = random.choice(windows)
    modules_by_shape = random.choice((ANY, ANY, ORDERED))
    has_order = modules_by_shape is ORDERED
    shape = random.choice(list(modules_by_shape))
    modules = modules_by_shape[shape]
    query = Query(
        window,
        modules,
        random_clip(random, modules),
        random_timestamps(random, shape),
        lifetimes=random.choice(("points", "intervals")),
        is_filtered=random.random() < 0.2,
        has_order=has_order,
        wants_late_rows=random.random() < 0.4,
    )
    return scenario_of(random, query, nulls=0.2, has_ties=has_order)


def upgraded(random: Random) -> Scenario:
    """Draw queries that keep states, with modules that are upgraded repeatedly; ordered modules have no versions."""
    draw = random.choice((on_grids, growing, of_sessions, of_snapshots, of_members, cutting))
    scenario = draw(random)
    while isinstance(scenario.query, Query) and scenario.query.has_order:
        scenario = of_members(random)
    return replace(scenario, mishaps=replace(scenario.mishaps, cuts=0.5, upgrades=0.6))


def in_order(random: Random) -> Scenario:
    """Draw modules that read the order of events, whose times tie."""
    window = CUTTING[random.choice(list(CUTTING))]
    emit = random.choice(list(EmitPolicy))
    lifetimes: Lifetimes = random.choice(("named", "intervals", "points"))
    modules = random.choice(list(ORDERED.values()))
    query = Query(window, modules, emit=emit, lifetimes=lifetimes, has_order=True)
    return scenario_of(random, query, has_ties=True)


def following(random: Random) -> Scenario:
    """Draw operators that follow the events of a key."""
    kinds: tuple[Lifetimes, ...] = ("points", "retracted")
    operators = FOLLOWING
    if random.random() < 0.5:
        kinds = ("named", "intervals", "samples")
        operators = LASTING
    lifetimes = random.choice(kinds)
    modules = random.choice(list(operators.values()))
    return scenario_of(random, Query(Unwindowed(), modules, lifetimes=lifetimes, has_order=True), has_ties=True)


def over_rows(random: Random) -> Scenario:
    """Draw windows that follow rows: their eviction, triggers, delimiters, partitions and conditions."""
    lifetimes: Lifetimes = random.choice(("points", "points", "retracted"))
    windows = row_windows(random)
    modules = random.choice(list(OF_ROWS.values()))
    timestamps = random.choice((TimestampPolicy.ALIGN, TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END))
    query = Query(windows, modules, timestamps=timestamps, lifetimes=lifetimes, has_order=True)
    if random.random() < 0.25:
        query = replace(query, progress=BY_KEY)
        stream = in_one_order(random, query, has_ties=True)
        return as_it_comes(random, query, punctuated_by_key(random, stream, WHOLE))
    return scenario_of(random, query, has_ties=True)


def over_last_rows(random: Random) -> Scenario:
    """Draw windows over so many rows, of what is computed on arrays; rows of one time may have one order, or none."""
    size = random.choice((1, 2, 3, 5, 8, 40))
    windows = last(size).trigger(random.choice((1, 1, 2, 3, 7)))
    if random.random() < 0.3:
        windows = windows.when_full()
    modules_by_name = random.choice((COLUMNAR, COLUMNAR, INVERTIBLE, _SLIDING))
    name = random.choice(list(modules_by_name))
    query = Query(
        windows,
        modules_by_name[name],
        timestamps=random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)),
        lifetimes="points",
        has_order=True,
        oracles=ORACLES.get(name, ()),
        wants_late_rows=random.random() < 0.4,
    )
    has_ties = random.random() < 0.3
    return scenario_of(random, query, nulls=0.2, has_ties=has_ties, most=len(HOSTILE))


def row_windows(random: Random) -> Any:
    """Draw windows that follow rows; the columns that they read, such as `v`, are those of `PAYLOAD`."""
    size = random.choice((random.randint(1, 5), elapsed(random.randint(1, 9)), delta("v", random.randint(0, 4))))
    when = random.choice((1, random.randint(1, 4), elapsed(random.randint(1, 7)), delta("v", 2), on_row("t")))
    within = random.choice((None, random.randint(1, 9)))
    bounds = random.choice((("o", "c"), ("o", None), (None, "c")))  # conditions that open and close a window
    flags: Any = {}
    if all(bounds):
        flags = {"closing_row": random.random() < 0.5, "reopens": random.random() < 0.5}
    is_timed = isinstance(size, type(elapsed(1)))
    windows: Any = random.choice(
        (
            last(size).trigger(when),
            last(size).trigger(when).when_full(),
            batch(size, within=None if is_timed else within),
            batch(marker("m"), within=within),
            between(*bounds, within=within, closed_only=random.random() < 0.5, **flags),
        )
    )

    if random.random() < 0.5:
        windows = windows.partition(
            "p",
            age=random.choice((None, 3, 8)),
            most=random.choice((None, 1, 2)),
            most_rows=random.choice((None, 2, 5)),
        )
    if random.random() < 0.3 and not isinstance(windows, type(between("o"))):
        windows = windows.admit("a")
    if random.random() < 0.3:
        windows = windows.with_marks()
    if random.random() < 0.3:
        with suppress(WindowError):  # most windows are never empty
            return windows.with_empty()
    return windows


_FAMILY_FUNCTIONS: Final = (
    cutting,
    time_bound,
    in_order,
    following,
    over_rows,
    over_last_rows,
    on_grids,
    growing,
    on_calendars,
    of_sessions,
    of_snapshots,
    of_members,
    upgraded,
    early,
    early_where_events_cut,
    paced,
    by_key,
    corrected,
    adjusted,
    united,
    of_inputs,
    shedding,
    forgetting,
    joined,
    joined_eagerly,
    joined_narrowly,
    paired,
    passed,
    hostile,
)
FAMILIES: Final[dict[str, Callable[[Random], Scenario | Hostile]]] = {draw.__name__: draw for draw in _FAMILY_FUNCTIONS}
"""The ways to draw a scenario, by name."""


SEEDS: Final = 16
"""The number of scenarios of each family that the tests draw."""


def drawn(family: str, seed: int) -> Scenario | Hostile:
    """Draw a scenario of a family; a seed has the same scenario each time."""
    return FAMILIES[family](Random(f"{family} {seed}"))


def _merging(
    random: Random, window: Any, modules: dict[str, Modules], lifetimes: Lifetimes, emit: EmitPolicy = EmitPolicy.FINAL
) -> Query:
    """Draw a query over windows, with one of these groups of modules, whose states are merged."""
    timestamps = random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END))
    query_modules = random.choice(list(modules.values()))
    is_filtered = random.random() < 0.2
    return Query(window, query_modules, timestamps=timestamps, emit=emit, lifetimes=lifetimes, is_filtered=is_filtered)
