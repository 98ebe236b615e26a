"""Speculative output: windows are put out early and corrected when they change.

The four phases of the paper's section V.D, for one micro-batch at a time: find the affected windows, bring the
indexes up to date, compute the affected windows that exist now, and put out the difference to what stands. The
last output of a window is stored, so a module is not called again to learn what to retract (SI-62).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from muntin import INFINITY, EmitPolicy, Window
from muntin_engine.core.admission import Admission
from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.core.computation import Computation, OutputRow, Stamper
from muntin_engine.core.event_index import StoredEvent
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.retirement import closing_limit, retire
from muntin_engine.core.rows import replace_rows, replace_rows_from
from muntin_engine.core.window_index import WindowEntry


@dataclass(slots=True)
class Affected:
    """What a batch did to one window.

    Attributes:
        removed: Members as they were before the batch.
        added: Members as they are now.
        sync_time: The earliest tick of the axis that changed.
    """

    removed: list[StoredEvent] = field(default_factory=list)
    added: list[StoredEvent] = field(default_factory=list)
    sync_time: int = INFINITY


class SpeculativeEvaluator:
    """Keeps each window that is out up to date.

    Cost: a change costs the windows it affects. In each, an incremental module that can remove is updated with the
    change; any other is computed from the members.
    """

    def __init__(self, query: WindowedQuery) -> None:
        self._query = query
        self._computations = [Computation(binding, query.clip) for binding in query.bindings]
        self._stamper = Stamper(query)

    def evaluate(
        self, key: object, state: KeyState, admission: Admission, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take a batch into a key's state and return the net change of its output."""
        affected = self._affected_before(state, admission)
        admission.settle()
        existing = self._affected_after(state, admission, affected, now)
        for window in self._newly_visible(state, before, now):
            affected.setdefault(window, Affected(sync_time=before.punctuation))
            existing.add(window)
        output: list[OutputChange] = []
        for window in sorted(affected):
            exists = window in existing and self._is_visible(window, now)
            output += self._update(key, state, window, affected[window], exists=exists)
        retire(self._query, state, now.punctuation, closing_limit(self._query, state, now.punctuation))
        return output

    def _affected_before(self, state: KeyState, admission: Admission) -> dict[Window, Affected]:
        affected: dict[Window, Affected] = {}
        for event, after in admission.touched.values():
            stretch = self._stretch(event, after)
            for window in state.windows.overlapping(*stretch):
                self._note(affected.setdefault(window, Affected()), window, event, after)
        return affected

    def _affected_after(
        self, state: KeyState, admission: Admission, affected: dict[Window, Affected], now: Progress
    ) -> set[Window]:
        existing: set[Window] = set()
        for event, after in admission.touched.values():
            stretch = self._stretch(event, after)
            for window in state.windows.assigner.overlapping(*stretch, now.horizon):
                existing.add(window)
                if state.windows.get(window) is None:
                    self._note(affected.setdefault(window, Affected()), window, event, after)
        return existing

    def _stretch(self, before: StoredEvent | None, after: StoredEvent | None) -> tuple[int, int]:
        """Return the stretch of the axis on which a change of an event shows (SI-69).

        Where a module sees ends outside its window, a new end shows in every window of the event, also in those
        that lie before both ends; the paper's rule covers the windows between the ends alone.
        """
        versions = [event for event in (before, after) if event is not None]
        first, last = min(event.since for event in versions), max(event.until for event in versions)
        if len(versions) == 2 and not self._query.counts and not self._query.waits_for_ends:
            first = min(min(event.end, event.until) for event in versions)
        return first - 1, last if last == INFINITY else last + 1

    def _note(
        self, affected: Affected, window: Window, before: StoredEvent | None, after: StoredEvent | None
    ) -> None:
        affected.sync_time = min(affected.sync_time, _sync_time(before, after))
        was, is_now = _is_member(before, window), _is_member(after, window)
        if was and is_now and before and after and self._looks_alike(before, after, window):
            return
        if was and before:
            affected.removed.append(before)
        if is_now and after:
            affected.added.append(after)

    def _looks_alike(self, before: StoredEvent, after: StoredEvent, window: Window) -> bool:
        return all(computation.looks_alike(before, after, window) for computation in self._computations)

    def _is_visible(self, window: Window, now: Progress) -> bool:
        if self._query.emit is EmitPolicy.SPECULATIVE:
            return window.end <= now.watermark
        return window.start < now.horizon or self._query.counts

    def _newly_visible(self, state: KeyState, before: Progress, now: Progress) -> Iterable[Window]:
        assigner = state.windows.assigner
        events = list(state.events.until_after(assigner.frontier))
        if not events:
            return []
        if self._query.emit is EmitPolicy.SPECULATIVE:
            windows = assigner.closing(events, now.watermark, now.horizon)
            return [window for window in windows if window.end > before.watermark]
        open_since = min((event.since for event in events if event.until == INFINITY), default=INFINITY)
        if before.horizon >= now.horizon or open_since == INFINITY:
            return []
        windows = assigner.overlapping(max(before.horizon, open_since), INFINITY, now.horizon)
        return [window for window in windows if window.start >= before.horizon]

    def _update(
        self, key: object, state: KeyState, window: Window, affected: Affected, *, exists: bool
    ) -> list[OutputChange]:
        entry = state.windows.get(window)
        if entry is not None and exists and not affected.added and not affected.removed:
            return []
        states, rows = self._compute(key, state, window, entry, affected) if exists else ([], [])
        standing = entry.standing if entry is not None else []
        if self._query.is_time_bound:
            standing, output = replace_rows_from(affected.sync_time, window, standing, rows, state.next_serial)
        else:
            standing, output = replace_rows(window, standing, rows, state.next_serial)
        if standing or states:
            state.windows.put(window, WindowEntry(states, standing))
        else:
            state.windows.discard(window)
        return output

    def _compute(
        self, key: object, state: KeyState, window: Window, entry: WindowEntry | None, affected: Affected
    ) -> tuple[list[Any], list[OutputRow]]:
        members = state.events.overlapping(window.start, window.end)
        if not members:
            return [], []
        states: list[Any] = []
        results: list[Any] = []
        for place, computation in enumerate(self._computations):
            if not computation.is_incremental:
                states.append(None)
                results.append(computation.result_of_members(members, key, window))
                continue
            old = entry.states[place] if entry is not None and entry.states else None
            new = self._state(computation, key, window, old, members, affected)
            states.append(new)
            results.append(computation.result_of_state(new, key, window))
        return states, self._stamper.rows(window, results)

    def _state(
        self,
        computation: Computation,
        key: object,
        window: Window,
        old: Any,
        members: list[StoredEvent],
        affected: Affected,
    ) -> Any:
        is_cheaper = len(affected.added) + len(affected.removed) < len(members)
        if old is None or not is_cheaper or (affected.removed and not computation.can_remove):
            return computation.build(members, key, window)
        kept = computation.remove(old, affected.removed, key, window)
        return computation.add(kept, affected.added, key, window)


def _is_member(event: StoredEvent | None, window: Window) -> bool:
    return event is not None and window.start < event.until and event.since < window.end and event.since < event.until


def _sync_time(before: StoredEvent | None, after: StoredEvent | None) -> int:
    if before is not None and after is not None:
        return min(before.end, after.end)
    event = before if before is not None else after
    return INFINITY if event is None else event.start
