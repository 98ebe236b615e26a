"""Names of test cases that are the same in every process."""

from __future__ import annotations

import re
from typing import Any


def spelled(value: Any) -> str:
    """Return a value's text without the address, or the order of a set, that it happens to have.

    Example:
        >>> spelled([object()]), spelled({"b", 2, "a"})
        ('[<object object>]', "{'a', 'b', 2}")
    """
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(spelled, value)))}}}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
