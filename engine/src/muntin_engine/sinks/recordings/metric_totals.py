"""The metrics of a query, added up from those of its buckets."""

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
    """Add up the metrics of the buckets of a micro-batch; those of modules are left out."""
    values_by_name: dict[str, list[int]] = {}
    for name, value in metrics:
        is_of_module = ":" in name  # such as `module_us:longest`
        if not is_of_module:
            values_by_name.setdefault(name, []).append(value)

    totals: dict[str, int] = {}
    for name, values in values_by_name.items():
        add_up = _FUNCTIONS[_TOTALS.get(name, Total.SUM)]
        totals[name] = add_up(values)
    return totals
