"""The array form that fits the kind of value a module reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from muntin.schemas import Field, Scalar, ScalarKind

F = TypeVar("F")


def reads_floats(reads: Field) -> bool:
    """True if an input is a column of floats.

    Example:
        >>> from muntin.schemas import describe
        >>> reads_floats(describe(float | None)), reads_floats(describe(list[float]))
        (True, False)
    """
    return reads.type == Scalar(ScalarKind.FLOAT)


def form_for(reads: Field, forms: Mapping[ScalarKind, type[F]]) -> F | None:
    """Return the form for the kind of an input; None for other kinds, lists, records and what is not bound.

    Example:
        >>> from muntin.schemas import describe
        >>> form_for(describe(int | None), {ScalarKind.INTEGER: int}), form_for(describe(str), {})
        (0, None)
    """
    kind = reads.type.kind if isinstance(reads.type, Scalar) else None
    return forms[kind]() if kind is not None and kind in forms else None
