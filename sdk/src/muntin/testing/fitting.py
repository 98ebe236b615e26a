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
from muntin.schemas import DataType, Field, ListOf, MapOf, OneOf, Scalar, ScalarKind, Struct, spell
from muntin.windows.extent import Window


def _is_long(value: object) -> bool:
    """Return True for an integer of 64 bits, which Python's booleans are not."""
    return isinstance(value, int) and not isinstance(value, bool) and EARLIEST <= value <= INFINITY


def _is_text(value: object) -> bool:
    """Return True for text that UTF-8 can encode: it has no surrogates."""
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
"""The values that a column of results takes; numbers beyond its range are null there, or infinite."""


def misfit(field: Field, value: object, *, is_result: bool = False) -> str | None:
    """Explain why a value does not fit a field; None if it does.

    A type variable and `Any` take every value. NumPy's numbers are numbers, and its booleans booleans.

    Args:
        field: The declared field.
        value: The value.
        is_result: True for values that a module returned to a query. The query refuses less than the declared type
            says: None fits whatever is declared, as a column of results can always hold null, and so does a number
            beyond the range of the column. Only the keys of a map have to fit in full.

    Example:
        >>> from muntin.schemas import describe
        >>> print(misfit(describe(list[float]), [1.5, 2, "3"]))
        [2] is '3', expected float
        >>> print(misfit(describe(float | None), None))
        None
    """
    return next(_misfits(field, plain_number(value), path="", is_result=is_result), None)


def plain_number(value: Any) -> object:
    """Return a number or boolean of NumPy's as Python's; any other value, also an array, as it is."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    if is_scalar and value.dtype.kind in "biuf":
        return value.item()
    return value


def _misfits(field: Field, value: object, path: str, is_result: bool) -> Iterator[str]:
    """Yield the reasons why a value, and then each of its parts, does not fit a field.

    Args:
        field: The declared field.
        value: The value.
        path: The place of the value in the whole, such as `[2].speed`; empty for the whole.
        is_result: True for a value that a module returned to a query; see `misfit`.
    """
    # The keys of a map are compared in full, even in a result.
    is_column = is_result and not path.startswith("a key of ")
    if value is None and (field.is_nullable or is_column):
        return
    data_type = field.type
    # The class of a payload says which input it is of, and so which record it has to fit.
    if isinstance(data_type, OneOf):
        input_field = data_type.input_of(value)
        if input_field is None:
            yield f"{path or 'it'} is {value!r}, expected {_spell(field)}"
        else:
            yield from _misfits(input_field, value, path, is_result)
        return
    if not _has_type(data_type, value, is_column=is_column, is_result=is_result):
        yield f"{path or 'it'} is {value!r}, expected {_spell(field)}"
        return
    # Before the parts: a field that is missing has no value to look at.
    difference = _difference(data_type, value) if isinstance(data_type, Struct) else ""
    if difference:
        yield f"{path or 'it'} is {value!r}, {difference}; expected {_spell(field)}"
        return
    for part, part_value, part_path in _parts(data_type, value, path):
        yield from _misfits(part, plain_number(part_value), part_path, is_result)


def _has_type(data_type: DataType, value: object, *, is_column: bool, is_result: bool) -> bool:
    """Return True if a value is of a type, whatever its parts are.

    Args:
        data_type: The type.
        value: The value.
        is_column: True if it is enough that a column of results can hold the value.
        is_result: True for a value that a module returned to a query: a `Literal` takes any value of its kind there.
    """
    if isinstance(data_type, Scalar):
        accepts = (_COLUMN_ACCEPTS if is_column else _ACCEPTS)[data_type.kind]
        is_listed = is_result or not data_type.values or value in data_type.values
        return accepts(value) and is_listed
    if isinstance(data_type, ListOf):
        if not is_column and hasattr(value, "dtype"):
            return False  # no state holds an array
        return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    if isinstance(data_type, MapOf):
        return isinstance(value, Mapping)
    if isinstance(data_type, Struct):
        return isinstance(value, Mapping | tuple) or is_dataclass(value) or hasattr(value, "__dict__")
    return True  # a type variable, or `Any`


def _spell(field: Field) -> str:
    """Spell the type of a field; of a `Literal`, its values."""
    values = field.type.values if isinstance(field.type, Scalar) else ()
    return f"one of {', '.join(map(repr, values))}" if values else spell(field)


def _parts(kind: Any, value: Any, path: str) -> list[tuple[Field, Any, str]]:
    """List the parts of a value that is of a type: of each part its field, the part, and its path."""
    if isinstance(kind, ListOf):
        if isinstance(value, Iterator):
            return []  # looking at its parts would use it up
        return [(kind.element, part, f"{path}[{place}]") for place, part in enumerate(value)]
    if isinstance(kind, MapOf):
        keys = [(kind.key, key, f"a key of {path or 'it'}") for key in value]
        values = [(kind.value, part, f"{path}[{key!r}]") for key, part in value.items()]
        return keys + values
    return _struct_parts(kind, value, path) if isinstance(kind, Struct) else []


def _difference(struct: Struct, value: object) -> str:
    """Name the fields that a value lacks, and then those that it has in excess; empty if it lacks none.

    A tuple has to have as many values as there are fields.
    """
    declared = [field.name for field in struct.fields]
    # The fields of a tuple go by position. A named tuple that is too short says by its names which it lacks.
    if isinstance(value, tuple):
        if len(value) == len(declared):
            return ""
        if len(value) > len(declared) or not hasattr(value, "_fields"):
            return f"of {len(value)} instead of {len(declared)} values"
    # An object with attributes has no list of names: each declared name is looked up.
    names = list(value) if isinstance(value, Mapping) else getattr(value, "_fields", None)
    if names is None:
        missing = [name for name in declared if not hasattr(value, name)]
    else:
        missing = [name for name in declared if name not in names]
    if not missing:
        return ""
    unknown = [name for name in names or () if name not in declared]
    excess = f" but with {', '.join(map(repr, unknown))}" if unknown else ""
    return f"without {', '.join(map(repr, missing))}{excess}"


def _struct_parts(struct: Struct, value: object, path: str) -> list[tuple[Field, object, str]]:
    """List the values of a record's fields: of each the field, its value, and its path.

    A tuple has the values by position, a mapping by key, and any other object by attribute.
    """
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
        # An operator may return a row with a lifetime, as an event. The declared type is that of the row alone.
        bare_value = value.payload if module.is_operator and isinstance(value, Event) else value
        _check_result(module, declared, bare_value, window)


def check_evicted(module: RowOperator[Any, Any, Any, Any], value: object, window: Window) -> None:
    """Refuse a row of the second output that is not of the type that its module declares."""
    declared = module.evicted_field()
    if declared is None:
        raise _error(module, f"on_evict returned {safe_repr(value)}, declared None", window)
    _check_result(module, declared, value, window)


def _check_result(module: Module, declared: Field | None, value: object, window: Window) -> None:
    """Refuse a result, or a row, that does not fit a declared field; None declares nothing."""
    if declared is None:
        return
    fault = misfit(declared, value, is_result=True)
    if value is None and module.is_operator and isinstance(declared.type, Struct):
        fault = f"it is None, expected {spell(declared)}"  # a row of null is no row
    if fault:
        raise _error(module, fault, window)


def _error(module: Module, fault: str, window: Window) -> ModuleContractError:
    """Return the error for a result of a window that does not fit the declared type."""
    where = f"  window: [{window.start}, {window.end})\n"
    return undeclared_result(f"{module.name} {module.version}", fault, where)


def _result_field(module: Module) -> Field | None:
    """Return the declared type of a module's results; None if it declares none, which a query refuses."""
    try:
        return module.result_field()
    except ModuleDefinitionError:
        return None
