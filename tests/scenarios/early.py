"""The meaning of early results, from the whole history of each window, micro-batch after micro-batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muntin import EARLIEST, EarlyEmission, Event, Refinement, ResultRefinement, TimestampPolicy, Window
from muntin.testing import reference
from muntin.triggers import FINISHED, Decision, TriggerView
from muntin_engine.time.changes import Progress, Timing
from tests.scenarios.columns import PAYLOAD, RESULT, values_of
from tests.scenarios.known import Arrival, Known
from tests.scenarios.query import Query
from tests.scenarios.running import Row, plain
from tests.scenarios.trigger_meaning import life

Members = dict[Hashable, Event[Any]]


@dataclass
class Lived:
    """What an open window with members has been through, or those in whose place it is.

    Attributes:
        state: The state of its trigger, which is called in each micro-batch; `FINISHED` if it is finished.
        is_heir: True if it is in the place of others.
        is_moved: True if it is in the place of one with the same members, whose result was live.
    """

    state: Any = None
    views: list[TriggerView] = field(default_factory=list)
    members: Members = field(default_factory=dict)
    is_changed: bool = False
    firings: int = 0
    emitted: set[Hashable] = field(default_factory=set)
    results: list[tuple[Any, ...]] = field(default_factory=list)
    is_heir: bool = False
    is_moved: bool = False


class EarlyMeaning:
    """What must be emitted, micro-batch by micro-batch.

    Attributes:
        live: The last results of each window.
    """

    def __init__(self, query: Query) -> None:
        assert isinstance(query.emit, EarlyEmission)
        self.query = query
        self.emit = query.emit
        self.meaning = query.meaning(query.first)
        self.live: dict[tuple[Hashable, Window], Counter[Row]] = {}
        self._lived: dict[tuple[Hashable, Window], Lived] = {}
        self._before: dict[Hashable, Progress] = {}
        self._last = Progress()

    def take(self, known: Known, arrival: Arrival) -> Counter[Row]:
        """Return the rows that a micro-batch inserts, after its input was added to `known`."""
        came: Counter[Row] = Counter()
        open_windows = set()
        windows = list(self._windows(known))
        gone_windows = self._lived.keys() - {(key, window) for key, window, _ in windows}
        for key, window, members in windows:
            events = list(members.values())
            now = known.of(key)
            before = self._before.get(key, self._last)
            if reference.is_closed(self.meaning, window, events, before.watermark):
                continue
            if (key, window) not in self._lived:
                replaced = {other: self._lived[key, other] for of, other in gone_windows if of == key}
                self._lived[key, window] = self._new(key, window, members, replaced, known)
            lived = self._lived[key, window]
            open_windows.add((key, window))
            if reference.is_closed(self.meaning, window, events, now.watermark):
                came += self._emit(key, window, lived, members, Timing.FINAL)
                open_windows.remove((key, window))
            elif self._fires(window, lived, members, now, arrival):
                came += self._emit(key, window, lived, members, Timing.EARLY)
        for gone in self._lived.keys() - open_windows:
            if any(row.more[-2] == Timing.EARLY for row in self.live.get(gone, ())):
                del self.live[gone]
            del self._lived[gone]
        self._before = {key: known.of(key) for key in known.events}
        self._last = known.now
        return came

    def _new(
        self, key: Hashable, window: Window, members: Members, gone: Mapping[Window, Lived], known: Known
    ) -> Lived:
        """Return the history of a new window: an empty one, or that of the windows which it replaces."""
        extent = self.meaning.kind.extent(window)
        trigger = self.emit.trigger
        before = heritage(window, members, gone, {id for id, _ in known.named[key]})
        if not self.meaning.kind.waits_for_events or not before:
            return Lived(trigger.create_state(extent))
        sources = [gone[other] for other in before]
        inherited = {id: event for source in sources for id, event in source.members.items()}
        is_moved = len(before) == 1 and inherited.keys() == members.keys() and bool(self.live.get((key, before[0])))
        return Lived(
            trigger.merge([source.state for source in sources], extent),
            members=inherited,
            is_changed=True,
            firings=max(source.firings for source in sources),
            is_heir=True,
            is_moved=is_moved,
        )

    def _windows(self, known: Known) -> Iterator[tuple[Hashable, Window, Members]]:
        for key, named in known.named.items():
            events = [event for _, event in named]
            for window in reference.windows(self.meaning.kind, events, known.of(key).horizon):
                members = {id: one for id, one in named if reference.belongs(self.meaning.kind, one, window)}
                if members:
                    yield key, window, members

    def _fires(self, window: Window, lived: Lived, members: Members, now: Progress, arrival: Arrival) -> bool:
        came = [event for id, event in members.items() if id not in lived.members]
        left = len(lived.members.keys() - members.keys())
        lived.is_changed |= self._seen(window, members) != self._seen(window, lived.members)
        lived.members = members
        trigger = self.emit.trigger
        values = {name: [PAYLOAD[name][0](event.payload) for event in came] for name in trigger.reads}
        newest = max((event.start for event in came), default=EARLIEST)
        results = {}
        if trigger.reads_results:
            aligned = replace(self.meaning, timestamps=TimestampPolicy.ALIGN)
            (row,) = reference.evaluate_window(aligned, window, list(members.values()))
            results = {RESULT: row.value[0]}
        of_members = (len(came), left, newest)
        view = TriggerView(now.max_event_time, now.watermark, now.clock, *of_members, arrival.signals, values, results)
        lived.views.append(view)
        extent = self.meaning.kind.extent(window)
        decision = Decision.WAIT
        if lived.state is not FINISHED:
            lived.state, decision = trigger.step(lived.state, extent, view)
            if decision.is_finished:
                lived.state = FINISHED
        if not lived.is_heir:
            assert decision.fires == (len(lived.views) - 1 in life(trigger, extent, lived.views).firings)
        is_moved = lived.is_moved
        lived.is_moved = False
        return is_moved or (lived.is_changed and decision.fires)

    def _seen(self, window: Window, members: Mapping[Hashable, Event[Any]]) -> dict[Hashable, Any]:
        if not any(computation.module.reads_times for computation in self.meaning.computations):
            return {id: event.payload for id, event in members.items()}
        return {
            id: reference.clip(event, self.meaning.kind.extent(window), self.meaning.clip)
            for id, event in members.items()
        }

    def _emit(self, key: Hashable, window: Window, lived: Lived, members: Members, timing: Timing) -> Counter[Row]:
        refinement = self.emit.refinement
        is_rest = self.emit.refinement is Refinement.DISCARD
        wanted = [event for id, event in members.items() if not is_rest or id not in lived.emitted]
        output = reference.evaluate_window(self.meaning, window, wanted) if wanted else []
        if output and isinstance(refinement, ResultRefinement):
            lived.results.append(output[0].value)
            value = self._refined(refinement, lived.results, is_final=timing is Timing.FINAL)
            output = [] if value is None else [replace(output[0], value=value)]
        rows: Counter[Row] = Counter()
        for one in output:
            values = values_of(self.query.modules[0].result_field(), one.value) if self.query.is_operator else one.value
            extent = (one.window.start, one.window.end)
            lifetime = (one.start, one.end)
            rows[Row(key, extent, lifetime, plain(values), (str(timing), lived.firings))] += 1
        lived.firings = lived.firings + 1
        lived.is_changed = False
        lived.emitted = set(members)
        self.live[key, window] = rows
        return rows

    def _refined(
        self, refinement: ResultRefinement, results: list[tuple[Any, ...]], *, is_final: bool
    ) -> tuple[Any, ...] | None:
        """Refine all results of a window from the first one on; return what is emitted of the last one."""
        names = [RESULT, *(f"m{place}" for place in range(1, len(self.query.modules)))]
        state = None
        emitted = None
        for number, values in enumerate(results, 1):
            result = dict(zip(names, values, strict=True))
            state, emitted = refinement.refine(state, result, is_final and number == len(results))
        return None if emitted is None else tuple(emitted[name] for name in names)


def heritage(window: Window, members: Members, gone: Mapping[Window, Lived], known: set[Hashable]) -> list[Window]:
    """Return the windows in whose place a new one is, by the definition.

    It is in the place of the one with which it shares the most members, or of several such of the one whose start is
    nearest; and in that of each other one of which no member is elsewhere, unless it shares a member with one before.
    """
    shared = {other: lived.members.keys() & members.keys() for other, lived in gone.items()}
    candidates = [other for other in sorted(gone) if shared[other]]
    candidates.sort(key=lambda other: abs(other.start - window.start))
    candidates.sort(key=lambda other: len(shared[other]), reverse=True)
    chosen: list[Window] = []
    for other in candidates:
        elsewhere = (gone[other].members.keys() & known) - members.keys()
        is_shared = any(shared[other] & shared[one] for one in chosen)
        if not chosen or not (elsewhere or is_shared):
            chosen.append(other)
    return sorted(chosen)
