"""The median within an error bound, from little memory."""

from __future__ import annotations

from muntin_stats.approximate_quantile import ApproximateQuantile


class ApproximateMedian(ApproximateQuantile):
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

    name, version = "stats.approximate_median", "0.1.0"
    aliases = ("approx_median",)

    def __init__(self, k: int = 200) -> None:
        super().__init__(0.5, k)
