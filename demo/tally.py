"""What the questions have taken in and put out so far, as Spark reports it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

COUNTERS: Final = "muntin"
"""The name under which a query reports its counts."""

SHOWN: Final[Mapping[str, str]] = {
    "accepted": "in",
    "late": "late",
    "rejected": "rejected",
    "results": "out",
    "retractions": "taken back",
}
"""The counts that are shown, if a query has them, and in what words."""


class Tally(StreamingQueryListener):
    """Adds up the counts of all micro-batches since the start, by the name of the query."""

    def __init__(self) -> None:
        self._batches: dict[str, dict[int, Mapping[str, int]]] = defaultdict(dict)

    def take(self, progress: StreamingQueryProgress | None) -> None:
        """Take the report on a micro-batch; a second one on the same changes nothing."""
        observed = None if progress is None else progress.observedMetrics.get(COUNTERS)
        if progress is not None and observed is not None:
            self._batches[progress.name or ""][progress.batchId] = observed.asDict()

    def line(self, name: str) -> str:
        """Return the counts of a query in words."""
        batches = list(self._batches[name].values())
        counted = [count for count in SHOWN if any(count in batch for batch in batches)]
        sums = {count: sum(batch.get(count, 0) for batch in batches) for count in counted}
        return ", ".join(
            f"{number:,} {SHOWN[count]}" for count, number in sums.items() if number or count != "rejected"
        )

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take the report on a micro-batch."""
        self.take(event.progress)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has been counted yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing has been counted since."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """What was counted stays."""
