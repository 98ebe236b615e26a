"""Values cut to a range."""

from __future__ import annotations

from muntin import function


@function("stats.clamp", version="0.1.0")
def clamp(value: float | None, low: float | None, high: float | None) -> float | None:
    """Limit a value to a range.

    Args:
        value: Value to limit; NaN stays NaN.
        low: Lower end of the range.
        high: Upper end of the range.

    Returns:
        Null if any argument is.

    Raises:
        ValueError: The range is empty: `low` is greater than `high`.

    Example:
        >>> clamp(-3.0, 0.0, 10.0), clamp(4.0, 0.0, 10.0), clamp(None, 0.0, 10.0)
        (0.0, 4.0, None)
    """
    if value is None or low is None or high is None:
        return None
    if low > high:
        raise ValueError(f"no value lies from low={low!r} to high={high!r}; expected low <= high")
    if value < low:
        return low
    if value > high:
        return high
    return value  # NaN is neither below nor above
