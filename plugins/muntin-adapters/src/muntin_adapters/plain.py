"""Foreign values as plain ones."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Return a result as a value of Python's own: NumPy's scalars and arrays and pandas' Series know theirs.

    Example:
        >>> import numpy as np
        >>> plain(np.int64(3)), plain(np.array([1.5, 2.0]))
        (3, [1.5, 2.0])
    """
    listed = getattr(value, "tolist", None)
    if callable(listed):
        return listed()
    moment = getattr(value, "to_pydatetime", None)
    return moment() if callable(moment) else value
