"""Warnings of a query over a static input when it has been computed: rows rejected or skipped, values too large.

A stream counts such rows in the progress of each micro-batch. A static input has no progress, and its query is
computed whenever some action of Spark's needs it. Spark's accumulators bring what workers count to the driver as each
task ends, before the action returns. A bucket that is computed again, by another action or after a failure, says
the same again; counts are kept by bucket, so that it counts once.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from muntin_engine.backends.spark.private_parts import active_context
from muntin_engine.backends.spark.session.classic import SparkContext
from muntin_engine.backends.spark.session.kinds import AnySession
from muntin_engine.plan.skipped_nulls import SkippedNulls
from muntin_engine.tasks.output_blobs import ACCEPTED, REJECTED, OutputBlob
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.overflows import ColumnOverflows, warning_of

LOG: Final = logging.getLogger("muntin.rejected")
"""The logger of the warnings of rejected rows."""

LOG_OF_SKIPPED: Final = logging.getLogger("muntin.skipped")
"""The logger of the warnings of rows that modules skipped."""

LOG_OF_OVERFLOWS: Final = logging.getLogger("muntin.overflows")
"""The logger of the warnings of results that their columns cannot hold."""


class BucketCounts(NamedTuple):
    """The rows that a bucket counts.

    Attributes:
        accepted: How many took effect.
        rejected: How many were rejected, by their reasons.
        skipped: How many each module skipped, by its label; the rows of all buckets are counted in the first.
        overflows: The values that a result column cannot hold, by column.
    """

    accepted: int
    rejected: Mapping[str, int]
    skipped: Mapping[str, int] = MappingProxyType({})
    overflows: Mapping[str, ColumnOverflows] = MappingProxyType({})


Counts: TypeAlias = dict[tuple[int, int], BucketCounts]
"""The counts of buckets, by query and bucket."""

_PATIENCE: Final = 1.0
_MOST_QUERIES: Final = 1000


@dataclass(slots=True)
class _ComputedQuery:
    name: str
    buckets: int | None
    skipping: Mapping[str, SkippedNulls] = field(default_factory=dict)
    counts: dict[int, BucketCounts] = field(default_factory=dict)
    said: tuple[str, str, str] = ("", "", "")

    @property
    def is_complete(self) -> bool:
        return len(self.counts) == self.buckets

    def messages(self) -> tuple[str, str, str]:
        """Return the warnings of rejected and of skipped rows, and of overflows; empty if there were none."""
        reasons, skipped = Counter[str](), Counter[str]()
        for counted in self.counts.values():
            reasons.update(counted.rejected)
            skipped.update(counted.skipped)
        rows = reasons.total() + sum(counted.accepted for counted in self.counts.values())
        return self._of_rejected(reasons, rows), self._of_skipped(skipped, rows), self._of_overflows()

    def _of_rejected(self, reasons: Counter[str], rows: int) -> str:
        rejected = reasons.total()
        if not rejected:
            return ""
        largest_first = sorted(reasons.items(), key=lambda counted: (-counted[1], counted[0]))
        told = ", ".join(f"{number:,} {reason}" for reason, number in largest_first)
        part = (
            ""
            if self.is_complete or self.buckets is None
            else f"\n  so far: {len(self.counts)} of {self.buckets} buckets were computed"
        )
        return (
            f"{self.name}: {rejected:,} of {rows:,} rows of the static input were rejected: {told}{part}\n"
            "  the query's rejected_rows() returns them, each with its reason"
        )

    def _of_skipped(self, skipped: Counter[str], rows: int) -> str:
        of = f" of {rows:,}" if self.is_complete else ""  # one bucket counts what all skip
        return "\n".join(
            f"{self.name}: {skipped[label]:,}{of} rows of the static input were skipped by {nulls.module}: "
            f"{nulls.condition}\n  {nulls.remedies}"
            for label, nulls in self.skipping.items()
            if skipped[label]
        )

    def _of_overflows(self) -> str:
        numbers = Counter[str]()
        first: dict[str, ColumnOverflows] = {}
        for _, counted in sorted(self.counts.items()):
            for column, overflows in counted.overflows.items():
                numbers[column] += overflows.number
                first.setdefault(column, overflows)
        return "\n".join(
            f"{self.name}: {numbers[column]:,} values of the results are too large for their column {column!r}\n"
            f"  the first: {warning_of(overflows.first)}"
            for column, overflows in sorted(first.items())
        )


class Rejections:
    """Takes what buckets count, on the driver, and warns once for each query.

    That is as soon as all its buckets have been computed. Where an action needs no more than some of them, as `show`
    may, it is when Spark has nothing more to do, or the program ends.
    """

    def __init__(self, later: Callable[[Callable[[], None]], None], is_idle: Callable[[], bool]) -> None:
        """Start without any query.

        Args:
            later: Calls a function after a while, from another thread.
            is_idle: Says whether Spark has nothing to do.
        """
        self._later = later
        self._is_idle = is_idle
        self._numbers = count()
        self._queries: dict[int, _ComputedQuery] = {}
        self._is_waiting = False
        self._lock = threading.RLock()

    def expect(self, name: str, buckets: int | None, skipping: Mapping[str, SkippedNulls] | None = None) -> int:
        """Return a number for a query that may be computed from now on.

        Args:
            name: The name of the query.
            buckets: How many buckets it has; None for one without, whose tasks count, as many as Spark makes.
            skipping: By its label, each module that is to be warned of if it skips rows.
        """
        with self._lock:
            number = next(self._numbers)
            self._queries[number] = _ComputedQuery(name, buckets, skipping or {})
            if len(self._queries) > _MOST_QUERIES:  # nobody knows whether it will ever be computed
                del self._queries[min(self._queries)]
            return number

    def take(self, counts: Counts) -> None:
        """Take what some buckets say."""
        with self._lock:
            for (number, bucket), some in counts.items():
                if number in self._queries:
                    self._queries[number].counts[bucket] = some
            for number in {number for number, _ in counts} & self._queries.keys():
                query = self._queries[number]
                if query.is_complete:
                    self._say(query)
                    del self._queries[number]
                elif query.messages() != query.said and not self._is_waiting:
                    self._is_waiting = True
                    self._later(self._look)

    def tell_rest(self) -> None:
        """Warn of the queries of which some buckets were computed."""
        with self._lock:
            for query in self._queries.values():
                self._say(query)

    def _look(self) -> None:
        is_idle = self._is_idle()
        with self._lock:
            self._is_waiting = not is_idle
        if is_idle:
            self.tell_rest()
        else:
            self._later(self._look)

    def _say(self, query: _ComputedQuery) -> None:
        messages = query.messages()
        logs = (LOG, LOG_OF_SKIPPED, LOG_OF_OVERFLOWS)
        for log, message, said in zip(logs, messages, query.said, strict=True):
            if message and message != said:
                log.warning("%s", message)
        query.said = messages


class CountsParam(AccumulatorParam[Counts]):
    """The accumulator that adds counts up: a worker keeps them until its task ends, the driver hands them on."""

    def __init__(self, rejections: Rejections | None = None) -> None:
        self._rejections = rejections

    def zero(self, value: Counts) -> Counts:  # Spark calls it so
        """Return no counts."""
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:
        """Add more counts."""
        if self._rejections is None:
            return value1 | value2
        with suppress(Exception):  # one that got out would end Spark's own thread, and with it all accumulators
            self._rejections.take(value2)
        return {}

    def __reduce__(self) -> tuple[type[CountsParam], tuple[()]]:
        return CountsParam, ()


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells the driver, from a worker, what the buckets of a query count.

    Attributes:
        accumulator: Spark's way to the driver.
        query: The number of the query.
    """

    accumulator: Accumulator[Counts]
    query: int

    def tell(
        self,
        bucket: int,
        output: Iterable[OutputBlob],
        skipped: Mapping[str, int],
        overflows: Mapping[str, ColumnOverflows],
    ) -> None:
        """Count the rows that a bucket emits, those that modules skipped, and values that no column holds."""
        accepted, reasons = 0, Counter[str]()
        for blob in output:
            if blob.stream == ACCEPTED:
                accepted += blob.rows
            elif blob.stream == REJECTED and blob.data is not None:
                reasons.update(from_blob(blob.data).column("reason").to_pylist())
        counts = BucketCounts(accepted, dict(reasons), dict(skipped), dict(overflows))
        self.accumulator.add({(self.query, bucket): counts})


def teller_of(
    session: AnySession, name: str, buckets: int | None, skipping: Mapping[str, SkippedNulls]
) -> Teller | None:
    """Return the teller of a query that is about to be built; None on Spark Connect, which has no accumulators."""
    if not isinstance(session, SparkSession):
        return None
    context = session.sparkContext
    if context not in _ACCUMULATORS:
        _ACCUMULATORS[context] = context.accumulator(Counts(), CountsParam(_REJECTIONS))
    return Teller(_ACCUMULATORS[context], _REJECTIONS.expect(name, buckets, skipping))


def _after_a_while(function: Callable[[], None]) -> None:
    timer = threading.Timer(_PATIENCE, function)
    timer.daemon = True
    timer.start()


def _has_no_tasks() -> bool:
    with suppress(Exception):  # the session may end at any time
        context = active_context()
        return context is None or not context.statusTracker().getActiveJobsIds()
    return True


_REJECTIONS: Final = Rejections(_after_a_while, _has_no_tasks)
_ACCUMULATORS: Final[WeakKeyDictionary[SparkContext, Accumulator[Counts]]] = WeakKeyDictionary()
atexit.register(_REJECTIONS.tell_rest)
