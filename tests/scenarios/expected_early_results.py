"""The expected early results, from the whole history of each window, micro-batch after micro-batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from muntin import EARLIEST, EarlyEmission, Event, Refinement, ResultRefinement, TimestampPolicy, Window
from muntin.testing import OutputEvent, reference
from muntin.triggers import FINISHED, Decision, TriggerView
from muntin_engine.time.changes import Progress, Timing
from tests.scenarios.columns import PAYLOAD, RESULT, values_of
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival, ReferenceInput
from tests.scenarios.running import Row, comparable
from tests.scenarios.trigger_definition import life

Members = dict[Hashable, Event[Any]]
"""The events of a window by their names."""

KeyWindow = tuple[Hashable, Window]
"""A key, and one of its windows."""


@dataclass
class WindowHistory:
    """An open window with members through all micro-batches, or the windows that it succeeds.

    Attributes:
        state: The state of its trigger, which is called in each micro-batch; `FINISHED` if it is finished.
        views: The views of its trigger so far.
        members: Its members after the last micro-batch.
        is_changed: True if its members changed after it was last emitted.
        firings: How often it was emitted.
        emitted: The names of the members that it had when it was last emitted.
        results: Its results so far, where a refinement reads them all.
        is_successor: True if it succeeds other windows.
        must_move: True if it succeeds a window with the same members, whose result is live and moves to it.
    """

    state: Any = None
    views: list[TriggerView] = field(default_factory=list)
    members: Members = field(default_factory=dict)
    is_changed: bool = False
    firings: int = 0
    emitted: set[Hashable] = field(default_factory=set)
    results: list[tuple[Any, ...]] = field(default_factory=list)
    is_successor: bool = False
    must_move: bool = False


class ExpectedEarlyResults:
    """The expected early results of a query, micro-batch by micro-batch.

    Attributes:
        live: The last results of each window.
    """

    def __init__(self, query: Query) -> None:
        assert isinstance(query.emit, EarlyEmission)
        self.query = query
        self.emit = query.emit
        self.reference_query = query.reference_query(query.first)
        self.live: dict[KeyWindow, Counter[Row]] = {}
        self._histories: dict[KeyWindow, WindowHistory] = {}
        self._previous_progress: dict[Hashable, Progress] = {}
        self._previous_input_progress = Progress()

    def insertions(self, reference_input: ReferenceInput, arrival: Arrival) -> Counter[Row]:
        """Return the rows that a micro-batch inserts, after its input was added to `reference_input`."""
        inserted = Counter[Row]()
        windows = list(self._windows(reference_input))
        vanished_windows = self._histories.keys() - {(key, window) for key, window, _ in windows}
        open_windows = set[KeyWindow]()
        for key, window, members in windows:
            previous_progress = self._previous_progress.get(key, self._previous_input_progress)
            if self._is_closed(window, members, previous_progress):
                continue

            # A new window may succeed windows that vanished, as a session that grew does: it goes on with their
            # histories.
            if (key, window) not in self._histories:
                vanished_histories: dict[Window, WindowHistory] = {}
                for vanished_key, vanished_window in vanished_windows:
                    if vanished_key == key:
                        vanished_histories[vanished_window] = self._histories[key, vanished_window]
                self._histories[key, window] = self._begin(key, window, members, vanished_histories, reference_input)
            history = self._histories[key, window]

            progress = reference_input.progress_of(key)
            if self._is_closed(window, members, progress):
                inserted += self._emit(key, window, history, members, Timing.FINAL)
                continue
            open_windows.add((key, window))
            if self._fires(window, history, members, progress, arrival):
                inserted += self._emit(key, window, history, members, Timing.EARLY)

        for key_window in self._histories.keys() - open_windows:
            self._forget(key_window)
        self._previous_progress = {key: reference_input.progress_of(key) for key in reference_input.events}
        self._previous_input_progress = reference_input.progress
        return inserted

    def _is_closed(self, window: Window, members: Members, progress: Progress) -> bool:
        """True if no legal change reaches a window any more."""
        return reference.is_closed(self.reference_query, window, list(members.values()), progress.watermark)

    def _forget(self, key_window: KeyWindow) -> None:
        """Forget a window that is closed, or that vanished: its early results are retracted."""
        for row in self.live.get(key_window, ()):
            *_, timing, _firing = row.further_columns
            if timing == Timing.EARLY:
                del self.live[key_window]
                break
        del self._histories[key_window]

    def _begin(
        self,
        key: Hashable,
        window: Window,
        members: Members,
        vanished: Mapping[Window, WindowHistory],
        reference_input: ReferenceInput,
    ) -> WindowHistory:
        """Return the history of a new window: an empty one, or that of the windows that it succeeds."""
        extent = self.reference_query.kind.extent(window)
        trigger = self.emit.trigger
        event_names = {name for name, _ in reference_input.named_events[key]}
        predecessors = predecessors_of(window, members, vanished, event_names)
        if not self.reference_query.kind.waits_for_events or not predecessors:
            return WindowHistory(trigger.create_state(extent))
        histories = [vanished[predecessor] for predecessor in predecessors]
        inherited: Members = {}
        for history in histories:
            inherited |= history.members
        has_one_predecessor = len(predecessors) == 1 and inherited.keys() == members.keys()
        return WindowHistory(
            trigger.merge([history.state for history in histories], extent),
            members=inherited,
            is_changed=True,
            firings=max(history.firings for history in histories),
            is_successor=True,
            must_move=has_one_predecessor and bool(self.live.get((key, predecessors[0]))),
        )

    def _windows(self, reference_input: ReferenceInput) -> Iterator[tuple[Hashable, Window, Members]]:
        """Yield the windows of each key that have members."""
        kind = self.reference_query.kind
        for key, named_events in reference_input.named_events.items():
            events = [event for _, event in named_events]
            for window in reference.windows(kind, events, reference_input.progress_of(key).horizon):
                members = {name: event for name, event in named_events if reference.belongs(kind, event, window)}
                if members:
                    yield key, window, members

    def _fires(
        self, window: Window, history: WindowHistory, members: Members, progress: Progress, arrival: Arrival
    ) -> bool:
        """Call the trigger of an open window, and return True if it emits a result.

        Raises:
            AssertionError: The trigger fires where its definition does not.
        """
        view = self._view(window, history.members, members, progress, arrival)
        history.views.append(view)
        history.is_changed |= self._as_read(window, members) != self._as_read(window, history.members)
        history.members = members

        trigger = self.emit.trigger
        extent = self.reference_query.kind.extent(window)
        decision = Decision.WAIT
        if history.state is not FINISHED:
            history.state, decision = trigger.step(history.state, extent, view)
            if decision.is_finished:
                history.state = FINISHED
        if not history.is_successor:  # the definition reads the history of one window
            place = len(history.views) - 1
            assert decision.fires == (place in life(trigger, extent, history.views).firings)

        is_moved_result = history.must_move
        history.must_move = False
        return is_moved_result or (history.is_changed and decision.fires)

    def _view(
        self, window: Window, previous_members: Members, members: Members, progress: Progress, arrival: Arrival
    ) -> TriggerView:
        """Return the view of a micro-batch that the trigger of a window gets."""
        trigger = self.emit.trigger
        added = [event for name, event in members.items() if name not in previous_members]
        results = {}
        if trigger.reads_results:
            aligned = replace(self.reference_query, timestamps=TimestampPolicy.ALIGN)
            (row,) = reference.evaluate_window(aligned, window, list(members.values()))
            results = {RESULT: row.value[0]}
        values: dict[str, list[Any]] = {}
        for column in trigger.reads:
            values[column] = [PAYLOAD[column].value_of(event.payload) for event in added]
        return TriggerView(
            max_event_time=progress.max_event_time,
            watermark=progress.watermark,
            clock=progress.clock,
            arrivals=len(added),
            departures=len(previous_members.keys() - members.keys()),
            newest=max((event.start for event in added), default=EARLIEST),
            signals=arrival.signals,
            values=values,
            results=results,
        )

    def _as_read(self, window: Window, members: Members) -> dict[Hashable, Any]:
        """Return the members as modules read them: their payloads, or the clipped events where they read times."""
        if not any(computation.module.reads_times for computation in self.reference_query.computations):
            return {name: event.payload for name, event in members.items()}
        extent = self.reference_query.kind.extent(window)
        return {name: reference.clip(event, extent, self.reference_query.clip) for name, event in members.items()}

    def _emit(
        self, key: Hashable, window: Window, history: WindowHistory, members: Members, timing: Timing
    ) -> Counter[Row]:
        """Return the rows that a window emits."""
        rows = Counter[Row]()
        for result in self._results(window, history, members, timing):
            values = result.value
            if self.query.is_operator:
                values = values_of(self.query.modules[0].result_field(), values)
            extent = (result.window.start, result.window.end)
            lifetime = (result.start, result.end)
            rows[Row(key, extent, lifetime, comparable(values), (str(timing), history.firings))] += 1
        history.firings += 1
        history.is_changed = False
        history.emitted = set(members)
        self.live[key, window] = rows
        return rows

    def _results(
        self, window: Window, history: WindowHistory, members: Members, timing: Timing
    ) -> Sequence[OutputEvent]:
        """Return the results of a window after refinement."""
        refinement = self.emit.refinement
        refined_members = list(members.values())
        if refinement is Refinement.DISCARD:  # each result is of the members that no earlier one has
            refined_members = [event for name, event in members.items() if name not in history.emitted]
        if not refined_members:
            return []
        output = reference.evaluate_window(self.reference_query, window, refined_members)
        if not output or not isinstance(refinement, ResultRefinement):
            return output
        history.results.append(output[0].value)
        value = self._refined(refinement, history.results, is_final=timing is Timing.FINAL)
        return [] if value is None else [replace(output[0], value=value)]

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


def predecessors_of(
    window: Window, members: Members, vanished: Mapping[Window, WindowHistory], event_names: set[Hashable]
) -> list[Window]:
    """Return the windows that a new one succeeds, by the definition.

    It succeeds the one with which it shares the most members, or of several such the one whose start is nearest; and
    each other one of which no member is elsewhere, unless that shares a member with a window it succeeds already.

    Args:
        window: The new window.
        members: The members of the new window.
        vanished: The histories of those windows of its key that are no longer there.
        event_names: The names of all events of the key.
    """
    shared_members: dict[Window, set[Hashable]] = {}
    for candidate, history in vanished.items():
        shared = history.members.keys() & members.keys()
        if shared:
            shared_members[candidate] = shared

    # Sorting is stable: the last key decides first.
    candidates = sorted(shared_members)
    candidates.sort(key=lambda candidate: abs(candidate.start - window.start))
    candidates.sort(key=lambda candidate: len(shared_members[candidate]), reverse=True)

    predecessors: list[Window] = []
    for candidate in candidates:
        members_elsewhere = (vanished[candidate].members.keys() & event_names) - members.keys()
        overlaps_predecessor = any(shared_members[candidate] & shared_members[window] for window in predecessors)
        if not predecessors or not (members_elsewhere or overlaps_predecessor):
            predecessors.append(candidate)
    return sorted(predecessors)
