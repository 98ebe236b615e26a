"""Log warnings of late and rejected rows that no sink takes, for the streaming queries of a session."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakSet

from muntin_engine.monitoring.unread_rows import UnreadRows, UnreadWarning
from muntin_engine.spark.session.classic import SparkContext
from muntin_engine.spark.session.kinds import AnySession, is_connect

LOGS: Final = {kind: logging.getLogger(f"muntin.{kind}") for kind in ("late", "rejected")}
"""The loggers of the warnings, by side output."""

_ROWS: Final = UnreadRows()
_WATCHED: Final[WeakSet[AnySession]] = WeakSet()


def warn_of_unread_rows(session: AnySession) -> None:
    """Have late and rejected rows of a session's streaming queries logged where no sink takes them.

    On Spark Connect nothing is logged: a listener there keeps a thread that a program without `stop()` never ends.
    """
    if session not in _WATCHED and not is_connect(session):
        _WATCHED.add(session)
        listener: Any = _Listener()
        session.streams.addListener(listener)


class _Listener:
    """Reads events of the JVM.

    PySpark's own listeners make Python objects of each event, with some hundred calls through the gateway; the JSON
    text of an event is one call.
    """

    @property
    def _jlistener(self) -> Any:
        """The listener as the JVM sees it, which PySpark asks for."""
        jvm = SparkContext._jvm
        assert jvm is not None, "a session that is not remote has a JVM"
        return jvm.PythonStreamingQueryListenerWrapper(self)

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
