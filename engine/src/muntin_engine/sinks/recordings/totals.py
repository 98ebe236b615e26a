"""The metrics of the buckets of a micro-batch as those of their query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from muntin_engine.plan.metrics import METRICS, Total

_TOTALS: Final = {metric.name: metric.total for metric in METRICS}
_FUNCTIONS: Final[Mapping[Total, Callable[[Iterable[int]], int]]] = {
    Total.SUM: sum,
    Total.LEAST: min,
    Total.LARGEST: max,
}


def totals_of(metrics: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the metrics of buckets as those of their query; those of modules are left out."""
    values_by_name: dict[str, list[int]] = {}
    for name, value in metrics:
        if ":" not in name:
            values_by_name.setdefault(name, []).append(value)

    totals: dict[str, int] = {}
    for name, values in values_by_name.items():
        total = _TOTALS.get(name, Total.SUM)
        totals[name] = _FUNCTIONS[total](values)
    return totals
