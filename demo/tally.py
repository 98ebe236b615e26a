"""The input and output of the questions so far, as Spark reports it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from muntin import EARLIEST, moment

WATERMARK: Final = "watermark"
"""The metric with the watermark of a question's input, in ticks."""

SHOWN: Final[Mapping[str, str]] = {
    "accepted": "in",
    "late": "late",
    "rejected": "rejected",
    "results": "out",
    "retractions": "retracted",
}
"""The metrics that are shown, if a query has them, and their labels."""

SELDOM: Final = ("rejected", "retractions")


class Tally(StreamingQueryListener):
    """Adds up the counts of all micro-batches since the start, by question."""

    def __init__(self) -> None:
        self._batches: dict[str, dict[int, Mapping[str, int]]] = defaultdict(dict)

    def take(self, progress: StreamingQueryProgress | None) -> None:
        """Take the report on a micro-batch; a second one on the same changes nothing."""
        if progress is not None:
            for question, observed in progress.observedMetrics.items():
                self._batches[question][progress.batchId] = observed.asDict()

    def line(self, question: str) -> str:
        """Return the metrics of a question in words, with its watermark; some are left out where they are 0."""
        batches = list(self._batches[question].values())
        counted = [count for count in SHOWN if any(count in batch for batch in batches)]
        sums = {count: sum(batch.get(count, 0) for batch in batches) for count in counted}
        words = [f"{number:,} {SHOWN[count]}" for count, number in sums.items() if number or count not in SELDOM]
        return ", ".join(words + _watermark(batches))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take the report on a micro-batch."""
        self.take(event.progress)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has been counted yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing has been counted since."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Keep the counts of a query that has ended."""


def _watermark(batches: Sequence[Mapping[str, int]]) -> list[str]:
    """Return the watermark of a question in words, until its flights are complete."""
    ticks = [batch[WATERMARK] for batch in batches if batch.get(WATERMARK) is not None]
    at = moment(max(ticks)) if ticks and max(ticks) > EARLIEST else None
    return [] if at is None else [f"to {at:%m-%d %H:%M}"]
