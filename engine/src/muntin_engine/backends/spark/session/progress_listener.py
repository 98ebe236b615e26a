"""A listener of Spark's that follows micro-batches and ignores the other events."""

from __future__ import annotations

from abc import abstractmethod

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


class ProgressListener(StreamingQueryListener):
    """Follows the micro-batches of each streaming query in a session."""

    @abstractmethod
    def take_progress(self, progress: str) -> None:
        """Process the progress of a micro-batch, which is the JSON that Spark reports."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Process the progress of a micro-batch."""
        self.take_progress(event.progress.json)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing."""
