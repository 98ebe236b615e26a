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
    """Return a field with its type variables bound to the types of values, as far as the values tell.

    A variable whose values are of several types stays as it is.

    Example:
        >>> from muntin.schemas import spell
        >>> spell(observed(Field("", Variable("T")), [2, None, 0.5]))
        'float | None'
    """
    return bind(field, observed_types(field, values)) if variables_in(field) else field


def observed_types(field: Field, values: Sequence[object]) -> dict[str, Field]:
    """Return the type that the values of each type variable of a field have, by the name of the variable.

    A variable is left out if its values are of several types, or of a type that no column has.
    """
    values_by_variable: dict[str, list[object]] = {}
    for value in values:
        for name, part in _values_of_variables(field, value):
            values_by_variable.setdefault(name, []).append(part)
    types: dict[str, Field] = {}
    for name, variable_values in values_by_variable.items():
        data_type = _type_of(variable_values)
        if data_type is not None:
            types[name] = data_type
    return types


def part_of(payload: Any, name: str, position: int) -> object:
    """Return the value of a field of a record; None if the record itself is None.

    Args:
        payload: The record: a mapping, an object with attributes, or a tuple.
        name: The name of the field.
        position: The position of the field, which counts in a tuple without names.
    """
    if payload is None:
        return None
    if isinstance(payload, Mapping):
        return payload.get(name)
    return getattr(payload, name) if hasattr(payload, name) else payload[position]


def _values_of_variables(field: Field, value: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of a value whose type is a type variable of the field, each after the name of its variable."""
    if isinstance(field.type, Variable):
        yield field.type.name, value
    elif value is not None:
        for part, part_value in _parts(field, value):
            yield from _values_of_variables(part, part_value)


def _parts(field: Field, value: Any) -> Iterable[tuple[Field, object]]:
    """Return the fields of which a value is made, such as those of a record, each with its value."""
    data_type = field.type
    if isinstance(data_type, Struct):
        return [(part, part_of(value, part.name, position)) for position, part in enumerate(data_type.fields)]
    if isinstance(data_type, OneOf):
        payload_input = data_type.input_of(value)
        return [] if payload_input is None else [(payload_input, value)]
    if isinstance(data_type, ListOf):
        return [(data_type.element, element) for element in value]
    if isinstance(data_type, MapOf):
        keys = [(data_type.key, key) for key in value]
        map_values = [(data_type.value, map_value) for map_value in value.values()]
        return keys + map_values
    return []


def _type_of(values: Sequence[object]) -> Field | None:
    """Return the type of a column of values, as a field; None if they are of several types, or no column has theirs."""
    classes = {type(value) for value in values if value is not None}
    # Whole numbers beside floats are floats, as a column has one type.
    if classes == {int, float}:
        classes = {float}
    if len(classes) != 1:
        return None
    is_nullable = any(value is None for value in values)
    if classes == {list}:
        elements: list[object] = []
        for value in values:
            if isinstance(value, list):
                elements += value
        element = _type_of(elements)
        return None if element is None else Field("", ListOf(element), is_nullable)
    field = _field_of(classes.pop())
    return None if field is None else Field("", field.type, is_nullable)


def _field_of(cls: type) -> Field | None:
    """Return the field of a Python class; None for a class that no column has."""
    try:
        return describe(cls)
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
"""The functions from a time to the integer that NumPy's array of such times holds."""


def payload_arrays(
    field: Field, payloads: Sequence[object], *, skips_nulls: bool
) -> tuple[Array | dict[str, Array], int]:
    """Return payloads as the arrays that `ColumnarAggregate.lift` gets, and the number of payloads in them.

    Args:
        field: The module's input. Its type variables are bound to the types of the payloads.
        payloads: The payloads: values, or records of several fields, or None.
        skips_nulls: True to leave out null payloads and those with a null field; False to mask them.

    Raises:
        OverflowError: A payload does not fit 64 bits; a query could not have it.

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
    for position, part in enumerate(field.type.fields):
        values = [part_of(payload, part.name, position) for payload in payloads]
        columns[part.name] = _column(part, values, skips_nulls=skips_nulls)
    return columns, len(payloads)


_OF_NUMBERS: Final[Mapping[frozenset[type], str]] = {
    frozenset({bool}): "bool",
    frozenset({int}): "int64",
    frozenset({float}): "float64",
    frozenset({int, float}): "float64",
}
"""The array type of values that are of these classes alone."""


def array_of(values: Sequence[object]) -> Array:
    """Return values of one type, none of which is null, as an array of the same type as in `payload_arrays`.

    Example:
        >>> array_of([1.5, 2]), array_of(["a", "b"])
        (array([1.5, 2. ]), array(['a', 'b'], dtype=object))
    """
    # Numbers, the common case, do without the slower inference of types.
    dtype = _OF_NUMBERS.get(frozenset(map(type, values)))
    if dtype is not None:
        return np.asarray(values, dtype)
    return _array(observed(Field("", Variable("T")), values), values)


def has_null(field: Field, payload: object) -> bool:
    """Return True if a payload is null, or is a record with a field that is null."""
    if payload is None:
        return True
    if not isinstance(field.type, Struct):
        return False
    return any(part_of(payload, part.name, position) is None for position, part in enumerate(field.type.fields))


def _column(field: Field, values: Sequence[object], *, skips_nulls: bool) -> Array:
    """Return values as an array in which nulls are masked, unless they were left out."""
    array = _array(field, values)
    if skips_nulls:
        return array
    return np.ma.MaskedArray(array, [value is None for value in values])


def _array(field: Field, values: Sequence[object]) -> Array:
    """Return values as an array of the type that their field has in `DTYPES`; zero stands for a null."""
    kind = field.type.kind if isinstance(field.type, Scalar) else None
    if kind is None or kind not in DTYPES:
        # Unlike `np.array`, which would make another axis of lists, this assigns the values one by one.
        return np.fromiter(values, object, len(values))
    if kind not in _AS_INTEGER:
        return np.asarray([0 if value is None else value for value in values], DTYPES[kind])
    as_integer = _AS_INTEGER[kind]
    integers = [0 if value is None else as_integer(value) for value in values]
    return np.asarray(integers, "int64").view(DTYPES[kind])
