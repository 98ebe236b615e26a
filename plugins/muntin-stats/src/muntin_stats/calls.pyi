"""The functions that name the modules of `stats`, as editors show them; written by `muntin stubs stats`."""

from collections.abc import Sequence

from muntin import Duration
from muntin.modules.call import Column, ModuleCall, StreamColumns

def approximate_distinct_count(column: Column, /, *, lg_k: int = 12) -> ModuleCall:
    """Estimate how many different values a window has, as Spark's `approx_count_distinct`.

    The relative standard error is `1.04 / sqrt(2 ** lg_k)`: 1.6 % for `lg_k=12`, 0.8 % for `lg_k=14`. Up to about
    `2 ** lg_k / 11` different values are counted exactly, where no two have the same hash of 26 bits.

    Args:
        lg_k: Logarithm to base 2 of the number of registers, from 7 to 21. Two more halve the error.

    Types: text, bytes, numbers, booleans, dates, datetimes and timedeltas to int.
    Nulls: skipped; the result is zero where there is nothing else.
    NaN: equal to itself, so at most one value. 0.0 and -0.0 are one value, too.

    Laws: a sketch depends on the set of values alone, not on their order, their number or the tree of merges, and the
        estimate is read off the registers alone; so all laws hold to the digit. There is no removing, so the engine
        uses slices, or rebuilds.

    Cost: `2 ** lg_k + 40` bytes per window, 4 kB for `lg_k=12`; 4 per value and 12 while there are few. A call reads
        and writes the sketch, in 1 microsecond, and takes 0.2 more per payload. Merging two full sketches takes 30 for
        `lg_k=12`, a result 25.

    Source: P. Flajolet, E. Fusy, O. Gandouet and F. Meunier, HyperLogLog, AofA 2007, figure 3, as implemented by Apache
        DataSketches with tables of eight-bit registers.

    Example:
        >>> distinct = ApproximateDistinctCount()
        >>> distinct.compute_result(distinct.add_events(distinct.create_state(), ["b", "a", "b", None]))
        2
    """

def approximate_median(column: Column, /, *, k: int = 200) -> ModuleCall:
    """Return a member close to the middle of a window.

    The approximate quantile of one half; see `ApproximateQuantile` for the bound, nulls, NaN, laws and cost. Of an even
    number of members it is the lower one of the two in the middle, as far as the sketch knows.

    Args:
        k: Size of the sketch, from 8 to 65535. Twice the size halves the error.

    Types: float to float.

    Example:
        >>> median = ApproximateMedian()
        >>> median.compute_result(median.add_events(median.create_state(), [1.0, 9.0, None, 2.0]))
        2.0
    """

def approximate_quantile(column: Column, /, *, q: float, k: int = 200) -> ModuleCall:
    """Return a member whose rank is close to a share `q` of a window's members.

    With n members in order, ranked from 1, the exact answer has the rank `ceil(q * n)`, or 1 for `q=0`. The result is
    a member whose rank differs from that by at most a share of n, with a probability of 99 %: 1.33 % for `k=200`,
    0.35 % for `k=800`. The smallest and the largest are always exact. There is no interpolation.

    Args:
        q: Share, from 0 (the smallest) to 1 (the largest).
        k: Size of the sketch, from 8 to 65535. Twice the size halves the error.

    Types: float to float.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number.

    Laws: a sketch of up to `k` members holds all of them, so all laws hold to the bit. Beyond that it drops half of a
        level by the toss of a coin, and so two orders of the same members, two trees of merges, and two runs give
        results that differ; what holds is that each lies within the bound, whatever the order or the tree. There is
        no removing, so the engine uses slices, or rebuilds.

    Cost: up to about `24 * k + 600` bytes per window: 5 kB for `k=200`, whatever the number of members. A call reads
        and writes the sketch, in 3 microseconds, and takes 0.1 more per payload. Merging two sketches takes 5, a result
        8.

    Source: Z. Karnin, K. Lang and E. Liberty, Optimal Quantile Approximation in Streams, FOCS 2016, section 4, as
        implemented by Apache DataSketches.

    Example:
        >>> upper = ApproximateQuantile(q=0.9)
        >>> state = upper.add_events(upper.create_state(), [float(value) for value in range(100)])
        >>> upper.compute_result(state)
        89.0
    """

def average(column: Column, /) -> ModuleCall:
    """Average the members of a window.

    Types: float or int to float; Decimal to Decimal, of 38 digits. A column of decimals gives one with four digits
        more, all of them after the point, as Spark's `avg`.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: the sum is kept exactly and the quotient is rounded once, so removing, combining and deducting are exact.

    Cost: a count and a few floats per window; a few passes of `math.fsum` per call. For ints and Decimals one number
        and one addition each.

    Source: see `muntin_stats.exact`.

    Example:
        >>> average: Average[float] = Average()
        >>> state = average.add_events(average.create_state(), [1e16, 1.0, None, 2.0])
        >>> average.compute_result(average.remove_events(state, [1e16]))
        1.5
    """

def average_difference(
    left: Column | tuple[Column, ...] | StreamColumns,
    right: Column | tuple[Column, ...] | StreamColumns,
) -> ModuleCall:
    """Subtract the average of the right stream from that of the left one, such as those of two sensors.

    Types: `Left(value)` and `Right(value)`, each a float, int or Decimal, to float. A query gives a column of each of
        two streams.
    Nulls: skipped; the result is null where a stream has no other value in the window.
    NaN: the difference is NaN where an average is, and where both are the same infinity; taking them out again undoes
        that.

    Laws: both sums are kept exactly, so removing, combining and deducting are exact. Of floats each quotient is rounded
        once, and then their difference; with ints or Decimals only the difference is.

    Cost: twice that of `Average`.

    Example:
        >>> difference = AverageDifference()
        >>> state = difference.add_events(difference.create_state(), [Left(21.5), Right(4.0), Left(20.5), Right(6.0)])
        >>> difference.compute_result(state)
        16.0
    """

def collect_list(column: Column, /) -> ModuleCall:
    """List the payloads of a window in the order in which their events start.

    Events that start together come in the order of the query's `events(order=...)`. Events that are equal in that order
    too, or in a query without one, come by payload, the smaller one first. So the list is the same whatever the order
    in which rows arrive, which Spark's `collect_list` does not guarantee.

    Types: any type to a list of it.
    Nulls: skipped; the list is empty where there is nothing else.
    NaN: larger than any number; this matters only among events that are equal in the order.

    Laws: it reads the order, and removes the oldest.

    Cost: memory for every member; the members of a window are sorted for each result.

    Example:
        >>> listed = CollectList[str]()
        >>> listed.compute_result(listed.add_events([], ["b", None, "a"]))
        ['b', 'a']
    """

def correlation(x: Column, y: Column = ..., /) -> ModuleCall:
    """Measure how close the points of a window lie to a line: Pearson's coefficient, from -1 to 1, as Spark's `corr`.

    Types: `Point(x, y)` to float. A query binds two columns, of floats, ints or Decimals.
    Nulls: a point with a null coordinate is skipped; the result is null where fewer than two distinct x, or y, are
        left.
    NaN: the correlation is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: the sums are kept exactly, as fractions, and the result is rounded once, so removing, combining and deducting
        are exact, and points on a line have a correlation of exactly 1 or -1.

    Cost: five fractions of some 30 bytes per window, and an integer root per result.

    Example:
        >>> from muntin_stats import Point
        >>> correlation = Correlation()
        >>> points = [Point(0, 1), Point(1, 3), Point(2, 5), Point(None, 7)]
        >>> correlation.compute_result(correlation.add_events(correlation.create_state(), points))
        1.0
    """

def count(column: Column = ..., /, *, skip_nulls: bool = False) -> ModuleCall:
    """Count the members of a window, or those whose value is not null.

    With no input every event counts, as `count(*)` does; with an input and `skip_nulls`, as `count(column)` does.

    Args:
        skip_nulls: True to leave out events whose payload is null. In a query without an input the payload of each
            event is null, so it needs the default.

    Types: anything to int; zero where all payloads are null and skipped.

    Laws: integers form a group, so removing, combining and deducting are exact.

    Cost: an int per window; constant time per call, or one test per payload with `skip_nulls`.

    Example:
        >>> events = Count()
        >>> values = Count(skip_nulls=True)
        >>> events.add_events(0, ["a", None, "b"]), values.add_events(0, ["a", None, "b"])
        (3, 2)
    """

def covariance(x: Column, y: Column = ..., /, *, ddof: int = 1) -> ModuleCall:
    """Measure how two numbers of the members of a window move together.

    The sum of the products of both distances from their averages, divided by the count less `ddof`.

    Args:
        ddof: Number that is taken off the count: 1 for Spark's `covar_samp`, 0 for `covar_pop`.

    Types: `Point(x, y)` to float. A query binds two columns, of floats, ints or Decimals.
    Nulls: a point with a null coordinate is skipped; the result is null where no more than `ddof` points are left.
    NaN: the covariance is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: the sums are kept exactly, as fractions, and the quotient is rounded once, so removing, combining and
        deducting are exact.

    Cost: five fractions of some 30 bytes per window; about twice what `Variance` costs.

    Example:
        >>> from muntin_stats import Point
        >>> covariance = Covariance()
        >>> covariance.compute_result(covariance.add_events(covariance.create_state(), [Point(0, 1), Point(2, 5)]))
        4.0
    """

def distinct_count(column: Column, /) -> ModuleCall:
    """Count the different values in a window, as SQL's `count(distinct column)`.

    Types: any hashable type to int.
    Nulls: skipped; the result is zero where there is nothing else.
    NaN: equal to itself, so at most one value. 0.0 and -0.0 are one value, too.

    Laws: the state counts every value, so removing, combining and deducting are exact.

    Cost: an entry per distinct value and window, one look-up per payload.

    Example:
        >>> distinct = DistinctCount()
        >>> distinct.compute_result(distinct.add_events(distinct.create_state(), ["b", "a", "b", None]))
        2
    """

def exponentially_weighted_average(
    column: Column,
    /,
    *,
    half_life: Duration | None = None,
    alpha: float | None = None,
) -> ModuleCall:
    """Average the members of a window in the order of their times, the newest of which weighs most.

    With `half_life`, a member that starts one half-life before the newest member weighs half as much, a member that
    starts two half-lives before it a quarter, and so on. With `alpha`, each member weighs `1 - alpha` times as much as
    the next one, however far they are apart. The result is the sum of the weighted payloads by the sum of the weights,
    as by `ewm(halflife=..., times=...)` and `ewm(alpha=...)` of pandas.

    Of members that start together, the first by the query's `events(order=...)` comes first; of those that are alike in
    it too, or without it, the smaller payload.

    Args:
        half_life: Duration, in ticks or as text such as `"10 minutes"`.
        alpha: Weight of the newest member against all before it, above 0 and up to 1. Give either of the two.

    Types: float, int or Decimal to float.
    Nulls: skipped, as if there were no such member; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN.

    Laws: it reads the order, and nothing but the members: weighted floats are rounded one by one, the quotient of
        their sums once. Of ints and Decimals nothing but the quotient is rounded, and the weights.

    Cost: all members of a window, sorted, for each result.

    Example:
        >>> average, window = ExponentiallyWeightedAverage(half_life=5), Window(0, 10)
        >>> average.compute_result([Event(0, 1, 1.0), Event(5, 6, 4.0), Event(7, 8, None)], window)
        3.0
    """

def first(column: Column, /) -> ModuleCall:
    """Return the payload of the event that starts first in a window.

    Of events that start together it is the first by the query's `events(order=...)`. Of events that are equal in that
    order too, or in a query without one, it is the smallest payload.

    Types: any type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; this matters only among events that are equal in the order.

    Laws: it reads the order. It cannot remove: the state has the first payload alone and not the one that comes next,
        so the engine rebuilds.

    Cost: one value per window; the members of a window are sorted for each result.

    Example:
        >>> first = First[str]()
        >>> first.compute_result(first.add_events(None, [None, "b", "a"]))
        'b'
    """

def histogram(column: Column, /, *, limits: Sequence[float]) -> ModuleCall:
    """Count the members of a window that lie between limits.

    The first count is that of members below the first limit, the next that of members from the first limit up to but
    not including the second, and so on; the last is that of members from the last limit on. So there is one more count
    than there are limits, and together they count every payload that is not null.

    Args:
        limits: Finite numbers, at least one, each larger than the one before.

    Types: float, int or Decimal to a list of int. A number is compared with a limit exactly, whatever their types.
    Nulls: skipped; all counts are zero where there is nothing else.
    NaN: larger than any number, so in the last count.

    Laws: counts are whole numbers, so removing, combining and deducting are exact.

    Cost: an int per count and window, a binary search per payload.

    Example:
        >>> histogram = Histogram([0.0, 10.0])
        >>> histogram.compute_result(histogram.add_events(histogram.create_state(), [-1.0, 0.0, 9.9, 10.0, None]))
        [1, 2, 1]
    """

def last(column: Column, /) -> ModuleCall:
    """Return the payload of the event that starts last in a window.

    Of events that start together it is the last by the query's `events(order=...)`. Of events that are equal in that
    order too, or in a query without one, it is the largest payload.

    Types: any type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; this matters only among events that are equal in the order.

    Laws: it reads the order. It cannot remove: the state has the last payload alone and not the one before it, so the
        engine rebuilds.

    Cost: one value per window; the members of a window are sorted for each result.

    Example:
        >>> last = Last[str]()
        >>> last.compute_result(last.add_events(None, ["b", "a", None]))
        'a'
    """

def linear_trend(x: Column, y: Column = ..., /) -> ModuleCall:
    """Fit a line to the points of a window and return its slope, by how much y rises where x rises by one.

    The line of least squares, as Spark's `regr_slope(y, x)`.

    Types: `Point(x, y)` to float. A query binds two columns, of floats, ints or Decimals.
    Nulls: a point with a null coordinate is skipped; the result is null where fewer than two distinct x are left.
    NaN: the slope is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: the sums are kept exactly, as fractions, and the quotient is rounded once, so removing, combining and
        deducting are exact, for times in nanoseconds as well as for small numbers.

    Cost: four fractions of some 30 bytes per window; about twice what `Variance` costs.

    Example:
        >>> trend = LinearTrend()
        >>> trend.compute_result(trend.add_events(trend.create_state(), [Point(0, 1), Point(2, 5), Point(None, 7)]))
        2.0
    """

def matched_share(
    left: Column | tuple[Column, ...] | StreamColumns,
    right: Column | tuple[Column, ...] | StreamColumns,
) -> ModuleCall:
    """Return the share of the different values of the left stream that are in the right one too, as of orders paid.

    Types: `Left(value)` and `Right(value)`, of one hashable type, to float, from 0 to 1. A query gives a column of each
        of two streams.
    Nulls: skipped; the result is null where the left stream has no other value in the window.
    NaN: equal to itself. 0.0 and -0.0 are one value.

    Laws: the state counts every value, so removing, combining and deducting are exact.

    Cost: an entry per distinct value, stream and window; the result looks each value of the left stream up.

    Example:
        >>> share = MatchedShare()
        >>> orders, payments = [Left("a"), Left("b"), Left("c")], [Right("c"), Right("a")]
        >>> round(share.compute_result(share.add_events(share.create_state(), orders + payments)), 3)
        0.667
    """

def max(column: Column, /) -> ModuleCall:
    """Return the largest member of a window.

    Types: any ordered type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the state has the largest member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: one value per window, one comparison per payload.

    Example:
        >>> largest: Max[int] = Max()
        >>> largest.compute_result(largest.add_events(largest.create_state(), [2, None, 3]))
        3
    """

def max_by(value: Column, by: Column = ..., /) -> ModuleCall:
    """Return the value of the member of a window whose `by` is the largest, as Spark's `max_by(value, by)`.

    Of members with equal `by` it is the larger value, so that the order of rows means nothing; null loses.

    Types: `Ranked(value, by)` of two ordered types to that of the value. A query binds two columns.
    Nulls: a member whose `by` is null is skipped; the result is null where there is nothing else, or where the value
        is.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the state has the best member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: two values per window, one comparison per payload.

    Example:
        >>> best: MaxBy[str, int] = MaxBy()
        >>> best.compute_result(best.add_events(None, [Ranked("a", 3), Ranked("b", 7), Ranked("c", None)]))
        'b'
    """

def median(column: Column, /) -> ModuleCall:
    """Return the middle member of a window, or the mean of the two in the middle.

    The quantile of one half; see `Quantile` for nulls, NaN, laws and cost.

    Types: float, int or Decimal to float.

    Example:
        >>> median = Median()
        >>> median.compute_result(median.add_events(median.create_state(), [1.0, 9.0, None, 2.0]))
        2.0
    """

def min(column: Column, /) -> ModuleCall:
    """Return the smallest member of a window.

    Types: any ordered type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number, so the result only where there is nothing else.

    Laws: combining is exact. It cannot remove: the state has the smallest member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: one value per window, one comparison per payload.

    Example:
        >>> smallest: Min[str] = Min()
        >>> smallest.compute_result(smallest.add_events(smallest.create_state(), ["b", None, "a"]))
        'a'
    """

def min_by(value: Column, by: Column = ..., /) -> ModuleCall:
    """Return the value of the member of a window whose `by` is the smallest, as Spark's `min_by(value, by)`.

    Of members with equal `by` it is the smaller value, so that the order of rows means nothing; null loses.

    Types: `Ranked(value, by)` of two ordered types to that of the value. A query binds two columns.
    Nulls: a member whose `by` is null is skipped; the result is null where there is nothing else, or where the value
        is.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the state has the best member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: two values per window, one comparison per payload.

    Example:
        >>> best: MinBy[str, int] = MinBy()
        >>> best.compute_result(best.add_events(None, [Ranked("a", 3), Ranked("b", 7), Ranked("c", None)]))
        'a'
    """

def mode(column: Column, /) -> ModuleCall:
    """Return the value that occurs most often in a window; of several, the smallest.

    Types: any ordered, hashable type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: equal to itself and larger than any number, so it loses a tie.

    Laws: the state counts every value, so removing, combining and deducting are exact.

    Cost: an entry per distinct value and window; a result passes over the distinct values.

    Example:
        >>> mode: Mode[str] = Mode()
        >>> mode.compute_result(mode.add_events(mode.create_state(), ["b", "a", "b", None, "a"]))
        'a'
    """

def quantile(column: Column, /, *, q: float) -> ModuleCall:
    """Return the value that a share `q` of a window's members does not exceed.

    With n members in order, ranked from 0, it is the member at `q * (n - 1)`; between two ranks it is interpolated
    linearly between their values. This is NumPy's default, pandas' and Spark's `percentile`.

    Args:
        q: Share, from 0 (the smallest) to 1 (the largest).

    Types: float, int or Decimal to float. Between Decimals, and between ints of more than 53 bits, the result is
        computed exactly and rounded once. It is infinite where no float is near, as for an int of 400 digits.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; a result that would lie between a number and NaN is NaN.

    Laws: the state holds every value, so removing, combining and deducting are exact.

    Cost: memory for every member. Adding merges; removing a few searches for each, removing many passes once.

    Source: R. J. Hyndman and Y. Fan, Sample Quantiles in Statistical Packages, The American Statistician 50 (1996),
        definition 7.

    Example:
        >>> upper = Quantile(q=0.9)
        >>> upper.compute_result(upper.add_events(upper.create_state(), [10.0, None, 20.0]))
        19.0
    """

def standard_deviation(column: Column, /, *, ddof: int = 1) -> ModuleCall:
    """Measure how far the members of a window lie from their average, in their own unit: the root of the variance.

    Args:
        ddof: Number that is taken off the count: 1 estimates the deviation of the population that was sampled, as
            Spark's `stddev_samp`; 0 is the deviation of the members themselves, as `stddev_pop`.

    Types: float, int or Decimal to float.
    Nulls: skipped; the result is null where no more than `ddof` other payloads are left.
    NaN: the deviation is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: as `Variance`. The root is taken of the exact variance and rounded once, so it is finite also where the
        variance is beyond the largest float.

    Cost: as `Variance`, and an integer root per result.

    Example:
        >>> deviation = StandardDeviation()
        >>> deviation.compute_result(deviation.add_events(deviation.create_state(), [1e9 + 1, 1e9 + 3, 1e9 + 5]))
        2.0
    """

def sum(column: Column, /) -> ModuleCall:
    """Add up the members of a window.

    Types: int to int, of any size; Decimal to Decimal, without rounding; float to float, rounded once at the end.
        Ints among floats make a float, also rounded once.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: the sum is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: the sum is kept exactly, so removing, combining and deducting are exact and order means nothing: 1e16
        and 1 and -1e16 make 1 in any order. Decimals are finite.

    Cost: for floats a few of them per window and a few passes of `math.fsum` per call; for ints and Decimals one number
        and one addition each.

    Source: see `muntin_stats.exact`.

    Example:
        >>> total: Sum[float] = Sum()
        >>> state = total.add_events(total.create_state(), [1e16, 1.0, None])
        >>> total.compute_result(total.remove_events(state, [1e16]))
        1.0
    """

def time_weighted_average(column: Column, /) -> ModuleCall:
    """Average a value over a window's time, each payload weighted by how long it holds.

    The sum of payload times lifetime, divided by the length of the window. Overlapping events add up: where two
    planes are in the air, so are the miles of both. Time that no event covers counts as zero.

    Only under `clip="full"` is this an average over the window, so no other policy is accepted. A member that lies
    wholly outside (there are such in count windows, and with a `reach`) is left out.

    Types: float, int or Decimal to float, in the unit of the payload.
    Nulls: skipped, so their time counts as zero; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: products and sum are kept exactly and the quotient is rounded once, so removing undoes adding.

    Cost: one fraction per window, one multiplication of integers per event. Over snapshots, each of whose events spans
    it, the average is the sum of the payloads, which runs on arrays.

    Source: the `MyTimeWeightedAverage` of the StreamInsight paper.

    Example:
        >>> average, window = TimeWeightedAverage(), Window(0, 10)
        >>> events = [Event(0, 5, 2.0), Event(5, 10, 4.0)]
        >>> average.compute_result(average.add_events(average.create_state(window), events, window), window)
        3.0
    """

def top_by(
    value: Column,
    by: Column = ...,
    /,
    *,
    k: int,
    largest: bool = True,
    ties: str = "exact",
) -> ModuleCall:
    """Return the `k` rows of a window whose `by` is the largest (or smallest), with their ranks.

    A row is one value, or a struct of several: `module("stats.top_by", F.struct("shop", "item"), "price", k=3)`.

    Args:
        k: Number of rows.
        largest: True for the largest, which come first; False for the smallest.
        ties: `"exact"`: exactly `k` rows, or as many as there are if fewer, with the ranks 1, 2, 3. Of rows with equal
            `by` the earlier one comes first, by time and the query's `events(order=...)`; in a query without an order,
            the one with the larger value (with the smaller one if the smallest come first). `"all"`: also the rows that
            tie with the `k`-th. Rows with equal `by` have equal ranks, as `RANK()` of SQL.

    Types: `Ranked(value, by)` of any type and an ordered one, to rows of `rank`, `value` and `by`. A query binds two
        columns.
    Nulls: a row whose `by` is null is skipped, and there is no row where there is nothing else. A value that is null
        comes last among equals.
    NaN: larger than any number.

    Laws: combining is exact, and the order in which rows come means nothing, unless the query names one. It cannot
        remove: the rows after the `k`-th are not in the state, so the engine uses slices, or rebuilds.

    Cost: up to `k` rows per window, and those that tie with the last; a call sorts them with the new rows. In a query
        that names an order, the members of a window are kept, and sorted for each result.

    Example:
        >>> best: TopBy[str, int] = TopBy(2)
        >>> sales = [Ranked("pear", 3), Ranked("fig", 9), Ranked("nut", None), Ranked("plum", 3)]
        >>> [(row.rank, row.value) for row in best.compute_result(best.add_events([], sales))]
        [(1, 'fig'), (2, 'plum')]
        >>> with_ties: TopBy[str, int] = TopBy(2, ties="all")
        >>> [(row.rank, row.value) for row in with_ties.compute_result(with_ties.add_events([], sales))]
        [(1, 'fig'), (2, 'plum'), (2, 'pear')]
    """

def top_k(column: Column, /, *, k: int, largest: bool = True) -> ModuleCall:
    """Return the `k` largest (or smallest) members of a window with their ranks.

    Equal values take neighbouring ranks, so there are exactly `k` rows, or as many as there are members if fewer.

    Args:
        k: Number of members.
        largest: True for the largest, which come first; False for the smallest.

    Types: any ordered type to rows of `rank` and `value`.
    Nulls: skipped; there is no row where there is nothing else.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the members after the `k`-th are not in the state, so the engine uses
        slices, or rebuilds.

    Cost: up to `k` values per window; a call sorts them with the new ones.

    Example:
        >>> top: TopK[int] = TopK(2)
        >>> top.compute_result(top.add_events(top.create_state(), [3, 9, None, 9]))
        [Place(rank=1, value=9), Place(rank=2, value=9)]
    """

def variance(column: Column, /, *, ddof: int = 1) -> ModuleCall:
    """Measure how far the members of a window lie from their average.

    The sum of the squared distances from the average, divided by the count less `ddof`.

    Args:
        ddof: Number that is taken off the count: 1 estimates the variance of the population that was sampled, as
            Spark's `var_samp`; 0 is the variance of the members themselves, as `var_pop`.

    Types: float, int or Decimal to float.
    Nulls: skipped; the result is null where no more than `ddof` other payloads are left.
    NaN: the variance is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: sums of values and of squares are kept exactly, as fractions, and the quotient is rounded once. So removing,
        combining and deducting are exact, and values far from zero, such as times in nanoseconds, lose nothing. That is
        what Welford's and Chan's updates are for; those cannot be undone exactly.

    Cost: two fractions of some 30 bytes per window. Most of a call's cost does not depend on the number of payloads,
        and is several times that of `Average`.

    Example:
        >>> variance = Variance()
        >>> state = variance.add_events(variance.create_state(), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
        >>> variance.compute_result(state)
        30.0
        >>> now = 1_700_000_000_000_000_000  # nanoseconds, of which a double has every 256th
        >>> variance.compute_result(variance.add_events(variance.create_state(), [now, now + 10, now + 20, now + 30]))
        166.66666666666666
    """
