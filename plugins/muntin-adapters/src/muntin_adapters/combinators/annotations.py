"""Types of payloads and results, as annotations."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Optional, TypeVar, Union, get_args, get_origin

import typing_extensions


def without_null(annotation: object) -> tuple[object, bool]:
    """Return a type without null, and whether it had it.

    Example:
        >>> without_null(float | None)
        (<class 'float'>, True)
    """
    arguments = get_args(annotation)
    if get_origin(annotation) not in (Union, types.UnionType) or type(None) not in arguments:
        return annotation, annotation is Any
    rest = tuple(argument for argument in arguments if argument is not type(None))
    return Union[rest], True  # noqa: UP007  # known at run time alone


def with_null(annotation: object) -> object:
    """Return a type with null."""
    return annotation if annotation is Any else Optional[annotation]  # noqa: UP045  # text has no |


def is_variable(annotation: object) -> bool:
    """Return True if a type is a type variable."""
    return isinstance(annotation, TypeVar | typing_extensions.TypeVar)


def substituted(annotation: Any, variables: Mapping[Any, Any]) -> object:
    """Return a type with type variables replaced, also those inside it."""
    parameters = getattr(annotation, "__parameters__", ())
    inside = tuple(variables.get(parameter, parameter) for parameter in parameters)
    return annotation[inside] if parameters else variables.get(annotation, annotation)
