"""Streams and mishaps, drawn for a query."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import count, product
from random import Random
from typing import Final

from muntin import EARLIEST, INFINITY, Event
from muntin.changes import Insertion, Punctuation, Revision
from muntin.testing import KeyedChange, KeyPunctuation, KeyRange, Script
from muntin.testing.batches import Step, matches
from muntin.windows import CumulateWindows, LandmarkWindows
from muntin_engine.testing import random_stream, shuffle, split
from tests.scenarios.join import Join
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario
from tests.scenarios.windows import until_closed


def scenario_of(
    random: Random, query: Query, *, nulls: float = 0.0, has_ties: bool = False, is_moved: bool = True, most: int = 9
) -> Scenario:
    """Draw a stream of a query, and mishaps on its way.

    Args:
        random: Generator of random numbers.
        query: The query.
        nulls: Probability that a payload is null, where the scenario has nulls at all.
        has_ties: True if the order of events of one time matters.
        is_moved: True if the stream may lie far away on the axis.
        most: The greatest payload.
    """
    seed = random.randrange(10**9)
    nulls = random.choice((0.0, nulls))
    mishaps = Mishaps(
        seed,
        disorder=random.random() < 0.8,
        cuts=random.choice((0.05, 0.2, 0.4)),
        restarts=random.choice((0.0, 0.3, 1.0)),
        illegal=random.choice((0.0, 0.0, 0.4)),
        crashes=random.choice((0.0, 0.2)),
    )
    return Scenario(query, stream_of(random, query, nulls, has_ties=has_ties, is_moved=is_moved, most=most), mishaps)


def stream_of(
    random: Random,
    query: Query,
    nulls: float = 0.0,
    *,
    has_ties: bool = False,
    is_moved: bool = False,
    most: int = 9,
    is_in_order: bool = False,
    is_narrow: bool = False,
) -> Script:
    """Draw a legal stream of the events that a query has: mostly a short one, now and then one hot key with many.

    Args:
        random: Generator of random numbers.
        query: The query.
        nulls: Probability that a payload is null.
        has_ties: True if the order of events of one time matters.
        is_moved: True if the stream may lie far away on the axis.
        most: The greatest payload.
        is_in_order: True if the changes of an event will come in their order, so that no id is used again.
        is_narrow: True if many events start together, and there are two payloads.
    """
    is_hot = random.random() < 0.06
    seed = random.randrange(10**9)
    keys: tuple[Hashable, ...] = ("hot",)
    if not is_hot:
        keys = random.choice((("a", "b", None), ("a",), tuple("abcdefgh")))
    event_count = random.randint(60, 200) if is_hot else random.randint(1, 18)
    if is_narrow:
        last_start = -14
    elif has_ties:
        last_start = -12
    else:
        last_start = random.choice((-10, 20, 45))

    numbers = count(1)

    def payload(payload_random: Random) -> object:
        if has_ties:  # events of one time are told apart by payloads that give them an order
            return next(numbers) * 7 % 1_009
        if payload_random.random() < nulls:
            return None
        return payload_random.randint(0, 1) if is_narrow else payload_random.randint(-9, most)

    # A null payload is that of any event: an id that is used again could not be told from the first.
    can_use_ids_again = query.has_ids and not nulls and not is_in_order
    stream = random_stream(
        seed,
        keys=keys,
        events=event_count,
        starts=range(-20, last_start),
        payload=payload,
        disorder=random.randrange(25),
        repeats=0.3 if can_use_ids_again else 0.0,
        closed=random.random() < 0.8,
    )

    # The events get the lifetimes that those of the query have.
    steps = list(until_closed(stream).steps)
    if not query.has_ids:
        steps = [step for step in steps if not isinstance(step, KeyedChange) or isinstance(step.change, Insertion)]
    if query.lifetimes in ("points", "retracted", "samples"):
        length = INFINITY if query.lifetimes == "samples" else 1
        may_tie = query.most_held is None  # samples of one time would take the room of one
        steps = list(lasting(steps, length, has_ties=may_tie))

    far = 0
    if is_moved and _may_be_far(query):
        far = random.choice((0, 0, 0, 2**40, -(2**55)))
    return moved(Script(tuple(rising(steps))), far)


def _may_be_far(query: Query) -> bool:
    """True if windows may be far from tick 0; those that grow from a fixed start would be too many there."""
    return not any(isinstance(window, LandmarkWindows | CumulateWindows) for window in query.named.values())


def lasting(steps: Sequence[Step], length: int, *, has_ties: bool = True) -> Iterator[Step]:
    """Yield steps whose events last so many ticks; of revisions, retractions of points alone.

    Args:
        steps: Steps of a stream.
        length: Number of ticks; infinity for samples, whose ends nobody says.
        has_ties: False if a key has one sample at a time at most.
    """
    sampled = set[tuple[Hashable, int]]()  # keys, and times at which they have a sample
    for step in steps:
        if not isinstance(step, KeyedChange):
            yield step
            continue
        change = step.change
        start = change.event.start
        payload = change.event.payload
        if isinstance(change, Revision):
            if change.is_retraction:
                yield KeyedChange(step.key, Revision(change.id, Event.point(start, payload), start))
        elif length < INFINITY or has_ties or (step.key, start) not in sampled:
            sampled.add((step.key, start))
            end = INFINITY if length == INFINITY else start + length
            yield KeyedChange(step.key, Insertion(change.id, Event(start, end, payload)))


def moved(stream: Script, far: int) -> Script:
    """Move a stream along the axis."""

    def at(tick: int) -> int:
        return tick if tick in (EARLIEST, INFINITY) else tick + far

    def step_at(step: Step) -> Step:
        if isinstance(step, Punctuation):
            return Punctuation(at(step.time))
        if not isinstance(step, KeyedChange):
            return step
        change = step.change
        event = Event(at(change.event.start), at(change.event.end), change.event.payload)
        if isinstance(change, Insertion):
            return KeyedChange(step.key, Insertion(change.id, event))
        return KeyedChange(step.key, Revision(change.id, event, at(change.new_end)))

    return Script(tuple(map(step_at, stream.steps)))


def in_one_order(random: Random, query: Query, *, has_ties: bool = False) -> Script:
    """Draw a stream in which the changes of an event come one after the other, and once; cut into micro-batches."""
    seed = random.randrange(10**9)
    stream = stream_of(random, query, is_in_order=True, has_ties=has_ties)
    shuffled = until_closed(shuffle(stream, seed, early_revisions=False))
    return split(shuffled, seed, cuts=random.choice((0.1, 0.3, 0.9)), restarts=0)


def as_it_comes(random: Random, query: Query | Join, *streams: Script) -> Scenario:
    """Return a scenario whose streams arrive in the order and the micro-batches that they have."""
    restarts = random.choice((0.0, 0.3, 1.0))
    crashes = random.choice((0.0, 0.2))
    seed = random.randrange(10**9)
    # Streams of joins come in disorder, and changed lifetimes need to know the end that is revised.
    may_be_blind = not (isinstance(query, Join) or query.changes or any(query.sources))
    blind = 0.3 if may_be_blind else 0.0
    mishaps = Mishaps(seed, disorder=False, cuts=None, restarts=restarts, crashes=crashes, blind=blind)
    return Scenario(query, streams, mishaps)


def rising(steps: Sequence[Step]) -> list[Step]:
    """Leave out watermarks that do not advance."""
    rising_steps: list[Step] = []
    latest = EARLIEST
    for step in steps:
        if isinstance(step, Punctuation):
            if step.time <= latest:
                continue
            latest = step.time
        rising_steps.append(step)
    return rising_steps


def renumbered(stream: Script, place: int, count: int) -> Script:
    """Renumber the ids of a stream, so that no two of several streams share one.

    Args:
        stream: Stream, in which the changes of an event keep one id.
        place: Place of the stream among all.
        count: Number of streams.
    """

    def step_of(step: Step) -> Step:
        if not isinstance(step, KeyedChange):
            return step
        id = int(step.change.id) * count + place  # type: ignore[call-overload]
        return replace(step, change=replace(step.change, id=id))

    return Script(tuple(map(step_of, stream.steps)))


def with_distinct_payloads(stream: Script, place: int, count: int) -> Script:
    """Renumber ids and payloads of a stream, so that no two of several streams share one.

    Args:
        stream: Stream.
        place: Place of the stream among all: the remainder of a payload by their number.
        count: Number of streams.
    """

    def step_of(step: Step) -> Step:
        if not isinstance(step, KeyedChange):
            return step
        event = step.change.event
        event = replace(event, payload=event.payload * count + place)
        return replace(step, change=replace(step.change, event=event))

    return renumbered(Script(tuple(map(step_of, stream.steps))), place, count)


def with_hasty_punctuation(random: Random, stream: Script) -> Script:
    """Return the insertions of a stream with punctuation behind which many of them come."""
    script = Script(allow_illegal=True)
    latest = -30
    for step in stream.changes():
        if isinstance(step.change, Insertion):
            script = replace(script, steps=(*script.steps, step))
        if random.random() < 0.3:
            latest += random.randint(1, 12)
            script = script.punctuate(latest).batch()
    return script.close()


REGIONS: Final[dict[Hashable, str | None]] = {"a": "eu", None: None}
"""The first column of a key of two columns, by the key of a stream; all other keys become "us"."""

SENSORS: Final = (3, 10, 15)
"""The values of the second column."""

WHOLE: Final[list[Hashable]] = ["a", "b", None, "never"]
"""Keys of one column that are punctuated; of the last one no row comes."""

PARTS: Final[list[Hashable]] = [
    *product(["eu", "us", ...], [*SENSORS, ..., KeyRange(10, 20), KeyRange(None, 15), KeyRange(10)]),
    *product([KeyRange("f"), KeyRange(None, "f")], [10, ..., KeyRange(3, 11)]),
    *product([None], SENSORS),
]
"""Patterns of keys of two columns that are punctuated; `...` is any value."""


def with_composite_keys(stream: Script) -> Script:
    """Return a stream whose keys have two columns; the events of an id stay those of one key."""

    def with_two_columns(step: Step) -> Step:
        if not isinstance(step, KeyedChange):
            return step
        region = REGIONS.get(step.key, "us")
        sensor = SENSORS[hash(step.change.id) % len(SENSORS)]
        return replace(step, key=(region, sensor))

    return replace(stream, steps=tuple(map(with_two_columns, stream.steps)))


def punctuated_by_key(random: Random, stream: Script, patterns: Sequence[Hashable], share: float = 0.4) -> Script:
    """Add random punctuation of keys, none of it later than a change of these keys that is still to come.

    Args:
        random: Generator of random numbers.
        stream: The stream.
        patterns: Keys, or patterns of keys, that may be punctuated.
        share: Probability that there is punctuation before a step.
    """
    steps = list[Step]()
    latest: dict[Hashable, int] = {}
    for place, step in enumerate(stream.steps):
        if random.random() < share:
            pattern = random.choice(patterns)
            time = _punctuation_time(random, stream.steps[place:], pattern)
            if time > latest.get(pattern, EARLIEST):
                latest[pattern] = time
                steps.append(KeyPunctuation(pattern, time))
        steps.append(step)
    return replace(stream, steps=tuple(steps))


def _punctuation_time(random: Random, next_steps: Sequence[Step], pattern: Hashable) -> int:
    """Draw a time that no next change of some keys is before; where none comes, the keys may end."""
    sync_times: list[int] = []
    for step in next_steps:
        if isinstance(step, KeyedChange) and matches(pattern, step.key):
            sync_times.append(step.change.sync_time)
    time_without_changes = random.choice((INFINITY, 45))
    least = min(sync_times, default=time_without_changes)
    if least == INFINITY:
        return 45 if sync_times else INFINITY
    return least - random.choice((0, 1, 4))


def longest_delay(stream: Script) -> int:
    """Return by how many ticks a change is at most behind the newest start that came before it."""
    longest = 0
    for earlier_starts, sync_time in _arrivals(stream):
        newest = max(earlier_starts, default=sync_time)
        longest = max(longest, newest - sync_time)
    return longest


def greatest_disorder(stream: Script) -> int:
    """Return how many rows at most come before a change and start after it."""
    greatest = 0
    for earlier_starts, sync_time in _arrivals(stream):
        overtaking = [start for start in earlier_starts if start > sync_time]
        greatest = max(greatest, len(overtaking))
    return greatest


def _arrivals(stream: Script) -> Iterator[tuple[list[int], int]]:
    """Yield for each change the starts that came before it, and its own sync time."""
    earlier_starts: list[int] = []
    for step in stream.changes():
        yield earlier_starts, step.change.sync_time
        if isinstance(step.change, Insertion):
            earlier_starts.append(step.change.event.start)
