"""Functions and parameters as text that says what they do, the same in every process."""

from __future__ import annotations

import hashlib
import sys
from types import CodeType
from typing import Any


def spell(value: Any) -> str:
    """Return what stands for a value in the version of a module that depends on it.

    A function that can be imported goes by its name. Any other, such as one of a script or a lambda, goes by its name
    and a hash of its code and of what it refers to, so that another one has another version.

    Example:
        >>> import math
        >>> spell(math.sqrt), spell("day")
        ('math.sqrt', "'day'")
    """
    if not callable(value):
        return repr(value)
    name, module = getattr(value, "__qualname__", type(value).__qualname__), getattr(value, "__module__", None)
    is_found = module != "__main__" and getattr(sys.modules.get(module or ""), name, None) is value
    if is_found or not hasattr(value, "__code__"):
        return f"{module}.{name}"
    return f"{name.rpartition('.')[2]}#{hashlib.sha256(_of_function(value).encode()).hexdigest()[:8]}"


def _of_function(function: Any) -> str:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    return f"{_of_code(function.__code__)} {[spell(value) for value in (*cells, *defaults)]}"


def _of_code(code: CodeType) -> str:
    constants = [_of_code(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames}"
