"""The names that Spark, SQL and pandas have for the statistics of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("avg", "mean"), "average"),
    **dict.fromkeys(("approx_count_distinct", "approx_distinct"), "approximate_distinct_count"),
    "approx_percentile": "approximate_quantile",
    **dict.fromkeys(("array_agg", "collect"), "collect_list"),
    "corr": "correlation",
    **dict.fromkeys(("cov", "covar", "covar_samp"), "covariance"),
    **dict.fromkeys(("count_distinct", "countDistinct", "nunique"), "distinct_count"),
    **dict.fromkeys(("ewm", "ewma"), "exponentially_weighted_average"),
    **dict.fromkeys(("maximum", "greatest"), "max"),
    **dict.fromkeys(("minimum", "least"), "min"),
    **dict.fromkeys(("percentile", "percentile_approx"), "quantile"),
    **dict.fromkeys(("std", "stddev", "stddev_samp", "stdev"), "standard_deviation"),
    **dict.fromkeys(("total", "summation"), "sum"),
    **dict.fromkeys(("var", "var_samp"), "variance"),
}
"""The name of a statistic in this package, by its name elsewhere."""


def __getattr__(name: str) -> NoReturn:
    """Raise the error for a missing name, which suggests the name in this package."""
    suggestion = f"\n  write stats.{NAMES[name]}(...)" if name in NAMES else ""
    raise AttributeError(f"module 'muntin_stats' has no attribute {name!r}{suggestion}", name=name)
