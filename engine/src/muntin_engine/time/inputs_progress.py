"""The progress of several inputs, each by its own policy, and of all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from muntin import EARLIEST
from muntin_engine.time.changes import Progress
from muntin_engine.time.progress_tracker import Observation, ProgressTracker, Tracked

_CLOCK: Final = attrgetter("clock")


class InputsProgress(NamedTuple):
    """The progress of each of several inputs, with the data that its tracker keeps.

    Attributes:
        inputs: The progress of each input: rows of its own are late by its own watermark.
        tracked: The data that the tracker of each keeps between micro-batches.
        to_the_tick: The watermark of each input as its policy says it, by which it is told how late a row is; `inputs`
            have it in steps, where output has steps.
    """

    inputs: tuple[Progress, ...]
    tracked: tuple[Tracked, ...]
    to_the_tick: tuple[int, ...]

    @classmethod
    def start(cls, count: int) -> InputsProgress:
        """Return the progress of so many inputs of which nothing has come.

        Example:
            >>> InputsProgress.start(2).least == Progress()
            True
        """
        return cls((Progress(),) * count, ((),) * count, (EARLIEST,) * count)

    @property
    def least(self) -> Progress:
        """The progress of what all inputs contribute to.

        Its watermark is the least of theirs: before it, nothing of any input will change. All else is as far as the
        furthest input says.

        Example:
            >>> InputsProgress((Progress(5, 9, 8), Progress(3, 20, 19)), ((), ()), (5, 3)).least.to_data()[:3]
            [3, 20, 19]
        """
        if len(self.inputs) == 1:
            return self.inputs[0]
        watermarks, *others = zip(*self.inputs, strict=True)
        return Progress(min(watermarks), *map(max, others))

    def advance(
        self,
        trackers: Sequence[ProgressTracker],
        arrived: Sequence[Progress],
        observed: Sequence[Iterable[Observation]],
    ) -> InputsProgress:
        """Return the progress after a micro-batch. A reading of a clock in one input counts for all.

        Args:
            trackers: The tracker of each input.
            arrived: The progress of each by explicit rows.
            observed: The observations of the sources of each.
        """
        clock = max(map(_CLOCK, arrived))
        said = [one if one.clock == clock else one._replace(clock=clock) for one in arrived]
        inputs, kept, to_the_tick = [], [], []
        for place, tracker in enumerate(trackers):
            now, tracked = tracker.advance_to_the_tick(
                self.inputs[place], self.tracked[place], said[place], observed[place]
            )
            inputs.append(tracker.in_steps(now))
            kept.append(tracked)
            # `inputs` have forgotten what lies beyond the last step, so a batch that brings less must not go back.
            to_the_tick.append(max(self.to_the_tick[place], now.watermark))
        return InputsProgress(tuple(inputs), tuple(kept), tuple(to_the_tick))

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        return [list(map(list, self.inputs)), list(map(list, self.tracked)), list(self.to_the_tick)]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> InputsProgress:
        """Return the progress that `to_data` wrote."""
        inputs, tracked, to_the_tick = data
        return cls(tuple(map(Progress._make, inputs)), tuple(tracked), tuple(to_the_tick))
