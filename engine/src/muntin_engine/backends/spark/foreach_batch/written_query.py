"""A running query of Spark's with errors in the words of the code that failed, which Ctrl-C stops quietly."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from muntin_engine.backends.observed_queries import OBSERVERS
from muntin_engine.backends.spark.checkpoints.checkpoint_files import damage_of
from muntin_engine.backends.spark.failures.root_cause import clear_error, names_module
from muntin_engine.backends.spark.private_parts import java_query
from muntin_engine.backends.spark.session.classic import Py4JError

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


class WrittenQuery(StreamingQuery):
    """The running query that `write` returns."""

    def __init__(self, running: StreamingQuery, checkpoint: str, planned_queries: Sequence[PlannedQuery]) -> None:
        """Wrap a running query.

        Args:
            running: The query of Spark's.
            checkpoint: The path of the checkpoint.
            planned_queries: The queries of Muntin's in it, which a notebook shows.
        """
        super().__init__(java_query(running))
        self._checkpoint = checkpoint
        self._planned_queries = planned_queries

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait until the query has ended.

        Ctrl-C stops the query, which goes on from its checkpoint when it is started again.

        Args:
            timeout: The number of seconds to wait; None to wait until the end.

        Returns:
            Whether the query has ended in time; None without a timeout.

        Raises:
            StreamingQueryException: The query has failed. The message begins with the code that failed: a module with
                its version and method, the key and the window.
            KeyboardInterrupt: The program was interrupted. Without a handler it ends with one line, and no traceback.
        """
        try:
            return _wait_interruptibly(lambda: super(WrittenQuery, self).awaitTermination(timeout))
        except StreamingQueryException as error:
            raise self._clear_error(error) from None
        except KeyboardInterrupt:
            with suppress(PySparkException, Py4JError, OSError):  # the signal may have ended the session too
                StreamingQuery.stop(self)
            raise _Interrupted from None

    def exception(self) -> StreamingQueryException | None:
        """Return why the query has failed, as `awaitTermination` raises it; None if it has not."""
        error = super().exception()
        return None if error is None else self._clear_error(error)

    def _clear_error(self, error: StreamingQueryException) -> StreamingQueryException:
        """Return an error of the query whose message begins with its cause: a module, or a damaged file.

        The files of the checkpoint are looked at unless the error names a module.
        """
        damage = None
        if not names_module(error):
            with suppress(PySparkException, Py4JError):  # the session may have ended since
                damage = damage_of(self._planned_queries[0].source.df.sparkSession, self._checkpoint)
        return clear_error(error, StreamingQueryException, damage)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: what observers show of the last micro-batches, then the plans of the queries."""
        is_active = self.isActive  # read first: a query that ends after this has reported everything by then
        panels = [observer.html(self, is_active=is_active) for observer in OBSERVERS.all()]
        queries: Sequence[Any] = self._planned_queries
        plans = [query._repr_html_() for query in queries]
        return "".join([*panels, *plans])


class _Interrupted(KeyboardInterrupt):
    """An interrupt that ends a program with one line if nothing catches it."""

    def __init__(self) -> None:
        """Create the interrupt, and set a hook of Python that prints it in one line if nothing catches it."""
        super().__init__("interrupted: the query has stopped, and goes on from its checkpoint when it is started again")
        previous_hook = sys.excepthook

        # Without the hook, the end of a program that was merely stopped would be a traceback of several screens.
        def hook(cls: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            """Print this interrupt in one line; pass any other uncaught exception to the previous hook."""
            if error is self:
                sys.stderr.write(f"muntin: {error}\n")
            else:
                previous_hook(cls, error, trace)

        sys.excepthook = hook


def _wait_interruptibly(wait: Callable[[], bool | None]) -> bool | None:
    """Make a call of Spark that Ctrl-C can interrupt, and return its result.

    PySpark's handler of Ctrl-C runs in the main thread and calls Spark. If the main thread is in a call of Spark
    itself, that fails with six tracebacks. So another thread makes the call, and the main thread waits for it.
    """
    if threading.current_thread() is not threading.main_thread():
        return wait()  # Python interrupts the main thread alone
    results: list[bool | None] = []
    failures: list[BaseException] = []
    has_ended = threading.Event()

    def run() -> None:
        """Make the call, and note its result or the exception that it raised."""
        try:
            results.append(wait())
        except BaseException as error:  # raised below, in the thread that waits
            failures.append(error)
        finally:
            has_ended.set()

    threading.Thread(target=run, name="muntin waits for a query", daemon=True).start()
    has_ended.wait()
    if failures:
        raise failures[0]
    return results[0]
