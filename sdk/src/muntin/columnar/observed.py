"""Infer from values the types that a query binds to type variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muntin.errors import ModuleDefinitionError
from muntin.schemas import Field, ListOf, MapOf, OneOf, Struct, Variable, bind, describe, variables_in


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
    found: dict[str, list[object]] = {}
    for value in values:
        for name, part in _bound(field, value):
            found.setdefault(name, []).append(part)
    types = {name: _type_of(parts) for name, parts in found.items()}
    return {name: bound for name, bound in types.items() if bound is not None}


def part_of(payload: Any, name: str, place: int) -> object:
    """Return a field of a record: of a mapping, an object with attributes, or a tuple; None if there is no record."""
    if payload is None:
        return None
    if isinstance(payload, Mapping):
        return payload.get(name)
    return getattr(payload, name) if hasattr(payload, name) else payload[place]


def _bound(field: Field, value: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of a value at the places of type variables, by variable."""
    if isinstance(field.type, Variable):
        yield field.type.name, value
    elif value is not None:
        for part, part_value in _parts(field, value):
            yield from _bound(part, part_value)


def _parts(field: Field, value: Any) -> Iterable[tuple[Field, object]]:
    kind = field.type
    if isinstance(kind, Struct):
        return [(part, part_of(value, part.name, place)) for place, part in enumerate(kind.fields)]
    if isinstance(kind, OneOf):
        part = kind.input_of(value)
        return [] if part is None else [(part, value)]
    if isinstance(kind, ListOf):
        return [(kind.element, part) for part in value]
    if isinstance(kind, MapOf):
        return [pair for key, part in value.items() for pair in ((kind.key, key), (kind.value, part))]
    return []


def _type_of(values: Sequence[object]) -> Field | None:
    """Return the one type of values; whole numbers among floats are floats."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) != 1:
        return None
    is_nullable = any(value is None for value in values)
    if kinds == {list}:
        element = _type_of([part for value in values if isinstance(value, list) for part in value])
        return None if element is None else Field("", ListOf(element), is_nullable)
    described = _described(kinds.pop())
    return None if described is None else Field("", described.type, is_nullable)


def _described(kind: type) -> Field | None:
    try:
        return describe(kind)
    except ModuleDefinitionError:
        return None
