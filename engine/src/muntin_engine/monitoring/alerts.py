"""Conditions on what a query reports, as plain limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from muntin import Duration
from muntin.axis import ticks
from muntin.errors import QueryError
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.spelled_numbers import spell_bytes, spell_count, spell_seconds, spell_ticks
from muntin_engine.plan.metrics import METRICS, Unit

_LENGTHS: Final = ("lag", "output_lag", "clock_lag", "late_by")
"""The limits that are lengths on the axis."""

_SHARES: Final = ("late", "rejected", "filtered", "shed")
"""The kinds of rows whose share among all rows may have a limit."""

_COUNTS: Final = tuple(metric.name for metric in METRICS if metric.unit not in (Unit.TICKS, Unit.MICROSECONDS))
"""The metrics that are plain numbers, each of which may have a limit."""

_LIMITS: Final = (*_LENGTHS, *(f"{name}_share" for name in _SHARES), "seconds", *_COUNTS)
"""The names of all limits."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Limits that a micro-batch should not exceed; `alert` makes it.

    Attributes:
        limits: The limits by name.
    """

    limits: Mapping[str, float]

    def exceeded(self, metrics: BatchMetrics) -> dict[str, str]:
        """Return the limits that a micro-batch exceeds, each with a sentence. A value that is unknown exceeds none.

        Example:
            >>> batch = BatchMetrics(query="rides", batch=7, accepted=90, late=10, state_bytes=500)
            >>> alert(late_share=0.05, state_bytes=1000).exceeded(batch)
            {'late_share': 'late_share is 0.1, above 0.05'}
        """
        exceeded: dict[str, str] = {}
        for name, limit in self.limits.items():
            value = _value_of(name, metrics)
            if value is not None and value > limit:
                exceeded[name] = f"{name} is {_spell(name, value, metrics)}, above {_spell(name, limit, metrics)}"
        return exceeded


def alert(**limits: Duration | float) -> Alert:
    """Return a condition that holds when a query reports a value above any of these limits.

    Args:
        limits: `lag`, `output_lag`, `clock_lag` and `late_by` as durations; `late_share`, `rejected_share`,
            `filtered_share` and `shed_share` of a micro-batch's rows; `seconds` of a micro-batch; and any metric that
            counts, such as `state_bytes`, `events_held` or `late`.

    Raises:
        QueryError: A limit is unknown, or not a number.

    Example:
        >>> alert(lag="10 minutes", late_share=0.01).limits
        {'lag': 600000000, 'late_share': 0.01}
    """
    if not limits:
        raise QueryError(f"alert() has no limit\n  expected: {', '.join(_LIMITS)}")
    unknown_names = [name for name in limits if name not in _LIMITS]
    if unknown_names:
        raise QueryError(f"{', '.join(map(repr, unknown_names))} is no limit\n  expected: {', '.join(_LIMITS)}")
    numbers: dict[str, float] = {}
    for name, limit in limits.items():
        if name in _LENGTHS:
            numbers[name] = ticks(limit)  # type: ignore[arg-type]  # raises an error if it is no duration
        elif isinstance(limit, bool) or not isinstance(limit, int | float):
            raise QueryError(f"the limit {name}={limit!r} is no number\n  expected: for example {name}=0.01")
        else:
            numbers[name] = limit
    return Alert(numbers)


class AlertChange(NamedTuple):
    """A limit that begins to be exceeded, or is no longer exceeded.

    Attributes:
        is_exceeded: True if the limit begins to be exceeded, False if it is no longer exceeded.
        message: The change in a sentence.
    """

    is_exceeded: bool
    message: str


class AlertChanges:
    """Notices when a limit begins to be exceeded, and when it is no longer exceeded."""

    def __init__(self, alerts: Iterable[Alert]) -> None:
        """Take the alerts, none of whose limits is exceeded at first."""
        self._alerts = tuple(alerts)
        self._exceeded_by_query: dict[tuple[str | None, str], list[str]] = {}

    def changes_of(self, metrics: BatchMetrics) -> Iterator[AlertChange]:
        """Yield the limits that a micro-batch of a query begins to exceed, and those that it no longer exceeds.

        A limit stays exceeded as long as its value is unknown, as in a micro-batch without rows.
        """
        exceeded: dict[str, str] = {}
        for condition in self._alerts:
            exceeded |= condition.exceeded(metrics)
        names_exceeded = list(exceeded)

        # Compare with the previous micro-batch of the same run, so that each change is yielded only once.
        query = (metrics.run_id, metrics.query)
        previous_names = self._exceeded_by_query.get(query, [])
        where = f"in micro-batch {metrics.batch}"
        for name, sentence in exceeded.items():
            if name not in previous_names:
                message = f"{metrics.spelled_query}: {sentence}, {where}"
                yield AlertChange(is_exceeded=True, message=message)
        for name in previous_names:
            if name in exceeded:
                continue
            if _value_of(name, metrics) is None:
                names_exceeded.append(name)
                continue
            message = f"{metrics.spelled_query}: {name} is below its limit again, {where}"
            yield AlertChange(is_exceeded=False, message=message)
        self._exceeded_by_query[query] = names_exceeded


def _value_of(name: str, metrics: BatchMetrics) -> float | None:
    """Return the value that a limit is compared with; None if it is unknown, or a share when there are no rows."""
    if not name.endswith("_share"):
        value: float | None = getattr(metrics, name)
        return value
    all_rows: int = metrics.accepted + sum(getattr(metrics, kind) for kind in _SHARES)
    rows: int = getattr(metrics, name.removesuffix("_share"))
    return rows / all_rows if all_rows else None


def _spell(name: str, value: float, metrics: BatchMetrics) -> str:
    """Spell a value, or the limit itself, in the unit of the limit.

    Args:
        name: The name of the limit.
        value: The value.
        metrics: The metrics of the micro-batch, which say whether ticks are times.
    """
    if name in _LENGTHS:
        return spell_ticks(int(value), is_time=metrics.is_time or name == "clock_lag")
    if name.endswith("_share"):
        return f"{value:.3g}"
    if name == "seconds":
        return spell_seconds(value)
    return spell_bytes(value) if name in ("state_bytes", "bytes_written") else spell_count(value)
