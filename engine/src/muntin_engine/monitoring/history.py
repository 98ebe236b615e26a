"""The last micro-batches of a query, and what all of them come to."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

from muntin_engine.metrics import METRICS, Unit
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.monitoring.reading import batch_metrics

MOST_KEPT: Final = 60
"""Batches that are kept."""

_SUMMED: Final = [m.name for m in METRICS if not m.is_level and m.unit is not Unit.MICROSECONDS]


class History:
    """The batches of one query, as far as they were seen.

    Attributes:
        query: The name under which it reports.
        batches: The last ones, oldest first.
        totals: Sums over all batches that were seen, of metrics that can be added up.
        seconds: Seconds over all batches that were seen: all of them together as `batch`, and those of each stage.
        modules: The same of each module.
        long_calls: Over all batches that were seen, how many calls of each module ran for too long.
        longest_calls: The seconds that the longest of them took.
        skipped: Over all batches that were seen, how many new events each module was not given.
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

    def add(self, metrics: BatchMetrics) -> None:
        """Add a batch."""
        self.batches.append(metrics)
        self.totals.update({name: getattr(metrics, name) for name in _SUMMED})
        self.seconds.update({"batch": metrics.seconds, **metrics.stages})
        self.modules.update(metrics.modules)
        self.long_calls.update(metrics.long_calls)
        for module, seconds in metrics.longest_calls.items():
            self.longest_calls[module] = max(seconds, self.longest_calls.get(module, 0.0))
        self.skipped.update(metrics.skipped)

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
