"""The array form that fits the kind of value a module reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from muntin.schemas import Field, Scalar, ScalarKind, Struct

F = TypeVar("F")


def kind_of(reads: Field) -> ScalarKind | None:
    """Return the kind of value that an input reads; None for lists, records and types that are not bound.

    Example:
        >>> from muntin.schemas import describe
        >>> kind_of(describe(float | None)), kind_of(describe(list[float]))
        (<ScalarKind.FLOAT: 'float'>, None)
    """
    return reads.type.kind if isinstance(reads.type, Scalar) else None


def are_whole_points(reads: Field) -> bool | None:
    """True for an input of points of whole numbers, False if a coordinate is a float; None for all other inputs.

    Example:
        >>> from muntin.schemas import describe
        >>> from muntin_stats.point import Point
        >>> are_whole_points(describe(Point[int, int])), are_whole_points(describe(Point[int, float]))
        (True, False)
    """
    if not isinstance(reads.type, Struct):
        return None
    kinds = set(map(kind_of, reads.type.fields))
    if not kinds <= {ScalarKind.FLOAT, ScalarKind.INTEGER}:
        return None
    return kinds == {ScalarKind.INTEGER}


def form_for(reads: Field, forms: Mapping[ScalarKind, type[F]]) -> F | None:
    """Return the form for the kind of an input; None for other kinds, lists, records and types that are not bound.

    Example:
        >>> from muntin.schemas import describe
        >>> form_for(describe(int | None), {ScalarKind.INTEGER: int}), form_for(describe(str), {})
        (0, None)
    """
    kind = kind_of(reads)
    return forms[kind]() if kind is not None and kind in forms else None
