"""Find the windows that a batch affects, with the changes of their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from muntin import INFINITY, EmitPolicy, Window
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, union
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import Progress


@dataclass(slots=True)
class Affected:
    """The effect of a batch on one window.

    Attributes:
        exists: True if, after the batch, the window exists and is visible: the query emits it before it closes.
        removed: Changed members as they were before the batch, if the window was emitted.
        added: Changed members as they are after the batch, if the window was emitted.
        sync_time: The earliest tick that the batch changes.
        is_new: True if the batch makes the window visible, with or without a change in it.
    """

    exists: bool = False
    removed: list[StoredEvent] = field(default_factory=list)
    added: list[StoredEvent] = field(default_factory=list)
    sync_time: int = INFINITY
    is_new: bool = False

    @property
    def growth(self) -> int:
        """The number of members that the window gains."""
        return len(self.added) - len(self.removed)

    @property
    def touches_members(self) -> bool:
        """True if the members have changed, as a module sees them."""
        return bool(self.added or self.removed)


class _ChangeSpan(NamedTuple):
    """A change of an event, with the stretch `[start, end)` of the axis in which it can affect windows."""

    before: StoredEvent | None
    after: StoredEvent | None
    start: int
    end: int

    @property
    def sync_time(self) -> int:
        """The earliest tick that the change alters."""
        if self.before is not None and self.after is not None and _is_revision(self.before, self.after):
            return min(self.before.end, self.after.end)
        event = self.before if self.before is not None else self.after
        return INFINITY if event is None else event.start


class AffectedWindows:
    """Applies net changes, and finds the windows that these affect: emitted before the batch, or visible after it.

    Cost: the emitted windows on the stretch of each change, and the visible windows on all these stretches together.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        self._query = query
        self._computations = query.once(WindowResults).computations

    def apply(self, state: KeyState, net: NetChanges, before: Progress, now: Progress) -> dict[Window, Affected]:
        """Apply net changes, and return the windows that they affect and those that become visible."""
        stretch = self._query.window.affected_stretch
        changes = [self._change_span(*versions) for versions in net.touched.values()]
        changes += [
            _ChangeSpan(None, event, *stretch(event.since, event.until))
            for event in net.inserted
            if event.since < event.until
        ]
        if net.recut is not None:
            changes.append(_ChangeSpan(None, None, *net.recut))
        affected: dict[Window, Affected] = {}
        for window, numbers in state.windows.touched_by([(change.start, change.end) for change in changes]):
            affected[window] = found = Affected()
            for number in numbers:
                self._note(found, window, changes[number])
        net.apply()
        self._mark_existing(state, changes, now, affected)
        for window in self._newly_visible(state, changes, before, now):
            found = affected.setdefault(window, Affected())
            found.exists, found.is_new = True, not state.windows.get(window).size
        return affected

    def _change_span(self, before: StoredEvent | None, after: StoredEvent | None) -> _ChangeSpan:
        """Find the stretch of the axis in which a change of an event can affect windows.

        By the paper's rule a new end affects the windows between the old and the new end. Where a module sees ends
        outside its window, it affects every window of the event. Where a boundary may come or go, the windows on both
        sides of it are affected.
        """
        versions = [event for event in (before, after) if event is not None and event.is_member]
        first = min((event.since for event in versions), default=INFINITY)
        last = max((event.until for event in versions), default=INFINITY)
        if len(versions) == 2 and not self._query.waits_for_ends and _is_revision(before, after):
            one, other = versions
            if one.since == other.since and one.until >= one.end and other.until >= other.end:
                first = min(one.end, other.end)
        return _ChangeSpan(before, after, *self._query.window.affected_stretch(first, last))

    def _note(self, affected: Affected, window: Window, change: _ChangeSpan) -> None:
        before, after = change.before, change.after
        if before is None and after is not None:  # most are new
            affected.sync_time = min(affected.sync_time, after.start)
            if after.since < window.end and window.start < after.until:
                affected.added.append(after)
            return
        affected.sync_time = min(affected.sync_time, change.sync_time)
        was, is_now = _is_member(before, window), _is_member(after, window)
        if (
            was
            and is_now
            and before
            and after
            and _is_revision(before, after)
            and all(computation.looks_alike(before, after, window) for computation in self._computations)
        ):
            return
        if was and before:
            affected.removed.append(before)
        if is_now and after:
            affected.added.append(after)

    def _mark_existing(
        self, state: KeyState, changes: Sequence[_ChangeSpan], now: Progress, affected: dict[Window, Affected]
    ) -> None:
        """Mark the windows that exist on the stretches of changes.

        Windows that do not wait for events exist up to the horizon, or up to the last end of a membership if that is
        later: a reach extends the membership of a sample that its successor ended.
        """
        assigner = state.assigner
        limit = now.max_event_time if self._query.emit is EmitPolicy.SPECULATIVE else INFINITY
        last = INFINITY if self._query.window.waits_for_events else max(now.horizon, state.events.last_end())
        stretches = [(change.start, min(change.end, last)) for change in changes]
        for window in assigner.over(union(stretches), limit):
            found = affected.get(window)
            if found is None:
                affected[window] = found = Affected()
            found.exists = True
        if self._query.is_time_bound:
            for change, (start, end) in zip(changes, stretches, strict=True):
                for window in assigner.overlapping(start, end, limit):
                    affected[window].sync_time = min(affected[window].sync_time, change.sync_time)

    def _newly_visible(
        self, state: KeyState, changes: Sequence[_ChangeSpan], before: Progress, now: Progress
    ) -> list[Window]:
        """Return the windows that become visible, with or without a change in them."""
        assigner = state.assigner
        if self._query.emit is EmitPolicy.SPECULATIVE:
            return assigner.newly_visible(state.events, before.max_event_time, now.max_event_time, now.horizon)
        if before.horizon >= now.horizon or self._query.window.waits_for_events:
            return []
        were_endless = [
            change.after for change in changes if change.after and change.before and change.before.is_endless
        ]
        endless = state.events.until_after(INFINITY - 1) + were_endless
        windows = assigner.ending(endless, before.horizon, INFINITY, now.horizon)
        return [window for window in windows if window.start >= before.horizon]


def _is_revision(before: StoredEvent | None, after: StoredEvent | None) -> bool:
    """True if the end of an event changed and nothing else; an event that was inserted again has another payload."""
    return before is not None and after is not None and before.payload is after.payload


def _is_member(event: StoredEvent | None, window: Window) -> bool:
    return event is not None and window.start < event.until and event.since < window.end and event.is_member
