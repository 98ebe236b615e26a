"""Results of modules as plain data, which shares nothing with their states.

A column takes a list that a module returns as an array, or as anything else that can be read through, as it is. Where a
result may be retracted it is kept, compared and stored, so all are made plain where they come out of the module, and no
emission is stricter than another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeAlias

from muntin import Event
from muntin.schemas import Field, ListOf, MapOf, Scalar, Struct

Plain: TypeAlias = Callable[[Any], Any]

_LISTS = (list, tuple, set, frozenset, deque)


def plain_of(field: Field) -> Plain | None:
    """Return the function that makes results of a declared type plain; None if the type has neither lists nor maps.

    Values of another type are left as they are; a later check refuses them.

    Example:
        >>> from muntin.schemas import describe
        >>> plain_of(describe(list[int]))(range(3)), plain_of(describe(int))
        ([0, 1, 2], None)
    """
    data_type = field.type
    if isinstance(data_type, ListOf):
        return _PlainList(plain_of(data_type.element))
    if isinstance(data_type, MapOf):
        return _PlainMap(plain_of(data_type.value))
    if isinstance(data_type, Struct):
        parts: dict[str, Plain] = {}
        places: dict[int, Plain] = {}
        for place, part in enumerate(data_type.fields):
            plain = plain_of(part)
            if plain is not None:
                parts[part.name] = plain
                places[place] = plain
        return _PlainRecord(parts, places) if parts else None
    return None


@dataclass(frozen=True, slots=True)
class PlainRow:
    """Makes a row of an operator plain, be it an event or a payload."""

    payload: Plain

    def __call__(self, row: object) -> object:
        """Return the row as plain data."""
        if isinstance(row, Event):
            return Event(row.start, row.end, self.payload(row.payload))
        return self.payload(row)


@dataclass(frozen=True, slots=True)
class _PlainList:
    """Makes a list of anything that can be read through, with plain elements if these have a form of their own."""

    element: Plain | None

    def __call__(self, value: object) -> object:
        if value is None or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return value
        if self.element is None:
            return value if isinstance(value, _LISTS) else list(value)
        return [self.element(item) for item in value]


@dataclass(frozen=True, slots=True)
class _PlainMap:
    """Makes a dict of a mapping, with plain values if these have a form of their own; keys are plain anyhow."""

    value: Plain | None

    def __call__(self, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        if self.value is None:
            return dict(value)
        return {key: self.value(item) for key, item in value.items()}


@dataclass(frozen=True, slots=True)
class _PlainRecord:
    """Makes the fields of a record plain: a dict, a named or a plain tuple, or a dataclass."""

    parts: Mapping[str, Plain]
    places: Mapping[int, Plain]

    def __call__(self, value: object) -> object:
        if isinstance(value, Mapping):
            plain_fields = dict(value)
            for name, plain in self.parts.items():
                if name in plain_fields:
                    plain_fields[name] = plain(plain_fields[name])
            return plain_fields
        if isinstance(value, tuple) and not hasattr(value, "_fields"):  # a plain tuple, whose fields have places alone
            plain_items = list(value)
            for place, plain in self.places.items():
                if place < len(plain_items):
                    plain_items[place] = plain(plain_items[place])
            return tuple(plain_items)
        if isinstance(value, tuple):
            return value._replace(**self._changed(value))  # type: ignore[attr-defined]  # it has fields
        if not is_dataclass(value) or isinstance(value, type):  # no record: a later check refuses it
            return value
        changed_fields = self._changed(value)
        return replace(value, **changed_fields) if changed_fields else value

    def _changed(self, value: object) -> dict[str, object]:
        """Return the fields that are other values when they are plain; a dataclass need not be made anew for others."""
        changed_fields: dict[str, object] = {}
        for name, plain in self.parts.items():
            if not hasattr(value, name):  # it is another record than declared, which a later check refuses
                continue
            part = getattr(value, name)
            plain_part = plain(part)
            if plain_part is not part:
                changed_fields[name] = plain_part
        return changed_fields


def listing(
    method: Callable[..., Iterable[object] | None], plain: Plain | None, field: Field | None
) -> Callable[..., list[object]]:
    """Return a method whose rows are computed when it is called, are plain data, and share nothing with a state.

    Args:
        method: The method of a module that returns rows, lazily or not; None for no rows.
        plain: The function that makes a row plain data; None where it is.
        field: The declared type of a row; None if there is none. Rows of a type that cannot change are not copied.
    """
    is_copied = field is not None and _can_change(field)

    def call(*arguments: object) -> list[object]:
        module_rows = method(*arguments)
        if module_rows is None:
            return []
        # Made plain one by one: a module may change a row once it has yielded it.
        rows = list(module_rows if plain is None else map(plain, module_rows))
        if is_copied:
            rows = [deepcopy(row) for row in rows]
        return rows

    return call


def _can_change(field: Field) -> bool:
    """Return True if a value of a type may be changed in place, at any depth."""
    data_type = field.type
    if not isinstance(data_type, Struct):
        return not isinstance(data_type, Scalar)
    record: Any = data_type.make  # a class; of a plain tuple, a function
    is_tuple = not isinstance(record, type) or issubclass(record, tuple)
    parameters: Any = getattr(record, "__dataclass_params__", None)
    is_frozen = is_tuple or (parameters is not None and parameters.frozen)
    return not is_frozen or any(map(_can_change, data_type.fields))
