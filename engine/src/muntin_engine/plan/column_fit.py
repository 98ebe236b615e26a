"""The fit of a column to what a module reads of it: where they differ, what is widened, how values are converted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable
from muntin_engine.modules.skipping import is_tuple

Converter: TypeAlias = Callable[[Any], Any]
"""Turns a value as it is stored, of plain Python types, into a module's own."""

WIDENED_KINDS: Final = (  # pairs of the kind of a column and the kind that a module reads
    (ScalarKind.INTEGER, ScalarKind.FLOAT),
    (ScalarKind.DECIMAL, ScalarKind.FLOAT),
    (ScalarKind.TIMESTAMP, ScalarKind.INSTANT),
    (ScalarKind.INTEGER, ScalarKind.INSTANT),
)
"""The kinds of columns that are widened to what a module reads, without a cast by the query writer."""


class Misfit(NamedTuple):
    """A part of a column whose type is not the one that a module reads there.

    Attributes:
        path: The path to the part in the column, such as `.stops[].name`; empty for the column itself.
        wanted: The type that the module reads there.
        column: The type that the column has there; None if it has no such part.
    """

    path: str
    wanted: Field
    column: Field | None


@dataclass(frozen=True, slots=True)
class Fit(ABC):
    """A field that a module reads, and the column that a query gives it; a subclass for each form of types that meet.

    Attributes:
        wanted: The field that is read.
        column: The column.
    """

    wanted: Field
    column: Field

    @abstractmethod
    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        """Yield the parts of the column whose types do not fit, or the column itself if it does not fit as a whole.

        Args:
            bound: The types that type variables are bound to, by their names. A variable that meets its first type here
                is added to them.
            path: The path to the column, where it is a part of another one.
        """

    def widened(self) -> Iterator[tuple[str, Field]]:
        """Yield the names of type variables that have to stand for a wider type than the column's, with that type.

        A variable has to stand for a wider type where the column's type is none of its choices, and can be widened to
        one of them. Of several such choices the first one counts: whole numbers become floats if the choices are float
        and Decimal.
        """
        return iter(())

    def converter(self) -> Converter | None:
        """Return the function that converts stored values of the column to a module's; None where they are the same."""
        return None


def fit_of(wanted: Field, column: Field) -> Fit:
    """Return how a column fits the field that a module reads.

    Args:
        wanted: The field that the module reads.
        column: The column that the query gives it.
    """
    reads = wanted.type
    stored = column.type
    if isinstance(reads, Variable):
        return _VariableFit(wanted, column, reads)
    if isinstance(reads, Scalar) and isinstance(stored, Scalar):
        return _ScalarFit(wanted, column, reads, stored)
    if isinstance(reads, ListOf) and isinstance(stored, ListOf):
        return _ListFit(wanted, column, fit_of(reads.element, stored.element))
    if isinstance(reads, MapOf) and isinstance(stored, MapOf):
        return _MapFit(wanted, column, fit_of(reads.key, stored.key), fit_of(reads.value, stored.value))
    if isinstance(reads, Struct) and isinstance(stored, Struct):
        return _struct_fit(wanted, column, reads, stored)
    return _NoFit(wanted, column)


def _struct_fit(wanted: Field, column: Field, record: Struct, stored: Struct) -> Fit:
    """Return how a struct column fits a record.

    Args:
        wanted: The field that the module reads.
        column: The column that the query gives it.
        record: The type of the field.
        stored: The type of the column.
    """
    matched = matching(record, stored)
    if matched is not None:
        parts = tuple(fit_of(part, stored.fields[place]) for place, part in matched)
        return _StructFit(wanted, column, record, parts)
    if is_tuple(record):
        return _NoFit(wanted, column)  # a tuple of another length
    return _LacksFields(wanted, column, record, stored)


def matching(struct: Struct, column: Struct) -> list[tuple[int, Field]] | None:
    """Return the fields of a record that a struct column fills, each with the place in the column that it is filled by.

    Fields are matched by name, and those of a plain tuple by place. The column may lack fields that have a default in
    the record, and it may have more fields than the record.

    Args:
        struct: The record that a module reads.
        column: The type of the struct column.

    Returns:
        Pairs of a place in the column and a field of the record. None if the column lacks a field that has no default,
        or has not as many fields as a tuple.
    """
    if is_tuple(struct):
        has_same_length = len(column.fields) == len(struct.fields)
        return list(enumerate(struct.fields)) if has_same_length else None
    names = [part.name for part in column.fields]
    defaults = defaults_of(struct.make)
    matched = []
    for part in struct.fields:
        if part.name in names:
            matched.append((names.index(part.name), part))
        elif part.name not in defaults:
            return None
    return matched


def defaults_of(make: object) -> set[str]:
    """Return the names of the fields that a record may lack: those that its class has a default for.

    Args:
        make: The class of the record: a dataclass, a named tuple or a typed dict.
    """
    if is_dataclass(make):
        names = set()
        for part in fields(make):
            if part.default is not MISSING or part.default_factory is not MISSING:
                names.add(part.name)
        return names
    return {*getattr(make, "_field_defaults", {}), *getattr(make, "__optional_keys__", ())}


@dataclass(frozen=True, slots=True)
class _NoFit(Fit):
    """Types that have nothing to do with each other."""

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        yield Misfit(path, self.wanted, self.column)


@dataclass(frozen=True, slots=True)
class _VariableFit(Fit):
    """A type variable, which may be bound to the type of the column."""

    variable: Variable

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        """Yield the column if its type is no choice of the variable, or not the type that the variable is bound to.

        A variable that is not bound yet is bound to the type of the column.
        """
        name = self.variable.name
        stored = self.column.type
        if not self._takes(stored):
            yield Misfit(path, self.wanted, self.column)
            return
        if not name:
            return  # `Any`, which stands for another type wherever it is read
        first_type = bound.setdefault(name, Field(name, stored)).type
        if first_type != stored:
            yield Misfit(path, bound[name], self.column)

    def _takes(self, stored: DataType) -> bool:
        """Return True if the variable can be bound to a type."""
        variable = self.variable
        if variable.choices:
            column = Field("", stored)
            for choice in variable.choices:
                misfits = list(fit_of(choice, column).misfits(bound={}))
                if not misfits:
                    return True
            return False
        # Values of plain types, and of types that only the backend knows, have an order and a hash. Those of lists,
        # maps and structs may have neither in Python.
        needs_comparison = variable.is_ordered or variable.is_hashable
        return isinstance(stored, Scalar | Variable) or not needs_comparison

    def widened(self) -> Iterator[tuple[str, Field]]:
        """Yield the name of the variable with the first of its choices that the column can be widened to, if needed."""
        if not isinstance(self.column.type, Scalar):
            return
        stored = self.column.type.kind
        choices = {choice.type.kind: choice for choice in self.variable.choices if isinstance(choice.type, Scalar)}
        if stored in choices:
            return  # the variable can stand for the type of the column itself
        for kind, choice in choices.items():
            if (stored, kind) in WIDENED_KINDS:
                yield self.variable.name, choice
                return  # the first choice counts

    def converter(self) -> Converter | None:
        """Return the function that converts values of the column; None if values stay as they are.

        The variable is bound to the type of the column, so values are converted as if the module read just that type.
        """
        if isinstance(self.column.type, Variable):
            return None  # a type of the backend's, whose values stay as they are
        return fit_of(self.column, self.column).converter()


@dataclass(frozen=True, slots=True)
class _ScalarFit(Fit):
    reads: Scalar
    stored: Scalar

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        """Yield the column if its kind is neither the one that is read nor one that is widened to it."""
        stored_kind = self.stored.kind
        read_kind = self.reads.kind
        if stored_kind != read_kind and (stored_kind, read_kind) not in WIDENED_KINDS:
            yield Misfit(path, self.wanted, self.column)


@dataclass(frozen=True, slots=True)
class _ListFit(Fit):
    element: Fit

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        return self.element.misfits(bound, f"{path}[]")

    def widened(self) -> Iterator[tuple[str, Field]]:
        return self.element.widened()

    def converter(self) -> Converter | None:
        """Return the function that converts each item of a stored list; None if items stay as they are."""
        element = self.element.converter()
        return None if element is None else _ListConverter(element)


@dataclass(frozen=True, slots=True)
class _MapFit(Fit):
    key: Fit
    value: Fit

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        yield from self.key.misfits(bound, f"{path}.key")
        yield from self.value.misfits(bound, f"{path}.value")

    def widened(self) -> Iterator[tuple[str, Field]]:
        yield from self.key.widened()
        yield from self.value.widened()

    def converter(self) -> Converter | None:
        """Return the function that makes a dict of a stored map, which is a list of pairs."""
        return _MapConverter(self.key.converter(), self.value.converter())


@dataclass(frozen=True, slots=True)
class _StructFit(Fit):
    """A record, and a struct that has a field for each of those that the record needs."""

    record: Struct
    parts: tuple[Fit, ...]

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        """Yield the parts of the fields that do not fit, each with its path in the struct."""
        for part in self.parts:
            yield from part.misfits(bound, f"{path}.{part.column.name}")

    def widened(self) -> Iterator[tuple[str, Field]]:
        for part in self.parts:
            yield from part.widened()

    def converter(self) -> Converter | None:
        """Return the function that makes a record of a stored struct, which is a dict; None if that is the record."""
        parts = tuple((part.column.name, part.wanted.name, part.converter()) for part in self.parts)
        is_same = self.record.make is dict and all(convert is None for _, _, convert in parts)
        return None if is_same else RecordConverter(self.record.make, parts)


@dataclass(frozen=True, slots=True)
class _LacksFields(Fit):
    """A record, and a struct without fields that the record needs."""

    record: Struct
    stored: Struct

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        """Yield the fields that the record needs and the struct lacks."""
        stored_names = {part.name for part in self.stored.fields}
        names_with_default = defaults_of(self.record.make)
        for part in self.record.fields:
            if part.name not in stored_names and part.name not in names_with_default:
                yield Misfit(f"{path}.{part.name}", wanted=part, column=None)


@dataclass(frozen=True, slots=True)
class RecordConverter:
    """Makes a record of a module from the columns of an event, or from a stored struct.

    Attributes:
        make: The function that makes the record, given its fields by name.
        parts: For each field, the place of its column or its name in the struct; its name in the record; and the
            conversion of its values.
    """

    make: Callable[..., Any]
    parts: tuple[tuple[Any, str, Converter | None], ...]

    def __call__(self, values: Any) -> object:
        """Return a record, given the tuple of an event's columns, or a stored struct."""
        arguments = {}
        for place, name, convert in self.parts:
            arguments[name] = converted(values[place], convert)
        return self.make(**arguments)


@dataclass(frozen=True, slots=True)
class _ListConverter:
    element: Converter

    def __call__(self, value: Sequence[object]) -> list[object]:
        """Return the list of a module's values for a stored list."""
        return [converted(item, self.element) for item in value]


@dataclass(frozen=True, slots=True)
class _MapConverter:
    key: Converter | None
    value: Converter | None

    def __call__(self, pairs: Sequence[tuple[object, object]]) -> dict[object, object]:
        """Return the dict of a stored map, which is a list of pairs."""
        return {converted(key, self.key): converted(value, self.value) for key, value in pairs}


def converted(value: object, convert: Converter | None) -> object:
    """Convert a stored value to a module's own; null stays null, and without a conversion the value stays as it is."""
    return value if convert is None or value is None else convert(value)
