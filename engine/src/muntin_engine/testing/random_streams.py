"""Random legal streams, changes of a stream that keep its meaning, and the smallest stream that still fails."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from muntin.axis import INFINITY
from muntin.changes import Insertion, Punctuation, Revision
from muntin.errors import StreamError
from muntin.events import Event
from muntin.testing.batches import Boundary, KeyedChange, KeyPunctuation, Step, matches
from muntin.testing.scripts import Script

_MOST_REVISIONS: Final = 4


def random_stream(  # noqa: PLR0913  # all but the first may be left out
    seed: int,
    *,
    keys: Sequence[Hashable] = ("a", "b"),
    events: int = 12,
    starts: range = range(-20, 40),
    payload: Callable[[Random], object] = lambda random: random.randint(-9, 9),
    disorder: int = 15,
    punctuation: float = 0.25,
    closed: bool | None = None,
    repeats: float = 0.0,
) -> Script:
    """Return a legal stream of one batch, the same for the same arguments.

    It mixes point, interval and open events, revisions that shorten, prolong, reopen, delete or change nothing,
    times shared by several events, negative times and punctuation as high as the rest of the stream allows.

    Args:
        seed: The seed of all random choices.
        keys: The keys of events. The id of an event is a number, which no other event has unless there are `repeats`.
        events: The number of insertions.
        starts: The range of the starts of events; they last up to a third of it, and longer after revisions.
        payload: A function that draws a payload.
        disorder: The largest delay, in ticks: changes arrive in the order of their sync times, each moved back by a
            random number of ticks up to this one.
        punctuation: The probability of punctuation after each change.
        closed: True if punctuation at `INFINITY` ends the stream; None leaves it to the seed.
        repeats: The probability that an event has the id of another one, which starts at another tick; and that an
            event is inserted again after it was retracted, with another payload.

    Example:
        >>> stream = random_stream(7, events=50)
        >>> len(stream.history()), stream.history() == shuffle(stream, seed=1).history()
        (2, True)
    """
    random = Random(seed)
    pool = [random.choice(starts) for _ in range(max(2, events))]  # few distinct times, so that ties are common
    times = _Times(random, pool, span=len(starts))
    changes_of_events: list[list[KeyedChange]] = []
    used_names: set[tuple[Hashable, Hashable, int]] = set()  # an event is named by its key, its id and its start
    for number in range(events):
        key = random.choice(keys)
        content = payload(random)
        start = times.start()
        # Now and then the event has the id of an earlier one, unless that would give two events one name.
        id = random.randrange(number + 1) if repeats and random.random() < repeats else number
        if (key, id, start) in used_names:
            id = number
        used_names.add((key, id, start))
        changes = _life(times, key, id, Event(start, INFINITY, content))
        # Now and then an event that was retracted is inserted again.
        while repeats and random.random() < repeats and _is_retraction(changes[-1]):
            changes += _life(times, key, id, Event(start, INFINITY, payload(random)))
        changes_of_events.append(changes)

    arrived = arriving(random, changes_of_events, lambda _: random.randint(0, disorder))
    steps = _punctuated(random, [step for _, step in arrived], punctuation)
    is_closed = random.random() < 0.7 if closed is None else closed
    if is_closed:
        steps.append(Punctuation(INFINITY))
    return Script(tuple(steps))


def shuffle(script: Script, seed: int, *, early_revisions: bool = False) -> Script:
    """Return a stream of the same meaning whose changes arrive in another order.

    A change may move anywhere before its deadline: the first punctuation that would make it late, or that would make a
    later change of its event late. Punctuation and the boundaries of micro-batches stay.

    Args:
        script: A legal stream.
        seed: The seed of all random choices.
        early_revisions: True to let the changes of one event arrive in any order, so that a revision may come before
            the insertion, and before the revisions that it continues. Otherwise they keep their order.

    Raises:
        StreamError: The script has illegal steps. In another order, other steps would be illegal, and the stream would
            have another meaning.
    """
    if script.illegal():
        raise StreamError("a script with illegal steps has no legal permutation", illegal=script.illegal())
    random = Random(seed)
    # Steps that stay are at 1, 2, 3, ...; changes are drawn to places anywhere up to their deadline, which is one of
    # these. A change that is drawn to the very place of its deadline is sorted before it, and so is in time.
    fixed_steps = [step for step in script.steps if not isinstance(step, KeyedChange)]
    placed_steps = [_PlacedStep(place, is_fixed=True, step=step) for place, step in enumerate(fixed_steps, 1)]
    for changes in changes_by_event(script.changes()):
        places = _random_places(random, changes, fixed_steps, early_revisions=early_revisions)
        for place, step in zip(places, changes, strict=True):
            placed_steps.append(_PlacedStep(place, is_fixed=False, step=step))
    placed_steps.sort(key=lambda placed: (placed.place, placed.is_fixed))
    return replace(script, steps=tuple(placed.step for placed in placed_steps))


class _PlacedStep(NamedTuple):
    """A step of a stream that is shuffled.

    Attributes:
        place: The place of the step among those that stay.
        is_fixed: True if it stays.
        step: The step.
    """

    place: float
    is_fixed: bool
    step: Step


def split(script: Script, seed: int, *, cuts: float = 0.3, restarts: float = 0.3) -> Script:
    """Cut a stream into other micro-batches.

    Args:
        script: A stream; its own boundaries of micro-batches are dropped.
        seed: The seed of all random choices.
        cuts: The probability that a batch ends after a step; 0 leaves one batch, 1 makes one per step.
        restarts: The probability that the engine restarts there.
    """
    random = Random(seed)
    steps: list[Step] = []
    for step in script.steps:
        if not isinstance(step, Boundary):
            steps.append(step)
            if random.random() < cuts:
                steps.append(Boundary.RESTART if random.random() < restarts else Boundary.BATCH)
    return replace(script, steps=tuple(steps))


@dataclass(frozen=True, slots=True)
class _Times:
    """Draws times; a small pool of them makes ties common.

    Attributes:
        random: The source of all random choices.
        pool: The times of the starts, and of some of the ends.
        span: The number of ticks in which events start; an event lasts up to a third of it.
    """

    random: Random
    pool: Sequence[int]
    span: int

    def start(self) -> int:
        """Draw the start of an event."""
        return self.random.choice(self.pool)

    def end(self, start: int) -> int:
        """Draw the end of an event: that of a point, that of an interval, or a time at which others start."""
        end_of_interval = start + self.random.randint(1, 1 + self.span // 3)
        later_starts = [time for time in self.pool if time > start]
        return self.random.choice([start + 1, end_of_interval, *later_starts[:2]])

    def new_end(self, event: Event[object]) -> int:
        """Draw the end to which an event is revised: it may be retracted, reopened, left as it is, or end elsewhere."""
        kind = self.random.random()
        if kind < 0.25:
            return event.start  # a retraction
        if kind < 0.3:
            return INFINITY
        if kind < 0.35:
            return event.end
        return self.end(event.start)


def _is_retraction(step: KeyedChange) -> bool:
    """Return True if a step retracts an event."""
    return isinstance(step.change, Revision) and step.change.is_retraction


def _life(times: _Times, key: Hashable, id: Hashable, event: Event[object]) -> list[KeyedChange]:
    """Draw the changes of an event: its insertion with an end, and revisions, of which a retraction is the last."""
    start = event.start
    payload = event.payload
    # A quarter of the events come without an end.
    first_end = INFINITY if times.random.random() < 0.25 else times.end(start)
    event = Event(start, first_end, payload)
    life = [KeyedChange(key, Insertion(id, event))]
    while times.random.random() < 0.45 and len(life) <= _MOST_REVISIONS:
        revision = Revision(id, event, times.new_end(event))
        life.append(KeyedChange(key, revision))
        if revision.is_retraction:
            break
        event = Event(start, revision.new_end, payload)
    return life


def arriving(
    random: Random, changes_of_events: Iterable[Sequence[KeyedChange]], delay: Callable[[KeyedChange], int]
) -> list[tuple[int, KeyedChange]]:
    """Return changes in the order of their arrival, each with the time at which it arrives.

    The changes of one event keep their order.

    Args:
        random: The source of the order of changes that arrive at one time.
        changes_of_events: The changes of each event.
        delay: A function that returns the delay of a change behind its sync time.
    """
    arrivals: list[_ArrivingChange] = []
    for changes in changes_of_events:
        # Changes of an event stay in their order: none arrives before an earlier one, and the random ranks, by which
        # changes of one time are ordered, go up.
        times = accumulate((keyed.change.sync_time + delay(keyed) for keyed in changes), max)
        ranks = sorted(random.random() for _ in changes)
        arrivals += map(_ArrivingChange, times, ranks, changes)
    arrivals.sort(key=lambda arrival: (arrival.time, arrival.rank))
    return [(arrival.time, arrival.change) for arrival in arrivals]


class _ArrivingChange(NamedTuple):
    """A change and its arrival.

    Attributes:
        time: The time at which it arrives.
        rank: The number by which changes of one time are ordered.
        change: The change.
    """

    time: int
    rank: float
    change: KeyedChange


def _punctuated(random: Random, changes: Sequence[KeyedChange], share: float) -> list[Step]:
    """Put punctuation behind a share of the changes, never above the sync time of a change that still comes.

    Args:
        random: The source of all random choices.
        changes: The changes in order of arrival.
        share: The probability of punctuation after each change.
    """
    if not changes:
        return []
    sync_times = [step.change.sync_time for step in changes]
    finite = [time for time in sync_times if time != INFINITY]
    # The limit at each change is the least sync time of all that come after it: a running minimum, from the end on.
    # Behind the last change, it is a time past all of them, by some ticks.
    later_times = [*sync_times[1:], max(finite, default=0) + 9]
    limits = list(accumulate(reversed(later_times), min))[::-1]
    steps: list[Step] = []
    latest: int | None = None
    for step, limit in zip(changes, limits, strict=True):
        steps.append(step)
        time = limit - random.choice((0, 0, 0, 1, 5))  # mostly as high as it may be
        if random.random() < share and (latest is None or time > latest):
            steps.append(Punctuation(time))
            latest = time
    return steps


def changes_by_event(changes: Sequence[KeyedChange]) -> Iterable[list[KeyedChange]]:
    """Return the changes of each event, in order; an event is named by its key, its id and its start."""
    events: dict[tuple[Hashable, Hashable, int], list[KeyedChange]] = {}
    for step in changes:
        events.setdefault((step.key, step.change.id, step.change.event.start), []).append(step)
    return events.values()


def _random_places(
    random: Random, life: Sequence[KeyedChange], fixed_steps: Sequence[Step], *, early_revisions: bool
) -> list[float]:
    """Draw the places of an event's changes among the fixed steps, which are at 1, 2, 3, ...

    Args:
        random: The source of all random choices.
        life: The changes of the event.
        fixed_steps: The steps that stay where they are.
        early_revisions: True to let the changes come in any order; otherwise each comes behind the one before it.
    """
    # A change may not come behind the deadline of a later change of its event: a running minimum, from the end on.
    deadlines_from_end = [_deadline(step, fixed_steps) for step in reversed(life)]
    deadlines = list(accumulate(deadlines_from_end, min))[::-1]
    places: list[float] = []
    for deadline in deadlines:
        earliest = places[-1] if places and not early_revisions else 0
        places.append(random.uniform(earliest, deadline))
    return places


def _deadline(step: KeyedChange, fixed_steps: Sequence[Step]) -> float:
    """Return the place of the first punctuation for which a change would be late; the end if there is none."""
    for place, fixed_step in enumerate(fixed_steps, 1):
        if isinstance(fixed_step, KeyPunctuation) and not matches(fixed_step.key, step.key):
            continue
        if isinstance(fixed_step, Punctuation | KeyPunctuation) and fixed_step.time > step.change.sync_time:
            return place
    return len(fixed_steps) + 1


def smallest_failing(stream: Script, fails: Callable[[Script], bool]) -> Script:
    """Return a stream that still fails, with no event, revision or other step that it could do without.

    Args:
        stream: A stream that fails.
        fails: A function that returns True for a stream that fails; it is called many times.

    Example:
        >>> stream = Script().point("a", 1, 5).point("b", 2, 50).batch().point("c", 3, 7).close()
        >>> def fails(script):
        ...     return any(step.change.event.payload > 9 for step in script.changes())
        >>> print(smallest_failing(stream, fails))
               2
        + 'b'  [)   50
    """
    current = stream
    while True:
        smaller = next((candidate for candidate in _smaller(current) if fails(candidate)), None)
        if smaller is None:
            return current
        current = smaller


def _smaller(stream: Script) -> Iterator[Script]:
    """Yield the legal streams that lack one thing: an event, a revision, a punctuation or a boundary."""
    # Without all steps of an event, or without a step that is of no event.
    names = [_step_name(place, step) for place, step in enumerate(stream.steps)]
    for name in dict.fromkeys(names):
        remaining = [step for step_name, step in zip(names, stream.steps, strict=True) if step_name != name]
        yield from _legal(stream, remaining)

    # Without a revision. The revision after it, which now expects too much, is mended in a second attempt.
    for place, step in enumerate(stream.steps):
        if isinstance(step, KeyedChange) and isinstance(step.change, Revision):
            remaining = [*stream.steps[:place], *stream.steps[place + 1 :]]
            yield from _legal(stream, remaining)
            yield from _legal(stream, _bridged(remaining, step.key, step.change))


def _step_name(place: int, step: Step) -> Hashable:
    """Return the name that the steps of one event share; other steps have names of their own."""
    if isinstance(step, KeyedChange):
        return step.key, step.change.id, step.change.event.start
    return place


def _bridged(steps: list[Step], key: Hashable, removed: Revision[object]) -> list[Step]:
    """Mend the chain of an event from which a revision was removed.

    The revision that expects the event as the removed one left it now expects the event as the removed one found it.
    """
    # The event as the removed revision left it; None if it was retracted, which no revision continues.
    revised_event = None if removed.is_retraction else replace(removed.event, end=removed.new_end)
    for place, step in enumerate(steps):
        if isinstance(step, KeyedChange) and (step.key, step.change.id) == (key, removed.id):
            change = step.change
            if isinstance(change, Revision) and change.event == revised_event:
                bridged = replace(step, change=replace(change, event=removed.event))
                return [*steps[:place], bridged, *steps[place + 1 :]]
    return steps


def _legal(stream: Script, steps: list[Step]) -> Iterator[Script]:
    """Yield the stream with other steps; nothing if these are illegal."""
    try:
        yield replace(stream, steps=tuple(steps))
    except StreamError:  # a revision without its event, say
        return
