"""The input of a query after some micro-batches, by definition: its events, and how complete it is for each key."""

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
from tests.engine.time.histories import Row, watermark_of_rows
from tests.scenarios.columns import columns_of
from tests.scenarios.lifetimes import Life, changed, watermark
from tests.scenarios.query import Query

Histories = Mapping[Hashable, Sequence[Event[Any]]]
"""The events of each key."""

NamedEvents = Sequence[tuple[Hashable, Event[Any]]]
"""Events, each with what names it."""


@dataclass(frozen=True)
class Arrival:
    """The input of a micro-batch.

    Attributes:
        batches: The steps of each stream.
        clock: The reading of a clock.
        signals: The signals that are given.
    """

    batches: tuple[Batch, ...]
    clock: int = EARLIEST
    signals: frozenset[str] = frozenset()


class ReferenceProgress:
    """How complete the input of a query is: the whole of it, and single keys that are ahead.

    There are four kinds of watermark. A stream *reports* up to where its rows are complete, by punctuation or by the
    policy of the query. The *stream watermark* is that of its events, after the changes of lifetimes of this stream.
    The *input watermark* is the least of these, after the changes of lifetimes of the whole query. *Key watermarks* are
    ahead of it.

    Attributes:
        input: The progress of the whole input.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self.input = Progress()
        stream_count = max(1, len(query.sources))
        self._inserted_rows: list[list[list[Row]]] = [[] for _ in range(stream_count)]  # by stream and micro-batch
        self._stream_watermarks = [EARLIEST] * stream_count
        self._of_patterns: dict[Hashable, Progress] = {}
        self._key_punctuation: dict[Hashable, int] = {}  # the latest of each pattern that has not ended
        self._of_ended_keys: dict[Hashable, Progress] = {}

    def add(self, arrival: Arrival, accepted: Sequence[Batch]) -> None:
        """Add a micro-batch.

        Args:
            arrival: The micro-batch as it came: rows that are rejected advance the progress too.
            accepted: Its batches without the rejected rows, which no progress policy sees.
        """
        query = self._query
        for stream, batch in enumerate(accepted):
            self._advance_stream(stream, batch)
        input_watermark = self._after_changes(min(self._stream_watermarks))

        punctuation_times = [input_watermark, *map(self._after_changes, self._stream_watermarks)]
        for batch in accepted:
            for punctuation in batch.of_keys:
                self._advance_keys(punctuation)
                punctuation_times.append(punctuation.time)

        reported = None if input_watermark == EARLIEST else input_watermark
        of_rows = progress_of(query.first, Batch(tuple(self._changes_of(arrival)), reported))
        horizon = of_rows.horizon
        for time in map(query.punctuation_time, punctuation_times):
            if time != INFINITY:
                horizon = max(horizon, time)
        newest = self._newest(of_rows.newest, input_watermark)
        self.input = self.input.advance(Progress(self._closing_time(input_watermark), horizon, newest, arrival.clock))

    def of_pattern(self, pattern: Hashable) -> Progress:
        """Return the progress that the punctuation of a key, or of a pattern of keys, implies."""
        return self._of_patterns[pattern]

    def of_key(self, key: Hashable, changes: Sequence[Insertion[Any] | Revision[Any]]) -> Progress:
        """Return the progress of a key.

        Args:
            key: The key.
            changes: The changes of the key so far.
        """
        progress = self.input
        for pattern, pattern_progress in self._of_patterns.items():
            if matches(pattern, key):
                progress = progress.advance(pattern_progress)
        if progress.watermark < INFINITY:
            return progress
        if self._query.rows and self.input.watermark < INFINITY:
            progress = progress._replace(horizon=self._end_of_rows(key, changes))
        if not self._of_patterns:
            return progress
        # A key that has ended does not see times that come later.
        return self._of_ended_keys.setdefault(key, progress)

    def _end_of_rows(self, key: Hashable, changes: Sequence[Insertion[Any] | Revision[Any]]) -> int:
        """Return the horizon of a key that ends before the input does, where windows follow its own rows alone."""
        horizon = self.input.watermark
        for change in changes:
            horizon = max(horizon, change.event.end)
        for pattern, time in self._key_punctuation.items():
            if matches(pattern, key):
                horizon = max(horizon, time)
        return horizon

    def _advance_stream(self, stream: int, batch: Batch) -> None:
        query = self._query
        source_changes = query.sources[stream] if query.sources else ()
        stream_watermark = watermark(source_changes, self._reported(stream, batch), event_ends_move=query.has_ids)
        self._stream_watermarks[stream] = max(self._stream_watermarks[stream], stream_watermark)

    def _reported(self, stream: int, batch: Batch) -> int:
        """Return up to where the rows of a stream are complete: by its punctuation, or by a progress policy."""
        policy = self._query.progress
        rows: list[Row] = []
        for step in batch.changes:
            if isinstance(step.change, Insertion):
                rows.append(Row("insert", step.change.event.start))
        self._inserted_rows[stream].append(rows)
        if isinstance(policy, Punctuated) or batch.punctuation == INFINITY:
            return EARLIEST if batch.punctuation is None else batch.punctuation
        return watermark_of_rows(policy, None, self._inserted_rows[stream])

    def _advance_keys(self, punctuation: KeyPunctuation) -> None:
        pattern = punctuation.key
        time = punctuation.time
        if time != INFINITY:
            self._key_punctuation[pattern] = max(time, self._key_punctuation.get(pattern, EARLIEST))
        progress = Progress(self._closing_time(time), newest=self._query.punctuation_time(time))
        self._of_patterns[pattern] = self._of_patterns.get(pattern, Progress()).advance(progress)

    def _after_changes(self, tick: int) -> int:
        """Return the watermark after the changes of lifetimes of the whole query."""
        return watermark(self._query.changes, tick, event_ends_move=self._query.has_ids)

    def _changes_of(self, arrival: Arrival) -> Iterator[KeyedChange]:
        """Yield all changes of a micro-batch under the lifetimes that the query sees."""
        query = self._query
        for batch, source_changes in zip(arrival.batches, query.sources or ((),), strict=True):
            lifetime_changes = (*source_changes, *query.changes)
            for step in batch.changes:
                if lifetime_changes:
                    yield from _insertions_under(lifetime_changes, step)
                else:
                    yield step

    def _newest(self, newest_start: int, input_watermark: int) -> int:
        """Return the newest time, which the max event time reaches: of a row, or of punctuation.

        Args:
            newest_start: The newest start of a row.
            input_watermark: The watermark of the whole input.
        """
        query = self._query
        punctuation_time = query.punctuation_time(input_watermark)
        if query.late.corrects and query.emit is EmitPolicy.FINAL:
            # What punctuation completes is emitted, and corrected until the watermark has passed it too.
            return punctuation_time
        if query.late.corrects or input_watermark != INFINITY:
            return max(newest_start, punctuation_time)
        return newest_start

    def _closing_time(self, tick: int) -> int:
        """Return up to where windows have closed: the last end of one, where output changes there alone."""
        query = self._query
        may_change_in_steps = isinstance(query.emit, EarlyEmission) and not query.ends_move
        if may_change_in_steps and (query.late.corrects or steps_of(query.plan())):
            return last_end(query.first, tick)
        return tick


class ReferenceInput:
    """The input of a query so far.

    Attributes:
        history: The changes so far.
        late: The number of changes that came too late, and were not adjusted.
        shed: The number of insertions that found no room.
    """

    def __init__(self, query: Query) -> None:
        self.history = StreamHistory(is_strict=False)
        self.late = 0
        self.shed = 0
        self._query = query
        self._progress = ReferenceProgress(query)
        self._held: dict[Hashable, list[Event[Any]]] = {}

    def add(self, arrival: Arrival) -> None:
        """Add a micro-batch."""
        accepted = [self._accepted(batch) for batch in arrival.batches]
        for batch in accepted:
            for step in batch.changes:
                self.history.add(step)
        self._progress.add(arrival, accepted)

        changes_lifetimes = bool(self._query.changes) or any(self._query.sources)
        if not changes_lifetimes:  # otherwise the history has other times than the progress
            self.history.add(Punctuation(self.progress.watermark))
            for batch in accepted:
                for punctuation in batch.of_keys:
                    key_watermark = self._progress.of_pattern(punctuation.key).watermark
                    self.history.add(KeyPunctuation(punctuation.key, key_watermark))
        if self._query.most_held is not None:
            for key, events in self._held.items():
                self._held[key] = [event for event in events if self._is_held(event, events)]

    @property
    def progress(self) -> Progress:
        """The progress of the whole input."""
        return self._progress.input

    def progress_of(self, key: Hashable) -> Progress:
        """Return the progress of a key."""
        return self._progress.of_key(key, self.history.accepted.get(key, ()))

    def settled_events(self) -> Iterator[tuple[Hashable, Hashable, int]]:
        """Yield the key, id and start of each event that no legal change reaches any more.

        It ended before the watermark of its key, or was retracted and started before. A revision of it is one of an
        event that is unknown.
        """
        for key, changes in self.history.accepted.items():
            live = fold(changes)
            key_watermark = self.progress_of(key).watermark
            for id, start in dict.fromkeys((change.id, change.event.start) for change in changes):
                end = live[id, start].end if (id, start) in live else start
                if end < key_watermark < INFINITY:
                    yield key, id, start

    @property
    def unknown(self) -> int:
        """The number of revisions of events that no legal change can bring back."""
        return len(self.history.illegal)

    @property
    def replaced(self) -> int:
        """The number of samples that were replaced by another one of their time."""
        if self._query.lifetimes != "samples":
            return 0
        histories = [list(fold(changes).items()) for changes in self.history.accepted.values()]
        return replaced_samples(histories, self._query)

    @property
    def is_determined(self) -> bool:
        """True if what must be live follows from what came: final output does while a row of an event is missing."""
        return not self.history.waiting or self._query.emit is EmitPolicy.FINAL

    @property
    def is_waiting(self) -> bool:
        """True if changes wait for others of their event."""
        return self.history.waiting > 0

    @property
    def events(self) -> Histories:
        """The events of each key that the filter lets in, with the lifetimes that the query sees."""
        events_by_key: dict[Hashable, list[Event[Any]]] = {}
        for key, named_events in self.named_events.items():
            events_by_key[key] = [event for _, event in named_events]
        return events_by_key

    @property
    def named_events(self) -> Mapping[Hashable, NamedEvents]:
        """The events of each key as in `events`, each with what names it."""
        query = self._query
        columns = ("x", "order", *query.rows.reads) if query.rows else ()
        events_by_key: dict[Hashable, list[tuple[Hashable, Event[Any]]]] = {}
        for key, changes in self.history.accepted.items():
            events: NamedEvents = list(fold(changes).items())
            if query.lifetimes == "samples":
                events = lasting_samples(events, query)
            events_by_key[key] = []
            for id, event in events:
                if not query.keeps(event.payload):
                    continue
                payload = columns_of(event.payload, columns) if columns else event.payload
                for seen_event in changed_events(self._lifetime_changes(id), event):
                    events_by_key[key].append((id, replace(seen_event, payload=payload)))
        return events_by_key

    def _lifetime_changes(self, id: Any) -> tuple[LifetimeChange, ...]:
        """Return the changes of the lifetime of an event: those of its stream, and of the query."""
        query = self._query
        if not query.sources:
            return query.changes
        return (*query.sources[stream_of(id, len(query.sources))], *query.changes)

    def _accepted(self, batch: Batch) -> Batch:
        """Leave out rejected rows; late insertions start at the watermark of their key, if they are adjusted."""
        changes: Sequence[KeyedChange] = batch.changes
        if self._query.late.policy is LatePolicy.ADJUST:
            changes = self._adjusted(changes)
        if self._query.most_held is not None:
            changes = self._with_room(changes, self._query.most_held)
        return replace(batch, changes=tuple(changes))

    def _adjusted(self, changes: Sequence[KeyedChange]) -> list[KeyedChange]:
        """Start late insertions at the watermark of their key; those that end there or before are late."""
        adjusted: list[KeyedChange] = []
        for step in changes:
            event = step.change.event
            key_watermark = self.progress_of(step.key).watermark
            if event.start >= key_watermark:
                adjusted.append(step)
            elif event.end > key_watermark:
                insertion = Insertion(step.change.id, replace(event, start=key_watermark))
                adjusted.append(replace(step, change=insertion))
            else:
                self.late += 1
        return adjusted

    def _with_room(self, changes: Sequence[KeyedChange], most_held: int) -> list[KeyedChange]:
        """Shed the insertions for which a key has no room: of those that come together the latest."""
        accepted: list[KeyedChange] = []
        for key in {step.key for step in changes}:
            held = self._held.setdefault(key, [])
            key_changes = [step for step in changes if step.key == key]
            key_changes.sort(key=_order_of_arrival)
            room = max(0, most_held - len(held))
            for step in key_changes[:room]:
                accepted.append(step)
                held.append(step.change.event)
        changes_with_room = [step for step in changes if step in accepted]
        self.shed += len(changes) - len(changes_with_room)
        return changes_with_room

    def _is_held(self, event: Event[Any], events: Sequence[Event[Any]]) -> bool:
        """True if an open window has an event: one of a grid, or a window of the last rows."""
        window = self._query.first
        input_watermark = self.progress.watermark
        if isinstance(window, HoppingWindows):
            last_start = (event.end - 1 - window.offset) // window.hop * window.hop + window.offset
            return last_start + window.size > input_watermark
        if input_watermark == INFINITY:
            return False
        started = [started_event for started_event in events if started_event.start < input_watermark]
        started.sort(key=lambda started_event: started_event.start)
        last_rows = started[-window.evicts.size :]  # type: ignore[attr-defined]
        return event.start >= input_watermark or event in last_rows


def stream_of(id: Any, count: int) -> int:
    """Return the place of an event's stream, by its name among the events of its key.

    Args:
        id: The name of the event.
        count: The number of streams.
    """
    number = id[0] if isinstance(id, tuple) else id
    return int(number) % count


def lasting_samples(samples: NamedEvents, query: Query) -> NamedEvents:
    """Let each sample last until the next; of several at one time, the last by order, and then by its value, holds.

    Null comes first. The value of a sample that the filter leaves out is not known, its order is.
    """

    def rank(event: Event[Any]) -> tuple[Any, ...]:
        order = event.payload if query.has_order else None
        value = event.payload if query.keeps(event.payload) else None
        return _rank(order), _rank(value)

    holding: dict[int, tuple[Hashable, Event[Any]]] = {}
    for id, event in samples:
        previous = holding.get(event.start)
        if previous is None or rank(event) > rank(previous[1]):
            holding[event.start] = (id, event)
    starts = sorted(holding)
    lasting: list[tuple[Hashable, Event[Any]]] = []
    for start, end in zip(starts, [*starts[1:], INFINITY], strict=True):
        id, event = holding[start]
        lasting.append((id, replace(event, end=end)))
    return lasting


def replaced_samples(histories: Iterable[NamedEvents], query: Query) -> int:
    """Return how many samples that the filter lets in another one of their time replaces."""
    count = 0
    for samples in histories:
        holding = {id for id, _ in lasting_samples(samples, query)}
        count += len([id for id, event in samples if id not in holding and query.keeps(event.payload)])
    return count


def _order_of_arrival(step: KeyedChange) -> tuple[Any, ...]:
    """Return the sort key of changes that come together."""
    event = step.change.event
    return event.start, event.end, _rank(event.payload)


def _rank(number: int | None) -> tuple[bool, int]:
    """Return the sort key of a number that may be null, which then comes first."""
    return number is not None, number or 0


def last_end(window: WindowSpecification, tick: int) -> int:
    """Return the last end of a window that a watermark has reached, if events are members of what they overlap."""
    if tick in (EARLIEST, INFINITY):
        return tick
    if isinstance(window, CumulateWindows | LandmarkWindows):
        start = window.offset if isinstance(window, CumulateWindows) else window.since
        return tick - (tick - start) % window.step
    if window.reach:
        return tick
    if isinstance(window, CalendarWindows):
        longest = (window.size + window.hop) * (1 if window.unit == "day" else 31) * 86_400
        windows = reference.windows(window, [Event(tick - 2 * longest, tick + 1, None)], tick + 1)
        return max(cut.end for cut in windows if cut.end <= tick)
    if not isinstance(window, HoppingWindows):
        return tick
    first_end = window.offset + window.size
    return tick - (tick - first_end) % window.hop


def changed_events(changes: Sequence[LifetimeChange], event: Event[Any]) -> Iterator[Event[Any]]:
    """Yield an event with its changed lifetime, if it has one then."""
    life: Life | None = Life(event.start, event.end, event.payload)
    for change in changes:
        life = None if life is None else changed(change, life)
    if life is not None:
        yield Event(*life)


def _insertions_under(changes: Sequence[LifetimeChange], step: KeyedChange) -> Iterator[KeyedChange]:
    """Yield an insertion for each lifetime that a change tells of, after changes of lifetimes."""
    change = step.change
    ends = [change.event.end]
    if isinstance(change, Revision) and not change.is_retraction:
        ends.append(change.new_end)
    for end in ends:
        for event in changed_events(changes, replace(change.event, end=end)):
            yield replace(step, change=Insertion(change.id, event))
