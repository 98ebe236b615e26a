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
"""The module and the parameters that compute an aggregate of SQL over columns, by the name of the aggregate."""

ROW_COUNT: Final[tuple[str, dict[str, Any]]] = ("stats.count", {})
"""The module and the parameters of `COUNT(*)`."""

DISTINCT_COUNT: Final[tuple[str, dict[str, Any]]] = ("stats.distinct_count", {})
"""The module and the parameters of `COUNT(DISTINCT x)`."""


def aggregate_name(module: str, parameters: Mapping[str, Any]) -> str | None:
    """Return the name of the aggregate of SQL that a module with these parameters computes; None if there is none."""
    for name, aggregate in AGGREGATES.items():
        if aggregate == (module, dict(parameters)):
            return name
    return None
