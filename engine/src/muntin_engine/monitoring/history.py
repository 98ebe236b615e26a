"""The last micro-batches of a query, and what all of them come to, as far as someone looked at the query."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

from muntin_engine.metrics import METRICS, Unit
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics, batch_metrics

KEPT_FOR: Final = timedelta(hours=1)
"""Batches that started so long before the last one are forgotten."""

MOST_KEPT: Final = 3600
"""Batches that are kept at most."""

_SUMMED: Final = [m.name for m in METRICS if not m.is_level and m.unit is not Unit.MICROSECONDS]


class History:
    """The batches of one query, as far as they were seen.

    Attributes:
        query: The name under which it reports.
        batches: Those of the last hour, oldest first.
        totals: Sums over all batches that were seen, of metrics that can be added up.
        seconds: Seconds over all batches that were seen: all of them together as `batch`, and those of each stage.
        modules: The same of each module.
        long_calls: Over all batches that were seen, how many calls of each module ran for too long.
        longest_calls: The seconds that the longest of them took.
        skipped: Over all batches that were seen, how many new events each module was not given.
        overflows: The same of the values that each result column could not hold.
    """

    def __init__(self, query: str) -> None:
        self.query = query
        self.batches: deque[BatchMetrics] = deque(maxlen=MOST_KEPT)
        self.totals: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.modules: Counter[str] = Counter()
        self.long_calls: Counter[str] = Counter()
        self.longest_calls: dict[str, float] = {}
        self.skipped: Counter[str] = Counter()
        self.overflows: Counter[str] = Counter()

    def add(self, metrics: BatchMetrics) -> None:
        """Add a batch, and forget those of more than an hour before it."""
        self.batches.append(metrics)
        while (first := self.batches[0].started) and metrics.started and metrics.started - first > KEPT_FOR:
            self.batches.popleft()
        self.totals.update({name: getattr(metrics, name) for name in _SUMMED})
        self.seconds.update({"batch": metrics.seconds, **metrics.stages})
        self.modules.update(metrics.modules)
        self.long_calls.update(metrics.long_calls)
        for module, seconds in metrics.longest_calls.items():
            self.longest_calls[module] = max(seconds, self.longest_calls.get(module, 0.0))
        self.skipped.update(metrics.skipped)
        self.overflows.update(metrics.overflows)

    @property
    def last(self) -> BatchMetrics:
        """The last batch."""
        return self.batches[-1]

    def latest(self, name: str) -> Any:
        """Return the last value of a number that is not known in every batch; None if it was in none.

        Example:
            >>> history = History("muntin")
            >>> history.add(BatchMetrics(query="muntin", batch=0, state_bytes=500))
            >>> history.add(BatchMetrics(query="muntin", batch=1))
            >>> history.last.state_bytes, history.latest("state_bytes")
            (None, 500)
        """
        values = (getattr(metrics, name) for metrics in reversed(self.batches))
        return next((value for value in values if value is not None), None)


class Histories:
    """The histories of all Muntin queries in a Spark query, from its progress, in which batches are seen repeatedly."""

    def __init__(self) -> None:
        self.by_query: dict[str, History] = {}
        self._seen: tuple[float, int] | None = None

    def take(self, progress: Iterable[Mapping[str, object]]) -> None:
        """Add the batches that are new, of those that a query has made progress by, oldest first."""
        for some in progress:
            found = batch_metrics(some)
            if any(self._seen is None or _place(metrics) > self._seen for metrics in found.values()):
                for name, metrics in found.items():
                    self.by_query.setdefault(name, History(name)).add(metrics)
                    self._seen = _place(metrics)


def _place(metrics: BatchMetrics) -> tuple[float, int]:
    """Return a sort key that grows from batch to batch."""
    return metrics.started.timestamp() if metrics.started else 0.0, metrics.batch


class Watched(Protocol):
    """The part of a `StreamingQuery` that is watched; nothing of it changes the query."""

    @property
    def name(self) -> str | None:
        """Its name, if it was given one."""
        ...

    @property
    def isActive(self) -> bool:
        """True while it runs."""
        ...

    @property
    def recentProgress(self) -> Sequence[Mapping[str, object]]:
        """Its progress, batch by batch, oldest first."""
        ...

    def exception(self) -> Exception | None:
        """Return the exception that ended it, if it failed."""
        ...


class Watch:
    """The observations of a query so far.

    Attributes:
        status: Its status, in a line.
    """

    def __init__(self, query: Watched) -> None:
        self._query = query
        self._histories = Histories()
        self.status = "nothing seen yet"

    @property
    def histories(self) -> Mapping[str, History]:
        """The histories of the Muntin queries in it, by the names under which they report."""
        return self._histories.by_query

    def look(self) -> bool:
        """Take in what is new; return whether the query runs."""
        is_active = self._query.isActive  # first, so that what the last batch said is not missed
        self._histories.take(self._query.recentProgress)
        self.status = f"{self._query.name or 'the query'} {self._status(is_active)}"
        return is_active

    def leave(self) -> None:
        """Stop watching."""
        self.status = f"{self._query.name or 'the query'} goes on; nobody watches it any more"

    def _status(self, is_active: bool) -> str:
        if is_active:
            return "runs" if self.histories else "runs; it has not reported any Muntin query yet"
        error = self._query.exception()
        return "has ended" if error is None else f"has failed: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
