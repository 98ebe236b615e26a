"""Classes of modules in one expression, with a name and a version, so that a test says only what it is about."""

from __future__ import annotations

from types import new_class
from typing import Any


def module_class(base: Any, **attributes: Any) -> Any:
    """Return a module class, named `Made`, with a name and a version.

    Args:
        base: Base class, with types in brackets.
        attributes: Further attributes; a name or a version of None is left out.

    Example:
        >>> from muntin import Aggregate
        >>> Largest = module_class(Aggregate[float, float], compute_result=lambda self, payloads: max(payloads))
        >>> Largest().compute_result([1, 2])
        2
    """
    body = {"name": "demo.made", "version": "1.0.0", **attributes}
    for name in ("name", "version"):
        if body[name] is None:
            del body[name]
    return new_class("Made", (base,), exec_body=lambda namespace: namespace.update(body))
