"""Pass the reports of a session's streaming queries to the observers of this process."""

from __future__ import annotations

import json
from typing import Any, Final
from weakref import WeakSet

from muntin_engine.backends.observed_queries import OBSERVERS
from muntin_engine.backends.spark.private_parts import jvm
from muntin_engine.backends.spark.session.kinds import AnySession, is_connect

_OBSERVED: Final[WeakSet[AnySession]] = WeakSet()
"""The sessions that have a listener."""


def observe_session(session: AnySession) -> None:
    """Pass the reports of a session's streaming queries to the observers, from now on.

    Nothing is done on Spark Connect: there a listener starts a thread that keeps a program without `stop()` from
    ending.
    """
    if is_connect(session) or session in _OBSERVED:
        return
    _OBSERVED.add(session)
    listener: Any = _Listener()
    session.streams.addListener(listener)


class _Listener:
    """Reads events of the JVM.

    PySpark's own listeners make Python objects of each event, with some hundred calls through the gateway; the JSON
    text of an event is one call.
    """

    @property
    def _jlistener(self) -> Any:
        """The listener as the JVM sees it; PySpark reads this attribute."""
        java = jvm()
        assert java is not None, "a session that is not remote has a JVM"
        return java.PythonStreamingQueryListenerWrapper(self)

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """Report the progress of a micro-batch to the observers."""
        progress = json.loads(event.progress().json())
        for observer in OBSERVERS.all():
            observer.on_progress(progress)

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:
        """Report the end of a run of a query to the observers."""
        run = event.runId().toString()
        for observer in OBSERVERS.all():
            observer.on_end(run)

    class Java:
        """The interface that Py4J lets this class implement."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
