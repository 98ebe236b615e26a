"""The plugin that Muntin finds through the entry point `stats`."""

from __future__ import annotations

from typing import Any

from muntin import Function, Module, hookimpl
from muntin_stats.approximate_distinct_count import ApproximateDistinctCount
from muntin_stats.approximate_median import ApproximateMedian
from muntin_stats.approximate_quantile import ApproximateQuantile
from muntin_stats.average import Average
from muntin_stats.average_difference import AverageDifference
from muntin_stats.clamp import clamp
from muntin_stats.collect_list import CollectList
from muntin_stats.correlation import Correlation
from muntin_stats.count import Count
from muntin_stats.covariance import Covariance
from muntin_stats.distinct_count import DistinctCount
from muntin_stats.exponentially_weighted_average import ExponentiallyWeightedAverage
from muntin_stats.first import First
from muntin_stats.histogram import Histogram
from muntin_stats.last import Last
from muntin_stats.linear_trend import LinearTrend
from muntin_stats.log1p import log1p
from muntin_stats.matched_share import MatchedShare
from muntin_stats.max import Max
from muntin_stats.max_by import MaxBy
from muntin_stats.median import Median
from muntin_stats.min import Min
from muntin_stats.min_by import MinBy
from muntin_stats.mode import Mode
from muntin_stats.quantile import Quantile
from muntin_stats.standard_deviation import StandardDeviation
from muntin_stats.sum import Sum
from muntin_stats.time_weighted_average import TimeWeightedAverage
from muntin_stats.top_by import TopBy
from muntin_stats.top_k import TopK
from muntin_stats.variance import Variance


@hookimpl
def muntin_modules() -> list[type[Module]]:
    """Return the aggregates and operators."""
    return [
        ApproximateDistinctCount,
        ApproximateMedian,
        ApproximateQuantile,
        Average,
        AverageDifference,
        CollectList,
        Correlation,
        Count,
        Covariance,
        DistinctCount,
        ExponentiallyWeightedAverage,
        First,
        Histogram,
        Last,
        LinearTrend,
        MatchedShare,
        Max,
        MaxBy,
        Median,
        Min,
        MinBy,
        Mode,
        Quantile,
        StandardDeviation,
        Sum,
        TimeWeightedAverage,
        TopBy,
        TopK,
        Variance,
    ]


@hookimpl
def muntin_functions() -> list[Function[..., Any]]:
    """Return the functions."""
    return [clamp, log1p]
