"""Statistics over windows, for Muntin queries; each module is found by its name, for example `stats.average`."""

from muntin_stats.approximate_distinct_count import ApproximateDistinctCount
from muntin_stats.approximate_median import ApproximateMedian
from muntin_stats.approximate_quantile import ApproximateQuantile
from muntin_stats.average import Average
from muntin_stats.clamp import clamp
from muntin_stats.count import Count
from muntin_stats.distinct_count import DistinctCount
from muntin_stats.first import First
from muntin_stats.last import Last
from muntin_stats.linear_trend import LinearTrend, Point
from muntin_stats.log1p import log1p
from muntin_stats.max import Max
from muntin_stats.median import Median
from muntin_stats.min import Min
from muntin_stats.mode import Mode
from muntin_stats.quantile import Quantile
from muntin_stats.sketch_library import MissingSketchesError
from muntin_stats.sum import Sum
from muntin_stats.time_weighted_average import TimeWeightedAverage
from muntin_stats.top_k import Place, TopK
from muntin_stats.variance import Variance

__all__ = [
    "ApproximateDistinctCount",
    "ApproximateMedian",
    "ApproximateQuantile",
    "Average",
    "Count",
    "DistinctCount",
    "First",
    "Last",
    "LinearTrend",
    "Max",
    "Median",
    "Min",
    "MissingSketchesError",
    "Mode",
    "Place",
    "Point",
    "Quantile",
    "Sum",
    "TimeWeightedAverage",
    "TopK",
    "Variance",
    "clamp",
    "log1p",
]
