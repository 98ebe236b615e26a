"""Compare values with declared types, and refuse results that do not fit, as a query does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final

from muntin.axis import EARLIEST, INFINITY
from muntin.errors import ModuleContractError, ModuleDefinitionError
from muntin.errors.safe_text import safe_repr
from muntin.events import Event
from muntin.modules.module import Module
from muntin.modules.row_operator import RowOperator
from muntin.query_checks import undeclared_result
from muntin.schemas import Field, ListOf, MapOf, OneOf, Scalar, ScalarKind, Struct, spell
from muntin.windows.extent import Window


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and EARLIEST <= value <= INFINITY


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


_ACCEPTS: Final[dict[ScalarKind, Callable[[Any], bool]]] = {
    ScalarKind.BOOLEAN: lambda value: isinstance(value, bool),
    ScalarKind.INTEGER: _is_long,
    ScalarKind.FLOAT: lambda value: _is_long(value) or (isinstance(value, Real) and not isinstance(value, int)),
    ScalarKind.STRING: _is_text,
    ScalarKind.BINARY: lambda value: isinstance(value, bytes),
    ScalarKind.DECIMAL: lambda value: isinstance(value, Decimal | int) and not isinstance(value, bool),
    ScalarKind.DATE: lambda value: isinstance(value, date) and not isinstance(value, datetime),
    ScalarKind.TIMESTAMP: lambda value: isinstance(value, datetime),
    ScalarKind.INTERVAL: lambda value: isinstance(value, timedelta),
    ScalarKind.INSTANT: _is_long,
}

_COLUMN_ACCEPTS: Final[dict[ScalarKind, Callable[[Any], bool]]] = _ACCEPTS | {
    ScalarKind.INTEGER: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    ScalarKind.FLOAT: lambda value: isinstance(value, Real) and not isinstance(value, bool),
    ScalarKind.BINARY: lambda value: isinstance(value, bytes | bytearray | memoryview),
    ScalarKind.DECIMAL: lambda value: isinstance(value, Decimal | Integral) and not isinstance(value, bool),
    ScalarKind.INSTANT: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
}
"""The values that a column of results takes: also numbers beyond what it holds, which are null there or infinite."""


def misfit(field: Field, value: object, *, is_result: bool = False) -> str | None:
    """Return why a value does not fit a field, or None if it does.

    A type variable and `Any` take every value. NumPy's numbers are numbers, and its booleans booleans.

    Args:
        field: The declared field.
        value: The value that is there.
        is_result: True for what a query refuses of what a module returns, and not for what its writer meant. None is
            then null whatever is declared, since a column of results can always hold it, and so is a number beyond the
            column; only the keys of a map are not.

    Example:
        >>> from muntin.schemas import describe
        >>> print(misfit(describe(list[float]), [1.5, 2, "3"]))
        [2] is '3', expected float
        >>> print(misfit(describe(float | None), None))
        None
    """
    return next(_misfits(field, plain_number(value), "", is_result), None)


def plain_number(value: Any) -> object:
    """Return a number or boolean of NumPy's as Python's; any other value, also an array, as it is."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    return value.item() if is_scalar and value.dtype.kind in "biuf" else value


def _misfits(field: Field, value: object, path: str, is_result: bool) -> Iterator[str]:
    is_column = is_result and not path.startswith("a key of ")
    if value is None and (field.is_nullable or is_column):
        return
    kind = field.type
    if isinstance(kind, OneOf):
        part = kind.input_of(value)
        yield from (
            [f"{path or 'it'} is {value!r}, expected {_spell(field)}"]
            if part is None
            else _misfits(part, value, path, is_result)
        )
        return
    if isinstance(kind, Scalar):
        accepts = (_COLUMN_ACCEPTS if is_column else _ACCEPTS)[kind.kind]
        is_fit = accepts(value) and (is_result or not kind.values or value in kind.values)
    elif isinstance(kind, ListOf):
        is_array = not is_column and hasattr(value, "dtype")  # which no state holds
        is_fit = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) and not is_array
    else:
        is_fit = not isinstance(kind, MapOf | Struct) or isinstance(value, Mapping)
        is_fit |= isinstance(kind, Struct) and (
            isinstance(value, tuple) or is_dataclass(value) or hasattr(value, "__dict__")
        )
    if not is_fit:
        yield f"{path or 'it'} is {value!r}, expected {_spell(field)}"
        return
    if isinstance(kind, Struct) and (lacks := _lacking(kind, value)):
        yield f"{path or 'it'} is {value!r}, {lacks}; expected {_spell(field)}"
        return
    for part, part_value, part_path in _parts(kind, value, path):
        yield from _misfits(part, plain_number(part_value), part_path, is_result)


def _spell(field: Field) -> str:
    values = field.type.values if isinstance(field.type, Scalar) else ()
    return f"one of {', '.join(map(repr, values))}" if values else spell(field)


def _parts(kind: Any, value: Any, path: str) -> list[tuple[Field, Any, str]]:
    """List the parts of a value with their fields and paths."""
    if isinstance(kind, ListOf):
        again = () if isinstance(value, Iterator) else value  # an iterator is gone once it is looked at
        return [(kind.element, part, f"{path}[{place}]") for place, part in enumerate(again)]
    if isinstance(kind, MapOf):
        keys = [(kind.key, key, f"a key of {path or 'it'}") for key in value]
        return [*keys, *((kind.value, part, f"{path}[{key!r}]") for key, part in value.items())]
    return _struct_parts(kind, value, path) if isinstance(kind, Struct) else []


def _lacking(struct: Struct, value: object) -> str:
    """Return the fields that a value lacks or has in excess, in words; empty if it has those of the struct."""
    wanted = [field.name for field in struct.fields]
    if isinstance(value, tuple) and (len(value) == len(wanted) or not hasattr(value, "_fields")):
        return "" if len(value) == len(wanted) else f"of {len(value)} instead of {len(wanted)} values"
    names = list(value) if isinstance(value, Mapping) else getattr(value, "_fields", None)
    missing = [name for name in wanted if (name not in names if names is not None else not hasattr(value, name))]
    unknown = [name for name in names or () if name not in wanted]
    if not missing:
        return ""
    besides = f" but with {', '.join(map(repr, unknown))}" if unknown else ""
    return f"without {', '.join(map(repr, missing))}{besides}"


def _struct_parts(struct: Struct, value: object, path: str) -> list[tuple[Field, object, str]]:
    fields = struct.fields
    if isinstance(value, tuple):
        values = list(value)
    elif isinstance(value, Mapping):
        values = [value[field.name] for field in fields]
    else:
        values = [getattr(value, field.name) for field in fields]
    return [(field, part, f"{path}.{field.name}") for field, part in zip(fields, values, strict=True)]


def check_declared(module: Module, values: Iterable[object], window: Window) -> None:
    """Refuse results, or rows of an operator, that are not of the type that their module declares."""
    declared = _result_field(module)
    for value in values:
        bare = value.payload if module.is_operator and isinstance(value, Event) else value
        _check(module, declared, bare, window)


def check_evicted(module: RowOperator[Any, Any, Any, Any], value: object, window: Window) -> None:
    """Refuse a row of the second output that is not of the type that its module declares."""
    declared = module.evicted_field()
    if declared is None:
        raise _error(module, f"on_evict returned {safe_repr(value)}, declared None", window)
    _check(module, declared, value, window)


def _check(module: Module, declared: Field | None, value: object, window: Window) -> None:
    if declared is None:
        return
    is_no_row = value is None and module.is_operator and isinstance(declared.type, Struct)
    found = f"it is None, expected {spell(declared)}" if is_no_row else misfit(declared, value, is_result=True)
    if found:
        raise _error(module, found, window)


def _error(module: Module, found: str, window: Window) -> ModuleContractError:
    where = f"  window: [{window.start}, {window.end})\n"
    return undeclared_result(f"{module.name} {module.version}", found, where)


def _result_field(module: Module) -> Field | None:
    """Return the declared type of a module's results; None if it declares none, which a query refuses."""
    try:
        return module.result_field()
    except ModuleDefinitionError:
        return None
