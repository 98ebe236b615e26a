"""Whether a value fits a declared type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from muntin.axis import EARLIEST, INFINITY
from muntin.schemas import Field, ListOf, MapOf, Scalar, ScalarKind, Struct, spell


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and EARLIEST <= value <= INFINITY


_ACCEPTS: Final[dict[ScalarKind, Callable[[Any], bool]]] = {
    ScalarKind.BOOLEAN: lambda value: isinstance(value, bool),
    ScalarKind.INTEGER: _is_long,
    ScalarKind.FLOAT: lambda value: isinstance(value, float) or _is_long(value),
    ScalarKind.STRING: lambda value: isinstance(value, str),
    ScalarKind.BINARY: lambda value: isinstance(value, bytes),
    ScalarKind.DECIMAL: lambda value: isinstance(value, Decimal),
    ScalarKind.DATE: lambda value: isinstance(value, date) and not isinstance(value, datetime),
    ScalarKind.TIMESTAMP: lambda value: isinstance(value, datetime),
    ScalarKind.INTERVAL: lambda value: isinstance(value, timedelta),
    ScalarKind.INSTANT: _is_long,
}


def misfit(field: Field, value: Any) -> str | None:
    """Return why a value does not fit a field, or None if it does.

    A type variable and `Any` take every value.

    Example:
        >>> from muntin.schemas import describe
        >>> print(misfit(describe(list[float]), [1.5, 2, "3"]))
        [2] is '3', expected float
        >>> print(misfit(describe(float | None), None))
        None
    """
    return next(_misfits(field, value, ""), None)


def _misfits(field: Field, value: Any, path: str) -> Iterator[str]:
    if value is None and field.is_nullable:
        return
    kind = field.type
    if isinstance(kind, Scalar):
        is_fit = _ACCEPTS[kind.kind](value) and (not kind.values or value in kind.values)
    elif isinstance(kind, ListOf):
        is_fit = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    else:
        is_fit = isinstance(value, Mapping) or not isinstance(kind, MapOf)
    parts = _parts(kind, value, path) if is_fit else None
    if parts is None:
        yield f"{path or 'it'} is {value!r}, expected {_spell(field)}"
        return
    for part, part_value, part_path in parts:
        yield from _misfits(part, part_value, part_path)


def _spell(field: Field) -> str:
    values = field.type.values if isinstance(field.type, Scalar) else ()
    return f"one of {', '.join(map(repr, values))}" if values else spell(field)


def _parts(kind: Any, value: Any, path: str) -> list[tuple[Field, Any, str]] | None:
    """List the parts of a value with their fields and paths; None if it lacks one."""
    if isinstance(kind, ListOf):
        return [(kind.element, part, f"{path}[{place}]") for place, part in enumerate(value)]
    if isinstance(kind, MapOf):
        return [pair for key, part in value.items() for pair in _entry(kind, key, part, path)]
    return _struct_parts(kind, value, path) if isinstance(kind, Struct) else []


def _entry(kind: MapOf, key: Any, value: Any, path: str) -> list[tuple[Field, Any, str]]:
    return [(kind.key, key, f"a key of {path or 'it'}"), (kind.value, value, f"{path}[{key!r}]")]


def _struct_parts(struct: Struct, value: Any, path: str) -> list[tuple[Field, Any, str]] | None:
    if isinstance(value, tuple):
        values = list(value)
    elif isinstance(value, Mapping):
        values = [value[field.name] for field in struct.fields if field.name in value]
    else:
        values = [getattr(value, field.name) for field in struct.fields if hasattr(value, field.name)]
    if len(values) != len(struct.fields):
        return None
    return [(field, part, f"{path}.{field.name}") for field, part in zip(struct.fields, values, strict=True)]
