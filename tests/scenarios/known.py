"""What is known of a query's input after some micro-batches, by definition: its events, and how far each key is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin import EARLIEST, INFINITY, EarlyEmission, EmitPolicy, Event, LatePolicy
from muntin.changes import Insertion, Punctuation, Revision, fold
from muntin.progress import Punctuated
from muntin.testing import Batch, KeyedChange, KeyPunctuation, reference
from muntin.testing.batches import matches
from muntin.testing.stream_history import StreamHistory
from muntin.windows import CalendarWindows, CumulateWindows, HoppingWindows, LandmarkWindows, WindowSpecification
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.testing.reference_output import progress_of
from muntin_engine.time.changes import Progress
from muntin_engine.time.lifetimes import LifetimeChange
from tests.engine.time.histories import Row, implied
from tests.scenarios.columns import columns_of
from tests.scenarios.lifetimes import Life, changed, watermark
from tests.scenarios.query import Query

Histories = Mapping[Hashable, Sequence[Event[Any]]]


@dataclass(frozen=True)
class Arrival:
    """What arrives in a micro-batch.

    Attributes:
        batches: The steps of each stream.
        clock: The reading of a clock.
        signals: The signals that are given.
    """

    batches: tuple[Batch, ...]
    clock: int = EARLIEST
    signals: frozenset[str] = frozenset()


class Known:
    """The input of a query as far as it came.

    Attributes:
        history: The changes so far.
        now: How far the input is.
        late: How many changes came too late, and were not adjusted.
        shed: How many insertions found no room.
    """

    def __init__(self, query: Query) -> None:
        self.history = StreamHistory(is_strict=False)
        self.now = Progress()
        self.late = self.shed = 0
        self._query = query
        self._rows: list[list[list[Row]]] = [[] for _ in range(max(1, len(query.sources)))]
        self._reached = [EARLIEST] * len(self._rows)
        self._of_keys: dict[Hashable, Progress] = {}
        self._told_of: dict[Hashable, int] = {}
        self._closed: dict[Hashable, Progress] = {}
        self._held: dict[Hashable, list[Event[Any]]] = {}

    def take(self, arrival: Arrival) -> None:
        """Take a micro-batch."""
        query = self._query
        before = self.now
        batches = [self._taken(batch) for batch in arrival.batches]
        moved = [
            step
            for batch, own in zip(arrival.batches, query.sources or ((),), strict=True)
            for change in batch.changes
            for step in _under((*own, *query.changes), change)
        ]
        for batch in batches:
            for step in batch.changes:
                self.history.add(step)
        for place, batch in enumerate(batches):
            own = query.sources[place] if query.sources else ()
            told = watermark(own, self._told(place, batch), event_ends_move=query.has_ids)
            self._reached[place] = max(self._reached[place], told)
        reached = [watermark(query.changes, told, event_ends_move=query.has_ids) for told in self._reached]
        least = watermark(query.changes, min(self._reached), event_ends_move=query.has_ids)
        said = progress_of(query.first, Batch(tuple(moved), None if least == EARLIEST else least))
        marks = [mark for batch in batches for mark in batch.of_keys]
        for mark in marks:
            if mark.time != INFINITY:
                self._told_of[mark.key] = max(mark.time, self._told_of.get(mark.key, EARLIEST))
            own_progress = Progress(self._counted(mark.time), newest=query.hasty(mark.time))
            self._of_keys[mark.key] = self._of_keys.get(mark.key, Progress()).advance(own_progress)
        seen = [query.hasty(time) for time in (least, *reached, *(mark.time for mark in marks))]
        horizon = max([said.horizon, *(time for time in seen if time != INFINITY)])
        newest = max(said.newest, query.hasty(least)) if query.late.corrects else said.newest
        newest = query.hasty(least) if query.late.corrects and query.emit is EmitPolicy.FINAL else newest
        newest = newest if least == INFINITY else max(newest, query.hasty(least))
        self.now = before.advance(Progress(self._counted(least), horizon, newest, arrival.clock))
        if not query.changes and not any(query.sources):  # else events come under other times
            self.history.add(Punctuation(self.now.watermark))
            for mark in marks:
                self.history.add(KeyPunctuation(mark.key, self._of_keys[mark.key].watermark))
        if query.most_held is not None:
            self._held = {key: [e for e in events if self._is_held(e, events)] for key, events in self._held.items()}

    def of(self, key: Hashable) -> Progress:
        """Return how far a key is: one that has closed itself hears nothing of times that are seen later."""
        now = self.now
        for pattern, progress in self._of_keys.items():
            now = now.advance(progress) if matches(pattern, key) else now
        if self._query.rows and now.watermark == INFINITY > self.now.watermark:  # it ends with its own rows
            own = (change.event.end for change in self.history.accepted.get(key, ()))
            told = (time for pattern, time in self._told_of.items() if matches(pattern, key))
            now = now._replace(horizon=max([self.now.watermark, *own, *told], default=EARLIEST))
        return self._closed.setdefault(key, now) if now.watermark == INFINITY and self._of_keys else now

    def over(self) -> Iterator[tuple[Hashable, Hashable, int]]:
        """Yield the key, id and start of each event that ended before its key is, or was retracted and started before.

        No legal change can reach them any more, so a revision of one is of an event that is unknown.
        """
        for key, changes in self.history.accepted.items():
            live = fold(changes)
            reached = self.of(key).watermark
            for id, start in dict.fromkeys((change.id, change.event.start) for change in changes):
                end = live[id, start].end if (id, start) in live else start
                if end < reached < INFINITY:
                    yield key, id, start

    @property
    def unknown(self) -> int:
        """The number of revisions of events that no legal change can bring back."""
        return len(self.history.illegal)

    @property
    def replaced(self) -> int:
        """The number of samples that gave way to another one of their time."""
        if self._query.lifetimes != "samples":
            return 0
        return replaced([list(fold(changes).items()) for changes in self.history.accepted.values()], self._query)

    @property
    def is_determined(self) -> bool:
        """True if what must be live follows from what came: of what is final, it does while a row of an event lacks."""
        return not self.history.waiting or self._query.emit is EmitPolicy.FINAL

    @property
    def is_waiting(self) -> bool:
        """True if changes wait for others of their event."""
        return self.history.waiting > 0

    @property
    def events(self) -> Histories:
        """The events of each key that the filter lets in, with the lifetimes that the query sees."""
        return {key: [event for _, event in named] for key, named in self.named.items()}

    @property
    def named(self) -> Mapping[Hashable, Sequence[tuple[Hashable, Event[Any]]]]:
        """The same, each event with what names it."""
        query = self._query
        found = {}
        names = ("x", "order", *query.rows.reads) if query.rows else ()
        for key, changes in self.history.accepted.items():
            named: list[tuple[Hashable, Event[Any]]] = list(fold(changes).items())
            if query.lifetimes == "samples":
                named = list(joined(named, query))
            named = [(id, other) for id, event in named for other in self._seen(id, event)]
            found[key] = [
                (id, replace(event, payload=columns_of(event.payload, names)) if names else event)
                for id, event in named
                if query.keeps(event.payload)
            ]
        return found

    def _seen(self, id: Any, event: Event[Any]) -> Iterator[Event[Any]]:
        own = self._query.sources[query_place(id, len(self._rows))] if self._query.sources else ()
        yield from under((*own, *self._query.changes), event)

    def _taken(self, batch: Batch) -> Batch:
        """Return a batch without what is refused; late insertions start where their key is, if they are adjusted."""
        changes = list(batch.changes)
        if self._query.late.policy is LatePolicy.ADJUST:
            moved = [_adjusted(step, self.of(step.key).watermark) for step in changes]
            changes = [step for step in moved if step is not None]
            self.late += len(moved) - len(changes)
        if self._query.most_held is not None:
            kept = [step for key in {step.key for step in changes} for step in self._kept(key, changes)]
            changes = [step for step in changes if step in kept]
            self.shed += len(batch.changes) - len(changes)
        return replace(batch, changes=tuple(changes))

    def _kept(self, key: Hashable, changes: Sequence[KeyedChange]) -> list[KeyedChange]:
        """Return the insertions of a key for which it has room: of those that come together the earliest."""
        held = self._held.setdefault(key, [])
        own = [step for step in changes if step.key == key]
        own.sort(key=lambda step: (step.change.event.start, step.change.event.end, _rank(step.change.event.payload)))
        kept = own[: max(0, (self._query.most_held or 0) - len(held))]
        held += [step.change.event for step in kept]
        return kept

    def _is_held(self, event: Event[Any], events: Sequence[Event[Any]]) -> bool:
        """Return True if a window that is open has an event: of a grid, or the last rows of a window of so many."""
        window = self._query.first
        reached = self.now.watermark
        if isinstance(window, HoppingWindows):
            first = (event.end - 1 - window.offset) // window.hop * window.hop + window.offset
            return first + window.size > reached
        passed = sorted((other for other in events if other.start < reached), key=lambda other: other.start)
        return reached < INFINITY and (event.start >= reached or event in passed[-window.evicts.size :])  # type: ignore[attr-defined]

    def _told(self, place: int, batch: Batch) -> int:
        """Return up to where the rows of a stream are complete: as they say, or as a policy derives from them."""
        policy = self._query.progress
        rows = self._rows[place]
        inserted = [step.change.event.start for step in batch.changes if isinstance(step.change, Insertion)]
        rows.append([Row("insert", start) for start in inserted])
        if isinstance(policy, Punctuated) or batch.punctuation == INFINITY:
            return EARLIEST if batch.punctuation is None else batch.punctuation
        return implied(policy, None, rows)

    def _counted(self, tick: int) -> int:
        """Return where windows have closed: the last end of one, where output changes there alone."""
        query = self._query
        may_step = isinstance(query.emit, EarlyEmission) and not query.ends_move
        is_step = may_step and (query.late.corrects or bool(steps_of(query.plan())))
        return last_end(query.first, tick) if is_step else tick


def query_place(id: Any, count: int) -> int:
    """Return the stream of which an event is, by its name among the events of its key."""
    number = id[0] if isinstance(id, tuple) else id
    return int(number) % count


Named = Sequence[tuple[Hashable, Event[Any]]]
"""Events, each with what names it."""


def joined(named: Named, query: Query) -> Named:
    """Let each sample last until the next; of several at one time, the last by order, and then by its value, holds.

    Null comes first. The value of a sample that the filter leaves out is not known, its order is.
    """

    def rank(event: Event[Any]) -> tuple[Any, ...]:
        order = event.payload if query.has_order else None
        value = event.payload if query.keeps(event.payload) else None
        return _rank(order), _rank(value)

    holding: dict[int, tuple[Hashable, Event[Any]]] = {}
    for id, event in named:
        known = holding.get(event.start)
        if known is None or rank(event) > rank(known[1]):
            holding[event.start] = (id, event)
    ordered = [holding[start] for start in sorted(holding)]
    ends = [*sorted(holding)[1:], INFINITY]
    return [(id, replace(event, end=end)) for (id, event), end in zip(ordered, ends, strict=True)]


def _rank(number: int | None) -> tuple[bool, int]:
    """Return the sort key of a number that may be null, which then comes first."""
    return number is not None, number or 0


def replaced(histories: Iterable[Named], query: Query) -> int:
    """Return how many samples that the filter lets in another one of their time replaces."""
    count = 0
    for named in histories:
        holding = {id for id, _ in joined(named, query)}
        count += len([id for id, event in named if id not in holding and query.keeps(event.payload)])
    return count


def last_end(window: WindowSpecification, tick: int) -> int:
    """Return the last end of a window that a watermark has reached, if events are members of what they overlap."""
    if isinstance(window, CumulateWindows | LandmarkWindows):
        start = window.offset if isinstance(window, CumulateWindows) else window.since
        return tick if tick in (EARLIEST, INFINITY) else tick - (tick - start) % window.step
    if tick in (EARLIEST, INFINITY) or window.reach:
        return tick
    if isinstance(window, CalendarWindows):
        longest = (window.size + window.hop) * (1 if window.unit == "day" else 31) * 86_400
        cuts = reference.windows(window, [Event(tick - 2 * longest, tick + 1, None)], tick + 1)
        return max(cut.end for cut in cuts if cut.end <= tick)
    if not isinstance(window, HoppingWindows):
        return tick
    first = window.offset + window.size
    return next(at for at in range(tick, tick - window.hop, -1) if (at - first) % window.hop == 0)


def under(changes: Sequence[LifetimeChange], event: Event[Any]) -> Iterator[Event[Any]]:
    """Yield an event as it is under changes of lifetimes, if it has one then."""
    life: Life | None = Life(event.start, event.end, event.payload)
    for change in changes:
        life = None if life is None else changed(change, life)
    if life is not None:
        yield Event(*life)


def _under(changes: Sequence[LifetimeChange], step: KeyedChange) -> Iterator[KeyedChange]:
    """Yield insertions of all lifetimes that a change tells of, as they are under changes of lifetimes."""
    if not changes:
        yield step
        return
    change = step.change
    ends = (change.event.end, *((change.new_end,) if isinstance(change, Revision) and not change.is_retraction else ()))
    for end in ends:
        for event in under(changes, replace(change.event, end=end)):
            yield replace(step, change=Insertion(change.id, event))


def _adjusted(step: KeyedChange, reached: int) -> KeyedChange | None:
    """Return an insertion that starts where its key is, if it started before; None if it ends there or before."""
    event = step.change.event
    if event.start >= reached:
        return step
    return (
        None if event.end <= reached else replace(step, change=Insertion(step.change.id, replace(event, start=reached)))
    )
