"""The fit of a column to what a module reads of it: where they differ, what is widened, how values are converted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable
from muntin_engine.modules.skipping import is_tuple

Converter: TypeAlias = Callable[[Any], Any]
"""Turns a value as it is stored, of plain Python types, into a module's own."""

WIDENED_KINDS: Final = (
    (ScalarKind.INTEGER, ScalarKind.FLOAT),
    (ScalarKind.DECIMAL, ScalarKind.FLOAT),
    (ScalarKind.TIMESTAMP, ScalarKind.INSTANT),
    (ScalarKind.INTEGER, ScalarKind.INSTANT),
)
"""The kinds of columns that a module's kind takes without a cast by the query writer, each with that kind."""


class Misfit(NamedTuple):
    """A part of a column that is not what is read.

    Attributes:
        path: The path to it in the column.
        wanted: The type that is read there.
        column: The type that the column has there; None if it has nothing.
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
        """Yield the parts of the column that do not fit, or the column itself if that does not fit as a whole.

        Args:
            bound: The types that type variables are bound to, to which those of this column are added.
            path: The path to the column, where it is a part of another one.
        """

    def widened(self) -> Iterator[tuple[str, Field]]:
        """Yield the type variables that stand for a wider type than the column's, each with that type.

        The column's own type is then none of the variable's choices. Of several wider choices it is the first: whole
        numbers become floats where a variable stands for floats and decimals.
        """
        return iter(())

    def converter(self) -> Converter | None:
        """Return the function from the stored values of the column to a module's own; None where they are the same."""
        return None


def fit_of(wanted: Field, column: Field) -> Fit:
    """Return how a column fits what is read."""
    reads, stored = wanted.type, column.type
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
    matched = matching(record, stored)
    if matched is not None:
        parts = tuple(fit_of(part, stored.fields[place]) for place, part in matched)
        return _StructFit(wanted, column, record, parts)
    if is_tuple(record):
        return _NoFit(wanted, column)  # of another length
    return _LacksFields(wanted, column, record, stored)


def matching(struct: Struct, column: Struct) -> list[tuple[int, Field]] | None:
    """Return the fields of a record that a struct column fills, each with its place in the struct.

    Fields go by name, those of a plain tuple by place. A field with a default may be missing in the column, which may
    have further fields, too. None if another field is missing, or a tuple is of another length.
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
    """Return the names of the fields that a record's class can do without."""
    if is_dataclass(make):
        return {f.name for f in fields(make) if f.default is not MISSING or f.default_factory is not MISSING}
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
        name = self.variable.name
        stored = self.column.type
        if not self._takes(stored):
            yield Misfit(path, self.wanted, self.column)
        elif name and bound.setdefault(name, Field(name, stored)).type != stored:
            yield Misfit(path, bound[name], self.column)

    def _takes(self, stored: DataType) -> bool:
        """Return True if the variable can be bound to a type; dicts have no order and no hash."""
        variable = self.variable
        if variable.choices:
            return any(not list(fit_of(choice, Field("", stored)).misfits({})) for choice in variable.choices)
        return isinstance(stored, Scalar | Variable) or not (variable.is_ordered or variable.is_hashable)

    def widened(self) -> Iterator[tuple[str, Field]]:
        if not isinstance(self.column.type, Scalar):
            return
        stored = self.column.type.kind
        choices = {choice.type.kind: choice for choice in self.variable.choices if isinstance(choice.type, Scalar)}
        if stored in choices:
            return
        for kind, choice in choices.items():
            if (stored, kind) in WIDENED_KINDS:
                yield self.variable.name, choice
                return

    def converter(self) -> Converter | None:
        if isinstance(self.column.type, Variable):
            return None
        return fit_of(self.column, self.column).converter()


@dataclass(frozen=True, slots=True)
class _ScalarFit(Fit):
    reads: Scalar
    stored: Scalar

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
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
        return _MapConverter(self.key.converter(), self.value.converter())


@dataclass(frozen=True, slots=True)
class _StructFit(Fit):
    """A record, and a struct that has a field for each of those that the record needs."""

    record: Struct
    parts: tuple[Fit, ...]

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        for part in self.parts:
            yield from part.misfits(bound, f"{path}.{part.column.name}")

    def widened(self) -> Iterator[tuple[str, Field]]:
        for part in self.parts:
            yield from part.widened()

    def converter(self) -> Converter | None:
        parts = tuple((part.column.name, part.wanted.name, part.converter()) for part in self.parts)
        is_same = self.record.make is dict and all(convert is None for _, _, convert in parts)
        return None if is_same else _StructConverter(self.record.make, parts)


@dataclass(frozen=True, slots=True)
class _LacksFields(Fit):
    """A record, and a struct without fields that the record needs."""

    record: Struct
    stored: Struct

    def misfits(self, bound: dict[str, Field], path: str = "") -> Iterator[Misfit]:
        names = {part.name for part in self.stored.fields} | defaults_of(self.record.make)
        for part in self.record.fields:
            if part.name not in names:
                yield Misfit(f"{path}.{part.name}", part, None)


@dataclass(frozen=True, slots=True)
class _StructConverter:
    make: Callable[..., Any]
    parts: tuple[tuple[str, str, Converter | None], ...]

    def __call__(self, value: Mapping[str, object]) -> object:
        return self.make(**{name: converted(value[stored], convert) for stored, name, convert in self.parts})


@dataclass(frozen=True, slots=True)
class _ListConverter:
    element: Converter

    def __call__(self, value: Sequence[object]) -> list[object]:
        return [converted(item, self.element) for item in value]


@dataclass(frozen=True, slots=True)
class _MapConverter:
    key: Converter | None
    value: Converter | None

    def __call__(self, pairs: Sequence[tuple[object, object]]) -> dict[object, object]:
        return {converted(key, self.key): converted(value, self.value) for key, value in pairs}


def converted(value: object, convert: Converter | None) -> object:
    """Return a stored value as a module's own; null stays null."""
    return value if convert is None or value is None else convert(value)
