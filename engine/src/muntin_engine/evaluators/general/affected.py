"""Find the windows that a batch affects, with the changes of their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from muntin import INFINITY, EmitPolicy, Window
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, union
from muntin_engine.evaluators.keyed.net_changes import NetChanges
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import Progress


@dataclass(slots=True)
class Affected:
    """The effect of a batch on one window.

    Attributes:
        exists: True if, after the batch, the window exists and is visible: the query emits it before it closes.
        removed: The members that changed, as they were before the batch. A member that changed and stays is in both
            lists; both are empty for a window that was not emitted.
        added: The members that changed, as they are after the batch.
        sync_time: The earliest tick that the batch changes; only time-bound queries need it, others have `INFINITY`.
        opened_by_time: True if the window was not emitted, and time alone makes it visible: the max event time has
            passed its end or, where open windows are emitted too, the horizon has passed its start.
    """

    exists: bool = False
    removed: list[StoredEvent] = field(default_factory=list)
    added: list[StoredEvent] = field(default_factory=list)
    sync_time: int = INFINITY
    opened_by_time: bool = False

    @property
    def growth(self) -> int:
        """The number of members that the window gains."""
        return len(self.added) - len(self.removed)

    @property
    def touches_members(self) -> bool:
        """True if the members have changed, as a module sees them."""
        return bool(self.added or self.removed)


class _ChangeSpan(NamedTuple):
    """A change of an event, with the stretch of the axis in which it can affect windows.

    Boundaries of windows that change without an event have a span too, with neither version.

    Attributes:
        previous: The event before the batch; None if it did not exist.
        present: The event after the batch; None if it does not exist.
        start: The first tick of the stretch.
        end: The first tick after the stretch.
    """

    previous: StoredEvent | None
    present: StoredEvent | None
    start: int
    end: int

    @property
    def sync_time(self) -> int:
        """The earliest tick that the change alters; `INFINITY` for a change of boundaries."""
        # A new end alters nothing before the earlier one of the two ends.
        if self.previous is not None and self.present is not None and _is_revision(self.previous, self.present):
            return min(self.previous.end, self.present.end)
        event = self.previous if self.previous is not None else self.present
        return INFINITY if event is None else event.start


class AffectedWindows:
    """Applies net changes, and finds the windows that these affect: emitted before the batch, or visible after it.

    Cost: the emitted windows on the stretch of each change, and the visible windows on all these stretches together.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        """Prepare to find the windows of a query."""
        self._query = query
        self._computations = query.once(WindowResults).computations

    def apply(self, state: KeyState, net: NetChanges, previous: Progress, progress: Progress) -> dict[Window, Affected]:
        """Apply net changes, and return the windows that they affect and those that become visible."""
        changes = self._change_spans(net)
        stretches = [(change.start, change.end) for change in changes]

        # The emitted windows that changes affect are found while the windows are those of before the batch.
        affected: dict[Window, Affected] = {}
        for window, change_places in state.windows.touched_by(stretches):
            effect = Affected()
            for place in change_places:
                self._add_change(effect, window, changes[place])
            affected[window] = effect

        # All others are found after the changes have moved boundaries of windows.
        net.apply()
        self._mark_existing(state, changes, progress, affected)
        for window in self._newly_visible(state, changes, previous, progress):
            effect = affected.setdefault(window, Affected())
            effect.exists = True
            effect.opened_by_time = not state.windows.get(window).size
        return affected

    def _change_spans(self, net: NetChanges) -> list[_ChangeSpan]:
        """Return the changes with the stretches in which they can affect windows."""
        affected_stretch = self._query.window.affected_stretch
        changes: list[_ChangeSpan] = []
        for previous, present in net.changes_by_id.values():
            span = self._span_of_change(previous, present)
            if span is not None:
                changes.append(span)
        for event in net.inserted:
            if event.is_member:
                start, end = affected_stretch(event.since, event.until)
                changes.append(_ChangeSpan(previous=None, present=event, start=start, end=end))
        if net.changed_bounds is not None:
            start, end = net.changed_bounds
            changes.append(_ChangeSpan(previous=None, present=None, start=start, end=end))  # of bounds, not of an event
        return changes

    def _span_of_change(self, previous: StoredEvent | None, present: StoredEvent | None) -> _ChangeSpan | None:
        """Find the stretch of the axis in which a change of an event can affect windows.

        None if the change affects no window, as neither version of the event is a member of any.

        By the rule of the StreamInsight paper, a new end affects the windows between the old end and the new end. Where
        a module sees ends outside its window, a new end affects all windows of the event. Where a boundary of windows
        may come or go, the windows on both sides of it are affected: `affected_stretch` of the kind widens the stretch.
        """
        versions = [event for event in (previous, present) if event is not None and event.is_member]
        if not versions:
            return None
        start = min(event.since for event in versions)
        stop = max(event.until for event in versions)
        # Of two versions with different payloads, the old one is replaced: that affects all windows of both.
        # `waits_for_ends` is false if no module sees ends outside its window.
        if len(versions) == 2 and not self._query.waits_for_ends and _is_revision(previous, present):
            old_version, new_version = versions
            # Up to the earlier end, both versions are members of the same windows: only what follows it is affected.
            # That does not hold if a kind counts an event elsewhere than on its lifetime: then a new end may move the
            # event to other windows.
            reach_their_ends = old_version.until >= old_version.end and new_version.until >= new_version.end
            if old_version.since == new_version.since and reach_their_ends:
                start = min(old_version.end, new_version.end)
        start, end = self._query.window.affected_stretch(start, stop)
        return _ChangeSpan(previous, present, start, end)

    def _add_change(self, effect: Affected, window: Window, change: _ChangeSpan) -> None:
        """Add the effect of one change to the effect of the batch on a window that was emitted."""
        if self._query.is_time_bound:
            effect.sync_time = min(effect.sync_time, change.sync_time)
        # The versions of the event that are members of this window.
        before = change.previous
        if before is not None and not _is_member(before, window):
            before = None
        after = change.present
        if after is not None and not _is_member(after, window):
            after = None
        if before is not None and after is not None and self._is_same_to_modules(before, after, window):
            return
        if before is not None:
            effect.removed.append(before)
        if after is not None:
            effect.added.append(after)

    def _is_same_to_modules(self, previous: StoredEvent, present: StoredEvent, window: Window) -> bool:
        """Return True if two versions of a member are the same to all modules."""
        if not _is_revision(previous, present):
            return False
        return all(computation.sees_same(previous, present, window) for computation in self._computations)

    def _mark_existing(
        self, state: KeyState, changes: Sequence[_ChangeSpan], progress: Progress, affected: dict[Window, Affected]
    ) -> None:
        """Mark the windows that exist on the stretches of changes.

        Windows that do not wait for events exist up to the horizon, or up to the last end of a membership if that is
        later: windows may keep an event as a member for some time after its end.
        """
        assigner = state.assigner
        # Speculative output has the windows that have ended, by the max event time; any other has open windows too.
        limit = progress.max_event_time if self._query.emit is EmitPolicy.SPECULATIVE else INFINITY
        last = INFINITY
        if not self._query.window.waits_for_events:
            last = max(progress.horizon, state.events.last_end())
        stretches = [(change.start, min(change.end, last)) for change in changes]
        for window in assigner.over(union(stretches), limit):
            effect = affected.get(window)
            if effect is None:
                effect = Affected()
                affected[window] = effect
            effect.exists = True

        # The output of a time-bound window is corrected from the earliest of the changes whose stretches it overlaps.
        if self._query.is_time_bound:
            for change, (start, end) in zip(changes, stretches, strict=True):
                for window in assigner.overlapping(start, end, limit):
                    affected[window].sync_time = min(affected[window].sync_time, change.sync_time)

    def _newly_visible(
        self, state: KeyState, changes: Sequence[_ChangeSpan], previous: Progress, progress: Progress
    ) -> list[Window]:
        """Return the windows that become visible, with or without a change in them."""
        assigner = state.assigner
        if self._query.emit is EmitPolicy.SPECULATIVE:
            return assigner.newly_visible(
                state.events,
                ends_after=previous.max_event_time,
                limit=progress.max_event_time,
                horizon=progress.horizon,
            )
        # Any other query emits windows with members as soon as they exist. A window comes into being without a change
        # in it only if the horizon passes its start, and only where windows do not wait for events.
        if previous.horizon >= progress.horizon or self._query.window.waits_for_events:
            return []
        # As the horizon moves on, more windows exist of events without an end: of those that have none now, and of
        # those that had none before the batch.
        endless_events = state.events.endless()
        for change in changes:
            if change.present is not None and change.previous is not None and change.previous.is_endless:
                endless_events.append(change.present)
        windows = assigner.ending(endless_events, ends_after=previous.horizon, limit=INFINITY, horizon=progress.horizon)
        return [window for window in windows if window.start >= previous.horizon]


def _is_revision(previous: StoredEvent | None, present: StoredEvent | None) -> bool:
    """Return True if nothing but the end of an event changed: both versions have the same payload object then."""
    return previous is not None and present is not None and previous.payload is present.payload


def _is_member(event: StoredEvent, window: Window) -> bool:
    """Return True if an event is a member of a window."""
    return window.start < event.until and event.since < window.end and event.is_member
