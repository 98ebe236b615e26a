"""Warnings of a query over a static input when it has been computed: rows rejected or skipped, values too large.

A stream counts such rows in the progress of each micro-batch. A static input has no progress, and its query is
computed whenever some action of Spark's needs it. Spark's accumulators bring what workers count to the driver as each
task ends, before the action returns. A bucket that is computed again, by another action or after a failure, says
the same again; counts are kept by bucket, so that it counts once.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from muntin_engine.backends.spark.private_parts import active_context
from muntin_engine.backends.spark.session.classic import SparkContext
from muntin_engine.backends.spark.session.kinds import AnySession
from muntin_engine.backends.static_counts import BucketCounts, StaticCounts
from muntin_engine.plan.skipped_nulls import SkippedNulls
from muntin_engine.tasks.output_blobs import OutputBlob
from muntin_engine.wire.overflows import ColumnOverflows

Counts: TypeAlias = dict[tuple[int, int], BucketCounts]
"""The counts of buckets, by query and bucket."""

_PATIENCE: Final = 1.0
_MOST_QUERIES: Final = 1000


class StaticWarnings:
    """Collects the counts of buckets on the driver, and warns once for each query.

    It warns as soon as all buckets of a query have been computed. An action such as `show` may need only some of them:
    then it warns when Spark runs no job any more, or when the program ends.
    """

    def __init__(self, later: Callable[[Callable[[], None]], None], is_idle: Callable[[], bool]) -> None:
        """Start without any query.

        Args:
            later: A function that calls its argument after a while, from another thread.
            is_idle: A function that returns True if Spark runs no job.
        """
        self._later = later
        self._is_idle = is_idle
        self._numbers = count()
        self._queries: dict[int, StaticCounts] = {}
        self._is_waiting = False
        self._lock = threading.RLock()

    def expect(self, name: str, buckets: int | None, skipping: Mapping[str, SkippedNulls] | None = None) -> int:
        """Begin to collect the counts of a query that is about to be built, and return the number for its reports.

        Args:
            name: The name of the query.
            buckets: The number of its buckets; None for a query without buckets, whose tasks report counts instead.
            skipping: The modules that may skip rows with nulls, by label. A warning names those that have skipped rows.
        """
        with self._lock:
            number = next(self._numbers)
            self._queries[number] = StaticCounts(name, buckets, skipping or {})
            if len(self._queries) > _MOST_QUERIES:  # the oldest one may never be computed
                del self._queries[min(self._queries)]
            return number

    def add_counts(self, counts: Counts) -> None:
        """Add the counts of buckets, and warn of queries that are complete."""
        with self._lock:
            # A query of which a warning was given is no longer in `_queries`. If it is computed again, its buckets
            # report the same counts, which are ignored.
            reported_numbers = {number for number, _ in counts} & self._queries.keys()
            for (number, bucket), bucket_counts in counts.items():
                if number in reported_numbers:
                    self._queries[number].counts[bucket] = bucket_counts

            for number in reported_numbers:
                query = self._queries[number]
                if query.is_complete:
                    query.warn()
                    del self._queries[number]
                elif query.has_news and not self._is_waiting:
                    # An action such as `show` may never need the other buckets. So a warning is given when Spark is
                    # idle: one timer looks for that.
                    self._is_waiting = True
                    self._later(self._warn_when_idle)

    def warn_of_incomplete(self) -> None:
        """Warn of the queries of which only some buckets were computed."""
        with self._lock:
            for query in self._queries.values():
                query.warn()

    def _warn_when_idle(self) -> None:
        """Warn of incomplete queries if Spark runs no job; otherwise look again after a while."""
        is_idle = self._is_idle()  # before the lock is taken, as the answer of the JVM may take a while
        with self._lock:
            self._is_waiting = not is_idle
        if is_idle:
            self.warn_of_incomplete()
        else:
            self._later(self._warn_when_idle)


class CountsParam(AccumulatorParam[Counts]):
    """The accumulator of counts: a worker collects them until its task ends, the driver passes them to the warnings."""

    def __init__(self, warnings: StaticWarnings | None = None) -> None:
        """Create the accumulator.

        Args:
            warnings: The warnings of the driver; None on a worker.
        """
        self._warnings = warnings

    def zero(self, value: Counts) -> Counts:  # the name of the parameter is PySpark's
        """Return no counts, with which an accumulator begins."""
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:
        """Add the counts `value2`: on a worker to those of its task, on the driver to the warnings.

        On the driver the accumulator itself stays empty, as the warnings have all counts.
        """
        if self._warnings is None:
            return value1 | value2
        with suppress(Exception):  # an error would end Spark's own thread, and with it all accumulators
            self._warnings.add_counts(value2)
        return {}

    def __reduce__(self) -> tuple[type[CountsParam], tuple[()]]:
        # When it is pickled for a worker, the warnings stay on the driver: their lock cannot travel.
        return CountsParam, ()


@dataclass(frozen=True, slots=True)
class CountReporter:
    """Reports to the driver, from a worker, what the buckets of a query count.

    Attributes:
        accumulator: The accumulator that brings counts to the driver.
        query: The number of the query.
    """

    accumulator: Accumulator[Counts]
    query: int

    def report(
        self,
        bucket: int,
        output: Iterable[OutputBlob],
        skipped: Mapping[str, int],
        overflows: Mapping[str, ColumnOverflows],
    ) -> None:
        """Report the rows that a bucket emits, those that modules skipped, and values that no column holds.

        Args:
            bucket: The number of the bucket; of a query without buckets, that of the task.
            output: The blobs of the bucket.
            skipped: The number of rows that each module skipped, by its label.
            overflows: The values that are too large for their column, by column.
        """
        counts = BucketCounts.of_output(output, skipped, overflows)
        self.accumulator.add({(self.query, bucket): counts})


def begin_reports(
    session: AnySession, name: str, buckets: int | None, skipping: Mapping[str, SkippedNulls]
) -> CountReporter | None:
    """Prepare the driver for the counts of a query that is about to be built, and return a reporter of counts.

    Args:
        session: The session.
        name: The name of the query.
        buckets: The number of its buckets; None for a query without buckets.
        skipping: The modules that may skip rows with nulls, by label. A warning names those that have skipped rows.

    Returns:
        The reporter for the workers; None on Spark Connect, which has no accumulators.
    """
    if not isinstance(session, SparkSession):
        return None
    # One accumulator serves all queries of a context, as PySpark never forgets an accumulator. On the driver it hands
    # the counts that come from workers to `_WARNINGS`.
    context = session.sparkContext
    if context not in _ACCUMULATORS:
        _ACCUMULATORS[context] = context.accumulator(Counts(), CountsParam(_WARNINGS))
    query_number = _WARNINGS.expect(name, buckets, skipping)
    return CountReporter(_ACCUMULATORS[context], query_number)


def _after_a_while(function: Callable[[], None]) -> None:
    """Call a function from another thread, which does not keep the program from ending."""
    timer = threading.Timer(_PATIENCE, function)
    timer.daemon = True
    timer.start()


def _has_no_jobs() -> bool:
    """True if Spark runs no job, or has ended."""
    with suppress(Exception):  # the session may end at any time
        context = active_context()
        return context is None or not context.statusTracker().getActiveJobsIds()
    return True


_WARNINGS: Final = StaticWarnings(_after_a_while, _has_no_jobs)
_ACCUMULATORS: Final[WeakKeyDictionary[SparkContext, Accumulator[Counts]]] = WeakKeyDictionary()
atexit.register(_WARNINGS.warn_of_incomplete)
