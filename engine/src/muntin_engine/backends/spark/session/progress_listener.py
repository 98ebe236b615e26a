"""A listener of Spark's that is only told of micro-batches."""

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
    """Is told of each micro-batch of each streaming query in a session."""

    @abstractmethod
    def take_progress(self, progress: str) -> None:
        """Take in the progress of a micro-batch, as the JSON that Spark reports."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Pass the progress of a micro-batch on."""
        self.take_progress(event.progress.json)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing."""
