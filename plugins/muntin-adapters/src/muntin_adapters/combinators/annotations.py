"""Types of payloads and results, as annotations."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Optional, TypeVar, Union, get_args, get_origin

import typing_extensions


def without_null(annotation: object) -> tuple[object, bool]:
    """Return a type without null, and whether null was in it.

    Example:
        >>> without_null(float | None)
        (<class 'float'>, True)
    """
    arguments = get_args(annotation)
    if get_origin(annotation) not in (Union, types.UnionType) or type(None) not in arguments:
        return annotation, annotation is Any
    alternatives = tuple(argument for argument in arguments if argument is not type(None))
    return Union[alternatives], True  # noqa: UP007  # known at run time alone


def with_null(annotation: object) -> object:
    """Return a type with null; `Any` has it already."""
    return annotation if annotation is Any else Optional[annotation]  # noqa: UP045  # an annotation as text has no |


def is_variable(annotation: object) -> bool:
    """True for a type variable."""
    return isinstance(annotation, TypeVar | typing_extensions.TypeVar)


def substituted(annotation: Any, variables: Mapping[Any, Any]) -> object:
    """Return a type with type variables replaced, also inside it."""
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters:
        return variables.get(annotation, annotation)
    return annotation[tuple(variables.get(parameter, parameter) for parameter in parameters)]
