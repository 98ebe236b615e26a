"""Fitting columns to a module's input type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Final, TypeAlias

from muntin import Module, RowOperator
from muntin.errors import TypeMismatchError
from muntin.errors.messages import ErrorMessage, WrittenColumn
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
from muntin_engine.modules.skipping import Accepted, HasNoNull, Present, forbids_null, is_tuple

Converter: TypeAlias = Callable[[Any], Any]
"""Turns a value as it is stored, of plain Python types, into a module's own."""

_WIDENS: Final = (
    (ScalarKind.INTEGER, ScalarKind.FLOAT),
    (ScalarKind.DECIMAL, ScalarKind.FLOAT),
    (ScalarKind.TIMESTAMP, ScalarKind.INSTANT),
    (ScalarKind.INTEGER, ScalarKind.INSTANT),
)
"""Column kinds that a module's kind takes without a cast by the query writer."""

_CASTS: Final = {
    ScalarKind.BOOLEAN: "boolean",
    ScalarKind.INTEGER: "bigint",
    ScalarKind.FLOAT: "double",
    ScalarKind.DECIMAL: "decimal(18, 2)",
    ScalarKind.STRING: "string",
    ScalarKind.DATE: "date",
    ScalarKind.TIMESTAMP: "timestamp",
}
"""Spark's names of kinds that text is cast to. All of them are cast to text, and the first four to one another."""


@dataclass(frozen=True, slots=True)
class BoundInputs:
    """The conversion of the columns that a query gives a module to its payload.

    Attributes:
        reads: The field that the module reads, for each column.
        result: The type of the module's result, with type variables bound by the columns.
        converters: For each column, the function from a stored value to the module's; None where they are the same.
        make: The function that builds a record from the columns, by keyword; None for a payload of one column or none.
        evicted: As `result`, of the second output; None if the module has none.
    """

    reads: tuple[Field, ...]
    result: Field
    converters: tuple[Converter | None, ...] = ()
    make: Callable[..., Any] | None = None
    evicted: Field | None = None

    def selector(self, columns: Sequence[int]) -> Callable[[tuple[object, ...]], object]:
        """Return the function from a row of all inputs of the query to the module's payload.

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

    def _whole(self, columns: Sequence[int]) -> Callable[[tuple[object, ...]], object]:
        if self.make is not None:
            names = [field.name for field in self.reads]
            return _RecordConverter(self.make, tuple(zip(columns, names, self.converters, strict=True)))
        if not columns:
            return _nothing
        place, convert = columns[0], self.converters[0]
        return itemgetter(place) if convert is None else _SingleConverter(place, convert)


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
    bound: dict[str, Field] = {}
    part = bind_columns(cls.name, wanted, given, bound)
    return replace(part, result=_known_result(cls, cls.result_field(), bound), evicted=_evicted(cls, bound))


def bind_each(cls: type[Module], given: Mapping[str, Sequence[Field]]) -> dict[str, BoundInputs]:
    """Fit columns to each input of a module that reads several; a type variable stands for one type in all of them.

    Args:
        cls: The module's class.
        given: The columns of each input, by its name.

    Raises:
        TypeMismatchError: The number or the types of the columns of an input do not fit.
    """
    bound: dict[str, Field] = {}
    parts = {
        wanted.name: bind_columns(f"the input {wanted.name} of {cls.name}", wanted, given[wanted.name], bound)
        for wanted in cls.input_fields()
    }
    result, evicted = _known_result(cls, cls.result_field(), bound), _evicted(cls, bound)
    return {name: replace(part, result=result, evicted=evicted) for name, part in parts.items()}


def bind_columns(reader: str, wanted: Field, given: Sequence[Field], bound: dict[str, Field]) -> BoundInputs:
    """Fit columns to an input, whose result is left open, and add to what type variables are bound to."""
    is_whole = len(given) == 1 and isinstance(given[0].type, Struct)  # but not all arguments of a call
    is_record = isinstance(wanted.type, Struct) and not (is_whole and not isinstance(wanted.type.make, partial))
    reads, make = _record_parts(reader, wanted, given) if is_record else ((wanted,), None)
    if len(reads) != len(given):
        got = f"got {len(given)}: {_spell_all(given)}"
        raise TypeMismatchError(f"{reader} takes one column of {spell(wanted)}, {got}")
    reads = tuple(bind(part, bound) for part in reads)
    widened = {name: choice for pair in zip(reads, given, strict=True) for name, choice in _widened(*pair)}
    reads = tuple(bind(part, widened) for part in reads)
    bound |= widened
    _unify(reader, reads, given, bound)
    return BoundInputs(reads, wanted, tuple(map(_converter, reads, given)), make)


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
    """Return the function from the stored values of a column to a module's own; None where they are the same."""
    data_type, column = wanted.type, given.type
    if isinstance(data_type, Variable):
        return _converter(given, given) if not isinstance(column, Variable) else None
    if isinstance(data_type, Struct) and isinstance(column, Struct):
        return _struct_converter(data_type, column)
    if isinstance(data_type, ListOf) and isinstance(column, ListOf):
        element = _converter(data_type.element, column.element)
        return None if element is None else _ListConverter(element)
    if isinstance(data_type, MapOf) and isinstance(column, MapOf):
        return _MapConverter(_converter(data_type.key, column.key), _converter(data_type.value, column.value))
    return None


def _struct_converter(struct: Struct, column: Struct) -> Converter | None:
    parts = tuple(
        (column.fields[place].name, part.name, _converter(part, column.fields[place]))
        for place, part in matching(struct, column) or ()
    )
    is_same = struct.make is dict and all(convert is None for _, _, convert in parts)
    return None if is_same else _StructConverter(struct.make, parts)


@dataclass(frozen=True, slots=True)
class _SingleConverter:
    place: int
    convert: Converter

    def __call__(self, row: tuple[object, ...]) -> object:
        return _converted(row[self.place], self.convert)


@dataclass(frozen=True, slots=True)
class _RecordConverter:
    make: Callable[..., Any]
    parts: tuple[tuple[int, str, Converter | None], ...]

    def __call__(self, row: tuple[object, ...]) -> object:
        return self.make(**{name: _converted(row[place], convert) for place, name, convert in self.parts})


@dataclass(frozen=True, slots=True)
class _StructConverter:
    make: Callable[..., Any]
    parts: tuple[tuple[str, str, Converter | None], ...]

    def __call__(self, value: Mapping[str, object]) -> object:
        return self.make(**{name: _converted(value[stored], convert) for stored, name, convert in self.parts})


@dataclass(frozen=True, slots=True)
class _ListConverter:
    element: Converter

    def __call__(self, value: Sequence[object]) -> list[object]:
        return [_converted(item, self.element) for item in value]


@dataclass(frozen=True, slots=True)
class _MapConverter:
    key: Converter | None
    value: Converter | None

    def __call__(self, pairs: Sequence[tuple[object, object]]) -> dict[object, object]:
        return {_converted(key, self.key): _converted(value, self.value) for key, value in pairs}


def _converted(value: object, convert: Converter | None) -> object:
    return value if convert is None or value is None else convert(value)


def _nothing(row: tuple[object, ...]) -> None:
    """Return the payload of a module that reads no column."""


def _bind_nothing(cls: type[Module], wanted: Field) -> BoundInputs:
    if wanted.type != Variable(""):
        raise TypeMismatchError(
            f"{cls.name} reads {spell(wanted)}, but the query gives it no column\n"
            f"  name the column after the module: module({cls.name!r}, '<column>')"
        )
    return BoundInputs((), _known_result(cls, cls.result_field(), {}), evicted=_evicted(cls, {}))


def _record_parts(
    reader: str, wanted: Field, given: Sequence[Field]
) -> tuple[tuple[Field, ...], Callable[..., object]]:
    struct = wanted.type
    assert isinstance(struct, Struct)
    least = len(struct.fields) - len(_defaults(struct.make))
    if not least <= len(given) <= len(struct.fields):
        got = f"{len(given)} columns: {_spell_all(given)}" if given else "no column"
        raise TypeMismatchError(f"{reader} takes {spell(wanted)}, got {got}")
    return struct.fields[: len(given)], struct.make


def _defaults(make: object) -> set[str]:
    """Return the names of the fields that a record's class can do without."""
    if is_dataclass(make):
        return {f.name for f in fields(make) if f.default is not MISSING or f.default_factory is not MISSING}
    return {*getattr(make, "_field_defaults", {}), *getattr(make, "__optional_keys__", ())}


def _unify(reader: str, reads: Sequence[Field], given: Sequence[Field], bound: dict[str, Field]) -> None:
    """Bind the type variables of what is read to the types of columns.

    Raises:
        TypeMismatchError: A column is not what is read.
    """
    for wanted, field in zip(reads, given, strict=True):
        if misfits := list(_misfits(wanted, field, bound, "")):
            where = "" if misfits == [("", wanted, field)] else "".join(map(_spell_misfit, misfits))
            raise TypeMismatchError(
                "{module} reads {wanted}, but the column {column} is {type}{where}\n"
                "  cast the column{example}, or choose another module",
                module=reader,
                wanted=_spell_read(wanted, bound),
                column=field.name,
                type=spell(field),
                where=where,
                example=_spell_cast(wanted, field),
            )


Misfit: TypeAlias = tuple[str, Field, Field | None]
"""The path to a part of a column, what is wanted there, and what the column has there, if anything."""


def _misfits(wanted: Field, given: Field, bound: dict[str, Field], path: str) -> Iterator[Misfit]:
    """Yield the parts of a column that are not what is wanted, the column itself where no part of it is to blame."""
    reads, column = wanted.type, given.type
    if isinstance(reads, Variable):
        if not _takes(reads, column):
            yield path, wanted, given
        elif reads.name and bound.setdefault(reads.name, Field(reads.name, column)).type != column:
            yield path, bound[reads.name], given
    elif isinstance(reads, Scalar) and isinstance(column, Scalar):
        if reads.kind != column.kind and (column.kind, reads.kind) not in _WIDENS:
            yield path, wanted, given
    elif isinstance(reads, ListOf) and isinstance(column, ListOf):
        yield from _misfits(reads.element, column.element, bound, f"{path}[]")
    elif isinstance(reads, MapOf) and isinstance(column, MapOf):
        yield from _misfits(reads.key, column.key, bound, f"{path}.key")
        yield from _misfits(reads.value, column.value, bound, f"{path}.value")
    elif isinstance(reads, Struct) and isinstance(column, Struct) and matching(reads, column) is not None:
        for place, part in matching(reads, column) or ():
            yield from _misfits(part, column.fields[place], bound, f"{path}.{column.fields[place].name}")
    elif isinstance(reads, Struct) and isinstance(column, Struct) and not is_tuple(reads):
        names, defaults = [part.name for part in column.fields], _defaults(reads.make)
        absent = [part for part in reads.fields if part.name not in names and part.name not in defaults]
        yield from ((f"{path}.{part.name}", part, None) for part in absent)
    else:
        yield path, wanted, given


def _widened(wanted: Field, given: Field) -> Iterator[tuple[str, Field]]:
    """Yield the type variables that stand for a wider type than a column's, which is none of those they may stand for.

    Of several wider ones the first is meant: whole numbers are floats where floats and decimals are read.
    """
    reads, column = wanted.type, given.type
    if isinstance(reads, Variable) and isinstance(column, Scalar):
        kinds = {choice.type.kind: choice for choice in reads.choices if isinstance(choice.type, Scalar)}
        wider = [choice for kind, choice in kinds.items() if (column.kind, kind) in _WIDENS]
        yield from ((reads.name, choice) for choice in wider[:1] if column.kind not in kinds)
    elif isinstance(reads, ListOf) and isinstance(column, ListOf):
        yield from _widened(reads.element, column.element)
    elif isinstance(reads, MapOf) and isinstance(column, MapOf):
        yield from _widened(reads.key, column.key)
        yield from _widened(reads.value, column.value)
    elif isinstance(reads, Struct) and isinstance(column, Struct):
        for place, part in matching(reads, column) or ():
            yield from _widened(part, column.fields[place])


def _takes(variable: Variable, given: DataType) -> bool:
    """Return True if a type variable can be bound to a type; dicts have no order and no hash."""
    if variable.choices:
        return any(not list(_misfits(choice, Field("", given), {}, "")) for choice in variable.choices)
    return isinstance(given, Scalar | Variable) or not (variable.is_ordered or variable.is_hashable)


def _spell_misfit(misfit: Misfit) -> str:
    path, wanted, given = misfit
    has = "none" if given is None else spell(given)
    return f"\n  {path.lstrip('.')}: it reads {_spell_wanted(wanted)}, the column has {has}"


def _spell_wanted(wanted: Field) -> str:
    """Spell the wanted type, also that of a type variable with constraints."""
    variable = wanted.type
    if isinstance(variable, Variable) and variable.choices:
        return " or ".join(map(spell, variable.choices))
    if isinstance(variable, Variable) and (variable.is_ordered or variable.is_hashable):
        return "values with an order" if variable.is_ordered else "values that can be told apart by a hash"
    return spell(wanted)


def _spell_read(wanted: Field, bound: Mapping[str, Field]) -> str:
    """Spell what is read, with the kinds that are widened to it; of a bound type variable none is."""
    found = bind(wanted, bound)
    kinds = _kinds(wanted) if found == wanted else []
    widened = ((wide, [given for given, kind in _WIDENS if kind is wide and given not in kinds]) for wide in kinds)
    more = ", ".join(f"{' or '.join(given)} as {wide}" for wide, given in widened if given)
    return _spell_wanted(found) + (f" ({more})" if more else "")


def _spell_cast(wanted: Field, given: Field) -> ErrorMessage:
    """Return an example of a cast of a column to what is read; empty if Spark has none."""
    here, there = _kinds(given), _kinds(wanted)
    if not here or not there or here[0] not in _CASTS or there[0] not in _CASTS:
        return ErrorMessage()
    plain = list(_CASTS)[:4]
    if ScalarKind.STRING not in (here[0], there[0]) and not (here[0] in plain and there[0] in plain):
        return ErrorMessage()
    kind = ScalarKind.FLOAT if ScalarKind.FLOAT in there else there[0]  # a double loses least of what text may say
    if not given.name.isidentifier():
        return ErrorMessage(f", for example with .cast({_CASTS[kind]!r})")
    return ErrorMessage(", for example {column}", column=WrittenColumn(given.name, _CASTS[kind]))


def _kinds(field: Field) -> list[ScalarKind]:
    """Return the kind of a column of one value, or those that a type variable may stand for."""
    choices = field.type.choices if isinstance(field.type, Variable) else (field,)
    return [choice.type.kind for choice in choices if isinstance(choice.type, Scalar)]


def _evicted(cls: type[Module], bound: Mapping[str, Field]) -> Field | None:
    field = cls.evicted_field() if issubclass(cls, RowOperator) else None
    return None if field is None else _known_result(cls, field, bound)


def _known_result(cls: type[Module], field: Field, bound: Mapping[str, Field]) -> Field:
    result = bind(field, bound)
    if variables_in(result):
        raise TypeMismatchError(
            f"the result type of {cls.name} is not known: {spell(result)}\n"
            "  a result may use a type variable only if the module's input binds it, and not Any"
        )
    return result


def _spell_all(given: Sequence[Field]) -> str:
    return ", ".join(f"{field.name} {spell(field)}" for field in given)
