"""Functions that name the modules of `stats` in a query; written by `muntin stubs stats`."""

from muntin import typed_call
from muntin_stats.approximate_distinct_count import ApproximateDistinctCount
from muntin_stats.approximate_median import ApproximateMedian
from muntin_stats.approximate_quantile import ApproximateQuantile
from muntin_stats.average import Average
from muntin_stats.average_difference import AverageDifference
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

approximate_distinct_count = typed_call(ApproximateDistinctCount)
approximate_median = typed_call(ApproximateMedian)
approximate_quantile = typed_call(ApproximateQuantile)
average = typed_call(Average)
average_difference = typed_call(AverageDifference)
collect_list = typed_call(CollectList)
correlation = typed_call(Correlation)
count = typed_call(Count)
covariance = typed_call(Covariance)
distinct_count = typed_call(DistinctCount)
exponentially_weighted_average = typed_call(ExponentiallyWeightedAverage)
first = typed_call(First)
histogram = typed_call(Histogram)
last = typed_call(Last)
linear_trend = typed_call(LinearTrend)
matched_share = typed_call(MatchedShare)
max = typed_call(Max)
max_by = typed_call(MaxBy)
median = typed_call(Median)
min = typed_call(Min)
min_by = typed_call(MinBy)
mode = typed_call(Mode)
quantile = typed_call(Quantile)
standard_deviation = typed_call(StandardDeviation)
sum = typed_call(Sum)
time_weighted_average = typed_call(TimeWeightedAverage)
top_by = typed_call(TopBy)
top_k = typed_call(TopK)
variance = typed_call(Variance)
