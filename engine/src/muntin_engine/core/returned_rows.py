"""Rows that a module returns while it goes on: what was returned must not change with the module's state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from muntin.schemas import Field, Scalar, Struct
from muntin_engine.core.evaluator_query import Plain


def listing(
    method: Callable[..., Iterable[object] | None], plain: Plain | None, field: Field | None
) -> Callable[..., list[object]]:
    """Return a method whose rows are computed when it is called, are plain data, and share nothing with a state.

    Args:
        method: Returns rows, lazily or not; None for none.
        plain: Makes a row plain data; None where it is.
        field: The declared type of a row; None if there is none. Rows of a type that cannot change are not copied.
    """
    is_copied = field is not None and _can_change(field)

    def call(*arguments: object) -> list[object]:
        found = method(*arguments)
        if found is None:
            return []
        rows = [*found] if plain is None else [plain(row) for row in found]
        return [deepcopy(row) for row in rows] if is_copied else rows

    return call


def _can_change(field: Field) -> bool:
    """Return True if a value of a type may be changed in place, at any depth."""
    kind = field.type
    if isinstance(kind, Struct):
        made: Any = kind.make  # a class; of a plain tuple, a function
        is_tuple = not isinstance(made, type) or issubclass(made, tuple)
        parameters: Any = getattr(made, "__dataclass_params__", None)
        is_frozen = is_tuple or (parameters is not None and parameters.frozen)
        return not is_frozen or any(map(_can_change, kind.fields))
    return not isinstance(kind, Scalar)
