"""Log warnings of late and rejected rows that no sink takes, for the streaming queries of a session."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakSet

from pyspark import SparkContext
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from muntin_engine.monitoring.unread_rows import UnreadRows, UnreadWarning
from muntin_engine.spark.session.kinds import AnySession

LOGS: Final = {kind: logging.getLogger(f"muntin.{kind}") for kind in ("late", "rejected")}
"""The loggers of the warnings, by side output."""

_ROWS: Final = UnreadRows()
_WATCHED: Final[WeakSet[AnySession]] = WeakSet()


def warn_of_unread_rows(session: AnySession) -> None:
    """Have late and rejected rows of a session's streaming queries logged where no sink takes them."""
    if session not in _WATCHED:
        _WATCHED.add(session)
        session.streams.addListener(_Listener())


class _Listener(StreamingQueryListener):
    """Reads the progress of queries.

    Spark makes Python objects of an event with some hundred calls through the gateway; of these, the JSON text is one.
    """

    @property
    def _jlistener(self) -> Any:
        jvm = SparkContext._jvm
        assert jvm is not None, "a session that is not remote has a JVM"
        return jvm.PythonStreamingQueryListenerWrapper(_JavaListener())

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Count the rows of a micro-batch."""
        _log(_ROWS.take(json.loads(event.progress.json)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Warn of what is left."""
        _log(_ROWS.end(str(event.runId)))


class _JavaListener:
    """Reads events of the JVM."""

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """Count the rows of a micro-batch."""
        _log(_ROWS.take(json.loads(event.progress().json())))

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:
        """Warn of what is left."""
        _log(_ROWS.end(event.runId().toString()))

    class Java:
        """The interface that Py4J lets this class implement."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _log(warnings: Iterable[UnreadWarning]) -> None:
    for warning in warnings:
        LOGS[warning.kind].warning(warning.message)
