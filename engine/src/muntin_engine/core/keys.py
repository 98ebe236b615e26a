"""The key of a row, with equality as in Spark's grouping."""

from __future__ import annotations

from math import isnan
from typing import Any, Final, TypeAlias

Key: TypeAlias = tuple[Any, ...]
"""The values of a query's key columns; null is a key like any other."""

_NAN: Final = float("nan")


def canonical(value: object) -> Any:
    """Return a key such that equal keys are written alike, equal as in Spark's grouping.

    There 0.0 and -0.0 are one key, and so are all NaNs, also inside lists, structs and maps.

    Example:
        >>> canonical((-0.0, [float("nan")], None, "a"))
        (0.0, [nan], None, 'a')
    """
    if isinstance(value, float):
        return _NAN if isnan(value) else value + 0.0
    if isinstance(value, list | tuple):
        return type(value)([canonical(part) for part in value])
    if isinstance(value, dict):
        return {canonical(name): canonical(part) for name, part in value.items()}
    return value
