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
from muntin_engine.evaluators.keyed.net_changes import EventChange, NetChanges
from muntin_engine.evaluators.keyed.shedding import Shedding
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Key, Progress, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import progress_of_key


class PatternWatermarks(NamedTuple):
    """The watermarks that patterns of keys give one key; `EARLIEST` if the key is under none.

    Attributes:
        previous: The watermark before the batch.
        present: The watermark after the batch.
    """

    previous: int
    present: int


NO_PATTERNS: Final = PatternWatermarks(EARLIEST, EARLIEST)
"""The watermarks of a key where a query has no patterns."""


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
        # Rows are late by the watermark of earlier batches. How late they are is measured from the watermark exactly as
        # the policy of the input says it, which may be ahead of the one that decides.
        self._late_rule = LateRule(
            watermark=self.previous.watermark,
            watermark_to_the_tick=previous.to_the_tick[side],
            axis=query.axis,
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
        pattern_watermarks: PatternWatermarks,
        key_watermarks: Sequence[int],
    ) -> AdmittedRows:
        """Admit the rows of a key: count those that are accepted, and list the late and rejected ones as rejections.

        Args:
            key: The key.
            state: The state of the key, which keeps the watermark of the key alone.
            rows: The rows.
            pattern_watermarks: The watermarks that patterns give the key.
            key_watermarks: The watermarks that the batch brings of the key alone.

        Raises:
            StateError: The key has no room for all rows, and the query fails then.
        """
        previous = self.previous
        progress = self.progress
        late_rule = self._late_rule

        # A key may be ahead of the input, by its own punctuation or by a pattern. Its rows are late by the watermark
        # before the batch; its windows close by the watermark after it.
        key_watermark = max([state.key_watermark, *key_watermarks])
        if key_watermark > EARLIEST or pattern_watermarks is not NO_PATTERNS:
            previous_watermark = max(state.key_watermark, pattern_watermarks.previous)
            # Allowed lateness is subtracted from the watermarks of a key too. So these go into the progress as the
            # input reported it, before any subtraction.
            if previous_watermark > EARLIEST:
                previous = with_allowed_lateness(
                    self._query, progress_of_key(self._reported_previous, previous_watermark)
                )
                late_rule = late_rule._replace(
                    watermark=previous.watermark,
                    watermark_to_the_tick=max(late_rule.watermark_to_the_tick, previous_watermark),
                )
            present_watermark = max(previous_watermark, key_watermark, pattern_watermarks.present)
            if present_watermark > EARLIEST:
                progress = with_allowed_lateness(
                    self._query, progress_of_key(self._reported_progress, present_watermark)
                )
            is_ahead = key_watermark > self.progress.watermark
            state.key_watermark = key_watermark if is_ahead else EARLIEST  # none once the input is as far

        if not rows and not state.pending:
            return AdmittedRows(NetChanges(state), previous, progress)

        undecided_count = self._filter.count(rows) + self._filter.count(state.pending_rows)
        # If the query limits the events that a key holds, the key rejects the rows that it has no room for.
        shed: list[Rejection] = []
        if self._shedding is not None:
            rows, shed = self._shedding.shed(key, state, rows, late_rule)
        admission = Admission(state, late_rule)
        admission.admit(rows, progress.watermark)
        self._filter.leave_out(state, admission)

        # A row that waits for others is counted when it no longer waits: as accepted, or as rejected. So of the rows of
        # the batch and those that waited before it, all are accepted that are not rejected and do not wait now.
        rejections = self._filter.visible(admission.rejections + shed)
        if rejections:
            self._rejections += [(key, rejection) for rejection in rejections]
        waiting_count = self._filter.count(state.pending_rows)
        self.accepted += undecided_count - len(rejections) - waiting_count
        return AdmittedRows(admission, previous, progress)


class Filter:
    """The filter of a query, which may keep everything.

    Cost: one test for each event that a batch touches, if there is a predicate.
    """

    def __init__(self, keeps: Callable[[object], bool] | None) -> None:
        """Make a filter from a predicate of payloads; None keeps everything."""
        self._keeps = keeps

    def leave_out(self, state: KeyEvents, admission: Admission) -> None:
        """Move the events that the filter leaves out from an admission to the state, marked as filtered.

        A filtered event is never a member of a window; it is kept so that its revisions find it.
        """
        keeps = self._keeps
        if keeps is None:
            return
        inserted: list[StoredEvent] = []
        old_filtered: list[StoredEvent] = []
        new_filtered: list[StoredEvent] = []
        for event in admission.inserted:
            if keeps(event.payload):
                inserted.append(event)
            else:
                new_filtered.append(event.filtered())
        admission.inserted = inserted

        for id, change in list(admission.changes_by_id.items()):
            previous = change.previous
            present = change.present
            if present is not None and not keeps(present.payload):
                present = present.filtered()
            was_visible = previous is not None and not previous.is_filtered
            is_visible = present is not None and not present.is_filtered
            # A change from or to a visible event is still one of the admission: results may depend on it.
            if was_visible or is_visible:
                admission.changes_by_id[id] = EventChange(previous, present)
                continue
            if previous is not None:
                old_filtered.append(previous)
            if present is not None:
                new_filtered.append(present)
            del admission.changes_by_id[id]
        if old_filtered or new_filtered:
            state.replace(old_filtered, new_filtered)

    def count(self, changes: Sequence[InputChange]) -> int:
        """Return the number of rows that metrics count: all but the insertions that the filter leaves out."""
        return len(changes) if self._keeps is None else sum(map(self.is_visible, changes))

    def visible(self, rejections: list[Rejection]) -> list[Rejection]:
        """Return the rejections that metrics count: not those of insertions that the filter would have left out."""
        if self._keeps is None:
            return rejections
        return [rejection for rejection in rejections if self.is_visible(rejection.change)]

    def is_visible(self, change: InputChange) -> bool:
        """Return True if metrics count a row: it is not an insertion that the filter leaves out."""
        is_revision = change.new_end is not None
        return self._keeps is None or is_revision or bool(self._keeps(change.payload))
