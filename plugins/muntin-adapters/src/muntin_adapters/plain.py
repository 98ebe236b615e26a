"""Foreign values as plain Python values."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Return a result as a value of Python's own, by its `tolist` or `to_pydatetime`, as NumPy and pandas have them.

    Example:
        >>> import numpy as np
        >>> plain(np.int64(3)), plain(np.array([1.5, 2.0]))
        (3, [1.5, 2.0])
    """
    tolist = getattr(value, "tolist", None)
    if callable(tolist):
        return tolist()
    to_pydatetime = getattr(value, "to_pydatetime", None)
    if callable(to_pydatetime):
        return to_pydatetime()
    return value
