"""What to write in the place of a class that neither a column nor a state can hold."""

from __future__ import annotations

import re
from typing import Final

_NUMPY: Final = (
    (r"float|longdouble", "float"),
    (r"u?int|u?long|u?short|byte", "int"),
    (r"bool", "bool"),
    (r"str", "str"),
    (r"datetime", "datetime"),
    (r"timedelta", "timedelta"),
    (r"ndarray", "list[float], and return array.tolist()"),
)


def advice_about(cls: object) -> str:
    """Return a line that says what to write instead, or no line.

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
        found = (better for pattern, better in _NUMPY if re.match(pattern, cls.__name__))
        better = next(found, "")
    elif owner == "pandas":
        better = {"Series": "list[float], and return series.tolist()", "Timestamp": "datetime"}.get(cls.__name__, "")
    elif "__annotations__" in vars(cls) or "__annotate_func__" in vars(cls):
        return f"\n  to make {cls.__name__} a record, write @dataclass above class {cls.__name__}"
    else:
        return ""
    return f"\n  instead of {cls.__name__} write {better}" if better else ""
