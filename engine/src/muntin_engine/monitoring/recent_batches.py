"""The last micro-batches of a streaming query, as Spark keeps them: 100, unless its configuration says otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics, SourceMetrics
from muntin_engine.monitoring.progress_reading import batch_metrics


class Watched(Protocol):
    """The part of a `StreamingQuery` that is watched; none of its members changes the query."""

    @property
    def id(self) -> object:
        """The id that Spark gave the query."""
        ...

    @property
    def runId(self) -> object:
        """The id that Spark gave this run of the query."""
        ...

    @property
    def name(self) -> str | None:
        """The name of the query, if it has one."""
        ...

    @property
    def isActive(self) -> bool:
        """True while the query runs."""
        ...

    @property
    def recentProgress(self) -> Sequence[Mapping[str, object]]:
        """The progress of the query, batch by batch, oldest first."""
        ...

    def exception(self) -> Exception | None:
        """Return the exception that ended the query; None if it has not failed."""
        ...


def recent_batches(query: Watched) -> dict[str, list[BatchMetrics]]:
    """Return the last micro-batches, oldest first, of each Muntin query in a Spark query, by their names."""
    batches: dict[str, list[BatchMetrics]] = {}
    for progress in query.recentProgress:
        for name, metrics in batch_metrics(progress).items():
            batches.setdefault(name, []).append(metrics)
    return batches


def latest(batches: Sequence[BatchMetrics], metric: str) -> Any:
    """Return the last known value of a metric that may be unknown in some micro-batches; None if it is unknown in all.

    Args:
        batches: The micro-batches, oldest first.
        metric: The name of the metric.

    Example:
        >>> first = BatchMetrics(query="muntin", batch=0, state_bytes=500)
        >>> second = BatchMetrics(query="muntin", batch=1)
        >>> latest([first, second], "state_bytes")
        500
    """
    for metrics in reversed(batches):
        value = getattr(metrics, metric)
        if value is not None:
            return value
    return None


def latest_sources(batches: Sequence[BatchMetrics]) -> dict[str, SourceMetrics]:
    """Return the metrics of each source by name, in the last micro-batch in which buckets ran and so reported them.

    Args:
        batches: The micro-batches, oldest first.
    """
    for metrics in reversed(batches):
        if metrics.watermark is not None:  # without rows no bucket runs, so that all watermarks are unknown
            return dict(metrics.sources)
    return {}
