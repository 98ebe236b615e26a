"""Conditions on what a query reports, as plain limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from muntin import Duration
from muntin.axis import ticks
from muntin.errors import QueryError
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.monitoring.spelling import spell_bytes, spell_count, spell_seconds, spell_ticks
from muntin_engine.plan.metrics import METRICS, Unit

_LENGTHS: Final = ("lag", "output_lag", "clock_lag", "late_by")
_SHARES: Final = ("late", "rejected", "filtered", "shed")
_COUNTS: Final = tuple(m.name for m in METRICS if m.unit not in (Unit.TICKS, Unit.MICROSECONDS))
_LIMITS: Final = (*_LENGTHS, *(f"{name}_share" for name in _SHARES), "seconds", *_COUNTS)


@dataclass(frozen=True, slots=True)
class Alert:
    """Limits that a micro-batch should not exceed; made by `alert`.

    Attributes:
        limits: The limits by name.
    """

    limits: Mapping[str, float]

    def exceeded(self, metrics: BatchMetrics) -> dict[str, str]:
        """Return by name the limits that a micro-batch exceeds, each with a sentence; what is not known exceeds none.

        Example:
            >>> batch = BatchMetrics(query="rides", batch=7, accepted=90, late=10, state_bytes=500)
            >>> alert(late_share=0.05, state_bytes=1000).exceeded(batch)
            {'late_share': 'late_share is 0.1, above 0.05'}
        """
        found = {name: _value_of(name, metrics) for name in self.limits}
        return {
            name: f"{name} is {_spell(name, value, metrics)}, above {_spell(name, self.limits[name], metrics)}"
            for name, value in found.items()
            if value is not None and value > self.limits[name]
        }


def alert(**limits: Duration | float) -> Alert:
    """Return a condition that holds as soon as a query reports more than one of some limits.

    Args:
        limits: `lag`, `output_lag`, `clock_lag` and `late_by` as durations; `late_share`, `rejected_share`,
            `filtered_share` and `shed_share` of a micro-batch's rows; `seconds` of a micro-batch; and any metric that
            counts, such as `state_bytes`, `events_held` or `late`.

    Raises:
        QueryError: There is no such limit, or it is not a number.

    Example:
        >>> alert(lag="10 minutes", late_share=0.01).limits
        {'lag': 600000000, 'late_share': 0.01}
    """
    if not limits or (unknown := [name for name in limits if name not in _LIMITS]):
        named = f"{', '.join(map(repr, unknown))} is no limit" if limits else "alert() has no limit"
        raise QueryError(f"{named}\n  expected: {', '.join(_LIMITS)}")
    found: dict[str, float] = {}
    for name, limit in limits.items():
        if name in _LENGTHS:
            found[name] = ticks(limit)  # type: ignore[arg-type]  # it says what it is not
        elif isinstance(limit, bool) or not isinstance(limit, int | float):
            raise QueryError(f"the limit {name}={limit!r} is no number\n  expected: for example {name}=0.01")
        else:
            found[name] = limit
    return Alert(found)


class AlertChanges:
    """Tells when a limit begins to be exceeded, and when it no longer is."""

    def __init__(self, alerts: Iterable[Alert]) -> None:
        self._alerts = tuple(alerts)
        self._held: dict[tuple[str | None, str], set[str]] = {}

    def take(self, metrics: BatchMetrics) -> Iterator[tuple[bool, str]]:
        """Yield whether a limit is exceeded, and a sentence, of each that changed with a micro-batch of a query."""
        found: dict[str, str] = {}
        for condition in self._alerts:
            found |= condition.exceeded(metrics)
        held = self._held.setdefault((metrics.run_id, metrics.query), set())
        for name in found.keys() - held:
            yield True, f"{metrics.spelled_query}: {found[name]}, in micro-batch {metrics.batch}"
        for name in held - found.keys():
            yield False, f"{metrics.spelled_query}: {name} is below its limit again, in micro-batch {metrics.batch}"
        self._held[metrics.run_id, metrics.query] = set(found)


def _value_of(name: str, metrics: BatchMetrics) -> float | None:
    if not name.endswith("_share"):
        value: float | None = getattr(metrics, name)
        return value
    rows = metrics.accepted + sum(getattr(metrics, kind) for kind in _SHARES)
    return getattr(metrics, name.removesuffix("_share")) / rows if rows else None


def _spell(name: str, value: float, metrics: BatchMetrics) -> str:
    if name in _LENGTHS:
        return spell_ticks(int(value), is_time=metrics.is_time or name == "clock_lag")
    if name.endswith("_share"):
        return f"{value:.3g}"
    if name == "seconds":
        return spell_seconds(value)
    return spell_bytes(value) if name in ("state_bytes", "bytes_written") else spell_count(value)
