"""The logarithm of one more, for whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import function

if TYPE_CHECKING:
    import pandas as pd


@function("stats.log1p", version="0.1.0", result=float | None, vectorized=True)
def log1p(values: pd.Series[float]) -> pd.Series[float]:
    """Return the natural logarithm of one plus each value, precise near zero too.

    Args:
        values: Any numbers; nulls stay null.

    Returns:
        Minus infinity at -1, and NaN below, which Spark shows as null.

    Example:
        >>> import pandas as pd
        >>> log1p(pd.Series([0.0, 1e-300])).tolist()
        [0.0, 1e-300]
    """
    import numpy as np  # pandas brought it

    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms: pd.Series[float] = np.log1p(values)
    return logarithms
