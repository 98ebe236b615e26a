"""The binding of a module to the columns that a query gives it: their types, and the way from a row to its payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Final

from muntin import Module, RowOperator
from muntin.errors import TypeMismatchError
from muntin.errors.messages import ErrorMessage, WrittenExpression
from muntin.schemas import Field, Scalar, ScalarKind, Struct, Variable, bind, spell, variables_in
from muntin_engine.modules.skipping import Accepted, HasNoNull, Present, forbids_null
from muntin_engine.plan.column_fit import (
    WIDENED_KINDS,
    Converter,
    Misfit,
    RecordConverter,
    converted,
    defaults_of,
    fit_of,
)

_CASTS: Final = {
    ScalarKind.BOOLEAN: "boolean",
    ScalarKind.INTEGER: "bigint",
    ScalarKind.FLOAT: "double",
    ScalarKind.DECIMAL: "decimal(18, 2)",
    ScalarKind.STRING: "string",
    ScalarKind.DATE: "date",
    ScalarKind.TIMESTAMP: "timestamp",
}
"""Spark's names of kinds that text is cast to, and that are cast to text."""

_CAST_TO_ONE_ANOTHER: Final = frozenset({ScalarKind.BOOLEAN, ScalarKind.INTEGER, ScalarKind.FLOAT, ScalarKind.DECIMAL})
"""The kinds that are cast to one another as well."""


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
        """Return the function that makes the module's payload of an event.

        The function gets the tuple of all columns that the query's modules read of the event. Where one of them is a
        null that this module does not accept, it returns `SKIPPED`.

        Args:
            columns: The places of the module's columns in that tuple.
        """
        select = self._selector_with_nulls(columns)
        non_null_columns = []
        for place, field in zip(columns, self.reads, strict=True):
            if forbids_null(field):
                non_null_columns.append((place, field))
        if not non_null_columns:
            return select
        # The most frequent case has a fast function: a single column, whose values stay as they are and have no parts
        # that may be null.
        has_no_parts = isinstance(self.reads[0].type, Scalar | Variable)
        if has_no_parts and type(select) is itemgetter:
            return Present(columns[0])
        return Accepted(select, HasNoNull(tuple(non_null_columns)))

    def _selector_with_nulls(self, columns: Sequence[int]) -> Callable[[tuple[object, ...]], object]:
        """Return the function that makes the module's payload of an event, whatever nulls there are."""
        if self.make is not None:
            names = [field.name for field in self.reads]
            return RecordConverter(self.make, tuple(zip(columns, names, self.converters, strict=True)))
        if not columns:
            return _nothing
        convert = self.converters[0]
        return itemgetter(columns[0]) if convert is None else _SingleConverter(columns[0], convert)


@dataclass(frozen=True, slots=True)
class _SingleConverter:
    """Makes the payload of a module that reads one column: the value at a place of a row, converted."""

    place: int
    convert: Converter

    def __call__(self, row: tuple[object, ...]) -> object:
        return converted(row[self.place], self.convert)


def _nothing(row: tuple[object, ...]) -> None:
    """Return None, the payload of a module that reads no column."""


def bind_inputs(cls: type[Module], columns: Sequence[Field]) -> BoundInputs:
    """Bind the columns that a query gives a module to the module's input.

    One column is the payload itself. Several columns are the fields of a record, in order; fields with a default may be
    left out at the end. A module without columns gets None as the payload of every event.

    Args:
        cls: The class of the module.
        columns: The types of the columns.

    Raises:
        TypeMismatchError: The number or the types of the columns do not fit.
    """
    wanted = cls.input_field()
    bound: dict[str, Field] = {}
    if columns:
        inputs = bind_columns(cls.name, wanted, columns, bound)
    elif wanted.type == Variable(""):  # the module reads `Any`, so None is a payload too
        inputs = BoundInputs((), result=wanted)
    else:
        raise TypeMismatchError(
            f"{cls.name} reads {spell(wanted)}, but the query gives it no column\n"
            f"  name the column after the module: module({cls.name!r}, '<column>')"
        )
    # `bound` has the types of all type variables now.
    result = _known_result(cls, cls.result_field(), bound)
    return replace(inputs, result=result, evicted=_evicted(cls, bound))


def bind_each(cls: type[Module], columns: Mapping[str, Sequence[Field]]) -> dict[str, BoundInputs]:
    """Bind columns to each input of a module that reads several; a type variable is the same type in all inputs.

    Args:
        cls: The module's class.
        columns: The types of the columns that the query gives each input, by the name of the input.

    Raises:
        TypeMismatchError: The number or the types of the columns of an input do not fit.
    """
    bound: dict[str, Field] = {}
    inputs = {}
    for wanted in cls.input_fields():
        reader = f"the input {wanted.name} of {cls.name}"
        inputs[wanted.name] = bind_columns(reader, wanted, columns[wanted.name], bound)
    # Only now all inputs have bound their type variables.
    result = _known_result(cls, cls.result_field(), bound)
    evicted = _evicted(cls, bound)
    return {name: replace(part, result=result, evicted=evicted) for name, part in inputs.items()}


def bind_columns(reader: str, wanted: Field, columns: Sequence[Field], bound: dict[str, Field]) -> BoundInputs:
    """Bind columns to an input of a module or to the arguments of a function.

    The attribute `result` of what is returned has no meaning yet: the caller replaces it, once type variables are
    bound.

    Args:
        reader: The module, its input or the function, in words.
        wanted: The type of the input.
        columns: The types of the columns.
        bound: The types that type variables are bound to, by their names; variables that are bound here are added.

    Raises:
        TypeMismatchError: The number or the types of the columns do not fit.
    """
    # What is read of each column: its field of a record, or the input as a whole.
    make = None
    reads: tuple[Field, ...] = (wanted,)
    if _is_record_of_columns(wanted, columns):
        reads, make = _record_parts(reader, wanted, columns)
    if len(reads) != len(columns):
        got = f"got {len(columns)}: {_spell_all(columns)}"
        raise TypeMismatchError(f"{reader} takes one column of {spell(wanted)}, {got}")

    # A type variable that another input has bound stands for that type. Any other one stands for the type of its
    # column, or for a wider type if the column's own is none of its choices.
    reads = tuple(bind(part, bound) for part in reads)
    widened: dict[str, Field] = {}
    for part, column in zip(reads, columns, strict=True):
        widened |= fit_of(part, column).widened()
    reads = tuple(bind(part, widened) for part in reads)
    bound |= widened

    fits = [fit_of(part, column) for part, column in zip(reads, columns, strict=True)]
    for fit in fits:
        misfits = list(fit.misfits(bound))  # this also binds the variables that are not bound yet, to the column's type
        if misfits:
            raise _mismatch(reader, fit.wanted, fit.column, misfits, bound)
    converters = tuple(fit.converter() for fit in fits)
    return BoundInputs(reads, result=wanted, converters=converters, make=make)  # the caller replaces the result


def _is_record_of_columns(wanted: Field, columns: Sequence[Field]) -> bool:
    """Return True if each column is one field of the record that is read; one struct column is the whole record."""
    if not isinstance(wanted.type, Struct):
        return False
    is_single_struct = len(columns) == 1 and isinstance(columns[0].type, Struct)
    # The record may stand for the arguments of a function, as `plan_condition` makes it, with a `partial`. Then even a
    # single struct is one argument.
    are_arguments = isinstance(wanted.type.make, partial)
    return are_arguments or not is_single_struct


def _record_parts(
    reader: str, wanted: Field, columns: Sequence[Field]
) -> tuple[tuple[Field, ...], Callable[..., object]]:
    """Return the fields of a record that columns fill, in order, and the function that makes the record of them.

    Args:
        reader: The module, its input or the function, in words.
        wanted: The field that is read, whose type is a struct.
        columns: The types of the columns.

    Raises:
        TypeMismatchError: There are more columns than fields, or fewer than fields without a default.
    """
    struct = wanted.type
    assert isinstance(struct, Struct)
    least = len(struct.fields) - len(defaults_of(struct.make))
    if not least <= len(columns) <= len(struct.fields):
        got = f"{len(columns)} columns: {_spell_all(columns)}" if columns else "no column"
        raise TypeMismatchError(f"{reader} takes {spell(wanted)}, got {got}")
    return struct.fields[: len(columns)], struct.make


def _mismatch(
    reader: str, wanted: Field, column: Field, misfits: Sequence[Misfit], bound: Mapping[str, Field]
) -> TypeMismatchError:
    """Make the error for a column whose type is not what is read.

    Args:
        reader: The module, its input or the function, in words.
        wanted: The field that it reads.
        column: The column.
        misfits: The parts of the column that do not fit.
        bound: The types that type variables are bound to, by their names.
    """
    # The first line of the message says it all unless only a part of the column does not fit.
    is_whole = list(misfits) == [Misfit(path="", wanted=wanted, column=column)]
    where = "" if is_whole else "".join(map(_spell_misfit, misfits))
    return TypeMismatchError(
        "{module} reads {wanted}, but the column {column} is {type}{where}\n"
        "  cast the column{example}, or choose another module",
        module=reader,
        wanted=_spell_read(wanted, bound),
        column=column.name,
        type=spell(column),
        where=where,
        example=_spell_cast(wanted, column),
    )


def _spell_misfit(misfit: Misfit) -> str:
    """Return a line of a message on a part of a column that does not fit."""
    has = "none" if misfit.column is None else spell(misfit.column)
    return f"\n  {misfit.path.lstrip('.')}: it reads {_spell_wanted(misfit.wanted)}, the column has {has}"


def _spell_wanted(wanted: Field) -> str:
    """Spell the type that is read, for a type variable the types that it may stand for."""
    variable = wanted.type
    if isinstance(variable, Variable) and variable.choices:
        return " or ".join(map(spell, variable.choices))
    if isinstance(variable, Variable) and (variable.is_ordered or variable.is_hashable):
        return "values with an order" if variable.is_ordered else "values that can be told apart by a hash"
    return spell(wanted)


def _spell_read(wanted: Field, bound: Mapping[str, Field]) -> str:
    """Spell the type that is read, with the kinds of columns that are widened to it, as in `double (bigint as double)`.

    Args:
        wanted: The field that is read.
        bound: The types that type variables are bound to, by their names.
    """
    reads = bind(wanted, bound)
    if reads != wanted:
        return _spell_wanted(reads)  # nothing is widened to a type variable that is bound already
    kinds = _kinds(wanted)
    widened = []
    for kind in kinds:
        narrower = [stored for stored, wide in WIDENED_KINDS if wide is kind and stored not in kinds]
        if narrower:
            widened.append(f"{' or '.join(narrower)} as {kind}")
    return f"{_spell_wanted(reads)} ({', '.join(widened)})" if widened else _spell_wanted(reads)


def _spell_cast(wanted: Field, column: Field) -> ErrorMessage:
    """Return the end of a message with a cast of a column to the type that is read; empty if Spark has no such cast."""
    column_kinds = _kinds(column)
    wanted_kinds = _kinds(wanted)
    if not column_kinds or not wanted_kinds:
        return ErrorMessage()
    # Where one of them is a type variable, which may stand for several kinds, the first kind decides.
    cast_kinds = {column_kinds[0], wanted_kinds[0]}
    has_text = ScalarKind.STRING in cast_kinds  # text can be cast to and from every kind of `_CASTS`
    are_castable = cast_kinds <= set(_CASTS) if has_text else cast_kinds <= _CAST_TO_ONE_ANOTHER
    if not are_castable:
        return ErrorMessage()

    # Where a module reads several kinds, a cast to double loses the least: text may have decimals.
    kind = ScalarKind.FLOAT if ScalarKind.FLOAT in wanted_kinds else wanted_kinds[0]
    if not column.name.isidentifier():
        return ErrorMessage(f", for example with CAST(... AS {_CASTS[kind]})")
    cast = WrittenExpression(f"CAST({{}} AS {_CASTS[kind]})", column.name)
    return ErrorMessage(", for example {column}", column=cast)


def _kinds(field: Field) -> list[ScalarKind]:
    """Return the kind of a field, or those that its type variable may stand for; none if it holds lists or structs."""
    choices = field.type.choices if isinstance(field.type, Variable) else (field,)
    return [choice.type.kind for choice in choices if isinstance(choice.type, Scalar)]


def _evicted(cls: type[Module], bound: Mapping[str, Field]) -> Field | None:
    """Return the type of a row of a module's second output; None if it has no second output."""
    field = cls.evicted_field() if issubclass(cls, RowOperator) else None
    return None if field is None else _known_result(cls, field, bound)


def _known_result(cls: type[Module], field: Field, bound: Mapping[str, Field]) -> Field:
    """Return a result's type with its type variables bound.

    Args:
        cls: The class of the module.
        field: The type of the result as the module declares it.
        bound: The types that the module's inputs bind type variables to, by their names.

    Raises:
        TypeMismatchError: The result has a type variable that no input binds.
    """
    result = bind(field, bound)
    if variables_in(result):
        raise TypeMismatchError(
            f"the result type of {cls.name} is not known: {spell(result)}\n"
            "  a result may use a type variable only if the module's input binds it, and not Any"
        )
    return result


def _spell_all(columns: Sequence[Field]) -> str:
    """Return the names and the types of columns in words."""
    return ", ".join(f"{column.name} {spell(column)}" for column in columns)
