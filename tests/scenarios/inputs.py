"""Scenarios about inputs: how complete they are, late rows, several streams, triggers that watch what comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

from muntin import (
    EarlyEmission,
    EmitPolicy,
    JoinKind,
    Lateness,
    LatePolicy,
    Refinement,
    TimestampPolicy,
    correct,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.progress import ProgressPolicy, Punctuated, bounded_delay, bounded_disorder, ordered, punctuate_every
from muntin.rows import last
from muntin.testing import Script
from muntin.triggers import Trigger, every, every_count
from muntin.windows import CalendarWindows, HoppingWindows, WindowKind
from muntin.windows.specification import Unwindowed
from muntin_engine.testing import shuffle, split
from muntin_engine.time.lifetimes import (
    Align,
    Extend,
    LengthColumn,
    LifetimeChange,
    PointsAtEnd,
    PointsAtStart,
    SetDuration,
    ShareWindows,
    Shift,
    Shorten,
)
from tests.modules.every_shape import OWN_TIMES
from tests.modules.merged_states import ANY, COLUMNAR, MERGED, OF_ROWS
from tests.modules.progress_policies import Outvoted
from tests.modules.refinements import EverySecond, OtherThanBefore
from tests.modules.several_inputs import Answers, KeptMembers, Members, TimedMembers
from tests.modules.several_inputs import Pairs as Products
from tests.scenarios.calendars import CALENDARS
from tests.scenarios.columns import STREAMS
from tests.scenarios.join import CONDITIONS, Join
from tests.scenarios.kinds import CUSTOM_KINDS, spread_over_calendar
from tests.scenarios.passing import passing
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.random_policies import random_clip
from tests.scenarios.random_triggers import random_trigger
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import (
    PARTS,
    WHOLE,
    as_it_comes,
    greatest_disorder,
    in_one_order,
    longest_delay,
    punctuated_by_key,
    renumbered,
    stream_of,
    with_composite_keys,
    with_distinct_payloads,
    with_hasty_punctuation,
)
from tests.scenarios.windows import GROWING, RANKED, TRAILING, WINDOWS, until_closed

EVERY: Final = WINDOWS | GROWING | TRAILING | RANKED | CUSTOM_KINDS | CALENDARS
BY_KEY: Final = Punctuated().with_key_punctuation()
ADJUST: Final = Lateness(LatePolicy.ADJUST)

Changes = tuple[LifetimeChange, ...]
"""Changes of lifetimes, one after the other."""

# Lengths in columns of the rows, each with the least that it may be.
WAIT: Final = LengthColumn("length_0", "said", 0)
BACK: Final = LengthColumn("length_1", "said", -9)
MORE: Final = LengthColumn("length_2", "said", 1)

PLAIN_CHANGES: Final[tuple[Changes, ...]] = (
    (),
    (Shift(9),),
    (Shift(-13),),
    (SetDuration(12),),
    (Extend(9),),
    (Shorten(8),),
    (PointsAtStart(),),
    (PointsAtEnd(is_repeated=True),),
)
"""No change, and single ones that no column or grid says."""

CHANGES: Final[tuple[Changes, ...]] = (
    *PLAIN_CHANGES,
    (Align(tumbling(10, 3)),),
    (Align(hopping(12, 5)),),
    (ShareWindows(hopping(12, 5)),),
    (Extend(4), Shorten(11), Shift(2)),
    (SetDuration(4), Shift(-30)),
    (Align(tumbling(10)), Shorten(4), Align(tumbling(3))),
    (Shift(5), SetDuration(9), PointsAtEnd(is_repeated=True)),
    (Shift(WAIT),),
    (Shift(BACK), Extend(MORE), Shorten(3)),
    (SetDuration(MORE),),
    (Extend(WAIT),),
)


def _keeps_events(changes: Changes) -> bool:
    """True if each event is one after the changes; at an end that is not known yet there is no point."""
    return not any(isinstance(change, PointsAtEnd) for change in changes)


LENGTHS: Final = tuple(filter(_keeps_events, CHANGES))
"""Changes of lifetimes under which each event stays one."""


def query_of(random: Random, windows: Mapping[str, WindowKind] = WINDOWS, **fixed: Any) -> Query:
    """Draw a query over windows, with any module and policies; `fixed` are the fields that are not drawn."""
    shape = random.choice(list(ANY))
    modules = ANY[shape]
    timestamps = [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END]
    if shape in OWN_TIMES:
        timestamps += [TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP]
    drawn_fields: dict[str, Any] = {
        "lifetimes": random.choice(("named", "named", "intervals", "samples", "points")),
        "clip": random_clip(random, modules),
        "emit": random.choice(list(EmitPolicy)),
        "timestamps": random.choice(timestamps),
    }
    window = random.choice(list(windows.values()))
    return Query(window, modules, **(drawn_fields | fixed))


def early(
    random: Random, windows: Mapping[str, WindowKind] = EVERY, draw: Callable[[Random], Trigger] | None = None
) -> Scenario:
    """Draw early results on any composition of triggers, be rows late, corrected or adjusted, or keys ahead.

    Args:
        random: Generator of random numbers.
        windows: Windows that may be drawn.
        draw: Function that draws a trigger; by default any composition.
    """
    query = query_of(random, windows)
    refinements: list[Any] = [Refinement.RETRACT]  # the one that all windows take
    if isinstance(query.window, HoppingWindows):
        refinements = list(Refinement)
        if not query.is_operator:
            refinements += [OtherThanBefore(), EverySecond()]
    refinement = random.choice(refinements)
    if refinement is Refinement.DISCARD:  # it takes no revisions
        query = replace(query, lifetimes=random.choice(("intervals", "points")))

    draw_trigger = draw or partial(random_trigger, depth=2)
    trigger = draw_trigger(random)
    while query.is_operator and trigger.reads_results:  # an operator has rows, and no one result to read
        trigger = draw_trigger(random)
    query = replace(query, emit=EarlyEmission(trigger, refinement))

    late = random.choice((Lateness(), Lateness(), correct(6), ADJUST))
    progress = random.choice((Punctuated(), BY_KEY))
    if late is ADJUST and query.lifetimes in ("points", "samples"):
        query = replace(query, lifetimes="intervals")
    age = random.choice((None, None, None, 3))
    if isinstance(query.window, CalendarWindows):
        return spread_over_calendar(_with_keys(random, query, _arriving_late(random, query)))
    if age is not None and refinement is Refinement.RETRACT and query.lifetimes != "samples":
        query = replace(query, forget_keys_after=age)  # of such keys only the final results are compared
    else:
        query = replace(query, late=late, progress=progress)
    return _with_keys(random, query, _arriving_late(random, query))


def early_where_events_cut(random: Random) -> Scenario:
    """Draw early results of windows that take the place of others: sessions, snapshots, and windows by rank."""
    windows: dict[str, WindowKind] = {f"gap {gap}": session(gap) for gap in (1, 2, 4, 9)}
    windows["snapshots"] = snapshot()
    windows["counts"] = RANKED[random.choice(list(RANKED))]
    return early(random, windows, random.choice((counting, random_trigger)))


def counting(random: Random) -> Trigger:
    """Draw a trigger that fires often enough for a difference in its state to show."""
    if random.random() < 0.7:
        return every_count(random.randint(2, 4))
    return every(random.randint(1, 20))


def by_key(random: Random) -> Scenario:
    """Draw keys that punctuate themselves, whole, by one of their columns, or by ranges; some forget keys."""
    ages = (1, 3, 6, 14) if random.random() < 0.3 else (None,)
    column_count = random.choice((1, 2))
    age = random.choice(ages)
    windows = WINDOWS | GROWING | TRAILING | RANKED
    query = query_of(random, windows, progress=BY_KEY, keys=column_count, forget_keys_after=age)
    if query.lifetimes == "samples" and (age is not None or column_count > 1):
        query = replace(query, lifetimes="named")
    return _with_keys(random, query, _arriving_late(random, query))


def corrected(random: Random) -> Scenario:
    """Draw a watermark that is hasty, and late rows that correct results until the input is as far as it says."""
    emit = random.choice((EmitPolicy.FINAL, EmitPolicy.SPECULATIVE))
    query = query_of(random, emit=emit, late=correct(6))
    return as_it_comes(random, query, _arriving_late(random, query))


def adjusted(random: Random) -> Scenario:
    """Draw late insertions, which start at the watermark then."""
    query = query_of(random, late=ADJUST, lifetimes=random.choice(("intervals", "named")))
    return as_it_comes(random, query, _arriving_late(random, query))


def paced(random: Random) -> Scenario:
    """Draw a policy that derives the watermark of each stream from its rows, none of which is late by it."""
    stream_count = random.choice((1, 1, 2, 3))
    is_union = stream_count > 1 or random.random() < 0.5
    query = query_of(random)
    if is_union:
        query = _of_union(query)
    streams = _streams(random, query, stream_count)
    delay = max(map(longest_delay, streams))
    disorder = max(map(greatest_disorder, streams))
    policies: list[ProgressPolicy] = [
        bounded_delay(delay),
        bounded_disorder(disorder),
        punctuate_every(rows=3, delay=delay),
        punctuate_every(span=5, delay=delay),
        Outvoted(delay, of=3),
    ]
    if delay == 0:
        policies.append(ordered())
    sources: tuple[Changes, ...] = ((),) * stream_count if is_union else ()
    query = replace(query, progress=random.choice(policies), sources=sources)
    return as_it_comes(random, query, *streams)


def united(random: Random) -> Scenario:
    """Draw a union of streams whose events change their lifetimes: those of each stream, and then all alike."""
    window = random.choice((tumbling(10), hopping(9, 6), hopping(12, 5), snapshot(), session(4)))
    modules = random.choice([*COLUMNAR.values(), *MERGED.values()])
    lifetimes: Lifetimes = random.choice(("named", "named", "intervals", "points"))
    stream_count = random.choice((1, 2, 3))
    is_union = stream_count > 1 or random.random() < 0.5
    query = Query(window, modules, lifetimes=lifetimes, changes=random.choice(CHANGES))
    if is_union:
        query = _of_union(query)
    streams = _streams(random, query, stream_count)
    if is_union:
        source_changes = tuple(random.choice(PLAIN_CHANGES) for _ in streams)
        query = replace(query, sources=source_changes)
    return as_it_comes(random, query, *streams)


def of_inputs(random: Random) -> Scenario:
    """Draw modules that read two streams of a union of three."""
    if random.random() < 0.2:
        query = Query(Unwindowed(), (Answers(),), lifetimes=random.choice(("points", "retracted")), has_order=True)
    else:
        window = random.choice((*WINDOWS.values(), hopping(23, 11, 30), tumbling(30)))
        module = random.choice((Members(), TimedMembers(), KeptMembers(), Products()))
        lifetimes: Lifetimes = random.choice(("points", "intervals", "named"))
        emit = random.choice(list(EmitPolicy))
        query = Query(window, (module,), emit=emit, lifetimes=lifetimes, is_filtered=random.random() < 0.2)
    stream_count = len(STREAMS)
    query = replace(query, sources=((),) * stream_count)
    streams: list[Script] = []
    for place in range(stream_count):
        stream = in_one_order(random, query, has_ties=query.has_order)
        streams.append(with_distinct_payloads(stream, place, stream_count))
    return as_it_comes(random, query, *streams)


def shedding(random: Random) -> Scenario:
    """Draw keys that hold so many events and no more, over grids and over rows."""
    most = random.randint(1, 6)
    if random.random() < 0.3:
        size = random.randint(1, 3)
        query = Query(
            last(size).trigger(random.randint(1, 2)),
            OF_ROWS["aggregate"],
            lifetimes="points",
            has_order=True,
            most_held=most + size,  # the last rows are always held
        )
    else:
        lifetimes: Lifetimes = random.choice(("points", "intervals"))
        window = random.choice((tumbling(10), hopping(10, 5), hopping(7, 3)))
        query = Query(window, ANY["aggregate"], lifetimes=lifetimes, most_held=most)
    stream = stream_of(random, query, has_ties=True)
    return as_it_comes(random, query, _shuffled_and_cut(random, stream))


def joined(random: Random) -> Scenario:
    """Draw joins of two streams that are at different places of the axis, and whose events are of different kinds."""
    kinds: tuple[Lifetimes, ...] = ("named", "named", "intervals", "intervals", "points", "samples")
    sides = (random.choice(kinds), random.choice(kinds))
    return _meeting(random, Join(random.choice(list(JoinKind)), sides, on=random.choice(CONDITIONS)))


def joined_eagerly(random: Random) -> Scenario:
    """Draw joins whose results are emitted at once, and corrected."""
    kinds: tuple[Lifetimes, ...] = ("named", "named", "intervals", "points", "samples")
    sides = (random.choice(kinds), random.choice(kinds))
    join = Join(random.choice(list(JoinKind)), sides, is_eager=True, on=random.choice(CONDITIONS))
    return _meeting(random, join)


def joined_narrowly(random: Random) -> Scenario:
    """Draw eager joins of a few times and two payloads: many rows are equal, and some trade their places."""
    kinds: tuple[Lifetimes, ...] = ("named", "named", "intervals", "points")
    sides = (random.choice(kinds), random.choice(kinds))
    join = Join(random.choice(list(JoinKind)), sides, is_eager=True, on=random.choice(CONDITIONS))
    return _meeting(random, join, is_narrow=True)


def paired(random: Random) -> Scenario:
    """Draw joins of pairs whose ends stay, which are final as soon as both are there."""
    kinds: tuple[Lifetimes, ...] = ("intervals", "intervals", "points")
    sides = (random.choice(kinds), random.choice(kinds))
    return _meeting(random, Join(JoinKind.INNER, sides, on=random.choice(CONDITIONS)))


def passed(random: Random) -> Scenario:
    """Draw events that are the results themselves: filtered, with other lifetimes, of a union, revised."""
    lifetimes: Lifetimes = random.choice(("named", "named", "retracted", "intervals", "points", "samples"))
    is_eager = random.random() < 0.5
    changes: Changes = ()
    if lifetimes in ("intervals", "points") and random.random() < 0.5:
        changes = random.choice(LENGTHS)
    stream_count = 0  # it is no union
    if lifetimes != "samples":
        stream_count = random.choice((0, 0, 1, 2))
    is_filtered = random.random() < 0.3
    query = passing(lifetimes, is_eager=is_eager, changes=changes, streams=stream_count, is_filtered=is_filtered)
    return as_it_comes(random, query, *_arriving(random, query))


def forgetting(random: Random) -> Scenario:
    """Draw keys that are forgotten after a while, and come again, over streams with much punctuation."""
    age = random.choice((1, 3, 6, 14))
    query = query_of(random, WINDOWS | GROWING | TRAILING | RANKED | CUSTOM_KINDS, forget_keys_after=age)
    query = replace(query, is_filtered=random.random() < 0.2)
    if query.lifetimes == "samples":
        query = replace(query, lifetimes="named")
    return as_it_comes(random, query, in_one_order(random, query))


def _meeting(random: Random, join: Join, *, is_narrow: bool = False) -> Scenario:
    """Draw the streams of a join, in disorder; some sides are unions, or have other lifetimes."""
    left_lifetimes, right_lifetimes = join.lifetimes
    united = (_united(random, left_lifetimes), _united(random, right_lifetimes))
    changes = (_changes_of_lengths(random, left_lifetimes), _changes_of_lengths(random, right_lifetimes))
    join = replace(join, united=united, changes=changes)
    join = replace(join, is_filtered=random.random() < 0.2, is_bare=random.random() < 0.1)
    return as_it_comes(random, join, *_arriving(random, join, is_narrow=is_narrow))


def _united(random: Random, lifetimes: Lifetimes) -> int:
    """Draw how many streams make a side of a join; 0 if it is no union, which most are not."""
    if lifetimes == "samples":
        return 0
    return random.choice((0, 0, 0, 1, 2))


def _changes_of_lengths(random: Random, lifetimes: Lifetimes) -> Changes:
    """Draw changes of lifetimes for a side of a join; mostly there are none."""
    if lifetimes in ("intervals", "points") and random.random() < 0.4:
        return random.choice(LENGTHS)
    return ()


def _arriving(random: Random, join: Join, *, is_narrow: bool = False) -> list[Script]:
    """Draw the streams of a join, or of events that are results, in disorder, cut into micro-batches."""
    streams: list[Script] = []
    for side, name in join.places:
        seed = random.randrange(10**9)
        in_order = stream_of(random, join.sides[side], is_narrow=is_narrow)
        stream = until_closed(shuffle(in_order, seed, early_revisions=random.random() < 0.5))
        stream = renumbered(stream, STREAMS.index(name), max(1, join.united[side]))
        streams.append(split(stream, seed, cuts=random.choice((0.1, 0.4)), restarts=0))
    return streams


def _arriving_late(random: Random, query: Query) -> Script:
    """Draw a stream, whose punctuation is hasty where late rows are adjusted."""
    stream = in_one_order(random, query)
    return with_hasty_punctuation(random, stream) if query.late is ADJUST else stream


def _with_keys(random: Random, query: Query, stream: Script) -> Scenario:
    """Return a scenario whose keys have the columns of the query, and punctuate themselves if it reads that."""
    if query.keys > 1:
        stream = with_composite_keys(stream)
    if query.progress.by_key:
        stream = punctuated_by_key(random, stream, PARTS if query.keys > 1 else WHOLE)
    return as_it_comes(random, query, stream)


def _of_union(query: Query) -> Query:
    """Return a query of events that last: a union carries the ends of all its streams."""
    lasting: dict[Lifetimes, Lifetimes] = {"points": "intervals", "retracted": "named", "samples": "named"}
    return replace(query, lifetimes=lasting.get(query.lifetimes, query.lifetimes))


def _streams(random: Random, query: Query, count: int) -> list[Script]:
    """Draw the streams of a union, no two of which share an id."""
    return [renumbered(in_one_order(random, query), place, count) for place in range(count)]


def _shuffled_and_cut(random: Random, stream: Script) -> Script:
    """Return a stream in another legal order, cut into micro-batches."""
    seed = random.randrange(10**9)
    return split(until_closed(shuffle(stream, seed)), seed, cuts=random.choice((0.1, 0.4)), restarts=0)
