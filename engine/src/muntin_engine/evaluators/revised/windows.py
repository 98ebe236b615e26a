"""The contract of the windows of events with ids: all in which snapshots differ from windows on a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.evaluators.revised.events import Events, LiveEvents


class RevisedWindows(ABC):
    """The windows of one bucket, and what they keep of events that have ended.

    An event is live until the watermark passes its end: until then a legal row may be about it. Live events are kept by
    the caller, and handed over.
    """

    @abstractmethod
    def close(self, live: LiveEvents, before: int, now: Progress) -> Iterator[StretchTable]:
        """Yield the windows with members that a batch completes, from start to end in ticks, before `forget`.

        Args:
            live: The events that were live at the watermark before, with the rows of the batch.
            before: The watermark before the batch.
            now: The progress after it.
        """

    def visible(
        self, live: LiveEvents, before: Progress, now: Progress, are_touched: BoolArray
    ) -> Iterator[StretchTable]:
        """Yield the windows with members whose results may differ from what was emitted early, before `forget`.

        These are the windows that are shown for the first time, and those of touched keys that were shown before. A
        window is shown as soon as an event starts where it ends, or later.

        Args:
            live: The events that were live at the watermark before, with the rows of the batch.
            before: The progress before the batch.
            now: The progress after it.
            are_touched: For the code of each key whether rows of the batch are about it.
        """
        raise AssertionError(f"results of {type(self).__name__} are final: {len(live)}, {before}, {now}, {are_touched}")

    @abstractmethod
    def forget(self, live: LiveEvents, watermark: int) -> None:
        """Drop the events that end before a watermark from the live ones; keep what open windows need of them."""

    @abstractmethod
    def needed(self, events: Events, is_member: BoolArray, watermark: int) -> Events:
        """Return the events of a log that are live at a watermark, or that open windows need.

        Args:
            events: All events of the log, without those that were deleted.
            is_member: For each whether it is a member of windows.
            watermark: The watermark.
        """

    @abstractmethod
    def are_over(self, events: Events, live: LiveEvents, watermark: int) -> BoolArray:
        """Return for each event of a batch whether nothing needs it any more, after `forget`."""

    @abstractmethod
    def first_start(self, live: LiveEvents) -> int:
        """Return the least start of an open window that events have cut; `INFINITY` if there is none."""

    @abstractmethod
    def output_watermark(self, watermark: int, first_start: int) -> int:
        """Return the output watermark: no later result of the bucket has a sync time before it.

        Args:
            watermark: The watermark of the input.
            first_start: What the method of this name returned, in this batch or in an earlier one.
        """

    @property
    def ended_events(self) -> int:
        """The number of events that have ended and that are kept all the same."""
        return 0

    @property
    def nbytes(self) -> int:
        """About how many bytes these take in memory."""
        return 0

    @abstractmethod
    def keys(self) -> IntArray:
        """Return the codes of the keys of these events, ascending."""

    @abstractmethod
    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
