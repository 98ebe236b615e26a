"""Parameters and annotations of functions, as far as they can be read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from muntin.definitions.methods import hints_of, signature_of

_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def taken_by(function: Callable[..., object], skipped: int = 0) -> list[str] | None:
    """Return the names of the parameters without a default; None if a function takes any number and names none.

    Where there is none, it is the first that has no name for callers: that of `bool`, which Python 3.13 tells.

    Args:
        function: The function.
        skipped: The number of leading parameters to leave out, such as `self`.
    """
    parameters = list(signature_of(function).parameters.values())
    taken = [part.name for part in parameters if part.kind in _BY_PLACE and part.default is part.empty]
    is_open = any(part.kind is part.VAR_POSITIONAL for part in parameters)
    if is_open and len(taken) <= skipped:
        return None
    unnamed = [part.name for part in parameters[skipped:] if part.kind is part.POSITIONAL_ONLY]
    return taken[skipped:] or unnamed[:1]


def type_taken(function: Callable[..., object], skipped: int = 0) -> object:
    """Return the type of what a function takes: a tuple if that is several values, `Any` if it is none.

    None if an annotation is missing.

    Example:
        >>> def ratio(part: float, whole: int): ...
        >>> type_taken(ratio)
        tuple[float, int]
    """
    taken, hints = taken_by(function, skipped), hints_of(function)
    types = [hints.get(name) for name in taken or ()]
    if taken is None or None in types:
        return None
    if len(types) == 1:
        return types[0]
    return tuple[tuple(types)] if types else Any  # type: ignore[misc]  # known at run time alone
