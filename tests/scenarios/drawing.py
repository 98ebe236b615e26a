"""Scenarios drawn from a number: whatever a user may write, over whatever may come."""

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
from tests.modules.every_shape import OWN_TIMES
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

GRIDS: Final = (
    *(tumbling(8), tumbling(1), tumbling(50), tumbling(7, 3), hopping(10, 5), hopping(10, 3), hopping(13, 1, -5)),
    *(hopping(9, 6), hopping(4, 9, 1), hopping(4, 12), hopping(40, 17), hopping(3, 16, -7), hopping(23, 11, 30)),
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


def cutting(random: Random, windows: Mapping[str, WindowKind] = CUTTING) -> Scenario:
    """Draw any windows that cut the axis, any module, any policy."""
    shape = random.choice(list(ANY))
    window = windows[random.choice(list(windows))]
    is_time_sensitive = any(module.is_time_sensitive for module in ANY[shape])
    lifetimes: Lifetimes = random.choice(("named", "named", "intervals", "samples", "points", "retracted"))
    is_calendar = isinstance(window, CalendarWindows)
    ages = (1, 3, 6, 14) if lifetimes != "samples" and not is_calendar and random.random() < 0.2 else (None,)
    query = Query(
        window,
        ANY[shape],
        random.choice(list(ClipPolicy)) if is_time_sensitive else ClipPolicy.NONE,
        _random_timestamps(random, shape),
        random.choice(list(EmitPolicy)),
        lifetimes,
        is_filtered=random.random() < 0.25,
        forget_keys_after=random.choice(ages),
    )
    return spread_over_calendar(
        scenario_of(random, query, nulls=0.1, is_moved=not isinstance(window, CalendarWindows | Shifts))
    )


def time_bound(random: Random) -> Scenario:
    """Draw results that start where they become known, or rows with times of their own that do."""
    if random.random() < 0.15:
        window = random.choice(FIXED)
        clip = random.choice((ClipPolicy.NONE, ClipPolicy.RIGHT))
        query = Query(WINDOWS[window], random.choice(BOUND), clip, TimestampPolicy.UNCHANGED, EmitPolicy.EAGER)
        return scenario_of(random, query)
    window = random.choice(list(WINDOWS))
    ends_move = WINDOWS[window].ends_move
    shapes = ("aggregate", "incremental aggregate", "incremental aggregate that removes", "operator")
    shape = random.choice(shapes if ends_move else list(ANY))
    is_time_sensitive = any(module.is_time_sensitive for module in ANY[shape])
    clip = random.choice(list(ClipPolicy)) if is_time_sensitive else ClipPolicy.NONE
    lifetimes: Lifetimes = "named" if ends_move else random.choice(("named", "named", "intervals", "samples"))
    policies = (clip, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER)
    return scenario_of(random, Query(WINDOWS[window], ANY[shape], *policies, lifetimes))


def on_grids(random: Random) -> Scenario:
    """Draw what may be merged over slices: grids, one or several, over points or lifetimes, revised or not."""
    modules = random.choice((COLUMNAR, COLUMNAR, MERGED))
    window: Any = random.choice(GRIDS) if random.random() < 0.7 else random.choice(SHARED)
    is_single = isinstance(window, WindowSpecification)
    lifetimes: Lifetimes = random.choice(("points", "intervals", "named") if is_single else ("points", "intervals"))
    emit = random.choice(list(EmitPolicy)) if lifetimes == "named" else EmitPolicy.FINAL
    return scenario_of(random, _merging(random, window, modules, lifetimes, emit), nulls=0.2)


def growing(random: Random) -> Scenario:
    """Draw windows that grow from a start, over points: what came before is one running state."""
    window: Any = random.choice(
        (landmark(5, -7), landmark(3, 20), cumulate(12, 4, 1), cumulate(3, 1), cumulate(40, 5), cumulate(6, 6))
    )
    if random.random() < 0.3:
        shape = random.choice(list(ANY))
        clip = random.choice(list(ClipPolicy)) if any(m.is_time_sensitive for m in ANY[shape]) else ClipPolicy.NONE
        return scenario_of(
            random, Query(window, ANY[shape], clip, _random_timestamps(random, shape), lifetimes="points")
        )
    return scenario_of(random, _merging(random, window, random.choice((COLUMNAR, MERGED)), "points"), nulls=0.2)


def on_calendars(random: Random) -> Scenario:
    """Draw calendar windows, where days are skipped, shown twice, or of 23 and 25 hours."""
    scales: Mapping[str, Scale] = random.choice((SLICED, SLICED, SCALES))
    name = random.choice(list(scales))
    scale = scales[name]
    window: Any = scale.window
    if random.random() < 0.15:
        name = "days, forward"
        scale = SLICED["days, forward"]
        day = scale.window
        week = replace(day, size=7, hop=7, start="1970-01-05")
        long = replace(week, size=10, start="1970-01-03")  # cut four times a week, with `week` and not by the day
        window = {"week": week, **random.choice(({"day": day, "b": replace(day, size=3, hop=2)}, {"long": long}))}
    modules = random.choice((COLUMNAR, MERGED, ANY))
    may_last = scales is SCALES or name in LASTING_CALENDARS
    kinds: tuple[Lifetimes, ...] = (
        ("points", "intervals") if isinstance(window, dict) else ("points", "intervals", "named")
    )
    lifetimes: Lifetimes = random.choice(kinds) if may_last else "points"
    scenario = scenario_of(random, _merging(random, window, modules, lifetimes), nulls=0.2, is_moved=False)
    steps = spread(scenario.scripts[0], scale.origin, scale.seconds).steps
    return replace(scenario, streams=Script(tuple(lasting(steps, 1)) if lifetimes == "points" else steps))


def of_sessions(random: Random) -> Scenario:
    """Draw sessions of what can be fused."""
    modules = random.choice((COLUMNAR, MERGED))
    lifetimes: Lifetimes = random.choice(("points", "intervals", "intervals", "named"))
    return scenario_of(random, _merging(random, session(random.choice((1, 4, 9))), modules, lifetimes), nulls=0.2)


def of_snapshots(random: Random) -> Scenario:
    """Draw snapshots of what can be subtracted, infinite values and such that cancel among it."""
    name = random.choice(list(INVERTIBLE))
    lifetimes: Lifetimes = random.choice(("points", "intervals", "intervals", "named"))
    timestamps = random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END))
    query = Query(
        snapshot(), INVERTIBLE[name], timestamps=timestamps, lifetimes=lifetimes, oracles=ORACLES.get(name, ())
    )
    return scenario_of(random, replace(query, is_filtered=random.random() < 0.2), nulls=0.2, most=len(HOSTILE))


def of_members(random: Random) -> Scenario:
    """Draw modules that see all members of a window, in order or not, with times or not, over windows of all keys."""
    kinds = (random.choice(GRIDS), random.choice(GRIDS), random.choice(SHARED), session(random.choice((1, 4, 9))))
    window: Any = random.choice((*kinds, snapshot()))
    modules = random.choice((ANY, ANY, ORDERED))
    shape = random.choice(list(modules))
    has_order = modules is ORDERED
    is_time_sensitive = any(module.is_time_sensitive for module in modules[shape])
    query = Query(
        window,
        modules[shape],
        random.choice(list(ClipPolicy)) if is_time_sensitive else ClipPolicy.NONE,
        _random_timestamps(random, shape),
        lifetimes=random.choice(("points", "intervals")),
        is_filtered=random.random() < 0.2,
        has_order=has_order,
        wants_late_rows=random.random() < 0.4,
    )
    return scenario_of(random, query, nulls=0.2, has_ties=has_order)


def upgraded(random: Random) -> Scenario:
    """Draw queries that keep states, with modules that are upgraded repeatedly; ordered modules have no versions."""
    scenario = random.choice((on_grids, growing, of_sessions, of_snapshots, of_members, cutting))(random)
    while isinstance(scenario.query, Query) and scenario.query.has_order:
        scenario = of_members(random)
    return replace(scenario, mishaps=replace(scenario.mishaps, cuts=0.5, upgrades=0.6))


def in_order(random: Random) -> Scenario:
    """Draw modules that read the order of events, whose times tie."""
    window = random.choice(list(CUTTING))
    emit = random.choice(list(EmitPolicy))
    lifetimes: Lifetimes = random.choice(("named", "intervals", "points"))
    query = Query(
        CUTTING[window], random.choice(list(ORDERED.values())), emit=emit, lifetimes=lifetimes, has_order=True
    )
    return scenario_of(random, query, has_ties=True)


def following(random: Random) -> Scenario:
    """Draw operators that follow the events of a key."""
    lasts = random.random() < 0.5
    lifetimes: Lifetimes = (
        random.choice(("named", "intervals", "samples")) if lasts else random.choice(("points", "retracted"))
    )
    modules = random.choice(list((LASTING if lasts else FOLLOWING).values()))
    return scenario_of(random, Query(Unwindowed(), modules, lifetimes=lifetimes, has_order=True), has_ties=True)


def over_rows(random: Random) -> Scenario:
    """Draw windows that follow rows: their eviction, triggers, delimiters, partitions and conditions."""
    lifetimes: Lifetimes = random.choice(("points", "points", "retracted"))
    windows = row_windows(random)
    modules = random.choice(list(OF_ROWS.values()))
    timestamp_policies = (TimestampPolicy.ALIGN, TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)
    query = Query(windows, modules, timestamps=random.choice(timestamp_policies), lifetimes=lifetimes, has_order=True)
    if random.random() < 0.25:
        query = replace(query, progress=BY_KEY)
        return as_it_comes(random, query, punctuated_by_key(random, in_one_order(random, query, has_ties=True), WHOLE))
    return scenario_of(random, query, has_ties=True)


def over_last_rows(random: Random) -> Scenario:
    """Draw windows over so many rows, of what is computed on arrays; rows of one time may have one order, or none."""
    windows = last(random.choice((1, 2, 3, 5, 8, 40))).trigger(random.choice((1, 1, 2, 3, 7)))
    if random.random() < 0.3:
        windows = windows.when_full()
    modules = random.choice((COLUMNAR, COLUMNAR, INVERTIBLE, _SLIDING))
    name = random.choice(list(modules))
    query = Query(
        windows,
        modules[name],
        timestamps=random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)),
        lifetimes="points",
        has_order=True,
        oracles=ORACLES.get(name, ()),
        wants_late_rows=random.random() < 0.4,
    )
    return scenario_of(random, query, nulls=0.2, has_ties=random.random() < 0.3, most=len(HOSTILE))


def row_windows(random: Random) -> Any:
    """Draw windows that follow rows."""
    size = random.choice((random.randint(1, 5), elapsed(random.randint(1, 9)), delta("v", random.randint(0, 4))))
    when = random.choice((1, random.randint(1, 4), elapsed(random.randint(1, 7)), delta("v", 2), on_row("t")))
    within = random.choice((None, random.randint(1, 9)))
    bounds = random.choice((("o", "c"), ("o", None), (None, "c")))
    flags: Any = {"closing_row": random.random() < 0.5, "reopens": random.random() < 0.5} if all(bounds) else {}
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
        limits = {"age": random.choice((None, 3, 8)), "most": random.choice((None, 1, 2))}
        windows = windows.partition("p", most_rows=random.choice((None, 2, 5)), **limits)
    windows = windows.admit("a") if random.random() < 0.3 and not isinstance(windows, type(between("o"))) else windows
    windows = windows.with_marks() if random.random() < 0.3 else windows
    with suppress(WindowError):  # most are never empty
        return windows.with_empty() if random.random() < 0.3 else windows
    return windows


_FAMILY_FUNCTIONS: Final = (
    *(cutting, time_bound, in_order, following, over_rows, over_last_rows),
    *(on_grids, growing, on_calendars, of_sessions, of_snapshots, of_members, upgraded),
    *(early, early_where_events_cut, paced, by_key, corrected, adjusted, united, of_inputs, shedding, forgetting),
    *(joined, joined_eagerly, joined_narrowly, paired, passed, hostile),
)
FAMILIES: Final[dict[str, Callable[[Random], Scenario | Hostile]]] = {draw.__name__: draw for draw in _FAMILY_FUNCTIONS}
"""The ways to draw a scenario, by name."""


SEEDS: Final = 16
"""The number of scenarios of each family that the tests draw."""


def drawn(family: str, seed: int) -> Scenario | Hostile:
    """Draw a scenario of a family; a seed has the same scenario each time."""
    return FAMILIES[family](Random(f"{family} {seed}"))


def _random_timestamps(random: Random, shape: str) -> TimestampPolicy:
    """Draw a timestamping policy that suits the module of a shape."""
    policies = [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END]
    if shape in OWN_TIMES or shape == "operator that looks back":
        policies += [TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP]
    return random.choice(policies)


def _merging(
    random: Random, window: Any, modules: dict[str, Modules], lifetimes: Lifetimes, emit: EmitPolicy = EmitPolicy.FINAL
) -> Query:
    """Draw a query over windows, with one of these groups of modules."""
    timestamps = random.choice((TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END))
    query_modules = random.choice(list(modules.values()))
    return Query(
        window, query_modules, timestamps=timestamps, emit=emit, lifetimes=lifetimes, is_filtered=random.random() < 0.2
    )
