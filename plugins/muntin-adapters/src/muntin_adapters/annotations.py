"""Parameters and annotations of functions, as far as they can be read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from muntin.definitions.methods import hints_of, signature_of

_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def required_parameters(function: Callable[..., object], skipped: int = 0) -> list[str] | None:
    """Return the names of the parameters that a payload fills: those that go by place and have no default.

    If all parameters have a default, a payload fills the first one that can only be given by place, as that of `bool`.

    Args:
        function: Function.
        skipped: Number of leading parameters to leave out, such as `self`.

    Returns:
        The names; None if the function takes any number of arguments and names none.
    """
    parameters = list(signature_of(function).parameters.values())
    required = [part.name for part in parameters if part.kind in _BY_PLACE and part.default is part.empty]
    takes_any_number = any(part.kind is part.VAR_POSITIONAL for part in parameters)
    if takes_any_number and len(required) <= skipped:
        return None
    # A parameter that goes by place alone takes the payload even if it has a default, as those of compiled code do.
    by_place_alone = [part.name for part in parameters[skipped:] if part.kind is part.POSITIONAL_ONLY]
    return required[skipped:] or by_place_alone[:1]


def argument_type(function: Callable[..., object], skipped: int = 0) -> object:
    """Return the type of a function's argument: a tuple for several arguments, `Any` for none.

    Args:
        function: Function.
        skipped: Number of leading parameters to leave out, such as `self`.

    Returns:
        The type; None if an annotation is missing.

    Example:
        >>> def ratio(part: float, whole: int): ...
        >>> argument_type(ratio)
        tuple[float, int]
    """
    names = required_parameters(function, skipped)
    if names is None:
        return None
    hints = hints_of(function)
    types = [hints.get(name) for name in names]
    if None in types:
        return None
    if not types:
        return Any
    if len(types) == 1:
        return types[0]
    return tuple[tuple(types)]  # type: ignore[misc]  # known at run time alone
