"""Results of windows as Python values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muntin.axis import moment
from muntin.columnar.arrays import Array
from muntin.columnar.on_arrays import OnArrays
from muntin.columnar.ragged import Ragged
from muntin.errors import ModuleContractError


def results_of(module: OnArrays, components: Mapping[str, Array | Ragged], count: int) -> list[object]:
    """Return the results of n windows.

    Args:
        module: The module.
        components: By name, an array of the n windows' values; of collected values, a `Ragged`.
        count: The number of windows.

    Raises:
        ModuleContractError: The module returned another number of results.
    """
    with np.errstate(all="ignore"):
        results = module.compute_results(components)
    if np.shape(results) != (count,):
        raise ModuleContractError(
            f"compute_results returned results of the shape {np.shape(results)}\n  expected: {(count,)}, one per window"
        )
    return python_values(results)


def python_values(results: Array) -> list[object]:
    """Return an array as Python values: datetimes are aware and in UTC, and masked entries and NaT are None.

    Example:
        >>> python_values(np.ma.MaskedArray([1.5, 0.0], [False, True]))
        [1.5, None]
        >>> python_values(np.array(["1970-01-02"], "datetime64[us]"))
        [datetime.datetime(1970, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)]
    """
    is_null, array = np.ma.getmaskarray(results), np.ma.getdata(results)
    if array.dtype.kind in "mM":
        is_null = is_null | np.isnat(array)
    if array.dtype.kind == "M" and array.dtype != np.dtype("datetime64[D]"):
        values = array.astype("datetime64[us]").view("int64").tolist()
        return [None if missing else moment(value) for missing, value in zip(is_null, values, strict=True)]
    if array.dtype.kind == "m":
        array = array.astype("timedelta64[us]")
    values = array.tolist()
    return [None if missing else _plain(value) for missing, value in zip(is_null, values, strict=True)]


def _plain(value: object) -> object:
    """Return an entry of an array of objects as a plain Python value."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
