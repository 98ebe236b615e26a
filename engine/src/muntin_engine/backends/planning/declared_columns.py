"""Declared columns beside those that an input has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.errors import QueryError

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn


def check_declared(declared: Sequence[InputColumn], actual: Sequence[InputColumn]) -> list[InputColumn]:
    """Compare declared columns with those of an input; return the input's columns in the order of the declaration.

    Args:
        declared: The declared columns.
        actual: The columns that the input has.

    Raises:
        QueryError: The input does not have a column, or has it with another type, or twice.
    """
    columns: list[InputColumn] = []
    for column in declared:
        namesakes = [candidate for candidate in actual if candidate.name.casefold() == column.name.casefold()]
        if len(namesakes) != 1:
            namesakes_in_words = "several columns of that name" if namesakes else "no such column"
            raise QueryError(
                "schema= declares {value!r}, and the input has {namesakes}\n  it has {columns}",
                value=column.name,
                namesakes=namesakes_in_words,
                columns=", ".join(candidate.name for candidate in actual) or "no columns",
            )
        (actual_column,) = namesakes
        # Arrow's types do not show a collation, and no declaration can name one.
        has_collation = actual_column.collation is not None
        if has_collation or not _is_same_type(column.type, actual_column.type):
            raise QueryError(
                "schema= declares {value!r} as {declared}, and in the input it is {found}\n"
                "  declare it as it is, or cast it before events()",
                value=column.name,
                declared=column.spelled_type,
                found=actual_column.spelled_type,
            )
        columns.append(actual_column)
    return columns


def _is_same_type(declared: pa.DataType, actual: pa.DataType) -> bool:
    """True if two types hold the same values; whether parts of them may be null is not compared."""
    if pa.types.is_list(declared) and pa.types.is_list(actual):
        return _is_same_type(declared.value_type, actual.value_type)
    if pa.types.is_map(declared) and pa.types.is_map(actual):
        has_same_keys = _is_same_type(declared.key_type, actual.key_type)
        return has_same_keys and _is_same_type(declared.item_type, actual.item_type)
    if pa.types.is_struct(declared) and pa.types.is_struct(actual):
        if [part.name for part in declared] != [part.name for part in actual]:
            return False
        pairs = zip(declared, actual, strict=True)
        return all(_is_same_type(declared_part.type, part.type) for declared_part, part in pairs)
    return bool(declared == actual)
