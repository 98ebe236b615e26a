"""Fitting columns to a module's input type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from operator import itemgetter
from typing import Any, Final, TypeAlias

from muntin import Module, TypeMismatchError
from muntin.schemas import (
    DataType,
    Field,
    ListOf,
    MapOf,
    Scalar,
    ScalarKind,
    Struct,
    Variable,
    bind,
    spell,
    variables_in,
)
from muntin_engine.core.nulls import HasNoNull, forbids_null, is_tuple
from muntin_engine.core.skipping import Accepted, Present

Converter: TypeAlias = Callable[[Any], Any]
"""Turns a value as it is stored, of plain Python types, into a module's own."""

_WIDENS: Final = {
    (ScalarKind.INTEGER, ScalarKind.FLOAT),
    (ScalarKind.DECIMAL, ScalarKind.FLOAT),
    (ScalarKind.TIMESTAMP, ScalarKind.INSTANT),
    (ScalarKind.INTEGER, ScalarKind.INSTANT),
}
"""Column kinds that a module's kind takes without a cast by the query writer."""


@dataclass(frozen=True, slots=True)
class BoundInputs:
    """How the columns that a query gives a module become its payload.

    Attributes:
        reads: For each column, what the module reads of it.
        result: The type of the module's result, with type variables bound by the columns.
        converters: For each column, what turns a stored value into the module's; None where they are the same.
        make: What builds a record from the columns, by keyword; None for a payload of one column, or of none.
    """

    reads: tuple[Field, ...]
    result: Field
    converters: tuple[Converter | None, ...] = ()
    make: Callable[..., Any] | None = None

    def selector(self, columns: Sequence[int]) -> Callable[[tuple[Any, ...]], Any]:
        """Return what picks the module's payload out of a row of all inputs of the query.

        A row that holds a null that the module does not read gives `SKIPPED`.

        Args:
            columns: The places of the module's columns in that row.
        """
        needs = tuple((place, field) for place, field in zip(columns, self.reads, strict=True) if forbids_null(field))
        select = self._whole(columns)
        if not needs:
            return select
        is_plain = isinstance(self.reads[0].type, Scalar | Variable)
        return Present(columns[0]) if is_plain and type(select) is itemgetter else Accepted(select, HasNoNull(needs))

    def _whole(self, columns: Sequence[int]) -> Callable[[tuple[Any, ...]], Any]:
        if self.make is not None:
            names = [field.name for field in self.reads]
            return _Record(self.make, tuple(zip(columns, names, self.converters, strict=True)))
        if not columns:
            return _nothing
        return itemgetter(columns[0]) if self.converters[0] is None else _Single(columns[0], self.converters[0])


def bind_inputs(cls: type[Module], given: Sequence[Field]) -> BoundInputs:
    """Fit columns to a module's input type.

    One column is the payload itself; several are the fields of a record, in order, and fields with a default may be
    left out. No column at all gives payloads of None.

    Raises:
        TypeMismatchError: The number or the types of the columns do not fit.
    """
    wanted = cls.input_field()
    if not given:
        return _bind_nothing(cls, wanted)
    is_record = isinstance(wanted.type, Struct) and not (len(given) == 1 and isinstance(given[0].type, Struct))
    reads, make = _record_parts(cls, wanted, given) if is_record else ((wanted,), None)
    if len(reads) != len(given):
        got = f"got {len(given)}: {_spell_all(given)}"
        raise TypeMismatchError(f"{cls.name} takes one column of {spell(wanted)}, {got}")
    result = _result(cls, _unify(cls, reads, given))
    return BoundInputs(reads, result, tuple(map(_converter, reads, given)), make)


def matching(struct: Struct, given: Struct) -> list[tuple[int, Field]] | None:
    """Return the fields of a record that a struct column fills, each with its place in the struct.

    Fields go by name, those of a plain tuple by place; what has a default may be missing, and what the record does
    not know is left alone. None if a field is missing, or a tuple is of another length.
    """
    names = [part.name for part in given.fields]
    if is_tuple(struct):
        return list(enumerate(struct.fields)) if len(names) == len(struct.fields) else None
    defaults = _defaults(struct.make)
    if any(part.name not in names and part.name not in defaults for part in struct.fields):
        return None
    return [(names.index(part.name), part) for part in struct.fields if part.name in names]


def _converter(wanted: Field, given: Field) -> Converter | None:
    """Return what turns the stored values of a column into a module's own; None where they are the same."""
    data_type, column = wanted.type, given.type
    if isinstance(data_type, Variable):
        return _converter(given, given) if not isinstance(column, Variable) else None
    if isinstance(data_type, Struct) and isinstance(column, Struct):
        return _struct_converter(data_type, column)
    if isinstance(data_type, ListOf) and isinstance(column, ListOf):
        element = _converter(data_type.element, column.element)
        return None if element is None else _List(element)
    if isinstance(data_type, MapOf) and isinstance(column, MapOf):
        return _Map(_converter(data_type.key, column.key), _converter(data_type.value, column.value))
    return None


def _struct_converter(struct: Struct, column: Struct) -> Converter | None:
    parts = tuple(
        (column.fields[place].name, part.name, _converter(part, column.fields[place]))
        for place, part in matching(struct, column) or ()
    )
    is_same = struct.make is dict and all(convert is None for _, _, convert in parts)
    return None if is_same else _Struct(struct.make, parts)


@dataclass(frozen=True, slots=True)
class _Single:
    place: int
    convert: Converter

    def __call__(self, row: tuple[Any, ...]) -> Any:
        return _converted(row[self.place], self.convert)


@dataclass(frozen=True, slots=True)
class _Record:
    make: Callable[..., Any]
    parts: tuple[tuple[int, str, Converter | None], ...]

    def __call__(self, row: tuple[Any, ...]) -> Any:
        return self.make(**{name: _converted(row[place], convert) for place, name, convert in self.parts})


@dataclass(frozen=True, slots=True)
class _Struct:
    make: Callable[..., Any]
    parts: tuple[tuple[str, str, Converter | None], ...]

    def __call__(self, value: Mapping[str, Any]) -> Any:
        return self.make(**{name: _converted(value[stored], convert) for stored, name, convert in self.parts})


@dataclass(frozen=True, slots=True)
class _List:
    element: Converter

    def __call__(self, value: Sequence[Any]) -> list[Any]:
        return [_converted(item, self.element) for item in value]


@dataclass(frozen=True, slots=True)
class _Map:
    key: Converter | None
    value: Converter | None

    def __call__(self, pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
        return {_converted(key, self.key): _converted(value, self.value) for key, value in pairs}


def _converted(value: Any, convert: Converter | None) -> Any:
    return value if convert is None or value is None else convert(value)


def _nothing(row: tuple[Any, ...]) -> None:
    """Return the payload of a module that reads no column."""


def _bind_nothing(cls: type[Module], wanted: Field) -> BoundInputs:
    if not wanted.is_nullable:
        raise TypeMismatchError(f"{cls.name} reads {spell(wanted)}, but the query gives it no column")
    return BoundInputs((), _result(cls, {}))


def _record_parts(
    cls: type[Module], wanted: Field, given: Sequence[Field]
) -> tuple[tuple[Field, ...], Callable[..., Any]]:
    struct = wanted.type
    assert isinstance(struct, Struct)
    least = len(struct.fields) - len(_defaults(struct.make))
    if not least <= len(given) <= len(struct.fields):
        raise TypeMismatchError(f"{cls.name} takes {spell(wanted)}, got {len(given)} columns: {_spell_all(given)}")
    return struct.fields[: len(given)], struct.make


def _defaults(make: Any) -> set[str]:
    """Return the names of the fields that a record's class can do without."""
    if is_dataclass(make):
        return {f.name for f in fields(make) if f.default is not MISSING or f.default_factory is not MISSING}
    return {*getattr(make, "_field_defaults", {}), *getattr(make, "__optional_keys__", ())}


def _unify(cls: type[Module], reads: Sequence[Field], given: Sequence[Field]) -> dict[str, Field]:
    bound: dict[str, Field] = {}
    for wanted, field in zip(reads, given, strict=True):
        if not _fits(wanted.type, field.type, bound):
            raise TypeMismatchError(
                f"{cls.name} reads {spell(bind(wanted, bound))}, but the column {field.name} is {spell(field)}\n"
                f"  cast the column, for example F.col(...).cast(...), or choose another module"
            )
    return bound


def _fits(wanted: DataType, given: DataType, bound: dict[str, Field]) -> bool:
    if isinstance(wanted, Variable):
        return not wanted.name or bound.setdefault(wanted.name, Field(wanted.name, given)).type == given
    if isinstance(wanted, Scalar) and isinstance(given, Scalar):
        return wanted.kind == given.kind or (given.kind, wanted.kind) in _WIDENS
    if isinstance(wanted, ListOf) and isinstance(given, ListOf):
        return _fits(wanted.element.type, given.element.type, bound)
    if isinstance(wanted, MapOf) and isinstance(given, MapOf):
        return _fits(wanted.key.type, given.key.type, bound) and _fits(wanted.value.type, given.value.type, bound)
    if isinstance(wanted, Struct) and isinstance(given, Struct):
        pairs = matching(wanted, given)
        return pairs is not None and all(_fits(part.type, given.fields[place].type, bound) for place, part in pairs)
    return False


def _result(cls: type[Module], bound: Mapping[str, Field]) -> Field:
    result = bind(cls.result_field(), bound)
    if variables_in(result):
        raise TypeMismatchError(
            f"the result type of {cls.name} is not known: {spell(result)}\n"
            "  a result may use a type variable only if the module's input binds it, and not Any"
        )
    return result


def _spell_all(given: Sequence[Field]) -> str:
    return ", ".join(f"{field.name} {spell(field)}" for field in given)
