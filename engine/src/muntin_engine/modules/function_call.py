"""A call of a function of a plugin, as every backend makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from muntin.errors import ModuleError
from muntin.errors.safe_text import safe_cause, safe_message, safe_repr


def call_function(label: str, implementation: Callable[..., Any], arguments: Sequence[object]) -> Any:
    """Call a function with the values of a row, or with those of many rows if it is vectorised.

    Args:
        label: The name and the version of the function.
        implementation: The function itself.
        arguments: The arguments: values of a row, or columns if the function is vectorised.

    Raises:
        ModuleError: The function raised an exception, which is the cause of this error.
    """
    try:
        return implementation(*arguments)
    except Exception as error:
        failure = ModuleError(f"{label} failed: {safe_message(error)}\n  arguments: {safe_repr(tuple(arguments))}")
        raise failure from safe_cause(error)
