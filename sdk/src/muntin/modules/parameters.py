"""Check the parameters of a module against the annotations of its constructor."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

_TAKEN: Final[Mapping[Any, tuple[type, ...]]] = {
    bool: (bool,),
    int: (Integral,),
    float: (Real,),
    str: (str,),
    bytes: (bytes,),
    Decimal: (Decimal, Integral),
    date: (date,),
    timedelta: (timedelta,),
    None: (NoneType,),
    NoneType: (NoneType,),
}
"""Values accepted for an annotation; an annotation that is not here says too little or too much to be checked."""


def check_types(signature: inspect.Signature, parameters: Mapping[str, object]) -> None:
    """Refuse a parameter that is plainly not what a constructor is annotated with, such as text for a float.

    Args:
        signature: The constructor's.
        parameters: By name.

    Raises:
        TypeError: One is of another type. A constructor without annotations takes anything.

    Example:
        >>> def smooth(alpha: float): ...
        >>> check_types(inspect.signature(smooth, eval_str=True), {"alpha": "0.5"})
        Traceback (most recent call last):
            ...
        TypeError: alpha must be a float, got '0.5'; write alpha=0.5
    """
    for name, value in parameters.items():
        declared = signature.parameters.get(name)
        if declared is None or declared.kind is declared.VAR_KEYWORD or _fits(value, declared.annotation):
            continue
        annotation = declared.annotation
        spelled = f"a {annotation.__name__}" if isinstance(annotation, type) else f"of type {annotation}"
        raise TypeError(f"{name} must be {spelled}, got {value!r}{_remedy(name, value, annotation)}")


def _fits(value: object, annotation: object) -> bool:
    """Return True if a value fits an annotation, or if the annotation is not understood."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _fits(value, arguments[0])
    if origin in (Union, UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    taken = _TAKEN.get(annotation) if isinstance(annotation, type | None) else None
    if taken is None:
        return True
    return isinstance(value, taken) and (not isinstance(value, bool) or annotation is bool)


def _remedy(name: str, value: object, annotation: object) -> str:
    """Return the advice to write a literal, where a text holds one of the wanted type; empty otherwise."""
    try:
        meant = ast.literal_eval(value) if isinstance(value, str) else None
    except (ValueError, SyntaxError):
        return ""
    return f"; write {name}={meant!r}" if meant is not None and _fits(meant, annotation) else ""
