"""Keys that are forgotten: a key has lives, each with the state of a key, and is evaluated life by life.

The windows of a life are cut where it is over. A change may join lives, and may split one. It is no earlier than the
watermark, so nothing after it was closed or dropped. So the first of some joined lives gets the events of the others,
and the later part of a split life becomes a new life.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, TimestampPolicy, Window
from muntin_engine.evaluators.general.assigner import GeneralAssigner
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.triggered import TriggeredEmission
from muntin_engine.evaluators.general.window_index import WindowEntry
from muntin_engine.evaluators.keyed.admission import NetChanges, Versions
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.evaluators.keyed.live_output import netted
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import KeyTimer, soonest
from muntin_engine.state.stored_bucket import HeldRow, NamedInput, StoredStates
from muntin_engine.time.changes import Key, OutputChange, Progress


class Span(NamedTuple):
    """The interval from the first start of some events to their last end."""

    start: int
    end: int


class LifeState(KeyState):
    """The state of one life of a key.

    Attributes:
        number: A number that no other life of the key has.
        span: The span of all its events, also of those that are no longer kept.
        settled: The span of those that are no longer kept; None if all are.
        cut: The assigner of its windows.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start it, with the largest serial number that may be in use already, by this key or another."""
        super().__init__(query, serial)
        self._age = query.forget_keys_after or 0
        self.number = serial
        self.settled: Span | None = None
        self.assigner = self.cut = GeneralAssigner(query.window)
        self.span = Span(EARLIEST, INFINITY)

    @property
    def span(self) -> Span:
        """The span of its events."""
        return self._span

    @span.setter
    def span(self, span: Span) -> None:
        self._span = span
        self.cut.cut_at = self.over_at

    @property
    def over_at(self) -> int:
        """The tick at which it is over: an event that starts there begins another life, and windows are cut there."""
        return INFINITY if self._span.end == INFINITY else self._span.end + self._age

    def forgot(self, events: Iterable[StoredEvent]) -> None:
        """Hear that the index has forgotten events for good; they count on for how long the life lasts."""
        known = [Span(event.start, event.end) for event in events]
        if known:
            known += [] if self.settled is None else [self.settled]
            self.settled = Span(min(span.start for span in known), max(span.end for span in known))


class KeyLives(KeyState):
    """The state of a key: its lives in order, and what waits to become part of one.

    Its own index has the events that a filter left out, which are of no life.

    Attributes:
        lives: The lives that are not over, and of which something matters.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start it, with the largest serial number that may be in use already, by this key or another."""
        super().__init__(query, serial)
        self.lives: list[LifeState] = []

    def keep_ids(self, insertions: Iterable[OutputChange], stays: Mapping[int, int]) -> None:
        """Give live rows the ids of the equal rows that stay in the output instead of them.

        Args:
            insertions: The insertions of the rows.
            stays: The id that stays, by the id of the insertion.
        """
        for window in {change.window for change in insertions}:
            for life in self.lives:
                if (entry := life.windows.get(window)).live:
                    live = [out._replace(id=stays.get(out.id, out.id)) for out in entry.live]
                    life.windows.put(window, entry._replace(live=live))

    @property
    def plain_count(self) -> int:
        """0: each life keeps its own."""
        return 0

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return not self.lives and super().is_empty

    @property
    def held_count(self) -> int:
        """The number of events that are kept."""
        return self.events.size + sum(life.held_count for life in self.lives)

    @property
    def held_windows(self) -> int:
        """The number of windows that are kept."""
        return sum(life.held_windows for life in self.lives)

    @property
    def entries(self) -> list[tuple[Window, WindowEntry]]:
        """The windows that are kept, each with its entry."""
        return list(chain.from_iterable(life.entries for life in self.lives))

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the events of each life besides what a key has; its windows are those of all lives."""
        yield from super().held_rows(states, inputs)
        for life in self.lives:
            yield from KeyEvents.held_rows(life, states, inputs)

    def event(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        found = (state.events.get(id) for state in (*reversed(self.lives), self))
        return next((event for event in found if event is not None), None)

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data: what a key has, and each life with that; new lives are there as a whole."""
        lives: list[object] = []
        for life in self.lives:
            is_new = is_whole or not life.tracks
            settled, data = life.settled and list(life.settled), life.to_data(serializer, key, is_whole=is_new)
            lives.append([is_new, life.number, list(life.span), settled, data])
        return [super().to_data(serializer, key, is_whole=is_whole), lives]

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        super().track()
        for life in self.lives:
            life.track()

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> KeyLives:
        """Return the state that `to_data` wrote, with the differences after it."""
        state = super().from_data(query, [own for own, _ in stored], serializer, key)
        assert isinstance(state, KeyLives)
        parts: dict[int, list[Any]] = {}
        for _, lives in stored:
            for is_whole, number, *_, data in lives:
                parts[number] = [data] if is_whole else [*parts[number], data]
        for _, number, span, settled, _ in stored[-1][1]:
            life = LifeState.from_data(query, parts[number], serializer, key)
            life.number, life.span = number, Span(*span)
            life.settled = None if settled is None else Span(*settled)
            state.lives.append(life)
        return state


class LifeChanges(NetChanges):
    """The net changes of the events of one life.

    Attributes:
        life: The life. Its span is that after the changes, and its own index has not taken them in.
        was_over_at: The tick at which it was over before.
        is_absorbed: True if all its events are gone, or are another life's now.
        renamed: The windows that go on but are cut elsewhere now, each with what it is now.
    """

    def __init__(self, life: LifeState) -> None:
        super().__init__(life)
        self.life = life
        self.was_over_at = life.over_at
        self.is_absorbed = False
        self.renamed: dict[Window, Window] = {}


@dataclass(slots=True)
class _Piece:
    """A part of a key that lies in one life: a life that only grows, the settled events of another one, or an event.

    Attributes:
        start: Where it starts.
        end: Where it ends.
        origin: The life that it was of; None for a new event.
        versions: The event before and after, which are the same if it did not change; None for several events.
    """

    start: int
    end: int
    origin: LifeState | None
    versions: Versions | None = None


class Division:
    """Applies the net changes of a batch to the lives of a key.

    Cost: for each life and each new event its place in their order; where events are revised, also for each event of
    the lives that they are of.

    Attributes:
        changes: What changes in each life, those first that are joined to others.
    """

    def __init__(self, key: KeyLives, net: NetChanges, *, has_triggers: bool) -> None:
        """Divide a key, which has its new lives then. Triggers of windows that go on keep their state."""
        before = key.lives
        self.changes = [LifeChanges(life) for life in before]
        self._of = {id(one.life): one for one in self.changes}
        versions = _without_filtered(key, net)
        if not versions:
            return
        for gone, after in versions:
            if gone is not None and after is None:
                self._of[id(_life_at(before, gone))].touched[gone.id] = (gone, None)
        known: set[int] = set()
        key.lives = []
        for group in _grouped(_pieces(before, versions), key.query.forget_keys_after or 0):
            firsts = [piece.origin for piece in group if piece.origin is not None and id(piece.origin) not in known]
            known |= set(map(id, firsts))
            life = firsts[0] if firsts else LifeState(key.query, key.next_serial())
            self._of.setdefault(id(life), LifeChanges(life))
            life.span = Span(group[0].start, max(piece.end for piece in group))
            key.lives.append(life)
            for piece in group:
                self._move(piece, life)
        going_on = set(map(id, key.lives))
        for one in self.changes:
            one.is_absorbed = id(one.life) not in going_on
            if has_triggers:
                _rename(one)
            was, now = sorted([one.was_over_at, one.life.over_at])
            if was != now:
                one.recut = (was - 1, now)
        self.changes = [one for one in self.changes if one.is_absorbed] + [self._of[id(life)] for life in key.lives]

    def _move(self, piece: _Piece, life: LifeState) -> None:
        """Put a piece into a life."""
        now, origin = self._of[id(life)], piece.origin
        if piece.versions is not None:
            before, after = piece.versions
            assert after is not None
            if before is None or origin is None:
                now.inserted.append(after)
            elif origin is not life:
                self._of[id(origin)].touched[before.id] = (before, None)
                now.inserted.append(after)
            elif before is not after:
                now.touched[before.id] = (before, after)
        elif origin is not None and origin is not life:
            assert origin.settled is None, "nothing after a change was forgotten"
            events = list(origin.events)
            self._of[id(origin)].touched |= {event.id: (event, None) for event in events}
            now.inserted += events


def _rename(one: LifeChanges) -> None:
    """Find the windows of a life that remain, but are cut at another tick now."""
    was, now = one.was_over_at, one.life.over_at
    low = min(was, now)
    if one.is_absorbed or was == now or not one.life.held_windows:
        return
    for uncut in one.life.cut.uncut(low - 1, low):
        before, after = (Window(uncut.start, min(uncut.end, over_at)) for over_at in (was, now))
        if before != after and one.life.windows.get(before).size:
            one.renamed[before] = after


def _without_filtered(key: KeyLives, net: NetChanges) -> list[Versions]:
    """Return the changes of events that are of lives, and keep those with the key that a filter has left out."""
    versions: list[Versions] = [*net.touched.values(), *((None, event) for event in net.inserted)]
    gone = [before for before, _ in versions if before is not None and before.is_filtered]
    left = [after for _, after in versions if after is not None and after.is_filtered]
    if not gone and not left:
        return versions
    key.replace(gone, left)
    kept = ([None if event is None or event.is_filtered else event for event in pair] for pair in versions)
    return [(before, after) for before, after in kept if before is not None or after is not None]


def _pieces(lives: Sequence[LifeState], versions: Sequence[Versions]) -> list[_Piece]:
    """Return the parts of a key after some changes, each in one life."""
    changed: dict[int, set[object]] = {}
    pieces: list[_Piece] = []
    for before, after in versions:
        origin = None if before is None else _life_at(lives, before)
        if origin is not None and before is not None:
            changed.setdefault(id(origin), set()).add(before.id)
        if after is not None:
            pieces.append(_Piece(after.start, after.end, origin, (before, after)))
    for life in lives:
        if id(life) not in changed:
            pieces.append(_Piece(*life.span, life))
            continue
        pieces += [] if life.settled is None else [_Piece(*life.settled, life)]
        others = (event for event in life.events if event.id not in changed[id(life)])
        pieces += [_Piece(event.start, event.end, life, (event, event)) for event in others]
    return pieces


def _life_at(lives: Sequence[LifeState], event: StoredEvent) -> LifeState:
    """Return the life that an event is of."""
    return next(life for life in lives if life.span.start <= event.start < life.span.end)


def _grouped(pieces: Iterable[_Piece], age: int) -> list[list[_Piece]]:
    """Return the pieces of each life, in order."""
    groups: list[list[_Piece]] = []
    over_at = EARLIEST
    for piece in sorted(pieces, key=attrgetter("start")):
        if not groups or piece.start >= over_at:
            groups.append([])
            over_at = EARLIEST
        groups[-1].append(piece)
        over_at = max(over_at, piece.end + age)
    return groups


class LivesRun(GeneralRun):
    """Process one micro-batch, key by key and life by life.

    Rows are admitted for the key; each life is then evaluated like a key. A life that is over is evaluated as at the
    end of a stream, and dropped.
    """

    state_class = KeyLives

    def evaluate(
        self, key: Key, state: KeyState, net: NetChanges, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take the net changes of a key in, life by life, and forget the lives that are over."""
        assert isinstance(state, KeyLives)
        has_triggers = isinstance(self.emission, TriggeredEmission)
        output: list[OutputChange] = []
        self.emission.begin_key()
        for net_of_life in Division(state, net, has_triggers=has_triggers).changes:
            life = net_of_life.life
            life.serial = state.serial
            is_over = life.over_at <= now.watermark or net_of_life.is_absorbed
            if isinstance(self.emission, TriggeredEmission):
                output += self.emission.rename(key, life, net_of_life.renamed)
            at = now._replace(watermark=INFINITY) if is_over else now
            output += self.evaluate_state(key, life, net_of_life, before, at)
            state.serial = life.serial
            # where windows are cut depends on the last end alone, and a later event ends after those of this life
            if not net_of_life.is_absorbed and (is_over or (life.is_empty and life.span.end <= now.watermark)):
                state.lives = [other for other in state.lives if other is not life]
                self.result.keys_forgotten += 1
        self.closing.close(state, now.watermark)
        rest, stays = netted(output)
        if stays:
            state.keep_ids((change for change in output if change.id in stays), stays)
        return rest

    def output_watermark(self, earliest: int) -> int:
        """Return a tick below which the output does not change any more.

        A life that is not over ends after the watermark, and so does one that a later event begins.
        """
        found, watermark = super().output_watermark(earliest), self.now.watermark
        if self.query.timestamps is not TimestampPolicy.POINT_AT_END or watermark in (EARLIEST, INFINITY):
            return found
        return min(found, watermark + 1)

    def timer_of(self, state: KeyState) -> KeyTimer:
        """Return the timer of a key: the soonest of its lives, and of what waits."""
        assert isinstance(state, KeyLives)
        timers = [super().timer_of(state)]
        for life in state.lives:
            found = super().timer_of(life)
            over_at = life.span.end if life.is_empty else life.over_at
            timers.append(found._replace(closing=min(found.closing, over_at)))
        return soonest(timers)
