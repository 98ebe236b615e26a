"""Payloads as arrays, for a columnar aggregate that is given Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from muntin.axis import instant, ticks
from muntin.columnar.arrays import Array
from muntin.errors import ModuleDefinitionError
from muntin.schemas import (
    Field,
    ListOf,
    MapOf,
    OneOf,
    Scalar,
    ScalarKind,
    Struct,
    Variable,
    bind,
    describe,
    variables_in,
)


def observed(field: Field, values: Sequence[object]) -> Field:
    """Return a field with its type variables bound to the types of values; those that have several types stay.

    Example:
        >>> from muntin.schemas import spell
        >>> spell(observed(Field("", Variable("T")), [2, None, 0.5]))
        'float | None'
    """
    return bind(field, observed_types(field, values)) if variables_in(field) else field


def observed_types(field: Field, values: Sequence[object]) -> dict[str, Field]:
    """Infer the type variables of a field from values, as far as the values tell."""
    values_of: dict[str, list[object]] = {}
    for value in values:
        for name, part in _values_of_variables(field, value):
            values_of.setdefault(name, []).append(part)
    types: dict[str, Field] = {}
    for name, parts in values_of.items():
        data_type = _type_of(parts)
        if data_type is not None:
            types[name] = data_type
    return types


def part_of(payload: Any, name: str, place: int) -> object:
    """Return a field of a record: of a mapping, an object with attributes, or a tuple; None if there is no record."""
    if payload is None:
        return None
    if isinstance(payload, Mapping):
        return payload.get(name)
    return getattr(payload, name) if hasattr(payload, name) else payload[place]


def _values_of_variables(field: Field, value: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of a value at the places of type variables, each with the name of its variable."""
    if isinstance(field.type, Variable):
        yield field.type.name, value
    elif value is not None:
        for part, part_value in _parts(field, value):
            yield from _values_of_variables(part, part_value)


def _parts(field: Field, value: Any) -> Iterable[tuple[Field, object]]:
    """Return the parts of a value, each with its field."""
    kind = field.type
    if isinstance(kind, Struct):
        return [(part, part_of(value, part.name, place)) for place, part in enumerate(kind.fields)]
    if isinstance(kind, OneOf):
        part = kind.input_of(value)
        return [] if part is None else [(part, value)]
    if isinstance(kind, ListOf):
        return [(kind.element, part) for part in value]
    if isinstance(kind, MapOf):
        keys = [(kind.key, key) for key in value]
        return keys + [(kind.value, part) for part in value.values()]
    return []


def _type_of(values: Sequence[object]) -> Field | None:
    """Return the one type of values; whole numbers among floats are floats."""
    kinds = {type(value) for value in values if value is not None}
    # As a column has one type, whole numbers beside floats are floats.
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) != 1:
        return None
    is_nullable = any(value is None for value in values)
    if kinds == {list}:
        elements = [element for value in values if isinstance(value, list) for element in value]
        element = _type_of(elements)
        return None if element is None else Field("", ListOf(element), is_nullable)
    field = _field_of(kinds.pop())
    return None if field is None else Field("", field.type, is_nullable)


def _field_of(kind: type) -> Field | None:
    """Return the field of a Python type; None for one that no column has."""
    try:
        return describe(kind)
    except ModuleDefinitionError:
        return None


DTYPES: Final[Mapping[ScalarKind, str]] = {
    ScalarKind.BOOLEAN: "bool",
    ScalarKind.INTEGER: "int64",
    ScalarKind.INSTANT: "int64",
    ScalarKind.FLOAT: "float64",
    ScalarKind.TIMESTAMP: "datetime64[us]",
    ScalarKind.DATE: "datetime64[D]",
    ScalarKind.INTERVAL: "timedelta64[us]",
}
"""The array type of each kind of payload; `object` for all others."""

_FIRST_DAY: Final = 719163
"""The ordinal of 1970-01-01."""

_AS_INTEGER: Final[Mapping[ScalarKind, Callable[[Any], int]]] = {
    ScalarKind.TIMESTAMP: instant,
    ScalarKind.DATE: lambda day: int(day.toordinal()) - _FIRST_DAY,
    ScalarKind.INTERVAL: ticks,
}


def payload_arrays(
    field: Field, payloads: Sequence[object], *, skips_nulls: bool
) -> tuple[Array | dict[str, Array], int]:
    """Return payloads as the arrays that `ColumnarAggregate.lift` gets, and their number.

    Args:
        field: The module's input. Its type variables are bound to the types of the payloads.
        payloads: The payloads: values, or records of several fields, or None.
        skips_nulls: Leave out null payloads and those with a null field; otherwise they are masked.

    Raises:
        OverflowError: A payload does not fit 64 bits; no query can have it.

    Example:
        >>> from muntin.schemas import describe
        >>> payload_arrays(describe(float), [1.5, None, 2], skips_nulls=True)
        (array([1.5, 2. ]), 2)
    """
    field = observed(field, payloads)
    if skips_nulls:
        payloads = [payload for payload in payloads if not has_null(field, payload)]
    if not isinstance(field.type, Struct):
        return _column(field, payloads, skips_nulls=skips_nulls), len(payloads)
    columns = {}
    # A tuple has its fields by place, a mapping or an object by name.
    for place, part in enumerate(field.type.fields):
        values = [part_of(payload, part.name, place) for payload in payloads]
        columns[part.name] = _column(part, values, skips_nulls=skips_nulls)
    return columns, len(payloads)


_OF_NUMBERS: Final[Mapping[frozenset[type], str]] = {
    frozenset({bool}): "bool",
    frozenset({int}): "int64",
    frozenset({float}): "float64",
    frozenset({int, float}): "float64",
}


def array_of(values: Sequence[object]) -> Array:
    """Return values of one type, none of which is null, as an array of the type that it has in `payload_arrays`.

    Example:
        >>> array_of([1.5, 2]), array_of(["a", "b"])
        (array([1.5, 2. ]), array(['a', 'b'], dtype=object))
    """
    # The common types need no inference.
    dtype = _OF_NUMBERS.get(frozenset(map(type, values)))
    if dtype is not None:
        return np.asarray(values, dtype)
    return _array(observed(Field("", Variable("T")), values), values)


def has_null(field: Field, payload: object) -> bool:
    """Return True if a payload is null or, if it has several fields, one of them is."""
    if payload is None or not isinstance(field.type, Struct):
        return payload is None
    return any(part_of(payload, part.name, place) is None for place, part in enumerate(field.type.fields))


def _column(field: Field, values: Sequence[object], *, skips_nulls: bool) -> Array:
    array = _array(field, values)
    return array if skips_nulls else np.ma.MaskedArray(array, [value is None for value in values])


def _array(field: Field, values: Sequence[object]) -> Array:
    """Return values as an array; values under nulls are unspecified."""
    kind = field.type.kind if isinstance(field.type, Scalar) else None
    if kind is None or kind not in DTYPES:
        return np.fromiter(values, object, len(values))  # assigned one by one: lists stay lists
    # A null needs some value in an array of numbers: zero, which a mask hides or which was left out before.
    if kind not in _AS_INTEGER:
        return np.asarray([0 if value is None else value for value in values], DTYPES[kind])
    as_integer = _AS_INTEGER[kind]
    return np.asarray([0 if value is None else as_integer(value) for value in values], "int64").view(DTYPES[kind])
