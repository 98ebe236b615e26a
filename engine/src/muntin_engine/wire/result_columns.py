"""Values of modules as Arrow arrays, and results as typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from itertools import accumulate
from math import inf, isinf
from numbers import Integral, Real
from operator import attrgetter, itemgetter
from typing import Any, Final, SupportsInt

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.axis import decimal_of
from muntin.errors import ModuleContractError
from muntin.query_checks import undeclared_result
from muntin.safe_text import cut, safe_cause, safe_message, safe_repr
from muntin.schemas import Field, ListOf, MapOf, Scalar, ScalarKind, Struct, spell
from muntin_engine.core.changes import Key
from muntin_engine.core.skipping import is_tuple
from muntin_engine.wire.overflows import Overflow
from muntin_engine.wire.task_payload import TaskPayload

_ACCEPTED: Final[Mapping[ScalarKind, tuple[type, ...]]] = {
    ScalarKind.BOOLEAN: (bool, np.bool_),
    ScalarKind.INTEGER: (Integral,),
    ScalarKind.FLOAT: (Real,),
    ScalarKind.STRING: (str,),
    ScalarKind.BINARY: (bytes, bytearray, memoryview),
    ScalarKind.DECIMAL: (Decimal, Integral),
    ScalarKind.DATE: (date,),
    ScalarKind.TIMESTAMP: (datetime,),
    ScalarKind.INTERVAL: (timedelta,),
    ScalarKind.INSTANT: (Integral,),
}


class MisfitError(ValueError):
    """A value is not of the declared type.

    Attributes:
        value: The value, or the part of it that does not fit.
        field: What was declared for it.
    """

    def __init__(self, value: object, field: Field, reason: str = "") -> None:
        self.value = value
        self.field = field
        named = f"{field.name!r} is" if field.name else "it is"
        super().__init__(f"{named} {safe_repr(value)} of type {type(value).__name__}, declared {spell(field)}{reason}")


def to_arrow(
    values: Sequence[object], field: Field, arrow_type: pa.DataType, unheld: list[object] | None = None
) -> pa.Array:
    """Return values as an array; None is null whatever was declared.

    An instant at infinity is null: it never comes. A decimal is rounded to the scale of the column, half
    up as by Spark's `cast`. What is of the declared type and beyond what the column holds (an integer of more than 64
    bits, a decimal of too many digits or that is no number, an interval of more than 64 bits of microseconds) is null,
    as Spark's `try_sum` and `try_add` have it: no row stops a query. Only the keys of a map cannot be. A number beyond
    the largest float is infinite.

    Args:
        values: Of the declared type.
        field: What was declared.
        arrow_type: The Arrow type of that.
        unheld: The list to which values are added that the column cannot hold, and parts of values; None for nowhere.

    Raises:
        MisfitError: A value, or a part of it, is not of the declared type.
    """
    data_type = field.type
    if isinstance(data_type, Struct):
        return _structs(values, field, data_type, arrow_type, unheld)
    if isinstance(data_type, ListOf):
        return _lists(values, field, data_type, arrow_type, unheld)
    if isinstance(data_type, MapOf):
        return _maps(values, field, data_type, arrow_type, unheld)
    assert isinstance(data_type, Scalar)
    wrong = {cls for cls in set(map(type, values)) if not _is_accepted(cls, data_type.kind)}
    if wrong:
        raise MisfitError(next(value for value in values if type(value) in wrong), field)
    within = _HELD.get(data_type.kind)
    if within is None:
        return _array(values, field, arrow_type)
    if within in _FITTING and set(map(type, values)) <= _FITTING[within]:
        try:
            return pa.array(values, arrow_type)
        except (pa.ArrowInvalid, OverflowError):
            pass  # a number is too large, or not one of the type's
    held: list[object] = []
    try:
        for value in values:
            held.append(None if value is None else within(value, arrow_type))
    except BaseException as error:  # what `__float__` and the like of a number of the module's own do
        raise _raised(values[len(held)], field, error) from safe_cause(error)
    if unheld is not None:
        pairs = zip(values, held, strict=True)
        unheld.extend(value for value, number in pairs if _is_lost(value, number, data_type.kind))
    return _array(held, field, arrow_type)


def _is_lost(value: Any, held: object, kind: ScalarKind) -> bool:
    """Return True if a column holds something else for a value than the value, rounded."""
    if held is None:
        never_comes = kind is ScalarKind.INSTANT and value is not None and value >= INFINITY
        return value is not None and not never_comes
    return isinstance(held, float) and isinf(held) and held != value


def first_misfit(values: Iterable[object], field: Field, arrow_type: pa.DataType) -> int | None:
    """Return the place of the first value that `to_arrow` refuses; None if it takes each of them."""
    for place, value in enumerate(values):
        try:
            to_arrow([value], field, arrow_type)
        except MisfitError:
            return place
    return None


def _first_unheld(values: Sequence[object], field: Field, arrow_type: pa.DataType) -> int:
    """Return the place of the first value that a column cannot hold, of which there is one."""
    for place, value in enumerate(values):
        unheld: list[object] = []
        to_arrow([value], field, arrow_type, unheld)
        if unheld:
            return place
    raise AssertionError("no value is too large for its column")


def part_of(value: object, struct: Struct, place: int) -> object:
    """Return a field of a record: a dataclass, a named or plain tuple, or a dict.

    Raises:
        MisfitError: The value has no such field, or a plain tuple has more or fewer.
    """
    field = struct.fields[place]
    try:
        if isinstance(value, Mapping):
            return value[field.name]
        if not isinstance(value, tuple) or hasattr(value, "_fields"):
            return getattr(value, field.name)
    except BaseException as error:  # what a property of the module's own does
        raise _unreadable(value, struct, place, error) from safe_cause(error)
    if len(value) != len(struct.fields):
        raise MisfitError(value, Field("", struct), f": it has {len(value)} parts")
    return value[place]


def _unreadable(value: object, struct: Struct, place: int, error: BaseException) -> MisfitError:
    if isinstance(error, KeyError | AttributeError):
        return MisfitError(value, Field("", struct), f": it has no {struct.fields[place].name!r}")
    return _raised(value, Field("", struct), error)


def _structs(
    values: Sequence[object], field: Field, struct: Struct, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    is_missing = [value is None for value in values]
    columns = []
    for place, part in enumerate(struct.fields):
        parts = [None if value is None else part_of(value, struct, place) for value in values]
        columns.append(to_arrow(parts, _named(part, field, struct), arrow_type.field(place).type, unheld))
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type), mask=pa.array(is_missing, pa.bool_()))


def _lists(
    values: Sequence[object], field: Field, data_type: ListOf, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    rows = [_list(value, field) for value in values]
    parts = [part for row in rows for part in row or ()]
    elements = to_arrow(parts, data_type.element, arrow_type.value_type, unheld)
    return pa.ListArray.from_arrays(_offsets(rows), elements, type=arrow_type, mask=_is_missing(rows))


def _maps(
    values: Sequence[object], field: Field, data_type: MapOf, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    rows = [_pairs(value, field) for value in values]
    pairs = [pair for row in rows for pair in row or ()]
    if any(name is None for name, _ in pairs):
        raise MisfitError(None, data_type.key, ": a map cannot have null as a key")
    keys = to_arrow([name for name, _ in pairs], data_type.key, arrow_type.key_type)
    if keys.null_count:
        lost = pairs[keys.is_null().to_pylist().index(True)][0]
        raise MisfitError(lost, data_type.key, f": a column of {arrow_type.key_type} cannot hold it as a key")
    items = to_arrow([part for _, part in pairs], data_type.value, arrow_type.item_type, unheld)
    return pa.MapArray.from_arrays(_offsets(rows), keys, items, type=arrow_type, mask=_is_missing(rows))


def _list(value: object, field: Field) -> list[object] | None:
    if value is None:
        return None
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise MisfitError(value, field)
    try:
        return list(value)
    except BaseException as error:
        raise _raised(value, field, error) from safe_cause(error)


def _pairs(value: object, field: Field) -> list[tuple[object, object]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise MisfitError(value, field)
    try:
        return list(value.items())
    except BaseException as error:
        raise _raised(value, field, error) from safe_cause(error)


def _offsets(rows: Sequence[Sequence[object] | None]) -> pa.Array:
    return pa.array(accumulate((len(row or ()) for row in rows), initial=0), pa.int32())


def _is_missing(rows: Sequence[object]) -> pa.Array:
    return pa.array([row is None for row in rows], pa.bool_())


def _is_accepted(cls: type, kind: ScalarKind) -> bool:
    if cls is type(None):
        return True
    if cls is bool or (kind is ScalarKind.DATE and issubclass(cls, datetime)):
        return kind is ScalarKind.BOOLEAN
    return issubclass(cls, _ACCEPTED[kind])


def _integer(value: SupportsInt, arrow_type: pa.DataType) -> int | None:
    number = int(value)
    return number if -(1 << (arrow_type.bit_width - 1)) <= number < 1 << (arrow_type.bit_width - 1) else None


def _instant(value: int, arrow_type: pa.DataType) -> int | Decimal | None:
    if value >= INFINITY:
        return None
    if isinstance(arrow_type, pa.Decimal128Type):
        return decimal_of(int(value), arrow_type.scale) if value >= -INFINITY else None
    return _integer(value, arrow_type)


def _float(value: float, arrow_type: pa.DataType) -> float:
    del arrow_type
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _decimal(value: Decimal | Integral, arrow_type: pa.Decimal128Type) -> Decimal | None:
    digits = Context(prec=arrow_type.precision, rounding=ROUND_HALF_UP, traps=[InvalidOperation])
    number = value if isinstance(value, Decimal) else Decimal(int(value))
    try:
        return digits.quantize(number, Decimal(1).scaleb(-arrow_type.scale)) if number.is_finite() else None
    except InvalidOperation:
        return None


def _interval(value: timedelta, arrow_type: pa.DataType) -> timedelta | None:
    return value if _integer(value // _MICROSECOND, arrow_type) is not None else None


_FITTING: Final[Mapping[Callable[..., Any], set[type]]] = {
    _float: {float, int, type(None)},
    _integer: {int, type(None)},
}
"""The classes of values that Arrow takes as they are, as far as a column holds them."""

_MICROSECOND: Final = timedelta(microseconds=1)
_HELD: Final[Mapping[ScalarKind, Callable[[Any, Any], Any]]] = {
    ScalarKind.INTEGER: _integer,
    ScalarKind.INSTANT: _instant,
    ScalarKind.FLOAT: _float,
    ScalarKind.DECIMAL: _decimal,
    ScalarKind.INTERVAL: _interval,
}
"""A function that makes a value of a kind one that its column holds; None if there is nothing to do."""


def _array(values: Sequence[object], field: Field, arrow_type: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, arrow_type)
    except BaseException:
        pass
    for value in values:
        try:
            pa.array([value], arrow_type)
        except BaseException as error:
            raise MisfitError(value, field, f": {cut(str(error))}") from safe_cause(error)
    raise AssertionError("each value fits alone and all together do not")


def _raised(value: object, field: Field, error: BaseException) -> MisfitError:
    return MisfitError(value, field, f": it raised {safe_message(error)}")


def _named(part: Field, parent: Field, struct: Struct) -> Field:
    """Return a field under the name by which a message can tell it apart."""
    if is_tuple(struct):
        return part
    return Field(f"{parent.name}.{part.name}" if parent.name else part.name, part.type, part.is_nullable)


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of results, for an error to say.

    Attributes:
        task: The query.
        label: The module, by name and version.
        at: Returns the key and the window of a result, by its place.
    """

    task: TaskPayload
    label: str
    at: Callable[[int], tuple[Key, Window]]

    def contract_error(self, found: str, place: int | None = None) -> ModuleContractError:
        """Return the error that says what a module computed instead of what it declares, and where if that is known."""
        where = ""
        if place is not None:
            key, window = self.at(place)
            spelled = self.task.query.axis.spell_interval(window.start, window.end)
            where = f"  key: {safe_repr(key)}\n  window: {spelled}\n"
        return undeclared_result(self.label, found, where)

    def column(self, values: Sequence[object], output: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return results as a column; those that it cannot hold are counted by the query.

        Raises:
            ModuleContractError: A value is not of the type that the module declares.
            ResultOverflowError: The column cannot hold a value, and the session wants to stop then.
        """
        unheld: list[object] = []
        try:
            column = to_arrow(values, output, arrow_type, unheld)
        except MisfitError as error:
            raise self.contract_error(str(error), first_misfit(values, output, arrow_type)) from error
        if unheld:
            self._add_overflow(values, output, arrow_type, unheld)
        return column

    def _add_overflow(
        self, values: Sequence[object], output: Field, arrow_type: pa.DataType, unheld: Sequence[object]
    ) -> None:
        """Count values that a column cannot hold, with the place of the first one."""
        key, window = self.at(_first_unheld(values, output, arrow_type))
        overflow = Overflow(
            module=self.label,
            column=output.name,
            arrow_type=str(arrow_type),
            value=safe_repr(unheld[0]),
            key=safe_repr(key),
            window=self.task.query.axis.spell_interval(window.start, window.end),
            is_infinite=pa.types.is_floating(arrow_type),
        )
        self.task.overflows.add(overflow, len(unheld))

    def part(self, rows: Sequence[object], row: Field, place: int, output: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return a column of an operator's rows: a field of these if they are records, else the rows themselves.

        Args:
            rows: The rows.
            row: Their type.
            place: The place of the column.
            output: What is declared of it.
            arrow_type: The Arrow type of that.

        Raises:
            ModuleContractError: A row, or the field of one, is not of the type that the module declares.
        """
        parts = self._parts(rows, row.type, place) if isinstance(row.type, Struct) else rows
        return self.column(parts, output, arrow_type)

    def _parts(self, rows: Sequence[object], row: Struct, place: int) -> list[object]:
        """Return one field of an operator's rows: of plain or named tuples, and dataclasses, all at once."""
        name, kinds, parts = row.fields[place].name, set(map(type, rows)), list[object]()
        if kinds == {tuple} and set(map(len, rows)) == {len(row.fields)}:  # type: ignore[arg-type]
            return list(map(itemgetter(place), rows))  # type: ignore[arg-type]
        are_attributes = name.isidentifier() and not any(issubclass(kind, Mapping) or kind is tuple for kind in kinds)
        read = attrgetter(name) if are_attributes else partial(part_of, struct=row, place=place)
        try:
            parts.extend(map(read, rows))  # those before one that fails stay
        except MisfitError as error:
            raise self.contract_error(str(error), len(parts)) from error
        except BaseException as error:  # what a property of the module's own does
            misfit = _unreadable(rows[len(parts)], row, place, error)
            raise self.contract_error(str(misfit), len(parts)) from safe_cause(error)
        return parts
