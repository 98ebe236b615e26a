"""Payloads as pandas Series, and results of pandas as plain Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from muntin.columnar.arrays import Array
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.results import python_value
from muntin.schemas import Field

_WITH_NULLS: Final = {"i": "Int64", "b": "boolean"}
"""The type of Series that can hold nulls, by the kind of array."""


def series_of(field: Field, payloads: Sequence[object]) -> pd.Series | pd.DataFrame:
    """Return payloads as a Series; records as a DataFrame with a column per field.

    Nulls are NaN, NaT, or NA among integers and booleans; datetimes are aware and in UTC.

    Example:
        >>> from muntin.schemas import describe
        >>> list(series_of(describe(float | None), [1.5, None]))
        [1.5, nan]
    """
    arrays, _ = payload_arrays(field, payloads, skips_nulls=False)
    if isinstance(arrays, Mapping):
        return pd.DataFrame({name: _series(array) for name, array in arrays.items()})
    return _series(arrays)


def value_of_series(result: object) -> object:
    """Convert the result of a function of Series to plain Python; NA and NaT become None.

    Example:
        >>> value_of_series(pd.Series([1, 2]).sum())
        3
    """
    if isinstance(result, pd.Series):
        return [value_of_series(value) for value in result]
    if result is pd.NA or result is pd.NaT:
        return None
    if isinstance(result, pd.Timestamp):
        return result.to_pydatetime()
    if isinstance(result, pd.Timedelta):
        return result.to_pytimedelta()
    return python_value(result)


def _series(array: Array) -> pd.Series:
    """Return an array as a Series: nulls are NA, and times are in UTC."""
    is_null = np.ma.getmaskarray(array)
    values = np.ma.getdata(array)
    series = pd.Series(values, dtype=values.dtype)  # pandas 3 has a type of its own for text, whose nulls are NaN
    if values.dtype == np.dtype("datetime64[us]"):
        series = series.dt.tz_localize("UTC")
    if not is_null.any() or values.dtype == object:
        return series
    return series.astype(_WITH_NULLS.get(values.dtype.kind, series.dtype)).mask(is_null)
