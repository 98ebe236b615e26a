"""A query of Spark's whose failure is said in the words of the code that failed, and that Ctrl-C stops quietly."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from muntin_engine.monitoring.notebook import live_html
from muntin_engine.spark.failures import in_our_words
from muntin_engine.spark.session.classic import Py4JError


class WrittenQuery(StreamingQuery):
    """The running query that `write` returns."""

    def __init__(self, running: StreamingQuery, shown: Sequence[Any] = ()) -> None:
        """Take over a query that runs, and the queries that a notebook shows of it."""
        super().__init__(running._jsq)
        self._shown = shown

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait until the query has ended; False if it has not ended after some seconds.

        Ctrl-C stops the query, which goes on from its checkpoint when it is started again.

        Raises:
            StreamingQueryException: It has failed. The message begins with what failed: a module with its version and
                method, the key and the window.
            KeyboardInterrupt: It was interrupted. A program that does not catch it ends with one line.
        """
        try:
            return _waited(lambda: super(WrittenQuery, self).awaitTermination(timeout))
        except StreamingQueryException as error:
            raise in_our_words(error, StreamingQueryException) from None
        except KeyboardInterrupt:
            with suppress(PySparkException, Py4JError, OSError):  # its session may have ended of the same signal
                StreamingQuery.stop(self)
            raise _Interrupted from None

    def exception(self) -> StreamingQueryException | None:
        """Return why the query has failed, as `awaitTermination` raises it; None if it has not."""
        found = super().exception()
        return found and in_our_words(found, StreamingQueryException)

    def _repr_html_(self) -> str:
        """Return the metrics of the queries in it as of now, and their plans, for notebooks."""
        running: Any = self
        return "".join([live_html(running), *(query._repr_html_() for query in self._shown)])


class _Interrupted(KeyboardInterrupt):
    """Ends a program with one line if nothing catches it, and is an interrupt like any other where something does."""

    def __init__(self) -> None:
        super().__init__("interrupted: the query has stopped, and goes on from its checkpoint when it is started again")
        former = sys.excepthook

        def hook(cls: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if error is self:
                sys.stderr.write(f"muntin: {error}\n")
            else:
                former(cls, error, trace)

        sys.excepthook = hook


def _waited(wait: Callable[[], bool | None]) -> bool | None:
    """Make a call of Spark that Ctrl-C can interrupt, and return its result.

    PySpark's handler of Ctrl-C calls Spark, which fails with six tracebacks where the main thread is in a call itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return wait()
    found: list[bool | None] = []
    failed: list[BaseException] = []
    has_ended = threading.Event()

    def run() -> None:
        try:
            found.append(wait())
        except BaseException as error:  # it is raised where it is waited for
            failed.append(error)
        finally:
            has_ended.set()

    threading.Thread(target=run, name="muntin waits for a query", daemon=True).start()
    has_ended.wait()
    if failed:
        raise failed[0]
    return found[0]
