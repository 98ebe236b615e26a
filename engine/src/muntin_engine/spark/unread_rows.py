"""Log warnings of rows that no sink takes and of values that no column holds, for the streams of a session."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakSet

from muntin_engine.monitoring.overflowing_columns import OverflowingColumns
from muntin_engine.monitoring.unread_rows import UnreadRows, UnreadWarning
from muntin_engine.spark.session.classic import SparkContext
from muntin_engine.spark.session.kinds import AnySession, is_connect

LOGS: Final = {kind: logging.getLogger(f"muntin.{kind}") for kind in ("late", "rejected")}
"""The loggers of the warnings, by side output."""

LOG_OF_OVERFLOWS: Final = logging.getLogger("muntin.overflows")
"""The logger of the warnings of columns that could not hold a value."""

_ROWS: Final = UnreadRows()
_OVERFLOWS: Final = OverflowingColumns()
_WATCHED: Final[WeakSet[AnySession]] = WeakSet()


def warn_of_unread_rows(session: AnySession) -> None:
    """Have late and rejected rows of a session's streaming queries logged where no sink takes them, and overflows.

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
        """Count the rows and the overflows of a micro-batch."""
        progress = json.loads(event.progress().json())
        _log(_ROWS.take(progress))
        for warning in _OVERFLOWS.take(progress):
            LOG_OF_OVERFLOWS.warning("%s", warning)

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:
        """Warn of what is left."""
        run = event.runId().toString()
        _log(_ROWS.end(run))
        _OVERFLOWS.end(run)

    class Java:
        """The interface that Py4J lets this class implement."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _log(warnings: Iterable[UnreadWarning]) -> None:
    for warning in warnings:
        LOGS[warning.kind].warning(warning.message)
