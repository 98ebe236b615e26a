"""Aggregates of SQL, and the modules that compute them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

AGGREGATES: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "COUNT": ("stats.count", {"skip_nulls": True}),
    "SUM": ("stats.sum", {}),
    "AVG": ("stats.average", {}),
    "MEAN": ("stats.average", {}),
    "MIN": ("stats.min", {}),
    "MAX": ("stats.max", {}),
    "MEDIAN": ("stats.median", {}),
    "MODE": ("stats.mode", {}),
    "STDDEV": ("stats.standard_deviation", {}),
    "STDDEV_SAMP": ("stats.standard_deviation", {}),
    "VARIANCE": ("stats.variance", {}),
    "VAR_SAMP": ("stats.variance", {}),
    "VAR_POP": ("stats.variance", {"ddof": 0}),
    "CORR": ("stats.correlation", {}),
    "COVAR_SAMP": ("stats.covariance", {}),
    "COVAR_POP": ("stats.covariance", {"ddof": 0}),
    "FIRST_VALUE": ("stats.first", {}),
    "LAST_VALUE": ("stats.last", {}),
    "MAX_BY": ("stats.max_by", {}),
    "MIN_BY": ("stats.min_by", {}),
    "COLLECT_LIST": ("stats.collect_list", {}),
    "APPROX_COUNT_DISTINCT": ("stats.approximate_distinct_count", {}),
}
"""By the name of an aggregate of SQL, the module and the parameters that compute it over columns."""

ROW_COUNT: Final[tuple[str, dict[str, Any]]] = ("stats.count", {})
"""What `COUNT(*)` is."""

DISTINCT_COUNT: Final[tuple[str, dict[str, Any]]] = ("stats.distinct_count", {})
"""What `COUNT(DISTINCT x)` is."""


def spelled(module: str, parameters: Mapping[str, Any]) -> str | None:
    """Return the aggregate of SQL that is a module with these parameters; None if there is none."""
    return next((name for name, call in AGGREGATES.items() if call == (module, dict(parameters))), None)
