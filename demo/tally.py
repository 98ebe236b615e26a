"""What the questions have taken in and put out so far, as Spark reports it."""

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

COUNTERS: Final = "muntin"
"""The name under which a query reports its counts."""

WATERMARK: Final = "watermark"
"""The name of how far a question's input is complete, in ticks."""

SHOWN: Final[Mapping[str, str]] = {
    "accepted": "in",
    "late": "late",
    "rejected": "rejected",
    "results": "out",
    "retractions": "taken back",
}
"""The counts that are shown, if a query has them, and in what words."""

SELDOM: Final = ("rejected", "retractions")


class Tally(StreamingQueryListener):
    """Adds up the counts of all micro-batches since the start, by the name of the query."""

    def __init__(self) -> None:
        self._batches: dict[str, dict[int, Mapping[str, int]]] = defaultdict(dict)

    def take(self, progress: StreamingQueryProgress | None) -> None:
        """Take the report on a micro-batch; a second one on the same changes nothing."""
        metrics = {} if progress is None else progress.observedMetrics
        observed = next((found for name, found in metrics.items() if name.split(" # ")[0] == COUNTERS), None)
        if progress is not None and observed is not None:
            self._batches[progress.name or ""][progress.batchId] = observed.asDict()

    def line(self, name: str) -> str:
        """Return the counts of a query in words, and how far it is; a count that is seldom above 0 only if it is."""
        batches = list(self._batches[name].values())
        counted = [count for count in SHOWN if any(count in batch for batch in batches)]
        sums = {count: sum(batch.get(count, 0) for batch in batches) for count in counted}
        words = [f"{number:,} {SHOWN[count]}" for count, number in sums.items() if number or count not in SELDOM]
        return ", ".join(words + _how_far(batches))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take the report on a micro-batch."""
        self.take(event.progress)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has been counted yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing has been counted since."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """What was counted stays."""


def _how_far(batches: Sequence[Mapping[str, int]]) -> list[str]:
    """Return until when the flights of a question are complete, while there are more."""
    ticks = [batch[WATERMARK] for batch in batches if batch.get(WATERMARK) is not None]
    at = moment(max(ticks)) if ticks and max(ticks) > EARLIEST else None
    return [] if at is None else [f"to {at:%m-%d %H:%M}"]
