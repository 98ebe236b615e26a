"""Fitting columns to a module's input type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Final

from muntin import Module, TypeMismatchError
from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable, bind, spell, variables_in

_WIDENS: Final = {
    (ScalarKind.INTEGER, ScalarKind.FLOAT),
    (ScalarKind.DECIMAL, ScalarKind.FLOAT),
    (ScalarKind.TIMESTAMP, ScalarKind.INSTANT),
    (ScalarKind.INTEGER, ScalarKind.INSTANT),
}
"""Column kinds that a module's kind takes without a cast by the query writer."""


@dataclass(frozen=True, slots=True)
class InputBinding:
    """How the columns of a row become a module's payload.

    Attributes:
        columns: The places of the module's columns among all inputs of the query.
        required: Those of them that must not be null.
        as_kind: By place, the scalar kind a column is converted to before it reaches the module.
        converters: For each column, what turns its value into the module's type; None leaves it alone.
        make: What builds the payload from the values; None for a module of one plain column, or of none.
    """

    columns: tuple[int, ...]
    required: tuple[int, ...]
    as_kind: Mapping[int, ScalarKind]
    converters: tuple[Callable[[Any], Any] | None, ...]
    make: Callable[..., Any] | None = None
    names: tuple[str, ...] = ()

    def __call__(self, row: tuple[Any, ...]) -> Any:
        """Return the module's payload from the values of a row."""
        if not self.columns:
            return None
        values = [
            row[place] if convert is None or row[place] is None else convert(row[place])
            for place, convert in zip(self.columns, self.converters, strict=True)
        ]
        return values[0] if self.make is None else self.make(**dict(zip(self.names, values, strict=True)))


def bind_inputs(cls: type[Module], columns: Sequence[int], given: Sequence[Field]) -> tuple[InputBinding, Field]:
    """Fit columns to a module's input type and return the binding with the module's result type.

    One column is the payload itself; several are the fields of a record, in order, and fields with a default may be
    left out. No column at all gives payloads of None.

    Raises:
        TypeMismatchError: The number or the types of the columns do not fit.
    """
    wanted = cls.input_field()
    if not given:
        return _bind_nothing(cls, wanted)
    is_record = isinstance(wanted.type, Struct) and not (len(given) == 1 and isinstance(given[0].type, Struct))
    parts, make = _record_parts(cls, wanted, given) if is_record else ((wanted,), None)
    if len(parts) != len(given):
        raise TypeMismatchError(f"{cls.name} takes one column of {spell(wanted)}, got {len(given)}: {_spell_all(given)}")
    bound = _unify(cls, parts, given)
    binding = InputBinding(
        tuple(columns),
        tuple(place for place, part in zip(columns, parts, strict=True) if not part.is_nullable and not _takes_anything(part)),
        {place: kind for place, part, field in zip(columns, parts, given, strict=True) if (kind := _conversion(part, field))},
        tuple(converter_of(part) for part in parts),
        make,
        tuple(part.name for part in parts) if make else (),
    )
    return binding, _result(cls, bound)


def converter_of(field: Field) -> Callable[[Any], Any] | None:
    """Return what turns an Arrow value into a module's value; None where they are the same."""
    data_type = field.type
    if isinstance(data_type, Struct):
        return StructConverter(data_type.make, tuple((part.name, converter_of(part)) for part in data_type.fields))
    if isinstance(data_type, ListOf):
        element = converter_of(data_type.element)
        return None if element is None else ListConverter(element)
    return dict if isinstance(data_type, MapOf) else None


@dataclass(frozen=True, slots=True)
class StructConverter:
    """Builds a writer's record from a dict of Arrow values."""

    make: Callable[..., Any]
    parts: tuple[tuple[str, Callable[[Any], Any] | None], ...]

    def __call__(self, value: Mapping[str, Any]) -> Any:
        """Return the record."""
        values = list(value.values())
        converted = {
            name: part if convert is None or part is None else convert(part)
            for (name, convert), part in zip(self.parts, values, strict=True)
        }
        return self.make(**converted)


@dataclass(frozen=True, slots=True)
class ListConverter:
    """Converts each element of a list."""

    element: Callable[[Any], Any]

    def __call__(self, value: Sequence[Any]) -> list[Any]:
        """Return the list."""
        return [None if item is None else self.element(item) for item in value]


def _bind_nothing(cls: type[Module], wanted: Field) -> tuple[InputBinding, Field]:
    if not _takes_anything(wanted) and not wanted.is_nullable:
        raise TypeMismatchError(f"{cls.name} reads {spell(wanted)}, but the query gives it no column")
    return InputBinding((), (), {}, ()), _result(cls, {})


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
    if is_dataclass(make):
        return {f.name for f in fields(make) if f.default is not MISSING or f.default_factory is not MISSING}
    return set(getattr(make, "_field_defaults", {}))


def _unify(cls: type[Module], parts: Sequence[Field], given: Sequence[Field]) -> dict[str, Field]:
    bound: dict[str, Field] = {}
    for part, field in zip(parts, given, strict=True):
        if not _fits(part.type, field.type, bound):
            wanted = spell(bind(part, bound))
            raise TypeMismatchError(
                f"{cls.name} reads {wanted}, but the column {field.name} is {spell(field)}\n"
                f"  cast the column, for example F.col(...).cast(...), or choose another module"
            )
    return bound


def _fits(wanted: DataType, given: DataType, bound: dict[str, Field]) -> bool:
    if isinstance(wanted, Variable):
        if not wanted.name:
            return True
        known = bound.setdefault(wanted.name, Field(wanted.name, given))
        return known.type == given
    if isinstance(wanted, Scalar) and isinstance(given, Scalar):
        return wanted.kind == given.kind or (given.kind, wanted.kind) in _WIDENS
    if isinstance(wanted, ListOf) and isinstance(given, ListOf):
        return _fits(wanted.element.type, given.element.type, bound)
    if isinstance(wanted, MapOf) and isinstance(given, MapOf):
        return _fits(wanted.key.type, given.key.type, bound) and _fits(wanted.value.type, given.value.type, bound)
    if isinstance(wanted, Struct) and isinstance(given, Struct) and len(wanted.fields) == len(given.fields):
        return all(_fits(w.type, g.type, bound) for w, g in zip(wanted.fields, given.fields, strict=True))
    return False


def _conversion(wanted: Field, given: Field) -> ScalarKind | None:
    if isinstance(wanted.type, Scalar) and isinstance(given.type, Scalar) and wanted.type.kind != given.type.kind:
        return wanted.type.kind
    return None


def _result(cls: type[Module], bound: Mapping[str, Field]) -> Field:
    result = bind(cls.result_field(), bound)
    unbound = variables_in(result)
    if unbound:
        raise TypeMismatchError(
            f"the result type of {cls.name} is not known: {spell(result)}\n"
            "  a result may use a type variable only if the module's input binds it, and not Any"
        )
    return result


def _takes_anything(field: Field) -> bool:
    return isinstance(field.type, Variable) and not field.type.name


def _spell_all(given: Sequence[Field]) -> str:
    return ", ".join(f"{field.name} {spell(field)}" for field in given)
