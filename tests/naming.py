"""Names of test cases that are the same in every process."""

from __future__ import annotations

import re
from typing import Any


def spelled(value: Any) -> str:
    """Return a value's text without the address that it happens to have.

    Example:
        >>> spelled([object()])
        '[<object object>]'
    """
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
