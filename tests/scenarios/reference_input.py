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
"""Events, each with its name among those of its key: its id and its start."""


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

    There are four kinds of watermark, each made of the one before:

    1. A stream *reports* up to where its rows are complete, by punctuation or by the policy of the query.
    2. The *stream watermark* is that of its events, after the changes of lifetimes of this stream.
    3. The *input watermark* is the least of these, after the changes of lifetimes of the whole query.
    4. A *key watermark* is ahead of the input watermark, where keys punctuate themselves.

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

        watermarks = [input_watermark, *map(self._after_changes, self._stream_watermarks)]
        for batch in accepted:
            for punctuation in batch.of_keys:
                self._advance_keys(punctuation)
                watermarks.append(punctuation.time)

        # The horizon lies past all rows, and all punctuation but the end of the stream.
        changes = tuple(self._changes_of(arrival))
        rows_progress = progress_of(
            query.first, Batch(changes, None if input_watermark == EARLIEST else input_watermark)
        )
        horizon = rows_progress.horizon
        for time in map(query.punctuation_time, watermarks):
            if time != INFINITY:
                horizon = max(horizon, time)

        self.input = self.input.advance(
            Progress(
                watermark=self._closing_time(input_watermark),
                horizon=horizon,
                newest=self._newest(rows_progress.newest, input_watermark),
                clock=arrival.clock,
            )
        )

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

        has_ended_alone = self.input.watermark < INFINITY
        if self._query.rows and has_ended_alone:
            progress = progress._replace(horizon=self._end_of_rows(key, changes))
        if not self._of_patterns:
            return progress
        # A key that has ended does not see times that come later: its progress stays what it was first.
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
        """Advance the watermark of a stream by what its micro-batch reports."""
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
        """Advance the progress of a key or a pattern of keys; one that ends them names no time."""
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

        # The history is told the watermarks, so that it knows which waiting changes are illegal by now. Where lifetimes
        # are changed, its times are others than those of the progress.
        changes_lifetimes = bool(self._query.changes) or any(self._query.sources)
        if not changes_lifetimes:
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
        """The events of each key as in `events`, each with its name."""
        query = self._query
        columns = ("x", "order", *query.rows.reads) if query.rows else ()
        events_by_key: dict[Hashable, list[tuple[Hashable, Event[Any]]]] = {}
        for key, changes in self.history.accepted.items():
            named_events: NamedEvents = list(fold(changes).items())
            if query.lifetimes == "samples":
                named_events = lasting_samples(named_events, query)
            events_by_key[key] = []
            for name, event in named_events:
                if not query.keeps(event.payload):
                    continue
                payload = columns_of(event.payload, columns) if columns else event.payload
                for seen_event in changed_events(self._lifetime_changes(name), event):
                    events_by_key[key].append((name, replace(seen_event, payload=payload)))
        return events_by_key

    def _lifetime_changes(self, name: Any) -> tuple[LifetimeChange, ...]:
        """Return the changes of the lifetime of an event: those of its stream, and of the query."""
        query = self._query
        if not query.sources:
            return query.changes
        stream = stream_of(name, len(query.sources))
        return (*query.sources[stream], *query.changes)

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
        """Return the insertions for which keys have room, and count the others as shed.

        Of those that come together for a key, the earliest have room.
        """
        with_room: list[KeyedChange] = []
        for key in {step.key for step in changes}:
            held_events = self._held.setdefault(key, [])
            key_changes = [step for step in changes if step.key == key]
            key_changes.sort(key=_order_in_batch)
            room = max(0, most_held - len(held_events))
            for step in key_changes[:room]:
                with_room.append(step)
                held_events.append(step.change.event)
        accepted = [step for step in changes if step in with_room]  # in the order of the stream
        self.shed += len(changes) - len(accepted)
        return accepted

    def _is_held(self, event: Event[Any], events: Sequence[Event[Any]]) -> bool:
        """True if an open window has an event.

        Args:
            event: The event.
            events: The events that its key has held so far, itself among them.
        """
        window = self._query.first
        input_watermark = self.progress.watermark
        if isinstance(window, HoppingWindows):
            last_start = (event.end - 1 - window.offset) // window.hop * window.hop + window.offset
            return last_start + window.size > input_watermark

        # Windows of the last rows: those after the watermark are not in order yet, and of the others the last are held.
        if input_watermark == INFINITY:
            return False
        if event.start >= input_watermark:
            return True
        passed_events = [passed for passed in events if passed.start < input_watermark]
        passed_events.sort(key=lambda passed: passed.start)
        return event in passed_events[-window.evicts.size :]  # type: ignore[attr-defined]


def stream_of(name: Any, count: int) -> int:
    """Return the place of an event's stream, where `renumbered` has given each stream ids of its own.

    Args:
        name: The name of the event: its id, or its id and its start.
        count: The number of streams.
    """
    id = name[0] if isinstance(name, tuple) else name
    return int(id) % count


def lasting_samples(samples: NamedEvents, query: Query) -> NamedEvents:
    """Let each sample last until the next; of several at one time, the last by order, and then by its value, holds.

    Null comes first. The value of a sample that the filter leaves out is not known, its order is.
    """

    def rank(event: Event[Any]) -> tuple[Any, ...]:
        order = event.payload if query.has_order else None
        value = event.payload if query.keeps(event.payload) else None
        return _rank(order), _rank(value)

    holding: dict[int, tuple[Hashable, Event[Any]]] = {}  # by start
    for name, event in samples:
        _, best_event = holding.get(event.start, (None, None))
        if best_event is None or rank(event) > rank(best_event):
            holding[event.start] = (name, event)
    starts = sorted(holding)
    lasting: list[tuple[Hashable, Event[Any]]] = []
    for start, end in zip(starts, [*starts[1:], INFINITY], strict=True):
        name, event = holding[start]
        lasting.append((name, replace(event, end=end)))
    return lasting


def replaced_samples(histories: Iterable[NamedEvents], query: Query) -> int:
    """Return how many samples are replaced by another one of their time; the filter lets them in.

    Args:
        histories: The samples of each key.
        query: The query.
    """
    count = 0
    for samples in histories:
        holding_names = {name for name, _ in lasting_samples(samples, query)}
        for name, event in samples:
            if name not in holding_names and query.keeps(event.payload):
                count += 1
    return count


def _order_in_batch(step: KeyedChange) -> tuple[Any, ...]:
    """Return the sort key by which the changes that come together have room: their times, then the payload."""
    event = step.change.event
    return event.start, event.end, _rank(event.payload)


def _rank(number: int | None) -> tuple[bool, int]:
    """Return the sort key of a number that may be null, which then comes first."""
    return number is not None, number or 0


def last_end(window: WindowSpecification, tick: int) -> int:
    """Return the last end of a window that a watermark has reached; the watermark itself where ends lie on no grid."""
    if tick in (EARLIEST, INFINITY):
        return tick
    if isinstance(window, CumulateWindows | LandmarkWindows):
        start = window.offset if isinstance(window, CumulateWindows) else window.since
        return tick - (tick - start) % window.step
    if window.reach:
        return tick  # events stay members after the end of a window, so it does not close there
    if isinstance(window, CalendarWindows):
        # The windows of an event that surely overlaps a whole one, in seconds.
        days = (window.size + window.hop) * (1 if window.unit == "day" else 31)
        long_event = Event(tick - 2 * days * 86_400, tick + 1, None)
        windows = reference.windows(window, [long_event], tick + 1)
        return max(cut.end for cut in windows if cut.end <= tick)
    if isinstance(window, HoppingWindows):
        first_end = window.offset + window.size
        return tick - (tick - first_end) % window.hop
    return tick


def changed_events(changes: Sequence[LifetimeChange], event: Event[Any]) -> Iterator[Event[Any]]:
    """Yield an event with its changed lifetime, if it has one then."""
    life: Life | None = Life(event.start, event.end, event.payload)
    for change in changes:
        life = None if life is None else changed(change, life)
    if life is not None:
        yield Event(*life)


def _insertions_under(changes: Sequence[LifetimeChange], step: KeyedChange) -> Iterator[KeyedChange]:
    """Yield an insertion for each lifetime in a change, the one so far and the new one, after changes of lifetimes."""
    change = step.change
    ends = [change.event.end]
    if isinstance(change, Revision) and not change.is_retraction:
        ends.append(change.new_end)
    for end in ends:
        for event in changed_events(changes, replace(change.event, end=end)):
            yield replace(step, change=Insertion(change.id, event))
