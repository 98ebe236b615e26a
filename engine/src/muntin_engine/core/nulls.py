"""Nulls that a module does not accept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muntin.schemas import Field, ListOf, MapOf, Struct


def forbids_null(wanted: Field) -> bool:
    """True if a module that reads this does not accept every value: a null is forbidden at some depth."""
    return not wanted.is_nullable or any(map(forbids_null, _parts(wanted)))


def forbids(value: Any, wanted: Field) -> bool:
    """Return True if a stored value is, or holds at any depth, a null that a module does not accept.

    Args:
        value: The value in plain Python types: a struct is a dict of its fields, a map a list of pairs.
        wanted: What the module reads.
    """
    if value is None:
        return not wanted.is_nullable
    kind = wanted.type
    if isinstance(kind, Struct):
        if is_tuple(kind):
            return any(map(forbids, value.values(), kind.fields))
        return any(forbids(value[part.name], part) for part in kind.fields if part.name in value)
    if isinstance(kind, ListOf):
        return forbids_null(kind.element) and any(forbids(item, kind.element) for item in value)
    if isinstance(kind, MapOf):
        return any(forbids(key, kind.key) or forbids(item, kind.value) for key, item in value)
    return False


@dataclass(frozen=True, slots=True)
class HasNoNull:
    """True of a row that holds no null that a module does not read.

    Attributes:
        needs: The places in the row that matter, with what the module reads there.
    """

    needs: tuple[tuple[int, Field], ...]

    def __call__(self, row: Sequence[object]) -> bool:
        """Return True if the module accepts the row."""
        return not any(forbids(row[place], field) for place, field in self.needs)


def is_tuple(struct: Struct) -> bool:
    """True for the fields of a plain tuple, which have no names of their own."""
    return [part.name for part in struct.fields] == [f"_{place}" for place in range(1, len(struct.fields) + 1)]


def _parts(wanted: Field) -> tuple[Field, ...]:
    if isinstance(wanted.type, Struct):
        return wanted.type.fields
    if isinstance(wanted.type, MapOf):
        return wanted.type.key, wanted.type.value
    return (wanted.type.element,) if isinstance(wanted.type, ListOf) else ()
