"""Values of modules as Arrow arrays of their declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from itertools import accumulate
from math import inf, isinf
from numbers import Integral, Real
from typing import Any, Final, SupportsInt

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.axis import decimal_of
from muntin.errors.safe_text import cut, safe_cause, safe_message, safe_repr
from muntin.schemas import Field, ListOf, MapOf, Scalar, ScalarKind, Struct, spell
from muntin_engine.modules.skipping import is_tuple
from muntin_engine.wire.arrow_arrays import arrow_array

ARROW_TYPES: Final[Mapping[ScalarKind, pa.DataType]] = {
    ScalarKind.BOOLEAN: pa.bool_(),
    ScalarKind.INTEGER: pa.int64(),
    ScalarKind.FLOAT: pa.float64(),
    ScalarKind.STRING: pa.string(),
    ScalarKind.BINARY: pa.binary(),
    ScalarKind.DECIMAL: pa.decimal128(38, 18),
    ScalarKind.DATE: pa.date32(),
    ScalarKind.TIMESTAMP: pa.timestamp("us", "UTC"),
    ScalarKind.INTERVAL: pa.duration("us"),
    ScalarKind.INSTANT: pa.int64(),
}
"""The widest type for values of each kind. Instants are ticks; in results they have the type of the query's times."""

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
        field: The declaration.
    """

    def __init__(self, value: object, field: Field, reason: str = "") -> None:
        """Take the value, its declaration, and the reason why it does not fit; empty if its type says that."""
        self.value = value
        self.field = field
        subject = f"{field.name!r} is" if field.name else "it is"
        super().__init__(
            f"{subject} {safe_repr(value)} of type {type(value).__name__}, declared {spell(field)}{reason}"
        )


def to_arrow(
    values: Sequence[object], field: Field, arrow_type: pa.DataType, unheld: list[object] | None = None
) -> pa.Array:
    """Return values as an array. None becomes a null, also where the declaration allows none.

    A value of the declared type never stops a query, even if the column cannot hold it. It becomes null, as by Spark's
    `try_sum` and `try_add`: an integer of more than 64 bits, a decimal of too many digits or that is no number, an
    interval of more than 64 bits of microseconds. A number beyond the largest float becomes infinite. Only the keys of
    a map cannot be null.

    An instant at infinity never comes, and is null. A decimal is rounded to the scale of the column, half up as by
    Spark's `cast`.

    Args:
        values: The values, of the declared type.
        field: The declaration.
        arrow_type: The Arrow type of the array.
        unheld: A list to which each value, or part of a value, is added that the column cannot hold; None to ignore
            them.

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
    return _scalars(values, field, data_type.kind, arrow_type, unheld)


def _scalars(
    values: Sequence[object], field: Field, kind: ScalarKind, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    """Return scalars as an array; for the arguments see `to_arrow`.

    Raises:
        MisfitError: A value is of another kind than the field.
    """
    classes = set(map(type, values))
    wrong_classes = {cls for cls in classes if not _is_accepted(cls, kind)}
    if wrong_classes:
        first_wrong_value = next(value for value in values if type(value) in wrong_classes)
        raise MisfitError(first_wrong_value, field)
    fit = _FIT_OF_KIND.get(kind)
    if fit is None:  # a column holds every value of such a kind, as of text
        return _array(values, field, arrow_type)

    # Most columns are of numbers that Arrow takes as they are. If the column cannot hold one of them, Arrow refuses
    # all: then each value is fitted by itself, and `unheld` gets those that do not fit.
    if classes <= _CLASSES_OF_ARROW.get(kind, frozenset()):
        try:
            return arrow_array(values, arrow_type)
        except (pa.ArrowInvalid, OverflowError):  # the column cannot hold a value
            pass

    fitted_values: list[object] = []
    try:
        for value in values:
            fitted_values.append(None if value is None else fit(value, arrow_type))
    except KeyboardInterrupt:
        raise  # the task was interrupted
    except BaseException as error:  # a number of the module's own class may raise in `__float__` and the like
        # The list ends before the value that failed.
        raise _raised(values[len(fitted_values)], field, error) from safe_cause(error)
    if unheld is not None:
        for value, fitted_value in zip(values, fitted_values, strict=True):
            if _is_lost(value, fitted_value, kind):
                unheld.append(value)
    return _array(fitted_values, field, arrow_type)


def _is_lost(value: Any, fitted: object, kind: ScalarKind) -> bool:
    """Say whether a value was lost because the column cannot hold it; a value that was only rounded is not lost.

    Args:
        value: The value.
        fitted: The value as it was fitted to the column; None if it became null.
        kind: The kind of the value.
    """
    if value is None:
        return False
    if fitted is None:
        is_never = kind is ScalarKind.INSTANT and value >= INFINITY  # a column writes a time that never comes as null
        return not is_never
    return isinstance(fitted, float) and isinf(fitted) and fitted != value


def first_misfit(values: Iterable[object], field: Field, arrow_type: pa.DataType) -> int | None:
    """Return the place of the first value that `to_arrow` refuses; None if it accepts each value by itself."""
    for place, value in enumerate(values):
        if not _fits(value, field, arrow_type):
            return place
    return None


def _fits(value: object, field: Field, arrow_type: pa.DataType) -> bool:
    """Return True if `to_arrow` accepts a value."""
    try:
        to_arrow([value], field, arrow_type)
    except MisfitError:
        return False
    return True


def first_unheld(values: Sequence[object], field: Field, arrow_type: pa.DataType) -> int:
    """Return the place of the first value that a column cannot hold; there must be one."""
    for place, value in enumerate(values):
        unheld: list[object] = []
        to_arrow([value], field, arrow_type, unheld)  # adds the value, or a part of it, to the list if it is too large
        if unheld:
            return place
    raise AssertionError("no value is too large for its column")


def part_of(value: object, struct: Struct, place: int) -> object:
    """Return a field of a record: a dataclass, a named or plain tuple, or a dict.

    Args:
        value: The record.
        struct: The declaration of the record.
        place: The place of the field among all fields of the declaration.

    Raises:
        MisfitError: The value has no such field, or a plain tuple has more or fewer.
    """
    field = struct.fields[place]
    try:
        if isinstance(value, Mapping):
            return value[field.name]
        if not isinstance(value, tuple) or hasattr(value, "_fields"):
            return getattr(value, field.name)
    except BaseException as error:  # a property of the module's own class may raise anything
        raise unreadable_part(value, struct, place, error) from safe_cause(error)
    if len(value) != len(struct.fields):
        raise MisfitError(value, Field("", struct), f": it has {len(value)} parts")
    return value[place]


def unreadable_part(value: object, struct: Struct, place: int, error: BaseException) -> MisfitError:
    """Return the error for a record of which a field cannot be read.

    Args:
        value: The record.
        struct: The declaration of the record.
        place: The place of the field among all fields of the declaration.
        error: The exception that reading the field raised.
    """
    if isinstance(error, KeyError | AttributeError):
        return MisfitError(value, Field("", struct), f": it has no {struct.fields[place].name!r}")
    return _raised(value, Field("", struct), error)


def _structs(
    values: Sequence[object], field: Field, struct: Struct, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    """Return records as an array, field by field; for arguments and errors see `to_arrow`."""
    columns: list[pa.Array] = []
    for place, part in enumerate(struct.fields):
        parts = [None if value is None else part_of(value, struct, place) for value in values]
        part_type = arrow_type.field(place).type
        columns.append(to_arrow(parts, _named(part, field, struct), part_type, unheld))
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type), mask=_is_missing(values))


def _lists(
    values: Sequence[object], field: Field, data_type: ListOf, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    """Return lists as an array: all their elements, and where each list begins; for errors see `to_arrow`."""
    rows = [_list(value, field) for value in values]
    parts: list[object] = []
    for row in rows:
        parts.extend(row or ())
    elements = to_arrow(parts, data_type.element, arrow_type.value_type, unheld)
    return pa.ListArray.from_arrays(_offsets(rows), elements, type=arrow_type, mask=_is_missing(rows))


def _maps(
    values: Sequence[object], field: Field, data_type: MapOf, arrow_type: pa.DataType, unheld: list[object] | None
) -> pa.Array:
    """Return maps as an array: all their keys and items, and where each map begins; for the arguments see `to_arrow`.

    Raises:
        MisfitError: A value does not fit, or a key is null or cannot be held.
    """
    rows = [_pairs(value, field) for value in values]
    keys: list[object] = []
    items: list[object] = []
    for row in rows:
        for key, item in row or ():
            keys.append(key)
            items.append(item)

    # Arrow's maps have no null as a key, be it None or a key that became null as the column cannot hold it.
    if any(key is None for key in keys):
        raise MisfitError(None, data_type.key, ": a map cannot have null as a key")
    key_array = to_arrow(keys, data_type.key, arrow_type.key_type)
    if key_array.null_count:
        unheld_key = keys[key_array.is_null().to_pylist().index(True)]
        raise MisfitError(unheld_key, data_type.key, f": a column of {arrow_type.key_type} cannot hold it as a key")
    item_array = to_arrow(items, data_type.value, arrow_type.item_type, unheld)
    return pa.MapArray.from_arrays(_offsets(rows), key_array, item_array, type=arrow_type, mask=_is_missing(rows))


def _list(value: object, field: Field) -> list[object] | None:
    """Return the elements of an iterable that a module returned; None for None.

    Raises:
        MisfitError: The value is no iterable, or raises an exception as it is iterated.
    """
    if value is None:
        return None
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise MisfitError(value, field)
    try:
        return list(value)
    except BaseException as error:
        raise _raised(value, field, error) from safe_cause(error)


def _pairs(value: object, field: Field) -> list[tuple[object, object]] | None:
    """Return the pairs of a mapping that a module returned; None for None.

    Raises:
        MisfitError: The value is no mapping, or raises an exception as its items are read.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise MisfitError(value, field)
    try:
        return list(value.items())
    except BaseException as error:
        raise _raised(value, field, error) from safe_cause(error)


def _offsets(rows: Sequence[Sequence[object] | None]) -> pa.Array:
    """Return the place at which each row's elements begin among the elements of all rows, and last their number."""
    return arrow_array(accumulate((len(row or ()) for row in rows), initial=0), pa.int32())


def _is_missing(rows: Sequence[object]) -> pa.Array:
    """Flag the values that are None."""
    return arrow_array([row is None for row in rows], pa.bool_())


def _is_accepted(cls: type, kind: ScalarKind) -> bool:
    """Return True if values of a class may stand for scalars of a kind."""
    if cls is type(None):
        return True
    # A bool is an integer to Python, and a datetime a date; here they are not.
    if cls is bool:
        return kind is ScalarKind.BOOLEAN
    if kind is ScalarKind.DATE and issubclass(cls, datetime):
        return False
    return issubclass(cls, _ACCEPTED[kind])


def _integer(value: SupportsInt, arrow_type: pa.DataType) -> int | None:
    """Fit an integer to a column; None if it has too many bits."""
    number = int(value)
    limit = 1 << (arrow_type.bit_width - 1)
    return number if -limit <= number < limit else None


def _instant(value: int, arrow_type: pa.DataType) -> int | Decimal | None:
    """Fit a tick to a column of times; None if it never comes, or if the column cannot hold a time so far away."""
    if value >= INFINITY:
        return None
    if isinstance(arrow_type, pa.Decimal128Type):
        return None if value < -INFINITY else decimal_of(int(value), arrow_type.scale)
    return _integer(value, arrow_type)


def _float(value: float, arrow_type: pa.DataType) -> float:
    """Fit a number to a column of floats; a number beyond the largest float becomes infinite."""
    del arrow_type
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _decimal(value: Decimal | Integral, arrow_type: pa.Decimal128Type) -> Decimal | None:
    """Round a decimal, half up, to the scale of a column; None if it is no number, or has too many digits."""
    number = value if isinstance(value, Decimal) else Decimal(int(value))
    if not number.is_finite():
        return None
    context = Context(prec=arrow_type.precision, rounding=ROUND_HALF_UP, traps=[InvalidOperation])
    try:
        return context.quantize(number, Decimal(1).scaleb(-arrow_type.scale))
    except InvalidOperation:  # more digits than the column has
        return None


def _interval(value: timedelta, arrow_type: pa.DataType) -> timedelta | None:
    """Fit an interval to a column; None if it has too many microseconds."""
    return value if _integer(value // _MICROSECOND, arrow_type) is not None else None


_CLASSES_OF_ARROW: Final[Mapping[ScalarKind, frozenset[type]]] = {
    ScalarKind.FLOAT: frozenset({float, int, type(None)}),
    ScalarKind.INTEGER: frozenset({int, type(None)}),
}
"""By kind, the classes of values that Arrow takes as they are, as far as a column holds them."""

_MICROSECOND: Final = timedelta(microseconds=1)
_FIT_OF_KIND: Final[Mapping[ScalarKind, Callable[[Any, Any], Any]]] = {
    ScalarKind.INTEGER: _integer,
    ScalarKind.INSTANT: _instant,
    ScalarKind.FLOAT: _float,
    ScalarKind.DECIMAL: _decimal,
    ScalarKind.INTERVAL: _interval,
}
"""For each kind, a function that fits a value to its column; kinds that are not here fit as they are."""


def _array(values: Sequence[object], field: Field, arrow_type: pa.DataType) -> pa.Array:
    """Return values as an array.

    Raises:
        MisfitError: Arrow refuses a value; the error names the first one.
    """
    try:
        return arrow_array(values, arrow_type)
    except BaseException:  # a value of the module's own class may raise anything
        for value in values:
            _check_fits(value, field, arrow_type)
        raise  # no value by itself raises this: the task was interrupted, for example


def _check_fits(value: object, field: Field, arrow_type: pa.DataType) -> None:
    """Raise if Arrow refuses a value.

    Raises:
        MisfitError: Arrow refuses the value.
    """
    try:
        arrow_array([value], arrow_type)
    except BaseException as error:
        raise MisfitError(value, field, f": {cut(str(error))}") from safe_cause(error)


def _raised(value: object, field: Field, error: BaseException) -> MisfitError:
    """Return the error for a value of the module's own class that raised an exception as it was read."""
    return MisfitError(value, field, f": it raised {safe_message(error)}")


def _named(part: Field, parent: Field, struct: Struct) -> Field:
    """Return a field of a record under its full name, such as `position.x`, for messages.

    Args:
        part: The field.
        parent: The declaration of the record.
        struct: The type of the record.
    """
    if is_tuple(struct):  # fields of a plain tuple have no names of their own
        return part
    name = f"{parent.name}.{part.name}" if parent.name else part.name
    return Field(name, part.type, part.is_nullable)
