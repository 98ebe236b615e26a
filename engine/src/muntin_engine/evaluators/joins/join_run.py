"""Process a join, key by key: a micro-batch of both inputs changes the state of a key, and the output."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, JoinKind
from muntin_engine.evaluators.joins.finality import Finality, Watermarks
from muntin_engine.evaluators.joins.join_emission import ClipEmission, JoinEmission
from muntin_engine.evaluators.joins.join_state import JoinState
from muntin_engine.evaluators.joins.matching import JoinQuery
from muntin_engine.evaluators.keyed.keyed_run import BatchStart, KeyedRun, KeyWork
from muntin_engine.evaluators.keyed.net_changes import NetChanges
from muntin_engine.state.bucket_state import Due, KeyTimer
from muntin_engine.time.changes import Key, OutputChange, Progress
from muntin_engine.time.inputs_progress import InputsProgress


class JoinRun(KeyedRun):
    """A micro-batch of both inputs."""

    state_class = JoinState
    query: JoinQuery
    _emission: JoinEmission

    def __init__(self, query: JoinQuery, start: BatchStart) -> None:
        """Begin a micro-batch."""
        super().__init__(query, start)
        self._emission_class = ClipEmission if query.kind is JoinKind.CLIP else JoinEmission
        left_intake, right_intake = self.intakes
        watermarks = Watermarks(left_intake.progress.watermark, right_intake.progress.watermark)
        self._finality = Finality(query, watermarks)
        self.due_at = Due(
            closing=_due_watermark(left_intake.previous, left_intake.progress),
            right_closing=_due_watermark(right_intake.previous, right_intake.progress),
        )

    def process_rows(self, key: Key, state: JoinState, work: KeyWork) -> list[OutputChange]:
        """Admit the rows of both inputs, and return the rows of the output that change, or are final now."""
        pattern_watermarks = self.pattern_watermarks(key)
        nets: list[NetChanges] = []
        for side, intake in enumerate(self.intakes):
            rows = [row for row in work.rows if row.side == side]
            admitted = intake.admit(key, state.sides[side], rows, pattern_watermarks, work.watermarks)
            nets.append(admitted.net)
        self._emission = self._emission_class(self.query, state, self._finality)
        output = self._emission.emit(nets)
        self._emission.forget()  # after the rows were emitted that still read these events
        return output

    def timer_of(self, state: JoinState) -> KeyTimer:
        """Return the timer of the key whose rows were processed last, by the watermark of each input."""
        return self._emission.timer()

    def output_watermark(self, earliest: int) -> int:
        """Return the least watermark of both inputs, or the start of the first row that waits if that is earlier.

        Args:
            earliest: The start of the first row that waits for a watermark, in any key.
        """
        watermark = self.result.progress.watermark
        if watermark in (EARLIEST, INFINITY):  # nothing is earlier than `EARLIEST`; nothing waits at `INFINITY`
            return watermark
        return min(watermark, earliest)


class PassingRun(JoinRun):
    """A micro-batch of one input, whose events are the results.

    The other input of the join ended before anything came, so no event ever covers one of this input or waits for it.
    """

    def __init__(self, query: JoinQuery, start: BatchStart) -> None:
        """Begin a micro-batch: there is no other input, as if it had ended."""
        start_of_both = start._replace(
            previous=_with_ended_input(start.previous),
            progress=_with_ended_input(start.progress),
        )
        super().__init__(query, start_of_both)
        # What is reported, and kept for the next batch, is the progress of the only input there is.
        self.result.inputs = start.progress
        self.result.progress = start.progress.least


def _due_watermark(previous: Progress, progress: Progress) -> int:
    """Return the watermark of an input up to which timers of keys are due.

    Timers at `INFINITY` are due once, in the batch in which the input closes. In later batches nothing waits for it any
    more: the watermark that is returned then leaves these timers out.
    """
    was_closed = previous.watermark == INFINITY
    if was_closed and progress.watermark == INFINITY:
        return INFINITY - 1
    return progress.watermark


def _with_ended_input(progress: InputsProgress) -> InputsProgress:
    """Return the progress of one input, beside that of a second input that has ended."""
    ended = Progress(watermark=INFINITY)
    return InputsProgress(
        inputs=(*progress.inputs, ended),
        tracker_states=(*progress.tracker_states, ()),
        to_the_tick=(*progress.to_the_tick, ended.watermark),
    )
