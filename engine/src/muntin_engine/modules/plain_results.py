"""Results of modules as plain data, which shares nothing with their states.

A module may return a list as an array, or as any other iterable, and a column accepts that as it is. But results that
may be retracted are kept, compared and stored, which takes plain data. So all results are made plain where they leave
the module, and every emission accepts the same results.
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
"""A function that makes results plain data."""

_LISTS = (list, tuple, set, frozenset, deque)
"""The classes that are plain lists already: they can be iterated again and again."""


def plain_of(field: Field) -> Plain | None:
    """Return the function that makes results of a declared type plain: their lists a `list`, their maps a `dict`.

    It is None if the type has neither lists nor maps. A value that is not of the declared type is returned as it is: a
    later check refuses it.

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
    return None  # a scalar


@dataclass(frozen=True, slots=True)
class PlainRow:
    """Makes a row of an operator plain, which is an event or a payload.

    Attributes:
        payload: The function that makes a payload plain.
    """

    payload: Plain

    def __call__(self, row: object) -> object:
        """Return the row as plain data."""
        if isinstance(row, Event):
            return Event(row.start, row.end, self.payload(row.payload))
        return self.payload(row)


@dataclass(frozen=True, slots=True)
class _PlainList:
    """Makes a list of any iterable.

    Attributes:
        element: The function that makes an element plain; None if elements are plain already.
    """

    element: Plain | None

    def __call__(self, value: object) -> object:
        """Return an iterable as a list; anything else, and text, as it is."""
        if value is None or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return value
        if self.element is None:
            return value if isinstance(value, _LISTS) else list(value)
        return [self.element(item) for item in value]


@dataclass(frozen=True, slots=True)
class _PlainMap:
    """Makes a dict of any mapping; keys are plain already, as they can be hashed.

    Attributes:
        value: The function that makes a value plain; None if values are plain already.
    """

    value: Plain | None

    def __call__(self, value: object) -> object:
        """Return a mapping as a dict; anything else as it is."""
        if not isinstance(value, Mapping):
            return value
        if self.value is None:
            return dict(value)
        return {key: self.value(item) for key, item in value.items()}


@dataclass(frozen=True, slots=True)
class _PlainRecord:
    """Makes the fields of a record plain: a dict, a named or a plain tuple, or a dataclass.

    Attributes:
        parts: The functions that make fields plain, by the names of the fields that are not plain already.
        places: The same functions by the places of the fields, for plain tuples.
    """

    parts: Mapping[str, Plain]
    places: Mapping[int, Plain]

    def __call__(self, value: object) -> object:
        """Return a record whose fields are plain, of the same class or a dict; a value that is no record as it is."""
        if isinstance(value, Mapping):
            plain_fields = dict(value)
            for name, plain in self.parts.items():
                if name in plain_fields:
                    plain_fields[name] = plain(plain_fields[name])
            return plain_fields
        if isinstance(value, tuple) and not hasattr(value, "_fields"):  # fields of a plain tuple have only places
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
        """Return the plain values of those fields that are not plain yet: only for these is a new record needed."""
        changed_fields: dict[str, object] = {}
        for name, plain in self.parts.items():
            if not hasattr(value, name):  # the record is not as declared: a later check refuses it
                continue
            part = getattr(value, name)
            plain_part = plain(part)
            if plain_part is not part:
                changed_fields[name] = plain_part
        return changed_fields


def listing(
    method: Callable[..., Iterable[object] | None], plain: Plain | None, field: Field | None
) -> Callable[..., list[object]]:
    """Return a method that calls another and returns its rows as a list of plain data, which no state shares.

    Args:
        method: The method of a module. It returns an iterable of rows, which may be lazy, or None for no rows.
        plain: The function that makes a row plain data; None if rows are plain already.
        field: The declared type of a row; None if there is none. Rows of a type that cannot change are not copied.
    """
    is_copied = field is not None and _can_change(field)

    def call(*arguments: object) -> list[object]:
        """Call the method of the module, and return its rows."""
        module_rows = method(*arguments)
        if module_rows is None:
            return []
        # Each row is made plain and copied before the next one is asked for: a generator may change a row that it has
        # yielded.
        plain_rows = module_rows if plain is None else map(plain, module_rows)
        return list(map(deepcopy, plain_rows)) if is_copied else list(plain_rows)

    return call


def _can_change(field: Field) -> bool:
    """Say whether a value of a type may be changed in place, at any depth: lists, maps, and records but frozen ones."""
    data_type = field.type
    if not isinstance(data_type, Struct):
        return not isinstance(data_type, Scalar)
    record: Any = data_type.make  # the class of the record; of a plain tuple, a function
    is_tuple = not isinstance(record, type) or issubclass(record, tuple)
    parameters: Any = getattr(record, "__dataclass_params__", None)
    is_frozen = is_tuple or (parameters is not None and parameters.frozen)
    return not is_frozen or any(map(_can_change, data_type.fields))
