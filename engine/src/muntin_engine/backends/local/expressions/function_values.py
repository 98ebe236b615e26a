"""The values that functions of plugins get and return, as PySpark's workers hand them over and take them.

PySpark's own conversions are written down here: they need no Spark, and a function gets the same values in both places.
Where they depend on a zone it is UTC, as for all expressions over tables in this process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from muntin.errors.safe_text import safe_repr
from muntin_engine.backends.local.duckdb_types import LOCAL_TIME
from muntin_engine.wire.python_values import values_in

if TYPE_CHECKING:
    import pandas

_NANOSECONDS: Final = pa.timestamp("ns")
"""The type of times in a Series."""


# -------------------------------------------------------------------------------------------------- what functions get


def argument_values(column: pa.Array) -> list[Any]:
    """Return a column as the Python values that a function gets: a moment is a datetime in UTC without a zone."""
    if pa.types.is_nested(column.type):
        nested_values: list[Any] = column.cast(_without_zones(column.type)).to_pylist(maps_as_pydicts="strict")
        return nested_values
    return values_in(column.cast(_without_zones(column.type)))


def argument_series(column: pa.Array) -> pandas.Series[Any]:
    """Return a column as the Series that a vectorised function gets: numbers with nulls are floats with NaN."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(LOCAL_TIME).cast(_NANOSECONDS)
    series: pandas.Series[Any] = column.to_pandas(date_as_object=True, coerce_temporal_nanoseconds=True)
    return series


def _without_zones(data_type: pa.DataType) -> pa.DataType:
    """Return a type in which all timestamps have lost their zone, also those within lists and maps.

    Structs are not looked into: a call with a struct is refused when the query is written.
    """
    if pa.types.is_timestamp(data_type):
        return LOCAL_TIME
    if pa.types.is_list(data_type):
        return pa.list_(_without_zones(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(_without_zones(data_type.key_type), _without_zones(data_type.item_type))
    return data_type


# ----------------------------------------------------------------------------------------------- what functions return


def array_of_values(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    """Return the values of a function as a column.

    Args:
        values: The values, one for each row.
        data_type: The type that the function declares.

    Raises:
        Exception: A value is not of the type; the message of Arrow says which one.
    """
    value_form = _form_of(data_type)
    plain_values = values if value_form is None else [value_form.plain(value) for value in values]
    try:
        return pa.array(plain_values, data_type)
    except pa.ArrowInvalid:
        # As on Spark, values are then cast: 2.0 becomes a whole number, and 2.5 is an error.
        return pa.array(plain_values).cast(data_type)


def array_of_series(series: pandas.Series[Any], data_type: pa.DataType) -> pa.Array:
    """Return the Series of a vectorised function as a column, in which NaN is a null.

    Args:
        series: The values, one for each row.
        data_type: The type that the function declares.

    Raises:
        Exception: A value is not of the type; the message of Arrow says which one.
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype)
    # An extension type, such as `Float64`, has nulls beside NaN, and Arrow finds them itself.
    has_nulls_beside_nan = hasattr(series.array, "__arrow_array__")
    is_null = None if has_nulls_beside_nan else series.isnull()
    try:
        return pa.Array.from_pandas(series, mask=is_null, type=data_type)
    except pa.ArrowInvalid:
        # As on Spark, values are then cast: 2.0 becomes a whole number, and 2.5 is an error.
        return pa.Array.from_pandas(series, mask=is_null).cast(data_type)


class _ValueForm(ABC):
    """The form in which Arrow takes values of a type that a function returns."""

    def plain(self, value: object) -> object:
        """Return a value as Arrow takes it; None, which is null, stays None.

        Raises:
            TypeError: The value is not of the type.
        """
        return None if value is None else self.plain_value(value)

    @abstractmethod
    def plain_value(self, value: Any) -> object:
        """Return a value that is not null as Arrow takes it."""


class _Texts(_ValueForm):
    def plain_value(self, value: object) -> str:
        """Return the text of any value; a boolean is written as Spark does, `true` or `false`."""
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)


class _ByteStrings(_ValueForm):
    def plain_value(self, value: object) -> bytes:
        """Return bytes as they are."""
        if not isinstance(value, bytes | bytearray):
            raise _misfit(value, "bytes")
        return bytes(value)


class _Timestamps(_ValueForm):
    def plain_value(self, value: object) -> datetime:
        """Return a time in UTC; a datetime without a zone is taken as UTC."""
        if not isinstance(value, datetime):
            raise _misfit(value, "a datetime")
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class _ClockTimes(_ValueForm):
    def plain_value(self, value: object) -> datetime:
        """Return a time without a zone."""
        if not isinstance(value, datetime) or value.tzinfo is not None:
            raise _misfit(value, "a datetime without a zone")
        return value


@dataclass(frozen=True, slots=True)
class _Decimals(_ValueForm):
    """A decimal of the scale of its column.

    Attributes:
        last_place: One in the last place.
        context: The digits, and how they are rounded.
    """

    last_place: Decimal
    context: Context

    def plain_value(self, value: object) -> Decimal | None:
        """Return a decimal with the places of the column; NaN is null."""
        if not isinstance(value, Decimal):
            raise _misfit(value, "a Decimal")
        return None if value.is_nan() else value.quantize(self.last_place, context=self.context)


@dataclass(frozen=True, slots=True)
class _Lists(_ValueForm):
    """A list of values that have a form of their own, or none."""

    element: _ValueForm | None

    def plain_value(self, value: object) -> list[object]:
        """Return a list of plain elements."""
        if not isinstance(value, list):
            raise _misfit(value, "a list")
        return value if self.element is None else [self.element.plain(element) for element in value]


@dataclass(frozen=True, slots=True)
class _Maps(_ValueForm):
    """A dict, whose keys and values have a form of their own, or none."""

    key: _ValueForm | None
    item: _ValueForm | None

    def plain_value(self, value: object) -> list[tuple[object, object]]:
        """Return the entries of a dict as pairs of plain keys and values, as Arrow takes a map."""
        if not isinstance(value, dict):
            raise _misfit(value, "a dict")
        pairs: list[tuple[object, object]] = []
        for key, item in value.items():
            pairs.append((_plain(self.key, key), _plain(self.item, item)))
        return pairs


@dataclass(frozen=True, slots=True)
class _Records(_ValueForm):
    """A tuple, a dict, or an object with attributes, whose fields have a form of their own, or none."""

    names: tuple[str, ...]
    forms: tuple[_ValueForm | None, ...]

    def plain_value(self, value: object) -> dict[str, object]:
        """Return the plain fields of a record by name."""
        record: dict[str, object] = {}
        for name, field, form in zip(self.names, self._fields(value), self.forms, strict=True):
            record[name] = _plain(form, field)
        return record

    def _fields(self, value: object) -> Iterable[object]:
        """Return the fields of a record in the order of `names`; a field that a dict or an object lacks is None.

        Raises:
            TypeError: The value is no record, or a tuple with another number of fields.
        """
        if isinstance(value, tuple):
            if len(value) != len(self.names):
                raise _misfit(value, f"a tuple of {len(self.names)} fields")
            return value
        fields = value if isinstance(value, dict) else getattr(value, "__dict__", None)
        if fields is None:
            raise _misfit(value, "a tuple, a dict, or an object with attributes")
        return [fields.get(name) for name in self.names]


def _plain(form: _ValueForm | None, value: object) -> object:
    """Return a value in the form in which Arrow takes it; unchanged if the type needs no other form."""
    return value if form is None else form.plain(value)


def _form_of(data_type: pa.DataType) -> _ValueForm | None:
    """Return the form in which Arrow takes values of a type; None if it takes them unchanged."""
    if pa.types.is_string(data_type):
        return _Texts()
    if pa.types.is_binary(data_type):
        return _ByteStrings()
    if pa.types.is_timestamp(data_type):
        return _ClockTimes() if data_type.tz is None else _Timestamps()
    if pa.types.is_decimal(data_type):
        digits = Context(prec=data_type.precision, rounding=ROUND_HALF_EVEN)
        return _Decimals(Decimal(f"1E-{data_type.scale}"), digits)
    if pa.types.is_list(data_type):
        return _Lists(_form_of(data_type.value_type))
    if pa.types.is_map(data_type):
        return _Maps(_form_of(data_type.key_type), _form_of(data_type.item_type))
    if pa.types.is_struct(data_type):
        forms = tuple(_form_of(part.type) for part in data_type)
        return _Records(tuple(part.name for part in data_type), forms)
    return None


def _misfit(value: object, expected: str) -> TypeError:
    """Return the error for a value that a function may not return for its declared type."""
    return TypeError(f"{safe_repr(value, 200)} is of type {type(value).__name__}, expected {expected}")
