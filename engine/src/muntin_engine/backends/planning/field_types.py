"""Types of columns: Arrow's, as the SDK describes them, and those in which inputs travel and results come."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from muntin import Axis
from muntin.errors import QueryError
from muntin.schemas import Field, Growth, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable
from muntin_engine.plan.column_fit import matching
from muntin_engine.wire.typed_arrays import ARROW_TYPES

if TYPE_CHECKING:
    from muntin_engine.plan import Plan

_READ_TYPES: Final[dict[ScalarKind, pa.DataType]] = {
    ScalarKind.INSTANT: pa.int64(),
    ScalarKind.FLOAT: pa.float64(),
}
"""The types that modules read otherwise than columns have them: an instant as its ticks, any number as a float."""

MOST_DIGITS: Final = 38
"""The digits that a decimal has at most."""

_DIGITS_OF_TICKS: Final = 19
"""The digits of the largest tick."""


@dataclass(frozen=True, slots=True)
class ColumnScalar(Scalar):
    """A kind of value as a column has it, where the SDK's words are too coarse: a decimal's scale, no time zone.

    Attributes:
        column_type: The type of the column.
        is_wide: True if values that are computed from such values are known to fit the type.
    """

    column_type: pa.DataType
    is_wide: bool = False

    def grown(self, growth: Growth) -> Scalar:
        """Return the type of results: a decimal grows by digits and places, up to 38 of each, as on Spark."""
        if not pa.types.is_decimal(self.column_type):
            return Scalar.grown(self, growth)  # `super()` fails in a dataclass with slots
        digits = min(MOST_DIGITS, self.column_type.precision + growth.digits)
        places = min(MOST_DIGITS, self.column_type.scale + growth.places)
        return ColumnScalar(self.kind, pa.decimal128(digits, places), is_wide=True)

    def type_in_results(self) -> pa.DataType:
        """Return the type of results that are computed from such values: a sum has more digits than its parts."""
        if pa.types.is_decimal(self.column_type) and not self.is_wide:
            return pa.decimal128(MOST_DIGITS, self.column_type.scale)
        return self.column_type


@dataclass(frozen=True, slots=True)
class ColumnType(Variable):
    """The type of a column that passes through a query as it is, whatever it holds.

    Attributes:
        column_type: The type of the column.
    """

    column_type: pa.DataType = dataclass_field(kw_only=True)


def field_of(name: str, column_type: pa.DataType) -> Field:
    """Describe a type for the SDK; a type that no module can read is a variable without a name.

    A module that only counts or passes on a column declares a variable for it, so that it takes such a type as well.
    """
    if pa.types.is_list(column_type):
        return Field(name, ListOf(field_of("element", column_type.value_type)), is_nullable=True)
    if pa.types.is_map(column_type):
        key = field_of("key", column_type.key_type)
        value = field_of("value", column_type.item_type)
        return Field(name, MapOf(key, value), is_nullable=True)
    if pa.types.is_struct(column_type):
        parts = tuple(field_of(part.name, part.type) for part in column_type)
        return Field(name, Struct(parts, dict), is_nullable=True)

    kind = _scalar_kind(column_type)
    if kind is None:
        return Field(name, Variable(""), is_nullable=True)
    # A result may have the type of a column, and the kind alone does not say it of a decimal or a time without a zone.
    if kind is ScalarKind.DECIMAL or column_type == pa.timestamp("us"):
        return Field(name, ColumnScalar(kind, column_type), is_nullable=True)
    return Field(name, Scalar(kind), is_nullable=True)


def _scalar_kind(column_type: pa.DataType) -> ScalarKind | None:
    """Return the SDK's kind of a type without parts; None for the null type, and types that no module reads."""
    for is_kind, kind in _KINDS:
        if is_kind(column_type):
            return kind
    return None


_KINDS: Final = (
    (pa.types.is_boolean, ScalarKind.BOOLEAN),
    (pa.types.is_integer, ScalarKind.INTEGER),
    (pa.types.is_decimal, ScalarKind.DECIMAL),
    (pa.types.is_floating, ScalarKind.FLOAT),
    (pa.types.is_string, ScalarKind.STRING),
    (pa.types.is_binary, ScalarKind.BINARY),
    (pa.types.is_date, ScalarKind.DATE),
    (pa.types.is_timestamp, ScalarKind.TIMESTAMP),
    (pa.types.is_duration, ScalarKind.INTERVAL),
)
"""The SDK's kinds of values, with Arrow's tests for the types that are of them."""


def carried_type(read_field: Field, column_type: pa.DataType) -> pa.DataType:
    """Return the type in which a column travels to a module: its own, unless the module reads another type.

    An instant travels as ticks, and a number that is read as a float travels as one. Timestamps are in UTC whatever
    the session's zone, so that a module sees the same values in any session.

    Args:
        read_field: The value that the module reads.
        column_type: The type of the column.
    """
    read_type = read_field.type
    if isinstance(read_type, Scalar):
        return _READ_TYPES.get(read_type.kind, column_type)
    if isinstance(read_type, ListOf) and pa.types.is_list(column_type):
        return pa.list_(carried_type(read_type.element, column_type.value_type))
    if isinstance(read_type, MapOf) and pa.types.is_map(column_type):
        key_type = carried_type(read_type.key, column_type.key_type)
        return pa.map_(key_type, carried_type(read_type.value, column_type.item_type))
    if isinstance(read_type, Struct) and pa.types.is_struct(column_type):
        return _carried_struct(read_type, column_type)
    return column_type


def _carried_struct(record: Struct, column_type: pa.StructType) -> pa.DataType:
    """Return the type in which a struct travels to a module that reads some or all of its fields.

    Args:
        record: The fields that the module reads.
        column_type: The type of the column.
    """
    column_struct = field_of("", column_type).type
    assert isinstance(column_struct, Struct), "a struct is described as one"
    # By the place of a field in the column; fields that the module does not read are not among them.
    read_parts = dict(matching(record, column_struct) or ())
    parts: list[tuple[str, pa.DataType]] = []
    for place, part in enumerate(column_type):
        read_part = read_parts.get(place)
        part_type = part.type if read_part is None else carried_type(read_part, part.type)
        parts.append((part.name, part_type))
    return pa.struct(parts)


def result_type(field: Field, time_type: pa.DataType) -> pa.DataType:
    """Return the type of a result.

    An instant has the type of the query's times. Where a type variable was bound by a column, a decimal keeps the
    column's scale and a timestamp its lack of a zone.

    Raises:
        QueryError: The type is not known.
    """
    data_type = field.type
    if isinstance(data_type, ColumnType):
        return data_type.column_type
    if isinstance(data_type, ColumnScalar):
        return data_type.type_in_results()
    if isinstance(data_type, Scalar):
        return time_type if data_type.kind is ScalarKind.INSTANT else ARROW_TYPES[data_type.kind]
    if isinstance(data_type, ListOf):
        return pa.list_(pa.field("element", result_type(data_type.element, time_type)))
    if isinstance(data_type, MapOf):
        key = pa.field("key", result_type(data_type.key, time_type), nullable=False)
        return pa.map_(key, pa.field("value", result_type(data_type.value, time_type)))
    if isinstance(data_type, Struct):
        return pa.struct([(part.name, result_type(part, time_type)) for part in data_type.fields])
    raise QueryError(f"the type of {field.name!r} is not known when the query is built")


def time_type_of(times: pa.DataType, plan: Plan) -> pa.DataType:
    """Return the type of the times in results: the type of the input's times, widened to hold the end of any window."""
    if plan.decimal_places is not None:
        return pa.decimal128(_DIGITS_OF_TICKS, plan.decimal_places)
    return times if plan.axis is Axis.TIME else pa.int64()
