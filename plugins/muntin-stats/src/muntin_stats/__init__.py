"""Statistics over windows, for Muntin queries; each module is found by its name, for example `stats.average`."""

from typing import TYPE_CHECKING

from muntin_stats.approximate_distinct_count import ApproximateDistinctCount
from muntin_stats.approximate_median import ApproximateMedian
from muntin_stats.approximate_quantile import ApproximateQuantile
from muntin_stats.average import Average
from muntin_stats.average_difference import AverageDifference
from muntin_stats.calls import (
    approximate_distinct_count,
    approximate_median,
    approximate_quantile,
    average,
    average_difference,
    collect_list,
    correlation,
    count,
    covariance,
    distinct_count,
    exponentially_weighted_average,
    first,
    histogram,
    last,
    linear_trend,
    matched_share,
    max,
    max_by,
    median,
    min,
    min_by,
    mode,
    quantile,
    standard_deviation,
    sum,
    time_weighted_average,
    top_by,
    top_k,
    variance,
)
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
from muntin_stats.point import Point
from muntin_stats.quantile import Quantile
from muntin_stats.ranked import Ranked
from muntin_stats.sides import Left, Right
from muntin_stats.sketch_library import MissingSketchesError
from muntin_stats.standard_deviation import StandardDeviation
from muntin_stats.sum import Sum
from muntin_stats.time_weighted_average import TimeWeightedAverage
from muntin_stats.top_by import RankedRow, TopBy
from muntin_stats.top_k import Place, TopK
from muntin_stats.variance import Variance

if not TYPE_CHECKING:  # type checkers would take every name for one that is there
    from muntin_stats.other_names import __getattr__ as __getattr__

__all__ = [
    "ApproximateDistinctCount",
    "ApproximateMedian",
    "ApproximateQuantile",
    "Average",
    "AverageDifference",
    "CollectList",
    "Correlation",
    "Count",
    "Covariance",
    "DistinctCount",
    "ExponentiallyWeightedAverage",
    "First",
    "Histogram",
    "Last",
    "Left",
    "LinearTrend",
    "MatchedShare",
    "Max",
    "MaxBy",
    "Median",
    "Min",
    "MinBy",
    "MissingSketchesError",
    "Mode",
    "Place",
    "Point",
    "Quantile",
    "Ranked",
    "RankedRow",
    "Right",
    "StandardDeviation",
    "Sum",
    "TimeWeightedAverage",
    "TopBy",
    "TopK",
    "Variance",
    "approximate_distinct_count",
    "approximate_median",
    "approximate_quantile",
    "average",
    "average_difference",
    "clamp",
    "collect_list",
    "correlation",
    "count",
    "covariance",
    "distinct_count",
    "exponentially_weighted_average",
    "first",
    "histogram",
    "last",
    "linear_trend",
    "log1p",
    "matched_share",
    "max",
    "max_by",
    "median",
    "min",
    "min_by",
    "mode",
    "quantile",
    "standard_deviation",
    "sum",
    "time_weighted_average",
    "top_by",
    "top_k",
    "variance",
]
