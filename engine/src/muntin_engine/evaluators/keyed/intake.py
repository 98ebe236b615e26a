"""Admit the rows of one input, key by key: those that their key has room for, that are legal, and that a filter keeps.

Which rows are late is decided in `lateness`, which rows are shed in `shedding`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from muntin import EARLIEST, LatePolicy
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.evaluators.keyed.lateness import LateRule, with_allowed_lateness
from muntin_engine.evaluators.keyed.net_changes import NetChanges
from muntin_engine.evaluators.keyed.shedding import Shedding
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Key, Progress, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import for_key

NO_PATTERNS: Final = (EARLIEST, EARLIEST)
"""The watermarks that patterns give a key that is under none."""


class AdmittedRows(NamedTuple):
    """The outcome of the rows of a key.

    Attributes:
        net: The net changes of its events.
        previous: The progress before the batch, as it counts for the key.
        progress: The progress after it, likewise.
    """

    net: NetChanges
    previous: Progress
    progress: Progress


class KeyIntake:
    """Admits the rows of one input during a micro-batch, key by key.

    Attributes:
        previous: The progress of the input before the batch, with the watermark after allowed lateness.
        progress: The progress after the batch, likewise.
        accepted: The number of accepted rows so far; one that waits for others of its event counts when they came.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        previous: InputsProgress,
        progress: InputsProgress,
        side: int,
        rejections: list[tuple[Key, Rejection]],
    ) -> None:
        """Begin a batch.

        Args:
            query: The query.
            previous: The progress of all inputs before the batch.
            progress: The progress of all inputs after the batch.
            side: The place of this input among those of the query.
            rejections: The list that gets the late and rejected rows.
        """
        self._query = query
        self._reported_previous = previous.inputs[side]
        self._reported_progress = progress.inputs[side]
        self.previous = with_allowed_lateness(query, self._reported_previous)
        self.progress = with_allowed_lateness(query, self._reported_progress)
        self._late_rule = LateRule(
            self.previous.watermark,
            previous.to_the_tick[side],
            query.axis,
            adjusts=query.late.policy is LatePolicy.ADJUST,
        )
        self.accepted = 0
        self._rejections = rejections
        self._filter = Filter(query.keeps)
        self._shedding = None if query.most_held is None else Shedding(query)

    def admit(
        self,
        key: Key,
        state: KeyEvents,
        rows: Sequence[InputChange],
        pattern_watermarks: tuple[int, int],
        key_watermarks: Sequence[int],
    ) -> AdmittedRows:
        """Admit the rows of a key.

        Args:
            key: The key.
            state: The state of the key, which keeps the watermark of the key alone.
            rows: The rows.
            pattern_watermarks: The watermark that patterns gave the key before the batch, and the one after it.
            key_watermarks: The watermarks that the batch brings of the key alone.
        """
        previous = self.previous
        progress = self.progress
        late_rule = self._late_rule
        key_watermark = max([state.key_watermark, *key_watermarks])
        if key_watermark > EARLIEST or pattern_watermarks is not NO_PATTERNS:
            previous_pattern_watermark, pattern_watermark = pattern_watermarks
            previous_own = max(state.key_watermark, previous_pattern_watermark)
            if previous_own > EARLIEST:
                previous = with_allowed_lateness(self._query, for_key(self._reported_previous, previous_own))
                late_rule = late_rule._replace(
                    watermark=previous.watermark,
                    watermark_to_the_tick=max(late_rule.watermark_to_the_tick, previous_own),
                )
            present_own = max(previous_own, key_watermark, pattern_watermark)
            if present_own > EARLIEST:
                progress = with_allowed_lateness(self._query, for_key(self._reported_progress, present_own))
            is_ahead = key_watermark > self.progress.watermark
            state.key_watermark = key_watermark if is_ahead else EARLIEST
        if not rows and not state.pending:
            return AdmittedRows(NetChanges(state), previous, progress)

        counted = self._filter.count(rows) + self._filter.count(state.waiting)
        shed: list[Rejection] = []
        if self._shedding is not None:
            rows, shed = self._shedding.shed(key, state, rows, late_rule)
        admission = Admission(state, late_rule)
        admission.admit(rows, progress.watermark)
        self._filter.leave_out(state, admission)
        rejections = self._filter.visible(admission.rejections + shed)
        if rejections:
            self._rejections += [(key, rejection) for rejection in rejections]
        self.accepted += counted - len(rejections) - self._filter.count(state.waiting)
        return AdmittedRows(admission, previous, progress)


class Filter:
    """The filter of a query, which may keep everything.

    Cost: one test for each event that a batch touches, if there is a predicate.
    """

    def __init__(self, keeps: Callable[[object], bool] | None) -> None:
        """Make a filter from a predicate of payloads; None keeps everything."""
        self._keeps = keeps

    def leave_out(self, state: KeyEvents, admission: Admission) -> None:
        """Move the events that the filter leaves out from an admission to the state, marked as filtered."""
        keeps = self._keeps
        if keeps is None:
            return
        removed: list[StoredEvent] = []
        added: list[StoredEvent] = []
        inserted: list[StoredEvent] = []
        for event in admission.inserted:
            if keeps(event.payload):
                inserted.append(event)
            else:
                added.append(event.filtered())
        admission.inserted = inserted

        for id, (before, after) in list(admission.touched.items()):
            is_left_out = after is not None and not keeps(after.payload)
            present = after.filtered() if after is not None and is_left_out else after
            was_visible = before is not None and not before.is_filtered
            is_visible = present is not None and not present.is_filtered
            if was_visible or is_visible:
                admission.touched[id] = (before, present)
                continue
            if before is not None:
                removed.append(before)
            if present is not None:
                added.append(present)
            del admission.touched[id]
        if removed or added:
            state.replace(removed, added)

    def count(self, changes: Sequence[InputChange]) -> int:
        """Return the number of rows that metrics count: all but the insertions that the filter leaves out."""
        return len(changes) if self._keeps is None else sum(map(self.counts, changes))

    def visible(self, rejections: list[Rejection]) -> list[Rejection]:
        """Return rejections without those of insertions that are left out anyway."""
        if self._keeps is None:
            return rejections
        return [rejection for rejection in rejections if self.counts(rejection.change)]

    def counts(self, change: InputChange) -> bool:
        """Return True if metrics count a row: it is not an insertion that the filter leaves out."""
        return self._keeps is None or change.new_end is not None or bool(self._keeps(change.payload))
