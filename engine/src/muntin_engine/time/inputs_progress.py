"""The progress of several inputs, each by its own policy, and of all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from muntin import EARLIEST
from muntin_engine.time.changes import Progress
from muntin_engine.time.progress_tracker import Observation, ProgressTracker, TrackerState


class InputsProgress(NamedTuple):
    """The progress of each of several inputs, with the state of its tracker.

    Attributes:
        inputs: The progress of each input. Its watermark decides which rows are late; where output changes only at the
            ends of windows, this watermark stays at the last such end.
        tracker_states: The state that the tracker of each input keeps between micro-batches.
        to_the_tick: The watermark of each input exactly as its policy says it, from which the lateness of a row is
            measured.
    """

    inputs: tuple[Progress, ...]
    tracker_states: tuple[TrackerState, ...]
    to_the_tick: tuple[int, ...]

    @classmethod
    def start(cls, count: int) -> InputsProgress:
        """Return the progress of inputs before their first rows.

        Args:
            count: The number of inputs.

        Example:
            >>> InputsProgress.start(2).least == Progress()
            True
        """
        return cls(inputs=(Progress(),) * count, tracker_states=((),) * count, to_the_tick=(EARLIEST,) * count)

    @property
    def least(self) -> Progress:
        """The progress of all inputs together, as results see it.

        Its watermark is the least of all inputs: before it, none will change. Each other field is the largest of all
        inputs.

        Example:
            >>> InputsProgress((Progress(5, 9, 8), Progress(3, 20, 19)), ((), ()), (5, 3)).least.to_data()[:3]
            [3, 20, 19]
        """
        if len(self.inputs) == 1:
            return self.inputs[0]
        watermark = min(progress.watermark for progress in self.inputs)
        largest_fields = Progress(*map(max, *self.inputs))
        return largest_fields._replace(watermark=watermark)

    def advance(
        self,
        trackers: Sequence[ProgressTracker],
        reported: Sequence[Progress],
        observations: Sequence[Iterable[Observation]],
    ) -> InputsProgress:
        """Return the progress after a micro-batch. A reading of a clock in one input counts for all.

        Args:
            trackers: The tracker of each input.
            reported: The progress that the rows of each input say themselves.
            observations: The observations of the sources of each input.
        """
        clock = max(progress.clock for progress in reported)
        inputs: list[Progress] = []
        tracker_states: list[TrackerState] = []
        to_the_tick: list[int] = []
        for place, tracker in enumerate(trackers):
            progress, tracker_state = tracker.advance_to_the_tick(
                previous=self.inputs[place],
                state=self.tracker_states[place],
                reported=reported[place]._replace(clock=clock),
                observations=observations[place],
            )
            inputs.append(tracker.in_steps(progress))
            tracker_states.append(tracker_state)
            # Two watermarks are kept: `inputs` has the one that `in_steps` moves back to the last end of a window, and
            # `to_the_tick` the one that the policy says. The tracker starts from the one that was moved back, so a
            # micro-batch may return less than the one before: hence the maximum.
            to_the_tick.append(max(self.to_the_tick[place], progress.watermark))
        return InputsProgress(tuple(inputs), tuple(tracker_states), tuple(to_the_tick))

    def to_data(self) -> list[Any]:
        """Return the progress as plain data."""
        return [list(map(list, self.inputs)), list(map(list, self.tracker_states)), list(self.to_the_tick)]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> InputsProgress:
        """Return the progress that `to_data` wrote."""
        inputs, tracker_states, to_the_tick = data
        return cls(tuple(map(Progress._make, inputs)), tuple(tracker_states), tuple(to_the_tick))


def furthest_progress(data_by_bucket: Iterable[Sequence[Any]]) -> Progress:
    """Return the progress of the bucket that has come furthest, by its watermark and, if these are equal, its horizon.

    Args:
        data_by_bucket: The progress of each bucket, as `InputsProgress.to_data` wrote it; empty for a bucket that has
            none yet.
    """
    progress_by_bucket = [InputsProgress.from_data(data).least for data in data_by_bucket if data]
    return max(progress_by_bucket, key=Progress.to_data, default=Progress())
