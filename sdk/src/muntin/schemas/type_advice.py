"""Advice for a class that neither a column nor a state can hold."""

from __future__ import annotations

import re
from typing import Final

_INSTEAD_OF_NUMPY: Final = (
    (r"float|longdouble", "float"),
    (r"u?int|u?long|u?short|byte", "int"),
    (r"bool", "bool"),
    (r"str", "str"),
    (r"datetime", "datetime"),
    (r"timedelta", "timedelta"),
    (r"ndarray", "list[float], and return array.tolist()"),
)
"""The beginnings of the names of NumPy's classes, each with the type to write instead."""

_INSTEAD_OF_PANDAS: Final = {"Series": "list[float], and return series.tolist()", "Timestamp": "datetime"}


def advice_about(cls: object) -> str:
    """Return a line of advice on what to write instead of a class; empty if there is none.

    Example:
        >>> class Spread:
        ...     low: float
        ...     high: float
        >>> advice_about(Spread).strip()
        'to make Spread a record, write @dataclass above class Spread'
        >>> advice_about(object)
        ''
    """
    if not isinstance(cls, type):
        return ""
    owner = cls.__module__.partition(".")[0]
    if owner == "numpy":
        return _instead(cls, _instead_of_numpy(cls.__name__))
    if owner == "pandas":
        return _instead(cls, _INSTEAD_OF_PANDAS.get(cls.__name__))
    # A class that lists names with types was meant as a record.
    if "__annotations__" in vars(cls) or "__annotate_func__" in vars(cls):  # the second since Python 3.14
        return f"\n  to make {cls.__name__} a record, write @dataclass above class {cls.__name__}"
    return ""


def _instead_of_numpy(name: str) -> str | None:
    """Return the type to write instead of a class of NumPy; None if no advice is known."""
    for pattern, better in _INSTEAD_OF_NUMPY:
        if re.match(pattern, name):
            return better
    return None


def _instead(cls: type, better: str | None) -> str:
    """Return the line of advice to write a better type than a class; empty if there is none."""
    return "" if better is None else f"\n  instead of {cls.__name__} write {better}"
