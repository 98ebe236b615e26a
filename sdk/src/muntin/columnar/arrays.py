"""The types of arrays, and an error that says how to install NumPy where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError as error:
    raise ImportError(
        "columnar aggregates need NumPy, which is not installed\n  to do: pip install 'muntin-sdk[columnar]'",
        name="numpy",
    ) from error


Array: TypeAlias = NDArray[Any]
"""An array of a type that a module or a query chooses."""

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.signedinteger[Any]]
"""An array of indexes, codes, counts, ticks, or numbers of slices or windows."""

PayloadArrays: TypeAlias = Array | Mapping[str, Array] | None
"""Payloads as `lift` gets them: an array, or an array per field of a record; None if the module reads no column."""
