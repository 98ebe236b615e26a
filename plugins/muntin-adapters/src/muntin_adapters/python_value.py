"""One result of array code as a Python value."""

from __future__ import annotations

import numpy as np

from muntin.columnar.results import python_values


def python_value(result: object) -> object:
    """Return a scalar or an array of NumPy's as plain Python: NaT and what is masked is None. All else stays.

    Example:
        >>> python_value(np.float64(1.5)), python_value(np.array([1, 2])), python_value(np.ma.masked)
        (1.5, [1, 2], None)
    """
    if isinstance(result, np.ndarray) and result.ndim == 1:
        return python_values(result)
    if isinstance(result, np.ndarray) and result.ndim:
        return result.tolist()
    if isinstance(result, np.generic | np.ndarray):
        return python_values(np.ma.atleast_1d(result))[0]
    return result
